"""MLMLFS against the authors' code, which subtracts a one where the identity is meant."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods import MLMLFS
from reference import mlmlfs as slow


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "mlmlfs.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "mlmlfs.npz") as arrays:
        golden = {"settings": about["hyper_parameters"], **arrays}
    n = len(golden["X_train"])
    places = (golden["laplacian_row"], golden["laplacian_col"])
    golden["lap"] = sparse.csr_array((golden["laplacian_val"], places), shape=(n, n)).toarray()
    return golden


def settings(golden, name):
    found = golden["settings"][name]
    return found["alpha"], found["lambda_"], found["p"]


def reference(golden, name, n):
    X, Y = golden["X_train"], golden["Y_input_pm1_0"]
    start = golden["W_init"], golden["b_init"], golden["lap"]
    return slow.iterate(X, Y, *start, *settings(golden, name), n, fault=True)


def value_at(golden, name, W, b):
    """The objective, with the best values of unknown entries."""
    alpha, weight, p = settings(golden, name)
    given = golden["Y_input_pm1_0"]
    fitted = golden["X_train"] @ W + b
    target = np.where(given == 0, np.clip(fitted, -1, 1), given)
    rough = np.trace(fitted.T @ golden["lap"] @ fitted)
    return row_norms(fitted - target).sum() + alpha * rough + weight * (row_norms(W) ** p).sum()


@pytest.mark.parametrize("name", ["c1", "c2"])
@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-7), (2, 1e-7), (5, 1e-6)])
def test_with_the_fault_it_is_the_reference(golden, name, n, tolerance):
    W, b, filled = reference(golden, name, n)
    assert_agrees("W", W, golden[f"{name}_it{n}_W"], atol=tolerance)
    assert_agrees("b", b, golden[f"{name}_it{n}_b"], atol=tolerance)
    if f"{name}_it{n}_Yc" in golden:
        assert_agrees("completed Y", filled, golden[f"{name}_it{n}_Yc"], atol=tolerance)


@pytest.mark.parametrize("name", ["c1", "c2"])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 200])
def test_without_it_the_objective_is_lower(golden, name, n):
    given, lap = golden["Y_input_pm1_0"], golden["lap"]
    graph = sparse.csr_array(np.diag(lap.diagonal()) - lap)
    model = MLMLFS(*settings(golden, name), graph=graph, max_iter=n, tol=0.0)
    model.fit(golden["X_train"], np.where(given == 0, np.nan, (given + 1) / 2))
    ours = value_at(golden, name, 2 * model.coef_, 2 * model.intercept_ - 1)
    theirs = value_at(golden, name, golden[f"{name}_it{n}_W"], golden[f"{name}_it{n}_b"])
    assert_ahead(name, ours, theirs, iterations=n)
