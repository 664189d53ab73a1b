from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, optimize
from sklearn.linear_model import Lasso

from labelgap_papers.kernels.proximal import (
    Differentiable,
    Quadratic,
    absolute_values,
    backtrack,
    nonnegative_soft_threshold,
    proximal_path,
    soft_threshold,
    spectral_norm,
)
from reference import proximal as slow

NUMBERS = st.floats(-50, 50, allow_nan=False)


def least_squares(seed=0, n=40, d=6, c=3):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, c))
    gram, cross = X.T @ X, X.T @ Y
    quadratic = Quadratic(lambda W: gram @ W, cross, 0.5 * np.square(Y).sum())

    def value_and_gradient(W):
        residual = X @ W - Y
        return 0.5 * np.square(residual).sum(), X.T @ residual

    return X, Y, quadratic, Differentiable(value_and_gradient)


def logistic(seed=1, n=60, d=5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)

    def value_and_gradient(w):
        margin = y * (X @ w)
        return np.logaddexp(0, -margin).sum(), -X.T @ (y / (1 + np.exp(margin)))

    return value_and_gradient, d


def run(smooth, prox, start, n_steps, **options):
    return list(islice(proximal_path(smooth, prox, start, **options), n_steps))


@given(NUMBERS, st.floats(0, 20))
def test_thresholds_minimise_their_objective(x, threshold):
    expected = slow.shrink_one(x, threshold)
    assert soft_threshold(np.array(x), threshold) == pytest.approx(expected, abs=1e-6)
    expected = slow.shrink_one(x, threshold, nonnegative=True)
    found = nonnegative_soft_threshold(np.array(x), threshold)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1), (4, 2)])
def test_thresholds_keep_shape_and_precision(rng, dtype, shape):
    x = rng.normal(size=shape).astype(dtype)
    for shrink in (soft_threshold, nonnegative_soft_threshold):
        found = shrink(x, dtype(0.5))
        assert (found.shape, found.dtype) == (shape, dtype)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_penalty_is_that_of_the_point(rng, nonnegative):
    x, weight = rng.normal(size=(5, 3)), rng.gamma(1.0, size=(5, 1))
    z, penalty = absolute_values(weight, nonnegative=nonnegative)(x, 0.3)
    assert penalty == pytest.approx((weight * np.abs(z)).sum())
    for i, j in np.ndindex(x.shape):
        expected = slow.shrink_one(x[i, j], 0.3 * weight[i, 0], nonnegative=nonnegative)
        assert z[i, j] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", [2, 3])
def test_the_plain_path_is_fista(kind):
    problem = least_squares()
    X, Y, smooth = problem[0], problem[1], problem[kind]
    curvature = spectral_norm(X) ** 2
    prox = absolute_values(2.0)
    start = np.ones((X.shape[1], Y.shape[1]))
    options = {"curvature": curvature, "search": False, "restart": False}
    points = run(smooth, prox, start, 30, **options)
    expected = slow.accelerated_points(lambda W: X.T @ (X @ W - Y), prox, start, curvature, 30)
    for point, W in zip(points, expected, strict=True):
        np.testing.assert_allclose(point.x, W, atol=1e-10)
        value = 0.5 * np.square(X @ W - Y).sum() + 2 * np.abs(W).sum()
        assert point.value == pytest.approx(value, rel=1e-10)
        assert point.curvature == curvature


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_the_limit_is_the_lasso(kind, restart, positive):
    problem = least_squares()
    X, Y = problem[0], problem[1]
    prox = absolute_values(3.0, nonnegative=positive)
    last = run(problem[kind], prox, np.zeros((6, 3)), 1500, restart=restart)[-1]
    lasso = Lasso(3.0 / len(X), fit_intercept=False, positive=positive, tol=1e-14, max_iter=10**5)
    np.testing.assert_allclose(last.x, lasso.fit(X, Y).coef_.T, atol=1e-6)


