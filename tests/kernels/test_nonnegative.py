from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls

from labelgap.kernels import coordinate_descent
from labelgap.kernels.coordinate_descent import RowTerms, coordinate_sweeps
from reference.nonnegative import coordinate_sweeps as slow_sweeps
from reference.nonnegative import row_quadratic


def random_problem(seed, n, k, m, n_patterns=2):
    """Rows whose own terms take away a part of what their pattern has, or add to it."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(m, k))
    roots = rng.normal(size=(n_patterns, k + 1, k))
    shared = np.einsum("pik,pil->pkl", roots, roots) + factors.T @ factors
    signs = rng.choice([-1.0, 0.0, 0.5, 2.0], size=(n, m))
    pattern = rng.integers(n_patterns, size=n)
    start = np.maximum(rng.normal(size=(n, k)), 0)
    return start, rng.normal(size=(n, k)), shared, pattern, sparse.csr_array(signs), factors


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 6),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_agrees_with_the_slow_twin(seed, n, k, m, n_sweeps):
    Z, linear, shared, pattern, weights, factors = random_problem(seed, n, k, m)
    terms = RowTerms(weights, factors)
    found = coordinate_sweeps(Z, linear, shared, pattern, terms, n_sweeps=n_sweeps)
    matrices = row_quadratic(shared, pattern, weights, factors)
    expected = slow_sweeps(Z, linear, matrices, n_sweeps) if n else Z
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [coordinate_descent._sweep_rows, coordinate_descent._sweep_matrices]
)
def test_terms_apart_and_within_the_matrix(kernel, monkeypatch):
    """Few sweeps and many are two kernels for the same steps."""
    monkeypatch.setattr(coordinate_descent, "_sweep_rows", kernel)
    monkeypatch.setattr(coordinate_descent, "_sweep_matrices", kernel)
    Z, linear, shared, pattern, weights, factors = random_problem(3, 12, 6, 5)
    found = coordinate_sweeps(Z, linear, shared, pattern, RowTerms(weights, factors), n_sweeps=3)
    matrices = row_quadratic(shared, pattern, weights, factors)
    np.testing.assert_allclose(found, slow_sweeps(Z, linear, matrices, 3), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_terms_and_one_pattern(dtype):
    Z, linear, shared, *_ = random_problem(0, 7, 3, 2, n_patterns=1)
    Z, linear, shared = (part.astype(dtype) for part in (Z, linear, shared))
    given_start = Z.copy()
    found = coordinate_sweeps(Z, linear, shared, n_sweeps=3)
    matrices = np.repeat(shared.astype(float), 7, axis=0)
    expected = slow_sweeps(Z.astype(float), linear.astype(float), matrices, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(Z, given_start)


def test_many_sweeps_solve_non_negative_least_squares():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(30, 6)), rng.normal(size=(8, 30))
    found = coordinate_sweeps(np.zeros((8, 6)), B @ A, (A.T @ A)[None], n_sweeps=1000, tol=1e-14)
    expected = np.array([nnls(A, b)[0] for b in B])
    assert (expected == 0).any()
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_terms_make_up_a_mask():
    """Observed entries added to nothing, or missing ones taken from all: the same problem."""
    rng = np.random.default_rng(2)
    F, Y = rng.normal(size=(9, 4)), rng.normal(size=(5, 9))
    mask = rng.random(Y.shape) < 0.6
    start, linear, nothing = np.ones((5, 4)), (mask * Y) @ F, 0.1 * np.eye(4)
    added = coordinate_sweeps(
        start, linear, nothing[None], None, RowTerms(sparse.csr_array(1.0 * mask), F), n_sweeps=3
    )
    shared = (nothing + F.T @ F)[None]
    taken = coordinate_sweeps(
        start, linear, shared, None, RowTerms(sparse.csr_array(-1.0 * ~mask), F), n_sweeps=3
    )
    np.testing.assert_allclose(added, taken, rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_sweep_increases_any_row(seed):
    Z, linear, shared, pattern, weights, factors = random_problem(seed, 5, 4, 3)
    matrices = row_quadratic(shared, pattern, weights, factors)

    def values(Z):
        return np.einsum("ni,nij,nj->n", Z, matrices, Z) - 2 * (linear * Z).sum(axis=1)

    for _ in range(5):
        new = coordinate_sweeps(Z, linear, shared, pattern, RowTerms(weights, factors))
        assert (values(new) <= values(Z) + 1e-10).all()
        assert new.min() >= 0
        Z = new


def test_a_coordinate_without_curvature_stays():
    shared = np.diag([1.0, 0.0])[None]
    found = coordinate_sweeps(np.array([[0.0, 3.0]]), np.array([[2.0, 1.0]]), shared, n_sweeps=4)
    np.testing.assert_array_equal(found, [[2.0, 3.0]])


@pytest.mark.parametrize("n_sweeps", [1, 50])
def test_a_term_that_takes_all_curvature_away(n_sweeps):
    shared = np.diag([1.0, 4.0, 1.0, 1.0])[None]
    terms = RowTerms(sparse.csr_array([[-1.0]]), np.array([[0.0, 2.0, 0.0, 0.0]]))
    start, linear = np.full((1, 4), 3.0), np.ones((1, 4))
    found = coordinate_sweeps(start, linear, shared, None, terms, n_sweeps=n_sweeps)
    np.testing.assert_array_equal(found, [[1.0, 3.0, 1.0, 1.0]])


def nearly_collinear(rng, n=20, k=12):
    A = rng.normal(size=(40, 1)) + 0.1 * rng.normal(size=(40, k))
    return A, rng.normal(size=(n, 40)) + 3 * A.sum(axis=1)


def test_jumps_solve_what_sweeps_alone_approach_slowly(rng):
    A, B = nearly_collinear(rng)
    start = np.ones((len(B), A.shape[1]))
    gram, linear = (A.T @ A)[None], B @ A
    found = coordinate_sweeps(start, linear, gram, n_sweeps=400, tol=1e-12)
    expected = np.array([nnls(A, b)[0] for b in B])
    np.testing.assert_allclose(found, expected, atol=1e-8)
    alone = slow_sweeps(start, linear, np.repeat(gram, len(B), axis=0), 400)
    assert np.abs(alone - expected).max() > 1e-2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(17, 80))
def test_no_jump_increases_any_row(seed, n_sweeps):
    A, B = nearly_collinear(np.random.default_rng(seed), n=5, k=6)
    gram, linear = (A.T @ A)[None], B @ A
    before = coordinate_sweeps(np.ones((5, 6)), linear, gram, n_sweeps=16)
    after = coordinate_sweeps(np.ones((5, 6)), linear, gram, n_sweeps=n_sweeps)

    def values(Z):
        return np.square(Z @ A.T - B).sum(axis=1)

    assert (values(after) <= values(before) * (1 + 1e-12)).all()
    assert after.min() >= 0


@pytest.mark.parametrize("seed", range(20))
def test_no_jump_moves_what_a_row_knows_nothing_of(seed):
    """All curvature of the last coordinate is taken away, and only rounding is left of it."""
    rng = np.random.default_rng(seed)
    known, hidden = rng.random((12, 4)), rng.random((9, 4))
    known[:, 3] = 0.0
    hidden[:, :3] *= 0.1
    shared = (known.T @ known + hidden.T @ hidden)[None]
    terms = RowTerms(sparse.csr_array(-np.ones((5, 9))), hidden)
    start, linear = 1 + rng.random((5, 4)), (rng.normal(size=(5, 12)) + 3) @ known
    found = coordinate_sweeps(start, linear, shared, None, terms, n_sweeps=400)
    np.testing.assert_array_equal(found[:, 3], start[:, 3])
