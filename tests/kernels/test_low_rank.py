from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from labelgap.kernels.low_rank import low_rank_path, nuclear_norm, shrink_singular_values


def problem(seed=0, n=40, d=6, c=5, fraction=0.6):
    rng = np.random.default_rng(seed)
    A, Y = rng.normal(size=(n, d)), rng.normal(size=(n, c))
    mask = rng.random((n, c)) < fraction

    def product(Z):
        return A.T @ (mask * (A @ Z))

    def value(Z, weight):
        return 0.5 * np.square(mask * (A @ Z - Y)).sum() + weight * nuclear_norm(Z)

    return product, A.T @ (mask * Y), value, 0.5 * np.square(mask * Y).sum()


def run(product, linear, weight, n_steps, **options):
    return list(islice(low_rank_path(product, linear, weight, 0 * linear, **options), n_steps))


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (1, 3), (0, 3)])
def test_shrinking_lowers_every_singular_value(shape):
    Z = np.random.default_rng(0).normal(size=shape)
    shrunk, norm = shrink_singular_values(Z, 0.7)
    before = np.linalg.svd(Z, compute_uv=False) if Z.size else np.zeros(0)
    after = np.linalg.svd(shrunk, compute_uv=False) if Z.size else np.zeros(0)
    np.testing.assert_allclose(after, np.maximum(before - 0.7, 0), atol=1e-12)
    assert norm == pytest.approx(after.sum())
    assert shrunk.shape == shape


def test_shrinking_minimises_its_objective():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(4, 3))
    best, norm = shrink_singular_values(Z, 0.5)
    value = 0.5 * norm + 0.5 * np.square(best - Z).sum()
    for _ in range(200):
        other = best + 0.1 * rng.normal(size=best.shape)
        assert 0.5 * nuclear_norm(other) + 0.5 * np.square(other - Z).sum() > value


@pytest.mark.parametrize("restart", [True, False])
def test_the_limit_satisfies_the_conditions_of_optimality(restart):
    """The gradient is minus the weight times a subgradient of the nuclear norm."""
    product, linear, _, _ = problem()
    weight = 5.0
    last = run(product, linear, weight, 3000, restart=restart)[-1]
    gradient = product(last.Z) - linear
    left, values, right = np.linalg.svd(last.Z, full_matrices=False)
    rank = int((values > 1e-8).sum())
    assert 0 < rank < 5
    np.testing.assert_allclose(
        left[:, :rank].T @ gradient @ right[:rank].T, -weight * np.eye(rank), atol=1e-6
    )
    assert np.linalg.norm(gradient, 2) <= weight + 1e-6


def test_values_are_those_of_the_objective_and_never_increase():
    product, linear, value, constant = problem(3)
    points = run(product, linear, 2.0, 60)
    for point in points:
        assert point.value + constant == pytest.approx(value(point.Z, 2.0), rel=1e-10)
        np.testing.assert_allclose(point.image, product(point.Z), atol=1e-9)
    assert (np.diff([point.value for point in points]) <= 0).all()


def test_the_plain_method_may_go_up_and_the_restarted_one_wins():
    """Otherwise ``restart`` would be no option."""
    product, linear, _, _ = problem(4, n=12, d=8, fraction=0.5)
    plain, restarted = (run(product, linear, 0.01, 400, restart=r) for r in (False, True))
    assert (np.diff([point.value for point in plain]) > 1e-12).any()
    assert restarted[-1].value <= plain[-1].value + 1e-9


def test_curvature_is_found_and_a_large_enough_one_is_kept():
    product, linear, _, _ = problem(5)
    basis = np.eye(linear.size).reshape(-1, *linear.shape)
    matrix = np.array([product(one).ravel() for one in basis])
    largest = np.linalg.eigvalsh(matrix)[-1]
    assert run(product, linear, 1.0, 30, curvature=largest)[-1].curvature == largest
    assert run(product, linear, 1.0, 30)[-1].curvature <= 2 * largest


def test_close_to_convergence_steps_stay_long():
    """The test on differences of objectives would double the curvature again and again."""
    product, linear, _, _ = problem(6)
    points = run(product, linear, 3.0, 2000, restart=False)
    assert points[-1].curvature == points[100].curvature


def test_without_weight_it_is_least_squares():
    product, linear, _, _ = problem(7)
    basis = np.eye(linear.size).reshape(-1, *linear.shape)
    matrix = np.array([product(one).ravel() for one in basis]).T
    expected = np.linalg.solve(matrix, linear.ravel()).reshape(linear.shape)
    np.testing.assert_allclose(run(product, linear, 0.0, 3000)[-1].Z, expected, atol=1e-7)


def test_a_matrix_on_which_divide_and_conquer_gives_up(monkeypatch):
    Z = np.random.default_rng(8).normal(size=(5, 7))
    expected, norm = shrink_singular_values(Z, 0.5)
    whole = nuclear_norm(Z)

    def give_up(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", give_up)
    found, found_norm = shrink_singular_values(Z, 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found_norm == pytest.approx(norm)
    assert nuclear_norm(Z) == pytest.approx(whole)
