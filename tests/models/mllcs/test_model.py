"""EM against the log posterior written from the formulas, on tiny problems."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from labelgap.cooccurrence import Cooccurrence, as_cooccurrence
from labelgap.fitting import run_online
from labelgap.kernels.array_namespace import to_numpy
from labelgap.models.mllcs._mllcs_counts import (
    best_dispersion,
    count_log_likelihood,
    count_terms,
    prepare_counts,
)
from labelgap.models.mllcs._mllcs_updates import label_variance, packed_labels
from models.mllcs.brute_force import (
    fit,
    gradient,
    log_posterior,
    model_of,
    row_factors,
    rows_of,
    tiny_problem,
)

UNEQUAL = (1, 6, 4)

# joint, learn_r, label_frequency, exact; counts or none below
COMBINATIONS = list(
    product([False, True], [False, True], [None, "fixed", "estimate"], [True, False])
)


def settings_of(joint, learn_r, label_frequency, exact):
    return {
        "joint": joint,
        "learn_r": learn_r,
        "learn_label_frequency": label_frequency == "estimate",
        "exact": exact,
    }


@pytest.mark.parametrize(("joint", "learn_r", "label_frequency", "exact"), COMBINATIONS)
@pytest.mark.parametrize("with_counts", [True, False])
def test_the_objective_never_gets_worse(with_counts, joint, learn_r, label_frequency, exact):
    tiny = tiny_problem(1, with_counts=with_counts, label_frequency=label_frequency)
    model = model_of(tiny, **settings_of(joint, learn_r, label_frequency, exact), n_cg=2)
    params, _, trace = fit(tiny, model, 40, UNEQUAL)
    gains = np.diff(trace.objective)
    assert gains.min() > -1e-9 * max(abs(trace.objective[-1]), 1)
    assert gains[:5].min() > 1e-6  # and it does move
    if learn_r and with_counts:
        assert params.r != tiny.params.r
    if label_frequency == "fixed":
        np.testing.assert_array_equal(params.label_frequency, tiny.params.label_frequency)


@pytest.mark.parametrize(("joint", "learn_r", "label_frequency", "exact"), COMBINATIONS)
@pytest.mark.parametrize("with_counts", [True, False])
def test_the_objective_is_the_log_posterior(with_counts, joint, learn_r, label_frequency, exact):
    tiny = tiny_problem(2, with_counts=with_counts, label_frequency=label_frequency)
    model = model_of(tiny, **settings_of(joint, learn_r, label_frequency, exact))
    params, rows, _ = fit(tiny, model, 3, UNEQUAL)
    recorded = model.objective(rows.update(model.step, params), params)
    expected = log_posterior(tiny, model, row_factors(rows), params)
    assert recorded == pytest.approx(expected, rel=1e-11)


def test_the_trace_holds_the_objective_of_the_parameters_that_entered():
    tiny = tiny_problem(3)
    model = model_of(tiny)
    _, rows, trace = fit(tiny, model, 1)
    assert trace.objective == [
        pytest.approx(log_posterior(tiny, model, row_factors(rows), tiny.params))
    ]


@pytest.mark.parametrize(
    ("joint", "learn_r", "label_frequency", "with_counts", "exact"),
    [
        (False, False, None, True, True),
        (False, False, None, True, False),
        (True, True, "estimate", True, True),
        (False, False, "fixed", False, False),
    ],
)
def test_no_slope_is_left_at_convergence(joint, learn_r, label_frequency, with_counts, exact):
    tiny = tiny_problem(4, with_counts=with_counts, label_frequency=label_frequency)
    settings = settings_of(joint, learn_r, label_frequency, exact)
    model = model_of(tiny, **settings)
    params, rows, _ = fit(tiny, model, 3000)
    slopes = gradient(tiny, model, row_factors(rows), params)
    expected = {"U", "factors", "bias", "weights"}
    expected |= {"count_bias", "beta", "column_bias"} if with_counts else set()
    expected |= {"psi_map"} if joint else set()
    expected |= {"log r"} if learn_r else set()
    expected |= {"label_frequency"} if label_frequency == "estimate" else set()
    assert slopes.keys() == expected
    for name, slope in slopes.items():
        assert np.abs(slope).max() < 1e-3, name
    # the point it started from has one
    start = rows_of(tiny)
    start.update(model.step, tiny.params)
    slopes = gradient(tiny, model, row_factors(start), tiny.params)
    assert all(np.abs(slope).max() > 1e-2 for slope in slopes.values())


# -- kappa ---------------------------------------------------------------------------------------


def printed_terms(counts, psi, r):
    return count_terms(counts, psi, r)._replace(kappa=0.5 * counts.weights * (counts.values + r))


def test_the_printed_kappa_loses_likelihood_and_ends_nowhere(monkeypatch):
    """(m + r)/2 in place of (m - r)/2: why we deviate from the paper."""
    tiny = tiny_problem(5)
    model = model_of(tiny)
    params, rows, trace = fit(tiny, model, 2000)
    monkeypatch.setattr("labelgap.models.mllcs._mllcs_em.count_terms", printed_terms)
    wrong_params, wrong_rows, wrong_trace = fit(tiny, model, 2000)
    assert trace.largest_drop() < 1e-10
    assert wrong_trace.largest_drop() > 1e-2
    assert wrong_trace.objective[-1] < trace.objective[-1] - 10
    # converged, but at a point where the log posterior still has a slope
    assert abs(wrong_trace.objective[-1] - wrong_trace.objective[-2]) < 1e-6
    right = gradient(tiny, model, row_factors(rows), params)
    wrong = gradient(tiny, model, row_factors(wrong_rows), wrong_params)
    assert np.abs(right["column_bias"]).max() < 1e-4
    assert np.abs(wrong["column_bias"]).max() > 1


# -- the steps: exact maximisers of the bound ----------------------------------------------------


def unit_mean(psi):
    return np.tanh(psi / 2) / (2 * psi)


def entry_terms(tiny, U, params):
    """kappa and omega of the entries of a model without label_frequency."""
    states = tiny.labels.states()
    psi = U @ params.factors.T + params.bias
    known = states != 3
    return np.where(known, (states == 1) - 0.5, 0), np.where(known, unit_mean(psi), 0)


def count_weights(tiny, params):
    c = tiny.counts
    psi = params.factors @ params.beta.T + params.count_bias[:, None] + params.column_bias
    psi = psi + c.offset
    m, r = c.values, params.r
    return c.weights * (m - r) / 2, c.weights * (m + r) * unit_mean(psi)


def ridge_solution(features, kappa, omega, offset, precision, mean):
    """Maximiser of sum kappa psi - omega psi^2/2 - (z - mean)' P (z - mean)/2, psi = f.z + o."""
    A, right = precision.copy(), precision @ mean
    for f, k, w, o in zip(features, kappa, omega, offset, strict=True):
        A += w * np.outer(f, f)
        right += (k - w * o) * f
    return np.linalg.solve(A, right)


