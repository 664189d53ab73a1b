from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB

from labelgap import Labels, metrics
from labelgap.baselines import BinaryRelevance
from labelgap_papers.methods import ClassifierChains

LOGISTIC = LogisticRegression(solver="liblinear", tol=1e-10)


def problem(rng, n=200, d=4, c=4):
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + rng.normal(size=(n, c)) > 0).astype(float)
    return X, Y


@pytest.mark.parametrize("link", ["decision", "probability"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_without_gaps_a_chain_is_that_of_scikit_learn(rng, form, order, link):
    X, Y = problem(rng)
    new = rng.normal(size=(30, 4))
    method = "predict" if link == "decision" else "predict_proba"
    other = ClassifierChain(LOGISTIC, order=order, chain_method=method).fit(X, Y)
    model = ClassifierChains(LOGISTIC, order=order, link=link).fit(form(X), Y)
    expected = other.predict_proba(new)
    np.testing.assert_allclose(model.predict_proba(form(new)), expected, atol=1e-6)


def test_an_ensemble_is_the_mean_of_its_chains(rng):
    X, Y = problem(rng)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = ClassifierChains(GaussianNB(), n_chains=5, random_state=0).fit(X, Y)
    assert model.orders_.shape == (5, 4)
    alone = [ClassifierChains(GaussianNB(), order=o).fit(X, Y) for o in model.orders_]
    expected = np.mean([one.predict_proba(X) for one in alone], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    together = ClassifierChains(GaussianNB(), order=model.orders_).fit(X, Y)
    np.testing.assert_allclose(together.predict_proba(X), expected)


def test_gaps_are_filled_by_the_chain_itself(rng):
    """Two labels, by hand."""
    X, Y = problem(rng, c=2)
    Y[:50, 0], Y[30:80, 1] = np.nan, np.nan
    model = ClassifierChains(LOGISTIC, order="given", link="probability").fit(X, Y)
    first = LOGISTIC.fit(X[50:], Y[50:, 0])
    before = np.concatenate([first.predict_proba(X[:50])[:, 1], Y[50:, 0]])
    probability = first.predict_proba(X)[:, 1]
    known = np.r_[0:30, 80:200]
    second = LogisticRegression(solver="liblinear", tol=1e-10)
    second.fit(np.column_stack([X, before])[known], Y[known, 1])
    expected = second.predict_proba(np.column_stack([X, probability]))[:, 1]
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], probability, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-8)


def test_the_first_label_of_a_chain_is_binary_relevance(rng):
    X, Y = problem(rng)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    chains = ClassifierChains(LOGISTIC, order=[3, 1, 0, 2]).fit(X, Y).predict_proba(X)
    alone = BinaryRelevance(LOGISTIC).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(chains[:, 3], alone[:, 3], atol=1e-8)
    assert np.abs(chains[:, 2] - alone[:, 2]).max() > 1e-3


def test_a_chain_learns_what_one_classifier_per_label_cannot(rng):
    """The last label is the exclusive or of two others: linear once their conjunction is known."""
    X = rng.normal(size=(2000, 2))
    a, b = X.T > 0
    Y = np.column_stack([a, b, a & b, a ^ b]).astype(float)
    gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    chain = ClassifierChains(order="given").fit(X, gaps)
    alone = BinaryRelevance().fit(X, gaps)
    loss = [metrics.hamming_loss(Y[:, 3:], m.predict(X)[:, 3:]) for m in (chain, alone)]
    assert loss[0] < 0.1
    assert loss[1] > 0.3


def test_unlabeled_zeros_and_bad_orders(rng):
    X, Y = problem(rng)
    plain = ClassifierChains(order="given").fit(X, Y).predict_proba(X)
    unlabeled = ClassifierChains(order="given").fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    np.testing.assert_array_equal(unlabeled.predict_proba(X), plain)
    for order in ([0, 1, 2], [0, 1, 2, 2], [[0, 1, 2, 3], [1, 2, 3, 4]]):
        with pytest.raises(ValueError, match="each of the labels 0 to 3 once"):
            ClassifierChains(order=order).fit(X, Y)
    with pytest.raises(ValueError, match="n_chains=3, but order has 1"):
        ClassifierChains(order="given", n_chains=3).fit(X, Y)
