"""What is computed from counts by score, against what other libraries say of the scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, roc_auc_score

from labelgap.audit._chances import chances_of, recorded_chance
from labelgap.audit._quality import auc_of, average_precision_of, calibration_curve
from labelgap.audit._recording import _surest, read_ceiling
from labelgap.audit._tally import N_BINS, N_COARSE, Found, Tally, bin_centres, bins_of
from labelgap.kernels.surest import wilson


def counts(scores, mask):
    return np.bincount(bins_of(scores[mask]), minlength=N_BINS)


def drawn(share_recorded, n=40_000, seed=0, slope=12.0):
    """Scores, relevance and records of entries of which most can be told."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 1.6, size=n)
    relevant = rng.random(n) < expit(slope * (scores - 0.45))
    return scores, relevant, relevant & (rng.random(n) < share_recorded)


def tally_of(scores, recorded):
    ones, zeros = counts(scores, recorded), counts(scores, ~recorded)
    nothing = Found(np.empty(0, int), np.empty(0, int), np.empty(0))
    half = np.arange(scores.size) % 2
    halves = np.array(
        [[counts(scores, (half == h) & (recorded == v)) for v in (False, True)] for h in (0, 1)]
    )
    empty = np.zeros((1, N_COARSE), dtype=int)
    unknown = np.zeros((1, N_BINS), dtype=int)
    decided = np.zeros_like(unknown)
    return Tally(ones[None], zeros[None], unknown, decided, halves, empty, empty, nothing, nothing)


def test_areas_agree_with_scikit_learn():
    scores, _, recorded = drawn(0.7, n=500)
    binned = bin_centres()[bins_of(scores)]
    ones, zeros = counts(scores, recorded), counts(scores, ~recorded)
    auc, area = auc_of(ones, zeros), average_precision_of(ones, zeros)
    np.testing.assert_allclose(auc.value, roc_auc_score(recorded, binned))
    np.testing.assert_allclose(area.value, average_precision_score(recorded, binned))
    for one in (auc, area):
        assert 0 <= one.low < one.value < one.high <= 1


def test_areas_of_one_value_alone_are_not_known():
    ones, zeros = np.zeros(N_BINS), np.ones(N_BINS)
    assert auc_of(ones, zeros) is None
    assert average_precision_of(ones, zeros) is None


def test_the_interval_of_the_area_covers_it():
    covered, truth = 0, auc_of(*(counts(drawn(1)[0], one) for one in _both(drawn(1)))).value
    for seed in range(1, 41):
        scores, _, recorded = drawn(1, n=400, seed=seed)
        found = auc_of(counts(scores, recorded), counts(scores, ~recorded))
        covered += found.low <= truth <= found.high
    assert covered >= 34


def _both(made):
    return made[2], ~made[2]


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_the_share_recorded_is_read_from_the_ceiling(share):
    scores, _, recorded = drawn(share)
    n = counts(scores, np.ones_like(recorded))
    found = read_ceiling(bin_centres(), n, counts(scores, recorded))
    assert found.verdict == "ambiguous"
    assert found.share.low - 0.03 <= share <= found.share.high + 0.03
    assert abs(found.share.value - share) < 0.08


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_labels_that_are_hard_to_tell_do_not_lower_the_share(share):
    """Large scores of two labels mean less than those of a third."""
    rng = np.random.default_rng(1)
    kinds = []
    for middle in (0.35, 0.55, 0.55):
        scores = 0.7 * rng.beta(0.4, 1.2, size=1500)
        relevant = rng.random(1500) < expit(12 * (scores - middle))
        recorded = relevant & (rng.random(1500) < share)
        kinds.append((counts(scores, np.ones_like(recorded)), counts(scores, recorded)))
    n, hits = (np.array(one) for one in zip(*kinds, strict=True))
    pooled = read_ceiling(bin_centres(), n.sum(axis=0), hits.sum(axis=0))
    apart = read_ceiling(bin_centres(), n.sum(axis=0), hits.sum(axis=0), (n, hits))
    assert pooled.share.value < apart.share.value
    assert abs(apart.share.value - share) < 0.7 * abs(pooled.share.value - share)


