"""The objective is the written-out one, every step lowers it, and its end is stationary."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.decomposition import NMF

from labelgap.fitting import Monitor
from labelgap.models.imvwl._imvwl_objective import objective
from labelgap.models.imvwl._imvwl_steps import (
    RowSystem,
    balance_factors,
    balance_labels,
    descend,
    descend_labels,
    reduce_basis,
    step_labels,
    step_views,
)
from models.imvwl.problems import dense_objective, make_data, make_problem, start

STEPS = [
    lambda problem, p: step_labels(problem, p, 3),
    lambda problem, p: p._replace(V=RowSystem(problem).sweep(p, 1)),
    lambda problem, p: p._replace(U=step_views(problem, p.V, p.U, 1)[0]),
    lambda problem, p: balance_factors(problem, p)[0],
    lambda problem, p: balance_labels(problem, p),
]
GAPS = ["views", "values", "labels", "unlabelled"]


@pytest.mark.parametrize("gaps", list(product([True, False], repeat=4)))
@pytest.mark.parametrize("form", [np.array, "sparse"])
def test_equals_the_dense_formula(gaps, form):
    data = make_data(**dict(zip(GAPS, gaps, strict=True)))
    for scaling, correlation in (("balance", True), ("range", False), (None, True)):
        problem, learned = make_problem(data, scaling, with_offset=True, form=form)
        params = start(problem, correlation=correlation)
        params = descend(problem, params, Monitor(2, 0.0), n_sweeps=1, n_steps=2)
        expected = dense_objective(data, learned, problem, params)
        assert objective(problem, params).total == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "gaps",
    [
        {},
        {"labels": False},
        {"labels": False, "unlabelled": False},
        {"views": False, "values": False},
    ],
)
@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"ridge": 0.0},
        {"beta": 0.0},
        {"alpha": 0.0},
        {"alpha": 30.0, "beta": 3.0},
        {"alpha": 0.0, "ridge": 0.0},
    ],
)
def test_no_step_increases_it(gaps, weights):
    """Step by step, so that a gain of one does not hide a loss of another."""
    data = make_data(1, **gaps)
    for correlation, with_offset in product([True, False], repeat=2):
        problem, learned = make_problem(data, with_offset=with_offset, **weights)
        params = start(problem, correlation=correlation)
        before = dense_objective(data, learned, problem, params)
        for _ in range(25):
            for step in STEPS:
                params = step(problem, params)
                after = dense_objective(data, learned, problem, params)
                assert after <= before * (1 + 1e-11)
                before = after
        if correlation and problem.alpha:
            assert min(params.S.min(), params.W.min()) < 0, (
                "the case that breaks multiplicative updates"
            )


def test_the_recorded_objective_never_increases_and_is_the_one_of_the_result():
    data = make_data(2)
    problem, learned = make_problem(data)
    monitor = Monitor(60, 0.0)
    params = descend(problem, start(problem), monitor, n_sweeps=2, n_steps=5)
    values = np.array(monitor.trace.objective)
    assert (np.diff(values) <= 1e-11 * values[:-1]).all()
    assert values[-1] == pytest.approx(dense_objective(data, learned, problem, params), rel=1e-10)


def test_labels_alone_descend_too():
    data = make_data(3)
    problem, _ = make_problem(data)
    params = descend(
        replace(problem, target=None),
        start(replace(problem, target=None)),
        Monitor(20, 0.0),
        n_sweeps=2,
        n_steps=2,
    )
    assert not params.W.any()
    monitor = Monitor(200, 0.0)
    fitted = descend_labels(problem, params, monitor, n_steps=5)
    assert (np.diff(monitor.trace.objective) <= 1e-11 * monitor.trace.objective[0]).all()
    views = objective(replace(problem, views=[]), params).total
    assert monitor.trace.objective[-1] < 0.9 * views
    np.testing.assert_array_equal(fitted.V, params.V)


@pytest.mark.parametrize("correlation", [True, False])
def test_the_end_is_stationary(correlation):
    """Finite differences of the dense formula: no slope inside, none downwards at the bounds."""
    data = make_data(4, n_samples=12, unlabelled=False)
    problem, learned = make_problem(data, with_offset=True, ridge=0.2, beta=0.01)
    params = start(problem, k=2, correlation=correlation)
    params = descend(problem, params, Monitor(400, 0.0), n_sweeps=3, n_steps=10)

    def slope(name, place):
        values = []
        for sign in (1, -1):
            moved = getattr(params, name).copy()
            moved[place] += sign * 1e-5
            changed = params._replace(**{name: moved})
            values.append(dense_objective(data, learned, problem, changed))
        return (values[0] - values[1]) / 2e-5

    for name in ("V", "U", "W", "offset"):
        part = getattr(params, name)
        for place in np.ndindex(part.shape):
            if name in ("V", "U") and part[place] == 0:
                assert slope(name, place) >= -1e-4, (name, place)
            else:
                assert abs(slope(name, place)) < 1e-4, (name, place)
    if correlation:
        assert np.linalg.matrix_rank(params.T, tol=1e-6) == 2
        for place in np.ndindex(params.T.shape):
            assert abs(slope("T", place)) < 1e-4


def test_complete_views_without_labels_are_nmf():
    """scikit-learn's objective is half of ours; the same steps from the same start."""
    data = make_data(5, views=False, values=False)
    problem, _ = make_problem(data, None, alpha=0.0, beta=0.0, ridge=0.0)
    params = start(problem)
    rng = np.random.default_rng(0)
    V, U = rng.random(params.V.shape), rng.random(params.U.shape)
    for n in (1, 2, 5, 40):
        monitor = Monitor(n, 0.0)
        descend(problem, params._replace(V=V, U=U), monitor, n_sweeps=1, n_steps=1)
        theirs = NMF(3, init="custom", solver="cd", max_iter=n, tol=0, random_state=0)
        W = theirs.fit_transform(data.X, W=V.copy(), H=U.T.copy())
        half = 0.5 * np.square(data.X - W @ theirs.components_).sum()
        assert 0.5 * monitor.trace.objective[-1] == pytest.approx(half, rel=1e-8)


