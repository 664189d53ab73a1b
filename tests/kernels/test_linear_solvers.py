from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgap.kernels.linear_solvers import conjugate_gradient


def systems(seed, d, k):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, d, d + 2))
    matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    matrices *= rng.gamma(1.0, size=(k, 1, 1)) + 0.01
    return matrices, rng.normal(size=(d, k))


def solve(matrices, right_side, n_steps, **options):
    diagonal = np.diagonal(matrices, axis1=1, axis2=2).T
    seen = []

    def product(direction):
        seen.append(direction)
        return np.einsum("kde,ek->dk", matrices, direction)

    found = conjugate_gradient(product, right_side, diagonal, n_steps=n_steps, **options)
    return found, len(seen)


def quadratic(matrices, right_side, x):
    return 0.5 * np.einsum("dk,kde,ek->k", x, matrices, x) - (right_side * x).sum(axis=0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 4))
def test_as_many_steps_as_unknowns_solve_the_systems(seed, d, k):
    matrices, right_side = systems(seed, d, k)
    exact = np.stack([np.linalg.solve(A, b) for A, b in zip(matrices, right_side.T, strict=True)])
    found, _ = solve(matrices, right_side, d)
    np.testing.assert_allclose(found, exact.T, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_every_step_improves_every_quadratic(seed, d):
    matrices, right_side = systems(seed, d, 3)
    values = [quadratic(matrices, right_side, solve(matrices, right_side, t)[0]) for t in range(d)]
    np.testing.assert_array_equal(values[0], 0)
    drops = -np.diff(values, axis=0)
    assert (drops >= -1e-9 * np.abs(values[-1])).all()


def test_stops_when_all_residuals_are_small():
    matrices, right_side = systems(0, 40, 3)
    found, n_products = solve(matrices, right_side, 1000, tol=1e-8)
    residual = right_side - np.einsum("kde,ek->dk", matrices, found)
    assert (np.linalg.norm(residual, axis=0) <= 1e-8 * np.linalg.norm(right_side, axis=0)).all()
    assert n_products < 100


def test_a_solved_system_stays_solved_while_others_go_on():
    matrices, right_side = systems(1, 6, 2)
    right_side[:, 0] = 0
    found, _ = solve(matrices, right_side, 30)
    np.testing.assert_array_equal(found[:, 0], 0)
    np.testing.assert_allclose(matrices[1] @ found[:, 1], right_side[:, 1], rtol=1e-6)


def test_single_precision_stays_single():
    matrices, right_side = systems(2, 5, 2)
    found, _ = solve(matrices.astype(np.float32), right_side.astype(np.float32), 5)
    assert found.dtype == np.float32
    exact, _ = solve(matrices, right_side, 5)
    np.testing.assert_allclose(found, exact, rtol=1e-2, atol=1e-3)


def test_no_step_is_no_correction():
    matrices, right_side = systems(3, 4, 2)
    assert solve(matrices, right_side, 0) == (pytest.approx(np.zeros((4, 2))), 0)