def test_labels_apart_say_the_same_when_they_are_alike():
    scores, _, recorded = drawn(0.6)
    everything = np.ones_like(recorded)
    n = np.array([counts(scores[k::2], everything[k::2]) for k in (0, 1)])
    hits = np.array([counts(scores[k::2], recorded[k::2]) for k in (0, 1)])
    found = read_ceiling(bin_centres(), n.sum(axis=0), hits.sum(axis=0), (n, hits))
    assert abs(found.share.value - 0.6) < 0.03
    assert found.share.low <= found.share.value <= found.share.high


def test_complete_labels_are_called_so():
    scores, _, recorded = drawn(1.0)
    n = counts(scores, np.ones_like(recorded))
    found = read_ceiling(bin_centres(), n, counts(scores, recorded))
    assert found.verdict == "complete"
    assert found.share.value > 0.95


def test_labels_that_nothing_predicts_leave_the_question_open():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 0.05, size=3000)
    recorded = rng.random(3000) < 0.3
    n = counts(scores, np.ones_like(recorded))
    found = read_ceiling(bin_centres(), n, counts(scores, recorded))
    assert found.verdict == "open"
    assert found.share.high == 1.0


def test_the_surest_entries_need_to_be_thirty():
    assert _surest(np.array([20.0]), np.array([20.0])).low == 0.0
    few = _surest(np.array([100.0, 29.0]), np.array([10.0, 29.0]))
    assert few.value == pytest.approx(39 / 129)


def test_wilson_interval():
    low, high = wilson(np.array([0.0, 50.0]), np.array([10.0, 100.0]))
    np.testing.assert_allclose(low, [0, 0.4038], atol=2e-4)
    np.testing.assert_allclose(high, [0.2775, 0.5962], atol=2e-4)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_chances_of_zeros_are_those_of_forgotten_labels(share):
    scores, relevant, recorded = drawn(share, n=200_000)
    chances = chances_of(tally_of(scores, recorded), share, zeros_meant=False)
    said = chances.of_zeros(scores)
    forgotten = relevant & ~recorded
    for low, high in ((0.0, 0.05), (0.1, 0.4), (0.4, 0.7), (0.7, 1.0)):
        here = ~recorded & (said >= low) & (said < high)
        assert abs(said[here].mean() - forgotten[here].mean()) < 0.06
    assert abs(said[~recorded].sum() / forgotten.sum() - 1) < 0.05


def test_zeros_that_are_meant_have_no_chance():
    scores, _, recorded = drawn(1.0, n=5000)
    chances = chances_of(tally_of(scores, recorded), 1.0, zeros_meant=True)
    assert not chances.if_zero.any()
    assert chances.of_unknown(np.array([0.9]))[0] > 0.9


def test_chances_rise_with_the_score():
    scores, _, recorded = drawn(0.6, n=3000)
    chance = recorded_chance(counts(scores, np.ones_like(recorded)), counts(scores, recorded))
    assert (np.diff(chance) >= 0).all()
    assert chance[0] >= 0
    assert chance[-1] <= 1


def test_halves_check_each_other():
    scores, _, recorded = drawn(0.7)
    bins = calibration_curve(tally_of(scores, recorded))
    assert sum(one.n for one in bins) == scores.size
    large = [one for one in bins if one.n > 1000]
    assert len(large) >= 4
    for one in large:
        assert one.low <= one.predicted <= one.high
        assert abs(one.predicted - one.observed.value) < 0.05


def test_a_half_without_ones_says_nothing():
    scores = np.linspace(0, 1, 10)
    assert calibration_curve(tally_of(scores, np.arange(10) == 3)) == ()
