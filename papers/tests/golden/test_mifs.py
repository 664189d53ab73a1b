"""MIFS against published code: the same gradients, and exact steps that get lower with them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from golden.agreement import assert_agrees, assert_ahead
from labelgap.kernels.products import prepare_features
from labelgap_papers.methods._mifs import MIFSParams, MIFSProblem
from reference import mifs as slow


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "mifs.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "mifs.npz") as arrays:
        golden = {"settings": about["hyper_parameters"], **arrays}
    n = len(golden["X_train"])
    places = (golden["laplacian_row"], golden["laplacian_col"])
    golden["lap"] = sparse.csr_array((golden["laplacian_val"], places), shape=(n, n))
    return golden


def weights(golden):
    return tuple(float(golden["settings"][name]) for name in ("alpha", "beta", "gamma"))


def data(golden):
    return golden["X_train"], golden["Y_train"].astype(float), golden["lap"]


@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-10), (2, 1e-10), (5, 1e-9), (50, 1e-8)])
def test_the_steps_of_the_reference(golden, n, tolerance):
    start = [golden[f"{name}_init"] for name in "WVB"]
    step = golden["settings"]["step"]
    found = slow.iterate(*data(golden), *start, *weights(golden), step, n, fault=True)
    for name, value in zip("WVB", found, strict=True):
        assert_agrees(name, value, golden[f"it{n}_{name}"], atol=tolerance)


def test_exact_steps_are_lower_at_every_iteration(golden):
    X, Y, lap = data(golden)
    problem = MIFSProblem(prepare_features(X), Y, lap, *weights(golden), ridge=0.0)
    params = MIFSParams(*(golden[f"{name}_init"] for name in "WVB"))
    theirs, ours = golden["it50_Q"].ravel(), []
    for _ in range(4 * len(theirs)):
        params = problem.sweep(params)
        ours.append(slow.objective(X, Y, lap, *params, *weights(golden)))
    for n, value in enumerate(theirs, start=1):
        assert_ahead("all", ours[n - 1], value, iterations=n)
    assert (np.diff(ours) < 1e-9).all()
    # two hundred sweeps against twenty thousand steps
    assert ours[-1] < golden["it20000_Q"].ravel()[-1]
