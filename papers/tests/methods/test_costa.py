from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from labelgap import BinaryRelevance, LabelWarning
from labelgap.cooccurrence import as_cooccurrence
from labelgap.generators import make_unseen
from labelgap_papers.methods import COSTA
from labelgap_papers.methods._synthesis_weights import NORMALISATIONS, synthesis_weights

LOGISTIC = LogisticRegression(solver="liblinear", tol=1e-8)


@pytest.fixture(scope="module")
def made():
    return make_unseen(70, 5, 9, random_state=4)


def fitted(made, estimator, **parameters):
    model = COSTA(estimator, **parameters)
    return model.fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)


def independent(made, estimator):
    return BinaryRelevance(estimator).fit(made.X, made.hidden.labels[:, made.hidden.seen])


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("estimator", [LOGISTIC, LinearSVC(random_state=0)], ids=["log", "svm"])
def test_linear_classifiers_are_summed_with_the_weights(made, estimator, normalisation):
    model, seen = fitted(made, estimator, normalisation=normalisation), independent(made, estimator)
    counts = as_cooccurrence(made.cooccurrence, seen=made.hidden.seen)
    weights = synthesis_weights(counts, normalisation).toarray()
    for place, u in enumerate(made.hidden.unseen):
        coef = sum(weights[place, s] * seen.coef_[s] for s in range(len(seen.coef_)))
        intercept = sum(weights[place, s] * seen.intercept_[s] for s in range(len(seen.coef_)))
        np.testing.assert_allclose(model.coef_[u], coef)
        np.testing.assert_allclose(model.intercept_[u], intercept)
    np.testing.assert_array_equal(model.coef_[made.hidden.seen], seen.coef_)
    linear = made.X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(made.X), linear)


def test_weights_by_hand():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [0.5], [2.5]])
    Y = np.array([[0, 1], [0, 0], [1, 1], [1, 0], [0, 1], [1, 0]])
    model = COSTA(LOGISTIC).fit(X, Y, cooccurrence=[[9, 1, 3], [1, 6, 1]])
    np.testing.assert_allclose(model.weights_.toarray(), [[3 / 4, 1 / 4]])
    score = model.decision_function(X)
    np.testing.assert_allclose(score[:, 2], 3 / 4 * score[:, 0] + 1 / 4 * score[:, 1])
    np.testing.assert_allclose(model.predict_proba(X), expit(score))


@pytest.mark.parametrize("estimator", [GaussianNB(), SVC(gamma=0.1)], ids=["bayes", "svm"])
def test_decision_values_of_any_classifier_are_summed(made, estimator):
    model, seen = fitted(made, estimator), independent(made, estimator)
    expected = seen.decision_function(made.X) @ model.weights_.toarray().T
    np.testing.assert_allclose(model.decision_function(made.X, labels="unseen"), expected)
    assert not hasattr(model, "coef_")


def test_probabilities_come_from_log_odds(made):
    model, seen = fitted(made, GaussianNB()), independent(made, GaussianNB())
    probability = seen.predict_proba(made.X)
    np.testing.assert_array_equal(model.predict_proba(made.X, labels="seen"), probability)
    with np.errstate(divide="ignore"):
        expected = expit(logit(probability) @ model.weights_.toarray().T)
    np.testing.assert_allclose(model.predict_proba(made.X, labels="unseen"), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(made.X), model.predict_proba(made.X) > 0.5)


def test_margins_are_decided_at_zero(made):
    model = fitted(made, LinearSVC(random_state=0))
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(made.X), model.decision_function(made.X) > 0)
    assert model.predict(made.X, labels="unseen").shape == (70, len(made.hidden.unseen))


def test_a_label_that_co_occurs_by_chance_only_has_no_information():
    X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0], [0], [1], [1]])
    with pytest.warns(LabelWarning, match="no seen label is similar to 1 by normalisation='pmi'"):
        model = COSTA(LOGISTIC, normalisation="pmi").fit(X, Y, cooccurrence=[[5, 2]])
    np.testing.assert_array_equal(np.ptp(model.decision_function(X)[:, 1]), 0)
    assert np.ptp(COSTA(LOGISTIC).fit(X, Y, [[5, 2]]).decision_function(X)[:, 1]) > 0.1


def test_unknown_normalisation(made):
    with pytest.raises(ValueError, match="'normalisation' parameter"):
        fitted(made, LOGISTIC, normalisation="jaccard")
