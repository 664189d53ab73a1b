"""SFUS against the authors' code, which uses eigenvectors that are not orthogonal as a basis."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods._sfus import orthonormal_basis, subspace_step


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "sfus.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "sfus.npz") as arrays:
        return {"settings": about["hyper_parameters"], **arrays}


def unit_columns(spanning):
    """The fault: columns of length one that are not orthogonal."""
    return spanning / np.linalg.norm(spanning, axis=0)


def path(golden, basis, n):
    """W and the objective after each of the first iterations."""
    settings = golden["settings"]
    alpha, beta = settings["alpha"], settings["beta"]
    X, Y = golden["X_train"], golden["Y_train"].astype(float)
    features, W = prepare_features(X), golden["W_init"]
    for _ in range(n):
        W, Q = subspace_step(features, Y, W, alpha, beta, settings["subspace_dim"], basis)
        value = row_norms(X @ W - Y).sum() + alpha * row_norms(W).sum()
        yield W, value + beta * np.square(W - Q @ (Q.T @ W)).sum()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_with_the_fault_it_is_the_reference(golden, n):
    *_, (W, value) = path(golden, unit_columns, n)
    assert_agrees("W", W, golden[f"it{n}_W"], atol=1e-6)
    assert_agrees("objective", value, golden[f"it{n}_obj"].ravel()[-1], rtol=1e-9)


def test_without_it_the_objective_is_lower_at_every_iteration(golden):
    reference = golden["it5_obj"].ravel()
    values = [value for _, value in path(golden, orthonormal_basis, len(reference))]
    for n, (ours, theirs) in enumerate(zip(values, reference, strict=True), start=1):
        assert_ahead("all", ours, theirs, iterations=n)
    assert (np.diff(values) < 0).all()
