"""The fraction recorded among the surest entries, against a search over all sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from labelgap.propensity import top_scored_fraction, top_scored_fraction_of_bins, wilson_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (120, 400)])
def test_wilson_is_the_score_interval(hits, n):
    low, high = wilson_interval(np.array([float(hits)]), np.array([float(n)]))
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert low[0] == pytest.approx(expected.low, abs=1e-4)
    assert high[0] == pytest.approx(expected.high, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_best_lower_end_of_all_sets(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=90)
    hits = rng.random(90) < 0.7 / (1 + np.exp(-2 * scores))
    order = np.argsort(-scores)
    lows = {}
    for n in range(20, 91):
        found = int(hits[order[:n]].sum())
        lows[n] = binomtest(found, n).proportion_ci(method="wilson").low
    best = max(lows, key=lambda n: lows[n])
    fraction = top_scored_fraction(scores, hits, fewest=20)
    assert fraction is not None
    assert fraction.n == best
    assert fraction.value == hits[order[:best]].mean()
    assert fraction.low == pytest.approx(lows[best], abs=1e-4)


def test_too_few_entries_say_nothing():
    assert top_scored_fraction(np.zeros(49), np.ones(49, dtype=bool)) is None


def test_bins_of_one_score_each_say_the_same():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 12, size=400).astype(float)
    hits = rng.random(400) < scores / 15
    falling = np.arange(11, -1, -1)
    n = np.array([(scores == one).sum() for one in falling])
    found = np.array([hits[scores == one].sum() for one in falling])
    fractions = [(found[: k + 1].sum(), n[: k + 1].sum()) for k in range(12)]
    lows = [wilson_interval(np.array([float(h)]), np.array([float(m)]))[0][0] for h, m in fractions]
    best = int(np.argmax(lows))
    fraction = top_scored_fraction_of_bins(n, found, fewest=5)
    assert fraction is not None
    assert (fraction.n, fraction.value) == (
        fractions[best][1],
        fractions[best][0] / fractions[best][1],
    )
    assert top_scored_fraction_of_bins(n, found, fewest=401) is None


def test_levels_off_at_the_rate():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    relevant = rng.random(20_000) < 1 / (1 + np.exp(-6 * (scores - 1)))
    fraction = top_scored_fraction(scores, relevant & (rng.random(20_000) < 0.6))
    assert fraction is not None
    assert fraction.low < 0.6 < fraction.high