def test_the_balanced_factors_are_the_cheapest():
    """Of 500 other pairs with the same product none costs less; S is symmetric."""
    data = make_data(6)
    problem, _ = make_problem(data)
    params = balance_labels(problem, reduce_basis(step_labels(problem, start(problem), 3)))
    S, F = params.S, params.F
    np.testing.assert_allclose(S, S.T, atol=1e-12)
    assert np.linalg.eigvalsh(S).min() > -1e-12

    def cost(W, S):
        return problem.ridge * np.square(W).sum() + problem.beta * np.linalg.norm(S, "nuc")

    W = params.W @ params.basis.T
    np.testing.assert_allclose(W @ S, F, atol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(500):
        R = np.eye(6) + 0.1 * rng.normal(size=(6, 6))
        assert cost(W @ R, np.linalg.solve(R, S)) >= cost(W, S) - 1e-12


def test_without_a_ridge_the_nuclear_norm_is_vacuous():
    """(c W, S / c), and (c V, U / c, W / c), keep the loss: a scale for W alone does not help."""
    data = make_data(7)
    problem, _ = make_problem(data, ridge=0.0)
    params = step_labels(problem, start(problem), 5)
    loss = objective(problem, params)
    for scaled in (
        params._replace(W=10 * params.W, T=params.T / 10),
        params._replace(V=10 * params.V, U=params.U / 10, T=params.T / 10),
    ):
        other = objective(problem, scaled)
        np.testing.assert_allclose(other.views, loss.views)
        assert other.labels == pytest.approx(loss.labels)
        assert other.total < loss.total
