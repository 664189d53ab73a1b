"""What is computed from counts by score, against what other libraries say of the scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, roc_auc_score

from labelgap.auditing._label_and_item_quality import (
    auc_of,
    average_precision_of,
    calibration_curve,
)
from labelgap.auditing._score_counts import (
    N_BINS,
    ScoreCounts,
    bin_centres,
    bins_of,
    rising_fraction,
)
from labelgap.propensity import (
    estimate_label_frequency,
    top_scored_fraction_of_bins,
    wilson_interval,
)


def binned(scores, mask):
    return np.bincount(bins_of(scores[mask]), minlength=N_BINS)


def drawn(fraction_recorded, n=40_000, seed=0, slope=12.0):
    """Scores, relevance and records of entries of which most can be told."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 1.6, size=n)
    relevant = rng.random(n) < expit(slope * (scores - 0.45))
    return scores, relevant, relevant & (rng.random(n) < fraction_recorded)


def counts_of(scores, recorded):
    ones, zeros = binned(scores, recorded), binned(scores, ~recorded)
    half = np.arange(scores.size) % 2
    halves = np.array(
        [[binned(scores, (half == h) & (recorded == v)) for v in (False, True)] for h in (0, 1)]
    )
    unknown = np.zeros((1, N_BINS), dtype=int)
    decided = np.zeros_like(unknown)
    return ScoreCounts(ones[None], zeros[None], unknown, decided, halves)


def test_areas_agree_with_scikit_learn():
    scores, _, recorded = drawn(0.7, n=500)
    centred = bin_centres()[bins_of(scores)]
    ones, zeros = binned(scores, recorded), binned(scores, ~recorded)
    auc, area = auc_of(ones, zeros), average_precision_of(ones, zeros)
    np.testing.assert_allclose(auc.value, roc_auc_score(recorded, centred))
    np.testing.assert_allclose(area.value, average_precision_score(recorded, centred))
    for one in (auc, area):
        assert 0 <= one.low < one.value < one.high <= 1


def test_areas_of_one_value_alone_are_not_known():
    ones, zeros = np.zeros(N_BINS), np.ones(N_BINS)
    assert auc_of(ones, zeros) is None
    assert average_precision_of(ones, zeros) is None


def test_the_interval_of_the_area_covers_it():
    covered, truth = 0, auc_of(*(binned(drawn(1)[0], one) for one in _both(drawn(1)))).value
    for seed in range(1, 41):
        scores, _, recorded = drawn(1, n=400, seed=seed)
        found = auc_of(binned(scores, recorded), binned(scores, ~recorded))
        covered += found.low <= truth <= found.high
    assert covered >= 34


def _both(made):
    return made[2], ~made[2]


@pytest.mark.parametrize("fraction", [0.4, 0.6, 0.8])
def test_the_fraction_recorded_is_read_from_the_ceiling(fraction):
    scores, _, recorded = drawn(fraction)
    n = binned(scores, np.ones_like(recorded))
    found = estimate_label_frequency(bin_centres(), n, binned(scores, recorded))
    assert found.zeros == "unlabeled"
    assert found.low - 0.03 <= fraction <= found.high + 0.03
    assert abs(found.value - fraction) < 0.08


@pytest.mark.parametrize("fraction", [0.4, 0.6, 0.8])
def test_labels_that_are_hard_to_tell_do_not_lower_the_fraction(fraction):
    """Large scores of two labels mean less than those of a third."""
    rng = np.random.default_rng(1)
    kinds = []
    for middle in (0.35, 0.55, 0.55):
        scores = 0.7 * rng.beta(0.4, 1.2, size=1500)
        relevant = rng.random(1500) < expit(12 * (scores - middle))
        recorded = relevant & (rng.random(1500) < fraction)
        kinds.append((binned(scores, np.ones_like(recorded)), binned(scores, recorded)))
    n, hits = (np.array(one) for one in zip(*kinds, strict=True))
    pooled = estimate_label_frequency(bin_centres(), n.sum(axis=0), hits.sum(axis=0))
    apart = estimate_label_frequency(bin_centres(), n.sum(axis=0), hits.sum(axis=0), (n, hits))
    assert pooled.value < apart.value
    assert abs(apart.value - fraction) < 0.7 * abs(pooled.value - fraction)


def test_labels_apart_say_the_same_when_they_are_alike():
    scores, _, recorded = drawn(0.6)
    everything = np.ones_like(recorded)
    n = np.array([binned(scores[k::2], everything[k::2]) for k in (0, 1)])
    hits = np.array([binned(scores[k::2], recorded[k::2]) for k in (0, 1)])
    found = estimate_label_frequency(bin_centres(), n.sum(axis=0), hits.sum(axis=0), (n, hits))
    assert abs(found.value - 0.6) < 0.03
    assert found.low <= found.value <= found.high


def test_complete_labels_have_negative_zeros():
    scores, _, recorded = drawn(1.0)
    n = binned(scores, np.ones_like(recorded))
    found = estimate_label_frequency(bin_centres(), n, binned(scores, recorded))
    assert found.zeros == "negative"
    assert found.value > 0.95


def test_labels_that_nothing_predicts_leave_the_question_open():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 0.05, size=3000)
    recorded = rng.random(3000) < 0.3
    n = binned(scores, np.ones_like(recorded))
    found = estimate_label_frequency(bin_centres(), n, binned(scores, recorded))
    assert found.zeros == "unclear"
    assert found.high == 1.0


def test_the_most_confident_entries_need_to_be_thirty():
    assert top_scored_fraction_of_bins(np.array([20.0]), np.array([20.0]), fewest=30) is None
    few = top_scored_fraction_of_bins(np.array([29.0, 100.0]), np.array([29.0, 10.0]), fewest=30)
    assert few.value == pytest.approx(39 / 129)


def test_wilson_interval():
    low, high = wilson_interval(np.array([0.0, 50.0]), np.array([10.0, 100.0]))
    np.testing.assert_allclose(low, [0, 0.4038], atol=2e-4)
    np.testing.assert_allclose(high, [0.2775, 0.5962], atol=2e-4)


def test_probabilities_rise_with_the_score():
    scores, _, recorded = drawn(0.6, n=3000)
    rising = rising_fraction(binned(scores, np.ones_like(recorded)), binned(scores, recorded))
    assert (np.diff(rising) >= 0).all()
    assert rising[0] >= 0
    assert rising[-1] <= 1


def test_halves_check_each_other():
    scores, _, recorded = drawn(0.7)
    bins = calibration_curve(counts_of(scores, recorded))
    assert sum(one.n for one in bins) == scores.size
    large = [one for one in bins if one.n > 1000]
    assert len(large) >= 4
    for one in large:
        assert one.low <= one.predicted <= one.high
        assert abs(one.predicted - one.observed.value) < 0.05


def test_a_half_without_ones_says_nothing():
    scores = np.linspace(0, 1, 10)
    assert calibration_curve(counts_of(scores, np.arange(10) == 3)) == ()
