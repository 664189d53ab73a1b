"""Labels that are recorded at rates of their own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, metrics
from labelgap.mending import Mend

TRUE = np.array([0.3, 0.9, 0.5, 0.9])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    Y = (3 * X[:, :4] + X[:, 4:5] + rng.normal(size=(4000, 4)) > 1).astype(float)
    recorded = Y * (rng.random(Y.shape) < TRUE)
    return X, Y, recorded


def fitted(X, recorded, how, **options):
    return Mend(zeros="ambiguous", recorded=how, **options).fit(X, recorded)


def test_given_rates_make_each_label_as_frequent_as_it_is(problem):
    X, Y, recorded = problem
    model = fitted(X[:3000], recorded[:3000], TRUE)
    np.testing.assert_array_equal(model.recorded_, TRUE)
    share = model.predict_proba(X[3000:]).mean(axis=0)
    np.testing.assert_allclose(share, Y[3000:].mean(axis=0), atol=0.08)
    one = fitted(X[:3000], recorded[:3000], float(TRUE.mean()))
    losses = [metrics.log_loss(Y[3000:], m.predict_proba(X[3000:])) for m in (model, one)]
    assert losses[0] < losses[1] - 0.02


def test_estimates_of_each_label_are_nearer_than_one_for_all(problem):
    X, Y, recorded = problem
    each, one = (
        fitted(X[:3000], recorded[:3000], how) for how in ("estimate per label", "estimate")
    )
    assert each.recorded_.shape == (4,)
    assert np.abs(each.recorded_ - TRUE).mean() < 0.8 * np.abs(one.recorded_ - TRUE).mean()
    assert each.recorded_.argmin() == 0
    losses = [metrics.log_loss(Y[3000:], m.predict_proba(X[3000:])) for m in (each, one)]
    assert losses[0] < losses[1]


def test_the_same_rate_for_each_is_one_for_all(problem):
    X, _, recorded = problem
    X, recorded = X[:400], recorded[:400]
    for options in ({}, {"hedge": False}, {"classifier": LinearSVC()}, {"classifier": Ridge()}):
        each = fitted(X, recorded, np.full(4, 0.6), **options).predict_proba(X)
        np.testing.assert_allclose(each, fitted(X, recorded, 0.6, **options).predict_proba(X))


def test_a_label_that_is_always_recorded_is_as_it_was(problem):
    X, _, recorded = problem
    X, recorded = X[:400], recorded[:400]
    precise = LogisticRegression(tol=1e-10)
    model = fitted(X, recorded, [0.5, 1.0, 1.0, 0.5], classifier=precise)
    plain = BinaryRelevance(precise).fit(X, recorded).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1:3], plain[:, 1:3], atol=1e-6)
    assert (model.predict_proba(X)[:, 0] > plain[:, 0]).mean() > 0.9


def test_wrong_rates_are_named(problem):
    X, _, recorded = problem
    with pytest.raises(ValueError, match=r"recorded\[1\] = 2 is no chance above 0 and up to 1"):
        fitted(X[:50], recorded[:50], [0.5, 2.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="one for each of the 4 labels"):
        fitted(X[:50], recorded[:50], [0.5, 0.6])


def test_an_array_is_cloned_and_trials_take_it(problem):
    X, _, recorded = problem
    model = Mend(zeros="ambiguous", recorded=TRUE, weights=(1.0, 0.5))
    again = clone(model).fit(X[:300], recorded[:300])
    assert again.verdict_ is not None
    np.testing.assert_array_equal(again.recorded_, TRUE)


def test_rates_do_not_matter_to_labels_whose_zeros_are_known(problem):
    X, Y, _ = problem
    seen = np.where(np.random.default_rng(1).random((300, 4)) < 0.4, np.nan, Y[:300])
    with_rates = Mend(recorded=TRUE).fit(X[:300], seen)
    without = Mend().fit(X[:300], seen)
    np.testing.assert_array_equal(with_rates.predict_proba(X), without.predict_proba(X))
    assert with_rates.recorded_ == 1.0
