"""Squared-hinge regressions of a block of labels are those of a general minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.block_descent import descend, local_rows
from reference.block_descent import minimum


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def fitted(X, costs, tol=1e-5, max_iter=3000):
    rows = sparse.csr_array(X.astype(np.float32))
    W = np.zeros((X.shape[1] + 1, costs.shape[1]), np.float32)
    n_iter = descend(
        rows.indptr,
        rows.indices,
        rows.data,
        costs.astype(np.float32),
        W,
        np.float32(tol),
        max_iter,
        0,
    )
    return W, n_iter


@pytest.mark.parametrize("k", [1, 5, 33])
def test_minimum(rng, k):
    X = rng.normal(size=(60, 7)) * (rng.random((60, 7)) < 0.6)
    costs = rng.choice([-1.0, 1.0], (60, k)) * rng.random((60, k)) * 2
    W, n_iter = fitted(X, costs)
    assert n_iter < 3000
    np.testing.assert_allclose(W, minimum(X, costs), atol=2e-3)


def test_rows_without_cost_say_nothing(rng):
    X = rng.normal(size=(50, 4))
    costs = rng.choice([-1.0, 1.0], (50, 3))
    costs[30:, 1] = 0.0
    changed = X.copy()
    changed[30:] *= 100
    W, _ = fitted(X, costs)
    other, _ = fitted(changed, costs[:, [1]])
    np.testing.assert_allclose(W[:, 1], other[:, 0], atol=1e-3)


def test_labels_of_a_block_do_not_disturb_each_other(rng):
    X = rng.normal(size=(50, 4))
    costs = rng.choice([-1.0, 0.3], (50, 6))
    together, _ = fitted(X, costs)
    alone = np.column_stack([fitted(X, costs[:, [label]])[0] for label in range(6)])
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_stops_at_the_number_of_passes(rng):
    X, costs = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], (40, 2))
    assert fitted(X, costs, tol=1e-12, max_iter=2)[1] == 2


@pytest.mark.parametrize("rows", [[], [2], [4, 0, 2]])
def test_local_rows(rng, rows):
    X = sparse.csr_array(rng.normal(size=(5, 9)) * (rng.random((5, 9)) < 0.3)).astype(np.float32)
    rows = np.array(rows, dtype=np.int64)
    indptr, indices, data, used = local_rows(X.indptr, X.indices, X.data, rows, 9)
    found = sparse.csr_array((data, indices, indptr), shape=(rows.size, used.size)).toarray()
    np.testing.assert_array_equal(found, X.toarray()[rows][:, used])
    assert used.size == np.unique(X[rows].indices).size