@pytest.fixture(params=[False, True], ids=["map at the end", "joint"])
def after_e_step(request):
    tiny = tiny_problem(6)
    model = model_of(tiny, joint=request.param)
    rows = rows_of(tiny, UNEQUAL)
    stats = rows.update(model.step, tiny.params)
    return tiny, model, rows, stats


def test_row_step_is_the_maximiser(after_e_step):
    tiny, model, rows, _ = after_e_step
    before, p = row_factors(rows), tiny.params
    rows.update(model.step, p)
    kappa, omega = entry_terms(tiny, before, p)
    for n, u in enumerate(row_factors(rows)):
        mean = tiny.X[n] @ p.weights[:-1] + p.weights[-1]
        precision = model.lambda_u * np.eye(len(mean))
        expected = ridge_solution(p.factors, kappa[n], omega[n], p.bias, precision, mean)
        np.testing.assert_allclose(u, expected, atol=1e-12)


def test_the_first_row_step_starts_from_the_prior_mean():
    tiny = tiny_problem(6)
    model = model_of(tiny)
    p, fresh, told = tiny.params, rows_of(tiny), rows_of(tiny)
    mean = tiny.X @ p.weights[:-1] + p.weights[-1]
    fresh.update(model.step, p)
    kappa, omega = entry_terms(tiny, mean, p)
    precision = model.lambda_u * np.eye(mean.shape[1])
    expected = [
        ridge_solution(p.factors, kappa[n], omega[n], p.bias, precision, mean[n])
        for n in range(len(mean))
    ]
    np.testing.assert_allclose(row_factors(fresh), expected, atol=1e-12)
    assert next(told.local_states()) is None


def test_label_step_is_the_maximiser(after_e_step):
    tiny, model, rows, stats = after_e_step
    U, p, k = row_factors(rows), tiny.params, tiny.params.factors.shape[1]
    found = model.labels_step(stats, p)
    kappa, omega = entry_terms(tiny, U, p)
    count_kappa, count_omega = count_weights(tiny, p)
    for s in range(len(p.factors)):
        from_rows = np.column_stack([U, np.ones(len(U)), np.zeros(len(U))])
        n_labels = len(p.beta)
        from_counts = np.column_stack([p.beta, np.zeros(n_labels), np.ones(n_labels)])
        mean = np.zeros(k + 2)
        if model.joint:
            mean[:k] = np.append(p.beta[tiny.counts.seen[s]], 1) @ p.psi_map
        expected = ridge_solution(
            np.vstack([from_rows, from_counts]),
            np.append(kappa[:, s], count_kappa[s]),
            np.append(omega[:, s], count_omega[s]),
            np.append(np.zeros(len(U)), p.column_bias + tiny.counts.offset),
            np.diag([model.lambda_v] * k + [1e-2, 1e-2]),
            mean,
        )
        np.testing.assert_allclose(found.factors[s], expected[:k], atol=1e-11)
        assert found.bias[s] == pytest.approx(expected[k])
        assert found.count_bias[s] == pytest.approx(expected[k + 1])


