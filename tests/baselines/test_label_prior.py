import numpy as np
import pytest

from labelgap import Labels, LabelWarning
from labelgap.baselines import LabelPrior

Y = np.array([[1, 0, 1], [1, np.nan, 0], [0, 0, np.nan], [np.nan, 0, np.nan]])
X = np.zeros((4, 2))


def test_smoothing_zero_gives_the_fractions_of_observed_entries():
    prior = LabelPrior(smoothing=0).fit(X, Y)
    np.testing.assert_allclose(prior.prevalence_, [2 / 3, 0, 1 / 2])
    np.testing.assert_allclose(prior.predict_proba(X[:2]), [[2 / 3, 0, 1 / 2]] * 2)


def test_smoothing_adds_imaginary_observations_of_the_pooled_fraction():
    pooled = 3.5 / 9
    expected = [(2 + 2 * pooled) / 5, 2 * pooled / 5, (1 + 2 * pooled) / 4]
    np.testing.assert_allclose(LabelPrior(smoothing=2).fit(X, Y).prevalence_, expected)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_a_label_that_nobody_looked_at_has_the_pooled_fraction(smoothing):
    with pytest.warns(LabelWarning, match="label 1 has no observed entry"):
        labels = Labels.from_dense([[1, np.nan], [0, np.nan]])
    with pytest.warns(LabelWarning):
        prior = LabelPrior(smoothing=smoothing).fit(X[:2], labels)
    assert prior.prevalence_[1] == pytest.approx(1.5 / 3)


def test_unlabeled_zeros_are_zeros():
    labels = Labels.from_dense([[1, 0], [0, 0], [0, 1], [0, 0]], zeros="unlabeled")
    np.testing.assert_allclose(LabelPrior(smoothing=0).fit(X, labels).prevalence_, [0.25, 0.25])


def test_scores_are_finite_log_odds():
    scores = LabelPrior(smoothing=0).fit(X, Y).decision_function(X)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores[0, [0, 2]], [np.log(2), 0], atol=1e-12)


def test_a_negative_smoothing_is_refused():
    with pytest.raises(ValueError, match="'smoothing' parameter of LabelPrior"):
        LabelPrior(smoothing=-1).fit(X, Y)
