"""Bounds that hold at all times: coverage in simulations, special cases, monotone in what is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from labelgap.estimation import TotalBounds, certified_recall, total_interval


def bounds_after_all(truth: np.ndarray, seed: int, n: int) -> tuple[bool, int, int]:
    """Whether the truth was inside after every draw, and the last bounds."""
    drawn = np.random.default_rng(seed).permutation(truth.size)[:n]
    bounds = TotalBounds(truth.size, truth.size)
    held, found = True, 0
    for draw, entry in enumerate(drawn):
        bounds.add(int(truth[entry]), truth.size - draw, found, truth.size - draw)
        found += int(truth[entry])
        held &= bounds.lower <= truth.sum() <= bounds.upper
    return held, bounds.lower, bounds.upper


@pytest.mark.parametrize("n_missing", [0, 2, 30, 120])
def test_they_hold_at_all_times(n_missing):
    truth = np.arange(150) < n_missing
    held = [bounds_after_all(truth, seed, 60)[0] for seed in range(100)]
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 100)


def test_when_everything_was_drawn_the_total_is_known():
    truth = np.arange(40) < 13
    assert bounds_after_all(truth, 0, 40)[1:] == (13, 13)


def test_no_find_among_many_is_about_the_rule_of_three():
    n_entries, n = 100_000, 300
    low, high = total_interval(np.zeros(n), n_entries - np.arange(n), n_entries)
    exact = stats.beta.ppf(0.975, 1, n) * n_entries
    assert low == 0
    assert exact * 0.95 < high < exact * 1.6


def test_entries_that_were_weighted_are_counted_with_their_weights():
    rng = np.random.default_rng(3)
    truth = np.concatenate([np.ones(60), np.zeros(40), rng.random(900) < 0.02])
    inside = []
    for _ in range(60):
        strata = [list(range(100)), list(range(100, 1000))]
        bounds, found = TotalBounds(1000, largest_weight=1800), 0.0
        for _ in range(80):
            members = strata[int(rng.integers(2))]
            entry = members.pop(int(rng.integers(len(members))))
            bounds.add(truth[entry], 2 * (len(members) + 1), found)
            found += truth[entry]
        inside.append(bounds.lower <= truth.sum() <= bounds.upper)
    assert np.mean(inside) >= 0.9


def test_what_was_found_outside_the_draws_is_a_lower_bound_and_raises_no_upper_one():
    some, more = (TotalBounds(100, 100) for _ in range(2))
    for draw in range(20):
        some.add(0, 100 - draw, 0)
        more.add(0, 70 - draw, 30)
    assert more.lower >= 30
    assert more.upper <= some.upper + 30


def test_an_open_answer_widens_both_ways():
    weights = 200 - np.arange(40)
    answers = (np.arange(40) % 4 == 0).astype(float)
    known = total_interval(answers, weights, 200)
    answers[::5] = np.nan
    unsure = total_interval(answers, weights, 200)
    assert unsure[0] <= known[0]
    assert unsure[1] >= known[1]


def test_a_certificate_spends_all_doubt_on_the_upper_bound():
    both, upper = TotalBounds(500, 500), TotalBounds(500, 500, sides="upper")
    for draw in range(100):
        for bounds in (both, upper):
            bounds.add(0, 500 - draw, 0)
    assert upper.upper < both.upper
    assert certified_recall(0, upper.upper) == 0.0
    assert certified_recall(9, 10) == pytest.approx(0.9)
    assert certified_recall(0, 0) == 1.0


@pytest.mark.parametrize("wrong", [{"confidence": 1.0}, {"sides": "lower"}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TotalBounds(10, 10, **wrong)
