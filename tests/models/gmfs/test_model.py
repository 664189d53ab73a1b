"""EM against its slow twin and against the objective written from the formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from labelgap.fitting import Monitor, run_em, run_online
from labelgap.models.gmfs._gmfs_priors import Laplace, PlainPropensities, PropensityModel, SpikeSlab
from models.gmfs.problems import (
    SETTINGS,
    SPIKE_SLAB,
    fit,
    model_of,
    row_factors,
    rows_of,
    tiny_problem,
)
from reference import gmfs as slow

UNEQUAL = (1, 6, 4)
ALL = {**SETTINGS, **SPIKE_SLAB}
THETAS = {
    "none": None,
    "scalar": lambda rng, n, L: [[0.6]],
    "per label": lambda rng, n, L: rng.uniform(0.3, 0.9, (1, L)),
    "per row": lambda rng, n, L: rng.uniform(0.3, 0.9, (n, 1)),
    "per entry": lambda rng, n, L: rng.uniform(0.3, 0.9, (n, L)),
}


def slow_state(tiny, V, params) -> slow.State:
    theta = None
    if params.propensities is not None:
        theta = np.broadcast_to(params.propensities.values, tiny.labels.shape)
    return slow.State(V, params.factors, params.bias, params.weights, theta)


@pytest.mark.parametrize("theta", THETAS)
def test_iterations_are_those_of_the_slow_twin(theta):
    tiny = tiny_problem(1, theta=THETAS[theta])
    model, states = model_of(tiny), tiny.labels.states()
    V = np.column_stack([tiny.X, np.ones(len(tiny.X))]) @ tiny.params.weights
    state = slow_state(tiny, V, tiny.params)
    objectives = []
    for _ in range(3):
        objectives.append(slow.objective(tiny.X, states, state, **ALL))
        state = slow.iterate(tiny.X, states, state, **ALL)
    params, rows, trace = fit(tiny, model, 3, UNEQUAL)
    np.testing.assert_allclose(row_factors(rows), state.V, rtol=1e-9)
    np.testing.assert_allclose(params.factors, state.B, rtol=1e-9)
    np.testing.assert_allclose(params.bias, state.a, rtol=1e-9)
    np.testing.assert_allclose(params.weights, state.W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(trace.objective, objectives, rtol=1e-11)


PRIORS = {
    "spike-slab": SpikeSlab(**SPIKE_SLAB),
    "laplace": Laplace(0.8),
    "group-laplace": Laplace(0.8, by_row=True),
}


COMBINATIONS = list(product(PRIORS, THETAS, [True, False]))


@pytest.mark.parametrize(("prior", "theta", "exact"), COMBINATIONS)
def test_the_objective_never_gets_worse_at_fixed_theta(prior, theta, exact):
    tiny = tiny_problem(2, theta=THETAS[theta])
    model = model_of(tiny, exact=exact, prior=PRIORS[prior])
    params, _, trace = fit(tiny, model, 40, UNEQUAL)
    gains = np.diff(trace.objective)
    assert gains.min() > -1e-9 * max(abs(trace.objective[-1]), 1)
    assert gains[:4].min() > 1e-6  # and it does move
    if theta != "none":
        np.testing.assert_array_equal(params.propensities.values, tiny.params.propensities.values)


@pytest.mark.parametrize("learn", ["per_label", "global"])
@pytest.mark.parametrize("weight", [0.1, 1.0])
@pytest.mark.parametrize("exact", [True, False])
def test_nor_with_a_theta_per_label_and_its_prior(learn, weight, exact):
    shape = THETAS["per label" if learn == "per_label" else "scalar"]
    tiny = tiny_problem(3, theta=shape)
    model = model_of(tiny, exact=exact, propensity_model=PropensityModel(learn, 0.6, weight))
    params, _, trace = fit(tiny, model, 60, UNEQUAL)
    assert np.diff(trace.objective).min() > -1e-9 * abs(trace.objective[-1])
    assert not np.allclose(params.propensities.values, tiny.params.propensities.values)


@pytest.mark.parametrize("theta", ["none", "per entry"])
def test_no_slope_is_left_at_convergence(theta):
    tiny = tiny_problem(4, theta=THETAS[theta])
    model, states = model_of(tiny), tiny.labels.states()
    params, rows, _ = fit(tiny, model, 4000)
    state = slow_state(tiny, row_factors(rows), params)
    for name in ("V", "B", "a", "W"):
        array = getattr(state, name)
        for place in np.ndindex(*array.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = array.copy()
                moved[place] += step
                ends.append(slow.objective(tiny.X, states, state._replace(**{name: moved}), **ALL))
            assert abs(ends[0] - ends[1]) / 2e-5 < 1e-3, (name, place)


def test_blocks_do_not_matter():
    tiny = tiny_problem(5, theta=THETAS["per entry"])
    whole = fit(tiny, model_of(tiny), 5)[0]
    blocks = fit(tiny, model_of(tiny), 5, UNEQUAL)[0]
    for a, b in zip(whole[:3], blocks[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
def test_sparse_features_are_dense_ones(exact):
    tiny = tiny_problem(6)
    model = model_of(tiny, exact=exact)
    dense, _ = run_em(model, rows_of(tiny), tiny.params, Monitor(4, 0.0))
    rows = rows_of(tiny, UNEQUAL, sparse.csr_array(tiny.X))
    thin, _ = run_em(model, rows, tiny.params, Monitor(4, 0.0))
    np.testing.assert_allclose(thin.weights, dense.weights, rtol=1e-9)


def test_many_conjugate_gradient_steps_are_the_exact_solution():
    tiny = tiny_problem(7, theta=THETAS["scalar"])
    exact = fit(tiny, model_of(tiny), 5)[0]
    steps = fit(tiny, model_of(tiny, exact=False, n_cg=30), 5)[0]
    np.testing.assert_allclose(steps.weights, exact.weights, rtol=1e-7, atol=1e-9)


def test_one_mini_batch_of_everything_is_batch_em():
    tiny = tiny_problem(8, theta=THETAS["per label"])
    model = model_of(tiny, propensity_model=PropensityModel("per_label", 0.6, 1.0))
    rows = rows_of(tiny)
    params, _, _ = run_online(model, [rows] * 4, tiny.params, None, step_size=lambda t: 1.0)
    batch = fit(tiny, model, 4)[0]
    for a, b in zip(params[:3], batch[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    np.testing.assert_allclose(params.propensities.values, batch.propensities.values)


def test_a_label_theta_is_the_mode_of_its_posterior():
    """theta_j maximises the expected complete log-likelihood plus the prior, by a fine grid."""
    tiny = tiny_problem(9, theta=THETAS["per label"])
    propensity_model = PropensityModel("per_label", 0.6, 0.5)
    model = model_of(tiny, propensity_model=propensity_model)
    stats = rows_of(tiny).update(model.step, tiny.params).examined
    found = propensity_model.mode(stats)[0]
    grid = np.linspace(1e-3, 1 - 1e-3, 99_901)
    for j, theta in enumerate(found):
        n = stats.relevant[j] + stats.unlabeled[j]
        looked = stats.examined[j] + stats.relevant[j]
        value = looked * np.log(grid) + (n - looked) * np.log1p(-grid)
        value += 0.5 * n * (0.6 * np.log(grid) + 0.4 * np.log1p(-grid))
        assert theta == pytest.approx(grid[value.argmax()], abs=2e-5)


def test_rates_of_one_for_all_labels_are_shared():
    tiny = tiny_problem(10, theta=THETAS["scalar"])
    params = fit(tiny, model_of(tiny, propensity_model=PropensityModel("global", 0.6, 0.3)), 5)[0]
    assert isinstance(params.propensities, PlainPropensities)
    assert params.propensities.values.shape == (1, 1)