def test_a_function_that_is_no_quadratic():
    function, d = logistic()
    last = run(Differentiable(function), absolute_values(0.0), np.zeros(d), 2000)[-1]
    best = optimize.minimize(function, np.zeros(d), jac=True, method="BFGS", tol=1e-10)
    np.testing.assert_allclose(last.x, best.x, atol=1e-5)
    assert last.value == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_with_restarts_the_objective_never_increases(weight):
    _, _, quadratic, differentiable = least_squares(3, n=8, d=7)
    function, d = logistic()
    bowl = Differentiable(lambda x: (float(np.cos(x).sum()), -np.sin(x)))  # not convex
    for smooth, start in [
        (quadratic, np.ones((7, 3))),
        (differentiable, np.ones((7, 3))),
        (Differentiable(function), np.ones(d)),
        (bowl, np.linspace(-1, 2, 9)),
    ]:
        values = [p.value for p in run(smooth, absolute_values(weight), start, 300)]
        assert (np.diff(values) <= 0).all()
    plain = run(quadratic, absolute_values(weight), np.ones((7, 3)), 300, restart=False)
    assert (np.diff([p.value for p in plain]) > 1e-12).any()


@pytest.mark.parametrize("kind", [2, 3])
def test_curvature_is_found_and_a_large_enough_one_is_kept(kind):
    problem = least_squares(5)
    largest = spectral_norm(problem[0]) ** 2
    start, prox = np.zeros((6, 3)), absolute_values(1.0)
    kept = run(problem[kind], prox, start, 400, curvature=largest, restart=False)
    assert kept[-1].curvature == largest
    assert run(problem[kind], prox, start, 2000)[-1].curvature <= 2 * largest


def test_norms_and_sylvester_systems(rng):
    assert spectral_norm(np.diag([1.0, -3.0])) == pytest.approx(3)
    assert spectral_norm(np.zeros((0, 4))) == 0
    for m, n in [(5, 3), (1, 1), (2, 6), (0, 2)]:
        A, B = rng.normal(size=(m, m)), rng.normal(size=(n, n))
        A, B, C = A @ A.T + np.eye(m), B + B.T, rng.normal(size=(m, n))
        B += np.eye(n) * (1 + spectral_norm(B))
        found = slow.symmetric_sylvester(A, B, C)
        np.testing.assert_allclose(A @ found + found @ B, C, atol=1e-9)
        np.testing.assert_allclose(found, slow.sylvester(A, B, C), atol=1e-9)
        if m:
            np.testing.assert_allclose(found, linalg.solve_sylvester(A, B, C), atol=1e-9)
    with pytest.raises(linalg.LinAlgError, match="share an eigenvalue"):
        slow.symmetric_sylvester(np.diag([1.0, 2.0]), np.diag([-2.0, 5.0]), np.ones((2, 2)))


def test_backtracking_accepts_the_first_step_that_falls_enough():
    tried = []

    def value(step):
        tried.append(step)
        return (step - 0.1) ** 2

    step, reached = backtrack(value, 0.01, -0.2, step=1.0)
    assert tried == [1.0, 0.5, 0.25, 0.125]
    assert (step, reached) == (0.125, value(0.125))
    assert backtrack(lambda step: 1.0, 1.0, -1.0, max_steps=3) == (0.0, 1.0)
    strict, _ = backtrack(value, 0.01, -0.2, sufficient=0.9)
    assert strict < 0.125


def test_the_slope_decides_where_the_fall_is_lost_in_rounding():
    """10^-12 (step - 0.1)^2 below a value of one, which rounding raises by its last digit."""

    def value(step):
        return 1.0 if step == 0 else 1 + 2.0**-52

    def slope(step):
        return 2e-12 * (step - 0.1)

    assert backtrack(value, 1.0, slope(0.0)) == (0.0, 1.0)
    assert backtrack(value, 1.0, slope(0.0), slope_after=slope) == (0.125, 1.0)


@pytest.mark.parametrize("constant", [0.0, 1e8])
def test_steps_go_on_to_the_minimum_below_the_rounding_of_the_value(constant):
    """With a large constant the value says nothing of the last nine digits of x."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40, 6)) * np.array([1, 1, 1, 1, 1, 0.1]), rng.normal(size=(40, 3))
    gram, cross = X.T @ X, X.T @ Y
    smooth = Quadratic(lambda W: gram @ W, cross, constant)
    curvature = float(np.linalg.eigvalsh(gram)[-1])
    path = run(smooth, absolute_values(0.0), np.zeros((6, 3)), 30000, curvature=curvature)
    np.testing.assert_allclose(path[-1].x, np.linalg.solve(gram, cross), rtol=1e-11, atol=1e-11)
    assert (np.diff([point.value for point in path]) <= 0).all()