def test_uncertainty_is_the_inverse_of_the_curvature(after_e_step):
    """Of (v, b): both likelihoods and the prior, without the count bias a."""
    tiny, model, rows, stats = after_e_step
    U, p, k = with_one(row_factors(rows)), tiny.params, tiny.params.factors.shape[1]
    packed = model.label_systems(stats, p).packed
    packed = packed_labels(packed, model.label_ridge(k))
    at = np.random.default_rng(0).normal(size=(5, k + 1))
    found = label_variance(at, packed)
    _, omega = entry_terms(tiny, U[:, :-1], p)
    _, count_omega = count_weights(tiny, p)
    beta = np.column_stack([p.beta, np.zeros(len(p.beta))])
    for s in range(len(p.factors)):
        A = (U.T * omega[:, s]) @ U + (beta.T * count_omega[s]) @ beta
        A += np.diag([model.lambda_v] * k + [1e-2])
        expected = np.einsum("ni,ij,nj->n", at, np.linalg.inv(A), at)
        np.testing.assert_allclose(found[:, s], expected, rtol=1e-9)


def test_count_step_is_the_maximiser(after_e_step):
    tiny, model, _, _ = after_e_step
    p, k = tiny.params, tiny.params.factors.shape[1]
    found = model.counts_step(p)
    kappa, omega = count_weights(tiny, p)
    row_of = {int(t): s for s, t in enumerate(tiny.counts.seen)}
    for t in range(len(p.beta)):
        features, ks, ws = with_one(p.factors), kappa[:, t], omega[:, t]
        offset = p.count_bias + tiny.counts.offset
        if model.joint and t in row_of:
            # v_s = Psi' (beta_t, 1) + noise: an observation of each factor
            slope, intercept = p.psi_map[:k], p.psi_map[k]
            features = np.vstack([features, np.column_stack([slope.T, np.zeros(k)])])
            target = p.factors[row_of[t]] - intercept
            ks = np.append(ks, model.lambda_v * target)
            ws = np.append(ws, np.full(k, model.lambda_v))
            offset = np.append(offset, np.zeros(k))
        precision = np.diag([model.lambda_beta] * k + [1e-2])
        expected = ridge_solution(features, ks, ws, offset, precision, np.zeros(k + 1))
        np.testing.assert_allclose(found.beta[t], expected[:k], atol=1e-11)
        assert found.column_bias[t] == pytest.approx(expected[k])


def test_weight_step_is_the_maximiser(after_e_step):
    tiny, model, rows, stats = after_e_step
    found = model.maximise(stats, tiny.params, rows).weights
    X = with_one(tiny.X)
    A = model.lambda_u * X.T @ X + np.diag(model.tau)
    expected = np.linalg.solve(A, model.lambda_u * X.T @ row_factors(rows))
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_enough_conjugate_gradient_steps_are_exact(after_e_step):
    tiny, model, rows, stats = after_e_step
    exact = model.maximise(stats, tiny.params, rows).weights
    iterative = model_of(tiny, joint=model.joint, exact=False, n_cg=3)
    found = iterative.maximise(stats, tiny.params, rows).weights
    np.testing.assert_allclose(found, exact, atol=1e-9)
    few = model_of(tiny, joint=model.joint, exact=False, n_cg=1)
    assert np.abs(few.maximise(stats, tiny.params, rows).weights - exact).max() > 1e-6


def test_map_step_is_a_ridge_regression():
    tiny = tiny_problem(7)
    model = model_of(tiny, joint=True)
    F = with_one(tiny.params.beta[tiny.counts.seen])
    A = model.lambda_v * F.T @ F + model.lambda_map * np.eye(F.shape[1])
    expected = np.linalg.solve(A, model.lambda_v * F.T @ tiny.params.factors)
    np.testing.assert_allclose(model._map_step(tiny.params), expected, atol=1e-12)


def test_look_step_counts_looks():
    tiny = tiny_problem(8, label_frequency="estimate")
    model = model_of(tiny, learn_label_frequency=True)
    rows = rows_of(tiny, UNEQUAL)
    stats = rows.update(model.step, tiny.params)
    found = model.maximise(stats, tiny.params, rows).label_frequency
    states, U, p = tiny.labels.states(), row_factors(rows), tiny.params
    for s, theta in enumerate(p.label_frequency):
        negative = 1 / (1 + np.exp(U @ p.factors[s] + p.bias[s]))
        gamma = theta * negative / (theta * negative + 1 - theta)
        ones, zeros = states[:, s] == 1, states[:, s] == 4
        looks = ones.sum() + gamma[zeros].sum()
        # the mode under a beta(2, 2) prior
        assert found[s] == pytest.approx((looks + 1) / (ones.sum() + zeros.sum() + 2))


