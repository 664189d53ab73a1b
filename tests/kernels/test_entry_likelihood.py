from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from labelgap import State
from labelgap.kernels import entry_likelihood
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.entry_likelihood import label_terms
from labelgap.propensity import unlabeled_posterior
from reference import exposure as slow

log_odds = st.floats(-30, 30)
rates = st.floats(0.01, 0.99)
codes = st.sampled_from([1, 2, 3, 4])


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param)


def entries(n=9, n_labels=5, seed=0, dtype=np.float64, scale=3.0):
    """Log odds, states of all four kinds, and looks."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(0, scale, size=(n, n_labels)).astype(dtype)
    psi.flat[:2] = [0.0, 1e-7]
    states = rng.permutation(np.resize([1, 2, 3, 4], n * n_labels)).astype(np.int8)
    return psi, states.reshape(n, n_labels), rng.uniform(0.1, 0.9, n_labels).astype(dtype)


def assert_terms(found, expected, rtol=1e-12):
    for part, wanted in zip(found, expected, strict=True):
        part = part if isinstance(part, float) else to_numpy(part)
        np.testing.assert_allclose(part, wanted, rtol=rtol, atol=rtol)


def test_codes_are_those_of_the_labels():
    for name in ("RELEVANT", "NEGATIVE", "UNKNOWN", "UNLABELED"):
        assert getattr(entry_likelihood, name) == State[name]


@pytest.mark.parametrize("with_theta", [True, False])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_terms_agree_with_the_slow_twin(with_theta, dtype, rtol):
    psi, states, theta = entries(dtype=dtype)
    theta = theta if with_theta else None
    found = label_terms(psi, states, theta)
    assert_terms(found, slow.label_terms(psi, states, theta), rtol)
    assert found.kappa.dtype == found.omega.dtype == found.examined.dtype == dtype


@pytest.mark.parametrize("with_theta", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_libraries_give_numpys_numbers(library, with_theta, dtype):
    psi, states, theta = entries(dtype=dtype)
    there = library.asarray(theta) if with_theta else None
    found = label_terms(library.asarray(psi), library.asarray(states), there)
    assert type(found.kappa) is type(library.asarray(psi))
    expected = label_terms(psi, states, theta if with_theta else None)
    assert_terms(found, expected, 1e-12 if dtype == np.float64 else 2e-5)


@pytest.mark.parametrize("state", [1, 2, 3, 4])
@pytest.mark.parametrize("with_theta", [True, False])
def test_one_state_at_a_time(state, with_theta):
    psi, _, theta = entries()
    states = np.full(psi.shape, state, dtype=np.int8)
    theta = theta if with_theta else None
    assert_terms(label_terms(psi, states, theta), slow.label_terms(psi, states, theta))


@pytest.mark.parametrize("with_theta", [True, False])
def test_extreme_log_odds(with_theta):
    psi = np.array([[-1e3], [-700.0], [-40.0], [40.0], [700.0], [1e3]]).repeat(4, axis=1)
    states = np.tile(np.array([1, 2, 3, 4], dtype=np.int8), (6, 1))
    theta = np.full(4, 0.3) if with_theta else None
    with np.errstate(all="raise"):
        found = label_terms(psi, states, theta)
    assert all(np.isfinite(part).all() for part in found)
    # log sigmoid(-1000) at a relevant entry, log sigmoid(-1000) at an irrelevant one
    alone = label_terms(psi[[0]], states[[0]], None).log_likelihood
    assert alone == pytest.approx(-1000)
    if theta is not None:
        np.testing.assert_allclose(found.kappa[[0, -1], 3], [-0.15, 0], atol=1e-300)
    assert (found.omega >= 0).all()
    assert (np.abs(found.kappa) <= 0.5).all()


def test_an_unknown_entry_is_never_read():
    psi, states, theta = entries()
    poisoned = np.where(states == State.UNKNOWN, np.nan, psi)
    assert_terms(label_terms(poisoned, states, theta), label_terms(psi, states, theta), 0)


def test_no_rows():
    found = label_terms(np.empty((0, 3)), np.empty((0, 3), dtype=np.int8), np.full(3, 0.5))
    assert found.kappa.shape == found.omega.shape == (0, 3)
    assert found.log_likelihood == 0
    np.testing.assert_array_equal(found.examined, 0)


def test_without_doubt_an_unlabeled_zero_is_a_zero():
    """theta close to 1 is a model without exposure."""
    psi, states, theta = entries()
    sure = label_terms(psi, states, np.full_like(theta, 1 - 1e-13))
    assert_terms(sure[:3], label_terms(psi, states)[:3], 1e-8)


@given(log_odds, rates)
def test_a_look_is_possible_and_never_certain(psi, theta):
    found = label_terms(np.array([[psi]]), np.array([[4]], dtype=np.int8), np.array([theta]))
    gamma = -2 * found.kappa[0, 0]
    assert 0 < gamma < 1
    assert gamma <= theta * (1 + 1e-12)  # a zero is no evidence that somebody looked
    assert found.examined[0] == gamma


@given(codes, log_odds, log_odds, st.one_of(st.none(), rates))
def test_the_bound_touches_and_lies_below(state, at, elsewhere, theta):
    """kappa psi - omega psi^2 / 2 + const, made at one point, minorises the log-likelihood."""
    states = np.array([[state]], dtype=np.int8)
    rate = None if theta is None else np.array([theta])
    terms = label_terms(np.array([[at]]), states, rate)
    kappa, omega = terms.kappa[0, 0], terms.omega[0, 0]

    def bound(x):
        return terms.log_likelihood + kappa * (x - at) - 0.5 * omega * (x**2 - at**2)

    there = slow.log_probability(elsewhere, state, theta)
    assert bound(elsewhere) <= there + 1e-9 * max(1, abs(there))
    assert bound(at) == pytest.approx(slow.log_probability(at, state, theta), rel=1e-9, abs=1e-12)
    step = 1e-5
    up, down = (slow.log_probability(at + sign * step, state, theta) for sign in (1, -1))
    assert kappa - omega * at == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_expected_looks_are_those_of_simulated_records(rng):
    """Of the recorded zeros of one label, how many were looked at."""
    n, psi, theta = 200_000, 0.4, 0.6
    relevant, looked = rng.random(n) < expit(psi), rng.random(n) < theta
    zeros = ~(relevant & looked)
    states = np.where(zeros, 4, 1).astype(np.int8)[:, None]
    found = label_terms(np.full((n, 1), psi), states, np.array([theta]))
    actual = (looked & zeros).sum()
    assert found.examined[0] == pytest.approx(actual, abs=5 * np.sqrt(actual))
    forgotten = unlabeled_posterior(np.array([psi]), np.array([theta]))[0]
    assert forgotten * zeros.sum() == pytest.approx((relevant & zeros).sum(), rel=0.02)


@given(log_odds, rates)
def test_forgotten_is_what_bayes_says(psi, theta):
    found = unlabeled_posterior(np.array([psi]), np.array([theta]))[0]
    relevant = expit(psi)
    joint = relevant * (1 - theta)
    assert found == pytest.approx(joint / (joint + expit(-psi)), rel=1e-9)
    assert 0 <= found <= relevant * (1 + 1e-12)


def test_forgotten_at_extremes():
    psi = np.array([-1e3, 1e3])
    np.testing.assert_allclose(unlabeled_posterior(psi, np.array([0.3, 0.3])), [0, 1])


@pytest.mark.parametrize("shape", [(9, 5), (9, 1), (1, 5), (1, 1)])
def test_rates_of_rows_and_entries(shape):
    psi, states, _ = entries()
    theta = np.random.default_rng(1).uniform(0.1, 0.9, shape)
    found = label_terms(psi, states, theta)
    everywhere = np.broadcast_to(theta, psi.shape)
    total = 0.0
    for i in range(len(psi)):
        kappa, omega, likelihood, _ = slow.label_terms(psi[[i]], states[[i]], everywhere[i])
        np.testing.assert_allclose(found.kappa[i], kappa[0], rtol=1e-12)
        np.testing.assert_allclose(found.omega[i], omega[0], rtol=1e-12)
        total += likelihood
    assert found.log_likelihood == pytest.approx(total, rel=1e-12)


def test_rates_of_entries_in_other_libraries(library):
    psi, states, _ = entries()
    theta = np.random.default_rng(1).uniform(0.1, 0.9, psi.shape)
    found = label_terms(*(library.asarray(part) for part in (psi, states, theta)))
    assert_terms(found, label_terms(psi, states, theta), 1e-12)


def test_log_likelihood_of_every_row():
    psi, states, theta = entries(scale=40.0)
    _, _, rows = entry_likelihood.row_terms(psi, states, theta)
    for i, value in enumerate(rows):
        expected = slow.label_terms(psi[[i]], states[[i]], theta)[2]
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
