"""The objective and the steps on it, against brute force, finite differences and dense solves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from labelgap.kernels.neighbors import mean_distance_gamma
from labelgap.models.rmfl._rmfl_objective import (
    Coupling,
    FactorSystem,
    balancing_transform,
    difference_matrix,
    impute_rows,
    solve,
)
from models.rmfl.problems import case, data
from reference import rmfl as slow


def all_parts(drawn, made, now):
    K = rbf_kernel(drawn.X, gamma=mean_distance_gamma(drawn.X))
    A = now.fit.coef
    b = made.problem.regression.intercept(now.U, A)
    return K, A, b


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_objective_is_the_sum_over_entries(missing):
    drawn = data(n_samples=15, missing=missing)
    made = case(drawn)
    now = made.problem.step(made.start)
    K, A, b = all_parts(drawn, made, now)
    S = made.prepared.weights.toarray()
    args = (made.targets.signed, S, K, made.problem.penalties, now.U, now.V, now.Z, A, b)
    assert made.problem.objective(now) == pytest.approx(slow.objective(*args), rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "penalties", "missing"),
    list(
        product(
            [
                {"solver": "cg", "n_cg": 1},
                {"solver": "cg", "n_cg": 10},
                {"solver": "exact"},
                {"kernel": "linear"},
                {"kernel": "laplacian"},
                {"approximation": "nystroem", "n_components": 10},
                {"approximation": "random_features", "n_components": 30},
                {"n_neighbors": 1, "lle_reg": 0.1},
            ],
            [
                (0.7, 0.5, 1.3, 0.4, 0.2),
                (0, 0.5, 1, 1, 0.2),
                (3, 0, 1, 0.01, 0.2),
                (3, 2, 1, 0.1, 0),
                (0, 0, 1, 0.1, 0),
                (1e3, 1e3, 2, 1e-4, 1e-3),
            ],
            [0.0, 0.6],
        )
    ),
)
def test_objective_never_increases(settings, penalties, missing):
    made = case(data(missing=missing), penalties, **settings)
    values = [made.problem.objective(made.start)]
    now = made.start
    for _ in range(25):
        now = made.problem.step(now)
        values.append(made.problem.objective(now))
    values = np.array(values)
    assert (np.diff(values) <= 1e-9 * np.maximum(values[:-1], 1)).all()
    assert values[-1] < values[0]


def test_every_single_step_is_none_the_worse():
    problem, now = case(data())[:2]

    def rows(now):
        U = problem._solve_rows(now)
        # the regression stays: its residual is that of the new factors
        return now._replace(U=U, fit=now.fit._replace(residual=now.fit.residual + U - now.U))

    steps = (
        rows,
        lambda now: now._replace(V=problem._solve_labels(now)),
        lambda now: now._replace(fit=problem.regression.fit(now.U)),
        problem._balance,
    )
    value = problem.objective(now)
    for _ in range(5):
        for step in steps:
            now = step(now)
            before, value = value, problem.objective(now)
            assert value <= before + 1e-9


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_end_is_stationary(missing):
    """Central differences of the brute-force objective in all unknowns are zero."""
    drawn = data(n_samples=14, n_labels=3, missing=missing, seed=3)
    made = case(drawn, (0.5, 0.3, 1.0, 0.5, 0.3), n_factors=2, solver="exact")
    now = made.start
    for _ in range(600):
        now = made.problem.step(now)
    K, A, b = all_parts(drawn, made, now)
    S = made.prepared.weights.toarray()
    point = [now.U, now.V, now.Z, A, b]

    def value(parts):
        U, V, Z, A, b = parts
        Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
        return slow.objective(made.targets.signed, S, K, made.problem.penalties, U, V, Z, A, b)

    rng = np.random.default_rng(0)
    scale = made.problem.objective(now)
    for part in range(5):
        for _ in range(4):
            direction = rng.normal(size=point[part].shape)
            direction /= np.linalg.norm(direction)
            moved = []
            for sign in (1, -1):
                parts = list(point)
                parts[part] = point[part] + sign * 1e-4 * direction
                moved.append(value(parts))
            assert abs(moved[0] - moved[1]) / 2e-4 < 2e-5 * scale, f"unknown {part}"


def dense_matrix(system):
    n, k = system.right_side.shape
    columns = []
    for place in range(n * k):
        unit = np.zeros(n * k)
        unit[place] = 1
        columns.append(system.times(unit.reshape(n, k)).ravel())
    return np.column_stack(columns)


def systems(seed, complete):
    rng = np.random.default_rng(seed)
    observed = None if complete else (rng.random((9, 6)) < 0.5).astype(float)
    factors = rng.normal(size=(6, 3))
    S = sparse.csr_array(np.where(rng.random((9, 9)) < 0.3, rng.normal(size=(9, 9)), 0))
    Z = rng.normal(size=(9, 4))
    right_side = rng.normal(size=(9, 3))
    for coupling in (
        Coupling(difference_matrix(S), 0.7, 1.1),
        Coupling(difference_matrix(S), 0.0, 1.1),
        Coupling(Z.T, 0.6, 0.3),
        Coupling(Z.T, 0.0, 0.3),
    ):
        yield FactorSystem(factors, observed, coupling, right_side)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("complete", [True, False])
def test_conjugate_gradient_and_exact_equal_a_dense_solve(seed, complete):
    for system in systems(seed, complete):
        matrix = dense_matrix(system)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        np.testing.assert_allclose(matrix.diagonal(), system.diagonal().ravel())
        expected = np.linalg.solve(matrix, system.right_side.ravel()).reshape(9, 3)
        start = np.random.default_rng(0).normal(size=(9, 3))
        for solver in ("cg", "exact"):
            found = solve(system, start, solver, 200, 1e-13)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_couplings_are_their_matrices(rng):
    S = sparse.csr_array(rng.normal(size=(5, 5)))
    M = rng.normal(size=(5, 2))
    for coupling in (
        Coupling(difference_matrix(S), 0.3, 2.0),
        Coupling(rng.normal(size=(3, 5)), 0.4, 0.1),
    ):
        dense = coupling.matrix().toarray()
        np.testing.assert_allclose(coupling.times(M), dense @ M)
        np.testing.assert_allclose(coupling.diagonal(), dense.diagonal())
    np.testing.assert_allclose(difference_matrix(S).toarray(), np.eye(5) - S.toarray())


def test_exact_and_conjugate_gradient_lead_to_the_same_fit():
    ends = []
    for settings in ({"solver": "exact"}, {"solver": "cg", "n_cg": 200}):
        made = case(data(), **settings)
        now = made.start
        for _ in range(15):
            now = made.problem.step(now)
        ends.append(now.U @ now.V.T)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5, atol=1e-6)


def test_balance_moves_size_and_nothing_else():
    made = case(data(), (0.7, 0.5, 1.3, 0.4, 0.2))
    now = made.start
    after = made.problem._balance(now)
    np.testing.assert_allclose(after.U @ after.V.T, now.U @ now.V.T, atol=1e-9)
    np.testing.assert_allclose(after.fit.coef @ after.V.T, now.fit.coef @ now.V.T, atol=1e-9)
    again = made.problem.regression.fit(after.U)
    for name in ("coef", "residual", "gram"):
        np.testing.assert_allclose(getattr(after.fit, name), getattr(again, name), atol=1e-8)
    assert made.problem.objective(after) < made.problem.objective(now)


def test_balance_is_the_best_transform(rng):
    roots = rng.normal(size=(2, 3, 5))
    Q, P = roots @ roots.transpose(0, 2, 1)
    P *= 20
    gram = np.diag([1.0, 2.0, 3.0])
    G = balancing_transform(Q, P, gram)

    def size(G):
        inverse = np.linalg.inv(G)
        return np.trace(inverse @ Q @ inverse.T) + np.trace(G.T @ P @ G)

    least = 2 * np.sqrt(np.linalg.eigvals(P @ Q).real).sum()
    assert size(G) == pytest.approx(least, rel=1e-3)
    for _ in range(50):
        assert size(G + 0.05 * rng.normal(size=(3, 3))) >= least
    turned = G.T @ gram @ G
    np.testing.assert_allclose(turned, np.diag(turned.diagonal()), atol=1e-9)


def test_without_a_ridge_nothing_is_balanced():
    made = case(data(), (0.7, 0.5, 1.3, 0.4, 0.0))
    assert made.problem._balance(made.start) is made.start


def test_completed_rows_solve_their_system():
    drawn = data()
    made = case(drawn, n_cg=300)
    now = made.problem.step(made.start)
    fitted = now.U - now.fit.residual
    weights = (made.prepared.weights, made.problem.penalties.lambda_1)
    found = impute_rows(made.targets, now.V, fitted, 1.3, weights)
    expected = made.problem._solve_rows(now)
    np.testing.assert_allclose(found, expected, atol=1e-6)
