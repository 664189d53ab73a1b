"""How often a relevant label is recorded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm

from labelgap.mending._recording import (
    check_rates,
    halfway,
    rate_of,
    recording_rate,
    relevance_log_odds,
    relevant_though_unrecorded,
    with_sum,
)


@pytest.mark.parametrize("c", [0.3, 0.6, 0.9])
def test_rate_of_a_label_that_is_sometimes_sure(c):
    rng = np.random.default_rng(0)
    relevant = rng.choice([0.01, 0.2, 1.0], size=20_000, p=[0.8, 0.15, 0.05])
    recorded = rng.random(20_000) < c * (rng.random(20_000) < relevant)
    assert c - 0.06 < recording_rate(c * relevant, recorded) < c + 0.02


def test_rate_is_wilsons_lower_bound_of_the_best_share():
    chances, recorded = np.linspace(1, 0, 60), np.arange(60) < 40
    z = norm.ppf(0.95)

    def lower(hits, n):
        share = hits / n
        spread = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        return (share + z**2 / (2 * n) - spread) / (1 + z**2 / n)

    expected = max(lower(recorded[:m].sum(), m) for m in range(30, 61))
    assert recording_rate(chances, recorded) == pytest.approx(expected, abs=1e-3)


def test_too_little_to_tell():
    assert recording_rate(np.ones(10), np.ones(10, dtype=bool)) == 0
    assert recording_rate(np.ones(100), np.zeros(100, dtype=bool)) == 0


@pytest.mark.parametrize("c", [0.2, 0.5, 0.99])
def test_relevant_though_unrecorded_is_bayes(c):
    relevant = np.tile([0.001, 0.1, 0.5, 0.9], 500)
    expected = relevant * (1 - c) / (1 - relevant * c)
    n_recorded = expected.sum() * c / (1 - c)
    np.testing.assert_allclose(
        relevant_though_unrecorded(c * relevant, c, n_recorded), expected, rtol=1e-6
    )


def test_as_many_are_expected_as_the_rate_says():
    g = np.random.default_rng(0).beta(0.5, 2, size=1000)
    # half of them above the ceiling
    found = relevant_though_unrecorded(g, float(np.median(g)), 50)
    c = float(np.median(g))
    assert found.sum() == pytest.approx((1 - c) / c * 50)
    order = np.argsort(g)
    assert (np.diff(found[order]) >= 0).all()


def test_all_recorded():
    np.testing.assert_array_equal(relevant_though_unrecorded(np.array([0.2, 1.0]), 1.0, 5), 0)


def test_chances_with_a_given_sum():
    rng = np.random.default_rng(0)
    chances = np.append(rng.uniform(0.01, 0.9, 50), 1e-5)
    for wanted in (5.0, 30.0):
        found = with_sum(chances, wanted)
        assert found.sum() == pytest.approx(wanted, abs=1e-2)
        np.testing.assert_array_equal(np.argsort(found), np.argsort(chances))
        shift = logit(found[:50]) - logit(chances[:50])
        np.testing.assert_allclose(shift, shift[0])
    np.testing.assert_array_equal(with_sum(np.zeros(3), 2.0), np.zeros(3))


def test_a_rate_for_each_column_is_that_of_the_column():
    scores = np.random.default_rng(0).normal(size=(20, 3), scale=3)
    rates = np.array([0.3, 1.0, 0.8])
    found = relevance_log_odds(scores, rates)
    for column, c in enumerate(rates):
        np.testing.assert_allclose(found[:, column], relevance_log_odds(scores[:, column], c))
    np.testing.assert_array_equal(found[:, 1], scores[:, 1])


def test_rates_halfway_to_one():
    assert halfway(0.5) == 0.75
    assert halfway((0.5, 1.0)) == (0.75, 1.0)
    assert [rate_of(0.5, 3), rate_of((0.5, 0.2), 1)] == [0.5, 0.2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.5, 0.5], r"shape \(2,\); give one rate, or one for each of the 3 labels"),
        ([0.5, 0.0, 1.0], r"recorded\[1\] = 0 is no chance"),
        ([0.5, 0.2, np.nan], r"recorded\[2\] = nan is no chance"),
    ],
)
def test_rates_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        check_rates(given, 3)
