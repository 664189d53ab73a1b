"""The share recorded among the surest entries, against a search over all sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from labelgap.kernels.surest import surest_share, wilson


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (120, 400)])
def test_wilson_is_the_score_interval(hits, n):
    low, high = wilson(np.array([float(hits)]), np.array([float(n)]))
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
    share = surest_share(scores, hits, fewest=20)
    assert share is not None
    assert share.n == best
    assert share.value == hits[order[:best]].mean()
    assert share.low == pytest.approx(lows[best], abs=1e-4)


def test_too_few_entries_say_nothing():
    assert surest_share(np.zeros(49), np.ones(49, dtype=bool)) is None


def test_levels_off_at_the_rate():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    relevant = rng.random(20_000) < 1 / (1 + np.exp(-6 * (scores - 1)))
    share = surest_share(scores, relevant & (rng.random(20_000) < 0.6))
    assert share is not None
    assert share.low < 0.6 < share.high
