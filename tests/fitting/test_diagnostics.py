from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from scipy.special import ndtri

from labelgap.fitting._chains import (
    bulk_ess,
    diagnose,
    mean_ess,
    split_r_hat,
    tail_ess,
)


def autoregressive(rng, correlation, shape):
    """Stationary AR(1) chains of unit variance."""
    noise = rng.normal(size=shape) * np.sqrt(1 - correlation**2)
    noise[:, 0] = rng.normal(size=shape[0])
    return signal.lfilter([1], [1, -correlation], noise, axis=1)


def slow_autocorrelation_ess(chains):
    """1 / (1 + 2 sum rho) by direct sums, for chains of equal mean."""
    n_chains, n_draws = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    covariance = np.array(
        [
            np.mean([c[: n_draws - lag] @ c[lag:] / n_draws for c in centred])
            for lag in range(n_draws)
        ]
    )
    within = chains.var(axis=1, ddof=1).mean()
    total = within * (n_draws - 1) / n_draws + chains.mean(axis=1).var(ddof=1)
    rho = 1 - (within - covariance) / total
    rho[0] = 1
    time, previous, lag = -1.0, np.inf, 0
    while lag + 1 < n_draws and rho[lag] + rho[lag + 1] > 0:
        previous = min(previous, rho[lag] + rho[lag + 1])
        time += 2 * previous
        lag += 2
    time += max(rho[lag], 0) if lag < n_draws else 0
    return n_chains * n_draws / max(time, 1 / np.log10(n_chains * n_draws))


def test_independent_draws_are_worth_themselves(rng):
    found = diagnose(rng.normal(size=(4, 2000, 10)))
    assert found.r_hat.shape == (10,)
    assert (np.abs(found.r_hat - 1) < 0.005).all()
    assert found.ess_bulk == pytest.approx(np.full(10, 8000), rel=0.15)
    assert found.ess_tail == pytest.approx(np.full(10, 8000), rel=0.2)


@pytest.mark.parametrize("correlation", [-0.4, 0.3, 0.8, 0.95])
def test_bulk_ess_of_an_autoregression(correlation, rng):
    chains = np.stack([autoregressive(rng, correlation, (4, 10_000)) for _ in range(8)], axis=-1)
    exact = 40_000 * (1 - correlation) / (1 + correlation)
    assert bulk_ess(chains).mean() == pytest.approx(exact, rel=0.1)


def test_mean_ess_agrees_with_direct_sums(rng):
    for correlation in (-0.6, 0.0, 0.7):
        chains = autoregressive(rng, correlation, (3, 101))
        assert mean_ess(chains) == pytest.approx(slow_autocorrelation_ess(chains), rel=1e-9)


def test_ess_predicts_the_error_of_a_mean(rng):
    """The oracle: the spread of means over many independent chains."""
    chains = autoregressive(rng, 0.9, (2000, 400))
    variance_of_mean = chains.mean(axis=1).var()
    effective = np.mean([1 / mean_ess(chain[None]) for chain in chains[:300]])
    assert effective == pytest.approx(variance_of_mean, rel=0.15)


def test_r_hat_sees_another_place_another_scale_and_a_trend(rng):
    good = rng.normal(size=(4, 1000))
    assert split_r_hat(good) < 1.01
    moved = good + np.array([[0], [0], [0], [1]])
    assert split_r_hat(moved) > 1.05
    wider = good * np.array([[1], [1], [1], [3]])
    assert split_r_hat(wider) > 1.05
    drifting = good + np.linspace(-1, 1, 1000)
    assert split_r_hat(drifting) > 1.05
    assert split_r_hat(drifting[:1]) > 1.05


def test_r_hat_by_hand():
    """Two chains of four draws: halves of two, ranks 1..8, worked out from the formula."""
    chains = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    halves = ndtri((np.arange(1, 9) - 0.375) / 8.25).reshape(4, 2)
    within = halves.var(axis=1, ddof=1).mean()
    bulk = np.sqrt(0.5 + halves.mean(axis=1).var(ddof=1) / within)
    assert split_r_hat(chains) == pytest.approx(bulk, rel=1e-12)


def test_ranks_make_heavy_tails_and_monotone_maps_harmless(rng):
    chains = autoregressive(rng, 0.5, (4, 500))
    assert split_r_hat(np.exp(3 * chains)) < 1.02
    assert bulk_ess(np.exp(3 * chains)) == pytest.approx(bulk_ess(chains), rel=1e-12)
    assert tail_ess(np.exp(3 * chains)) == pytest.approx(tail_ess(chains), rel=1e-12)
    assert np.isfinite(bulk_ess(rng.standard_cauchy(size=(4, 500))))


def test_tail_ess_sees_tails_that_are_visited_in_bursts(rng):
    """Independent in the middle, but every excursion to a tail lasts."""
    draws = rng.uniform(-1, 1, size=(4, 4000))
    far = np.repeat(rng.random((4, 40)) < 0.1, 100, axis=1)
    draws[far] = np.sign(draws[far]) * 5 + draws[far]
    assert tail_ess(draws) < 0.1 * bulk_ess(draws)


def test_quantities_without_a_diagnosis_are_nan(rng):
    draws = rng.normal(size=(2, 50, 3))
    draws[:, :, 0] = 4.2
    draws[1, 7, 1] = np.inf
    found = diagnose(draws)
    for values in found:
        assert np.isnan(values[:2]).all()
        assert np.isfinite(values[2])


def test_two_stuck_chains_have_infinite_r_hat():
    assert split_r_hat(np.array([[1.0] * 10, [2.0] * 10])) == np.inf


def test_shapes_and_errors(rng):
    assert split_r_hat(rng.normal(size=(2, 10))).shape == ()
    assert split_r_hat(rng.normal(size=(2, 11, 3, 5))).shape == (3, 5)
    with pytest.raises(ValueError, match="at least 4 draws"):
        diagnose(rng.normal(size=(4, 3)))
    with pytest.raises(ValueError, match="n_chains"):
        diagnose(rng.normal(size=100))
