"""FSNM against numbers from an implementation of its algorithm, for few and for many features."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods import FSNM

PROBLEMS = ["full", "miss0", "wide_full", "wide_miss0"]


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "rfs.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "rfs.npz") as arrays:
        return {"about": about, **arrays}


def data(golden, name):
    """Features and labels of a problem: the wide ones take the first rows alone."""
    X, Y = golden["X_train"], golden["Y_train"].astype(float)
    if "miss0" in name:
        Y = Y * golden["mask"]
    if name.startswith("wide"):
        words = golden["about"]["label_coding"]
        n = int(re.search(r"first (\d+) training rows", words).group(1))
        return X[:n], Y[:n]
    return X, Y


def alpha_of(golden):
    return golden["about"]["hyper_parameters"]["alpha"]


def with_intercept(model):
    return np.vstack([model.intercept_, model.coef_])


def objective(golden, name, model):
    """As the reference prints it: divided by alpha where there are fewer rows than features."""
    X, Y = data(golden, name)
    alpha = alpha_of(golden)
    W = with_intercept(model)
    value = row_norms(X @ W[1:] + W[0] - Y).sum() + alpha * row_norms(W).sum()
    return value / alpha if len(X) < len(W) else value


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-9), (2, 1e-9), (5, 1e-8)])
def test_the_first_iterations(golden, name, n, tolerance):
    model = FSNM(alpha_of(golden), max_iter=n, tol=0.0).fit(*data(golden, name))
    expected = golden[f"{name}_it{n}_W"]
    assert_agrees("W", with_intercept(model), expected, atol=tolerance)
    printed = np.atleast_1d(golden[f"{name}_it{n}_Q"])
    assert_agrees("objective", objective(golden, name, model), printed[-1], rtol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_converged_point(golden, name):
    printed = golden[f"{name}_conv_Q"]
    model = FSNM(alpha_of(golden), max_iter=len(printed), tol=0.0).fit(*data(golden, name))
    expected = golden[f"{name}_conv_W"]
    assert_agrees("W", with_intercept(model), expected, atol=1e-5)
    reached, n = objective(golden, name, model), len(printed)
    assert_agrees("objective", reached, printed[-1], rtol=1e-9)
    assert_ahead(name, reached, printed[-1], iterations=n, slack=1e-9)
    chosen = golden.get(f"{name}_idx")
    if chosen is not None:
        np.testing.assert_array_equal(model.ranking_[: len(chosen)], chosen)
