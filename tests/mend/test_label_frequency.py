"""Labels that are recorded at rates of their own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, Labels, State, metrics
from labelgap.mend import Mend

TRUE = np.array([0.3, 0.9, 0.5, 0.9])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    Y = (3 * X[:, :4] + X[:, 4:5] + rng.normal(size=(4000, 4)) > 1).astype(float)
    recorded = Y * (rng.random(Y.shape) < TRUE)
    return X, Y, recorded


def fitted(X, recorded, how, **options):
    how = {"estimator": LogisticRegression(), "label_frequency": how} | options
    return Mend(zeros="unlabeled", **how).fit(X, recorded)


def test_given_rates_make_each_label_as_frequent_as_it_is(problem):
    X, Y, recorded = problem
    model = fitted(X[:3000], recorded[:3000], TRUE)
    np.testing.assert_array_equal(model.label_frequency_, TRUE)
    fraction = model.predict_proba(X[3000:]).mean(axis=0)
    np.testing.assert_allclose(fraction, Y[3000:].mean(axis=0), atol=0.08)
    one = fitted(X[:3000], recorded[:3000], float(TRUE.mean()))
    losses = [metrics.log_loss(Y[3000:], m.predict_proba(X[3000:])) for m in (model, one)]
    assert losses[0] < losses[1] - 0.02


def test_estimates_of_each_label_are_nearer_than_one_for_all(problem):
    X, Y, recorded = problem
    each, one = (fitted(X[:3000], recorded[:3000], how) for how in ("per_label", "estimate"))
    assert each.label_frequency_.shape == (4,)
    assert (
        np.abs(each.label_frequency_ - TRUE).mean()
        < 0.8 * np.abs(one.label_frequency_ - TRUE).mean()
    )
    assert each.label_frequency_.argmin() == 0
    losses = [metrics.log_loss(Y[3000:], m.predict_proba(X[3000:])) for m in (each, one)]
    assert losses[0] < losses[1]


def test_the_same_rate_for_each_is_one_for_all(problem):
    X, _, recorded = problem
    X, recorded = X[:400], recorded[:400]
    for options in ({}, {"ensemble": False}, {"estimator": LinearSVC()}, {"estimator": Ridge()}):
        each = fitted(X, recorded, np.full(4, 0.6), **options).predict_proba(X)
        np.testing.assert_allclose(each, fitted(X, recorded, 0.6, **options).predict_proba(X))


def test_a_label_that_is_always_recorded_is_as_it_was(problem):
    X, _, recorded = problem
    X, recorded = X[:400], recorded[:400]
    precise = LogisticRegression(tol=1e-10)
    model = fitted(X, recorded, [0.5, 1.0, 1.0, 0.5], estimator=precise)
    plain = BinaryRelevance(precise).fit(X, recorded).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1:3], plain[:, 1:3], atol=1e-6)
    assert (model.predict_proba(X)[:, 0] > plain[:, 0]).mean() > 0.9


def test_wrong_rates_are_named(problem):
    X, _, recorded = problem
    with pytest.raises(
        ValueError, match=r"label_frequency\[1\] = 2: give a number above 0 and up to 1"
    ):
        fitted(X[:50], recorded[:50], [0.5, 2.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="one for each of the 4 labels"):
        fitted(X[:50], recorded[:50], [0.5, 0.6])


def test_an_array_is_cloned_and_validation_take_it(problem):
    X, _, recorded = problem
    model = Mend(
        LogisticRegression(), zeros="unlabeled", label_frequency=TRUE, imputed_weights=(1.0, 0.5)
    )
    again = clone(model).fit(X[:300], recorded[:300])
    assert again.validation_ is not None
    np.testing.assert_array_equal(again.label_frequency_, TRUE)


def test_rates_do_not_matter_to_labels_whose_zeros_are_known(problem):
    X, Y, _ = problem
    seen = np.where(np.random.default_rng(1).random((300, 4)) < 0.4, np.nan, Y[:300])
    with_rates = Mend(LogisticRegression(), label_frequency=TRUE).fit(X[:300], seen)
    without = Mend(LogisticRegression()).fit(X[:300], seen)
    np.testing.assert_array_equal(with_rates.predict_proba(X), without.predict_proba(X))
    assert with_rates.label_frequency_ == 1.0


def test_labels_that_take_no_part_in_validation_have_a_rate_all_the_same(problem):
    X, _, recorded = problem
    each = fitted(X[:3000], recorded[:3000], "per_label", max_validation_labels=1)
    assert len(set(each.label_frequency_.round(3))) == 4
    one = fitted(X[:3000], recorded[:3000], "estimate", max_validation_labels=1)
    assert len(one.validation_.labels) == 1


def test_an_estimate_lies_between_that_of_the_label_and_the_largest(problem):
    X, _, recorded = problem
    each, one = (fitted(X[:3000], recorded[:3000], how) for how in ("per_label", "estimate"))
    assert each.label_frequency_.max() == pytest.approx(one.label_frequency_, abs=0.01)
    # that of the first label alone would be 0.3 at most
    assert 0.45 < each.label_frequency_[0] < 0.65


def test_what_was_imputed_is_what_the_rate_of_the_label_stands_for(problem):
    X, _, recorded = problem
    X, recorded = X[:1500], recorded[:1500]
    model = fitted(X, recorded, TRUE)
    expected = (1 - TRUE) / TRUE * recorded.sum(axis=0)
    np.testing.assert_allclose(model.imputed_.probabilities.sum(axis=0), expected, rtol=0.1)


@pytest.mark.parametrize("options", [{"max_iter": 2}, {"imputed_weights": (1.0, 0.5)}])
@pytest.mark.parametrize("rate", [np.ones(4), [1.0, 0.9, 1.0, 1.0]])
def test_labels_that_are_always_recorded_can_be_tried(problem, options, rate):
    X, _, recorded = problem
    model = fitted(X[:200], recorded[:200], rate, **options)
    np.testing.assert_array_equal(model.label_frequency_, rate)


@pytest.mark.parametrize("rate", [0.5, TRUE])
def test_a_given_rate_stays_where_few_zeros_are_in_doubt(problem, rate):
    X, Y, _ = problem
    for row in range(8):
        labels = Labels.from_dense(Y[:60]).with_entries([row], [0], State.UNLABELED)
        model = Mend(LogisticRegression(), label_frequency=rate, max_iter=2).fit(X[:60], labels)
        np.testing.assert_array_equal(model.label_frequency_, rate)