@pytest.mark.parametrize("start", [0.05, 1.0, 40.0])
def test_dispersion_steps_climb_to_the_maximum(start):
    tiny = tiny_problem(9)
    psi = model_of(tiny).count_psi(tiny.params)
    prior = (1.0, 0.1)

    def value(r):
        return count_log_likelihood(tiny.counts, psi, r) + prior[0] * np.log(r) - prior[1] * r

    r = start
    for _ in range(3000):
        following = best_dispersion(tiny.counts, psi, r, prior)
        assert value(following) >= value(r) - 1e-9
        r = following
    grid = np.geomspace(1e-2, 1e3, 4000)
    assert value(r) >= max(value(other) for other in grid) - 1e-7


def with_one(array):
    return np.column_stack([array, np.ones(len(array))])


# -- blocks, batches, other arrays ---------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("sizes", [UNEQUAL, (11,), (1,) * 11, (5, 6)])
def test_blocks_do_not_change_the_fit(sizes, exact):
    tiny = tiny_problem(10, label_frequency="estimate")
    model = model_of(tiny, learn_label_frequency=True, learn_r=True, joint=True, exact=exact)
    whole, rows, trace = fit(tiny, model, 20)
    cut, cut_rows, cut_trace = fit(tiny, model, 20, sizes)
    for name in whole._fields:
        np.testing.assert_allclose(
            getattr(cut, name), getattr(whole, name), rtol=1e-10, atol=1e-10, err_msg=name
        )
    np.testing.assert_allclose(row_factors(cut_rows), row_factors(rows), atol=1e-10)
    np.testing.assert_allclose(cut_trace.objective, trace.objective, rtol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
def test_a_full_batch_of_weight_one_is_one_em_step(exact):
    tiny = tiny_problem(11, label_frequency="estimate")
    model = model_of(tiny, learn_label_frequency=True, learn_r=True, joint=True, exact=exact)
    expected, _, _ = fit(tiny, model, 1, UNEQUAL)
    batch = rows_of(tiny, UNEQUAL)
    arguments = {"step_size": lambda step: 1.0, "n_local": 1}
    found, _, n_steps = run_online(model, [batch], tiny.params, None, **arguments)
    assert n_steps == 1
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    # what other rows left is forgotten at weight one
    other = rows_of(tiny_problem(12, label_frequency="estimate"))
    old = other.update(model.step, tiny.params)
    found, _, _ = run_online(model, [rows_of(tiny, UNEQUAL)], tiny.params, old, **arguments)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


def test_rows_on_another_array_library():
    library = pytest.importorskip("array_api_strict")
    tiny = tiny_problem(13, label_frequency="fixed")
    model = model_of(tiny)
    here, there = rows_of(tiny), rows_of(tiny)
    there.blocks = [b._replace(states=library.asarray(b.states)) for b in there.blocks]
    for _ in range(2):
        expected, found = (rows.update(model.step, tiny.params) for rows in (here, there))
    for name in expected._fields:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    moved = next(there.local_states()).factors
    assert type(moved) is type(there.blocks[0].states)
    np.testing.assert_allclose(to_numpy(moved), row_factors(here), atol=1e-12)


# -- counts --------------------------------------------------------------------------------------


def test_a_pair_of_seen_labels_counts_once():
    table = np.array([[9.0, 2, 3, np.nan], [2, 8, 0, 5]])
    found = prepare_counts(as_cooccurrence(table), 0.5, 2.0, diagonal=True, dtype=np.float64)
    np.testing.assert_array_equal(found.values, np.nan_to_num(table))
    np.testing.assert_array_equal(found.weights[:, 2:], [[0.5, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(found.weights[[0, 1], [1, 0]], 0.25)
    weights = found.weights
    mean = (weights * np.nan_to_num(table)).sum() / weights.sum()
    assert found.offset == pytest.approx(np.log((mean + 1e-3) / 2))
    left_out = prepare_counts(as_cooccurrence(table), 0.5, 2.0, diagonal=False, dtype=np.float64)
    np.testing.assert_array_equal(left_out.weights[[0, 1], [0, 1]], 0)


def test_no_counts_at_all_can_be_prepared():
    nothing = as_cooccurrence(np.full((2, 2), np.nan))
    found = prepare_counts(nothing, 1.0, 5.0, diagonal=True, dtype=np.float64)
    assert isinstance(nothing, Cooccurrence)
    assert np.isfinite(found.offset)
    np.testing.assert_array_equal(found.weights, 0)
