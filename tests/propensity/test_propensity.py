"""How often a relevant label is recorded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta, norm
from sklearn.linear_model import LogisticRegression

from labelgap import Labels
from labelgap.mend import Candidate, Mend
from labelgap.mend._imputed_labels import impute_label, with_sum
from labelgap.mend._self_training import SelfTraining
from labelgap.propensity import (
    calibration_shift,
    label_frequency_mode,
    relevance_log_odds,
    top_scored_fraction,
    unlabeled_posterior,
)


def surely_recorded(scores, recorded):
    return top_scored_fraction(scores, recorded, fewest=30, z=1.64).low


@pytest.mark.parametrize("c", [0.3, 0.6, 0.9])
def test_rate_of_a_label_that_is_sometimes_sure(c):
    rng = np.random.default_rng(0)
    relevant = rng.choice([0.01, 0.2, 1.0], size=20_000, p=[0.8, 0.15, 0.05])
    recorded = rng.random(20_000) < c * (rng.random(20_000) < relevant)
    assert c - 0.06 < surely_recorded(c * relevant, recorded) < c + 0.02


def test_rate_is_wilsons_lower_bound_of_the_best_fraction():
    probabilities, recorded = np.linspace(1, 0, 60), np.arange(60) < 40
    z = norm.ppf(0.95)

    def lower(hits, n):
        fraction = hits / n
        spread = z * np.sqrt(fraction * (1 - fraction) / n + z**2 / (4 * n**2))
        return (fraction + z**2 / (2 * n) - spread) / (1 + z**2 / n)

    expected = max(lower(recorded[:m].sum(), m) for m in range(30, 61))
    assert surely_recorded(probabilities, recorded) == pytest.approx(expected, abs=1e-3)


def test_too_little_to_tell():
    assert top_scored_fraction(np.ones(10), np.ones(10, dtype=bool), fewest=30) is None
    assert top_scored_fraction(np.ones(100), np.zeros(100, dtype=bool)).low < 1e-9


@pytest.mark.parametrize("c", [0.2, 0.5, 0.99])
def test_the_posterior_is_bayes_and_needs_no_shift(c):
    relevant = np.tile([0.001, 0.1, 0.5, 0.9], 500)
    expected = relevant * (1 - c) / (1 - relevant * c)
    np.testing.assert_allclose(unlabeled_posterior(logit(relevant), c), expected)
    shift = calibration_shift(logit(relevant), expected.sum(), label_frequency=c)
    assert shift == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("c", [0.0, 0.6])
def test_a_shift_by_bins_is_that_of_single_entries(c):
    odds, counts = np.array([-3.0, 0.5, 2.0]), np.array([30, 10, 2])
    single = calibration_shift(np.repeat(odds, counts), 5.0, label_frequency=c)
    found = calibration_shift(odds, 5.0, counts=counts, label_frequency=c)
    assert found == pytest.approx(single)
    assert counts @ unlabeled_posterior(odds + found, c) == pytest.approx(5.0)


def test_a_total_out_of_reach_shifts_nothing():
    assert calibration_shift(np.zeros(3), 4.0) == 0
    assert calibration_shift(np.zeros(3), -1.0) == 0


def test_as_many_missing_labels_are_imputed_as_the_label_frequency_says():
    g = np.random.default_rng(0).beta(0.5, 2, size=1000)
    c = float(np.median(g))  # half of them above the ceiling
    labels = Labels.from_dense(np.r_[np.ones(50), np.zeros(1000)][:, None], zeros="unlabeled")
    found = impute_label(labels, 0, np.r_[np.ones(50), g], Candidate(1.0, c)).probabilities[50:]
    assert found.sum() == pytest.approx((1 - c) / c * 50)
    assert (np.diff(found[np.argsort(g)]) >= 0).all()
    everything = impute_label(labels, 0, np.r_[np.ones(50), g], Candidate(1.0, 1.0))
    np.testing.assert_array_equal(everything.probabilities[50:], 0)


def test_probabilities_with_a_given_sum():
    rng = np.random.default_rng(0)
    probabilities = np.append(rng.uniform(0.01, 0.9, 50), 1e-5)
    for wanted in (5.0, 30.0):
        found = with_sum(probabilities, wanted)
        assert found.sum() == pytest.approx(wanted, abs=1e-2)
        np.testing.assert_array_equal(np.argsort(found), np.argsort(probabilities))
        shift = logit(found[:50]) - logit(probabilities[:50])
        np.testing.assert_allclose(shift, shift[0])
    np.testing.assert_array_equal(with_sum(np.zeros(3), 2.0), np.zeros(3))


def test_a_frequency_for_each_column_is_that_of_the_column():
    scores = np.random.default_rng(0).normal(size=(20, 3), scale=3)
    rates = np.array([0.3, 1.0, 0.8])
    found = relevance_log_odds(scores, rates)
    for column, c in enumerate(rates):
        np.testing.assert_allclose(found[:, column], relevance_log_odds(scores[:, column], c))
    np.testing.assert_array_equal(found[:, 1], scores[:, 1])


def test_an_ensemble_learns_with_a_frequency_halfway_to_one():
    for frequency, expected in ((0.5, 0.75), ([0.5, 1.0], [0.75, 1.0])):
        training = SelfTraining(None, ensemble=True, label_frequency=np.asarray(frequency))
        np.testing.assert_array_equal(training.training_frequency, expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.5, 0.5], r"shape \(2,\); give one number, or one for each of the 3 labels"),
        ([0.5, 0.0, 1.0], r"label_frequency\[1\] = 0: give a number above 0"),
        ([0.5, 0.2, np.nan], r"label_frequency\[2\] = nan: give a number above 0"),
    ],
)
def test_frequencies_that_are_none(given, message):
    X, Y = np.zeros((4, 1)), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    with pytest.raises(ValueError, match=message):
        Mend(LogisticRegression(), label_frequency=given, zeros="unlabeled").fit(X, Y)


def test_the_mode_under_a_beta_prior_is_the_peak_of_the_posterior():
    grid = np.linspace(0.001, 0.999, 9981)
    density = beta(3.0 + 12, 2.0 + 20 - 12).logpdf(grid)
    found = label_frequency_mode(np.array([12.0]), np.array([20.0]), (3.0, 2.0))
    assert found[0] == pytest.approx(grid[density.argmax()], abs=1e-3)
    nothing = label_frequency_mode(np.zeros(2), np.zeros(2), (1, 1), otherwise=np.array([0.2, 0.3]))
    np.testing.assert_array_equal(nothing, [0.2, 0.3])
