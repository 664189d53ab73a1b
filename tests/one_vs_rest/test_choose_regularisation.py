"""How strongly each label is regularised: by entries left out, for labels of similar frequency."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, as_labels
from labelgap.metrics import log_loss
from labelgap.one_vs_rest import choose_pruning, choose_strengths, known_entries


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def chosen(X, Y):
    labels = as_labels(Y)
    n_relevant = labels.n_positives(axis=0)
    n_rarer = np.minimum(n_relevant, labels.n_observed(axis=0) - n_relevant)
    return choose_strengths(X, partial(known_entries, labels), n_rarer)


def test_noise_is_regularised_more_than_signal(rng):
    X = rng.normal(size=(600, 30))
    clear = (X[:, :2] > 0.0) * 1.0
    noise = rng.integers(2, size=(600, 2)) * 1.0
    assert chosen(X, clear).min() > 100 * chosen(X, noise).max()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_scaled_features_are_regularised_in_proportion(rng, form):
    X = rng.normal(size=(300, 10))
    Y = (X[:, :3] + rng.normal(size=(300, 3)) > 0) * 1.0
    plain, scaled = chosen(form(X), Y), chosen(form(10 * X), Y)
    np.testing.assert_allclose(scaled, plain / 100, rtol=1e-6)


def test_rare_and_frequent_labels_are_judged_apart(rng):
    X = rng.normal(size=(1000, 20))
    frequent = (X[:, :4] > 0.2) * 1.0
    rare = (rng.random((1000, 4)) < 0.05) * 1.0
    found = chosen(X, np.hstack([frequent, rare]))
    assert np.unique(found[:4]).size == np.unique(found[4:]).size == 1
    assert found[0] > found[-1]


def test_unknown_entries_are_not_judged(rng):
    X = rng.normal(size=(400, 5))
    Y = (X[:, :2] + rng.normal(size=(400, 2)) > 0) * 1.0
    Y[rng.random(Y.shape) < 0.5] = np.nan
    moved = X.copy()
    moved[np.isnan(Y).all(axis=1)] = -X[np.isnan(Y).all(axis=1)]
    np.testing.assert_allclose(chosen(X, Y), chosen(moved, Y), rtol=0.01)


def test_few_rows_and_labels_of_one_value_take_the_default(rng):
    X = rng.normal(size=(30, 3))
    assert chosen(X, (X[:, :2] > 0) * 1.0).tolist() == [1.0, 1.0]
    X = rng.normal(size=(200, 3))
    found = chosen(X, np.column_stack([X[:, 0] > 0, np.zeros(200)]) * 1.0)
    assert found[1] == 1.0


def test_binary_relevance_chooses_it_and_predicts_better(rng):
    X = rng.normal(size=(500, 60))
    Y = (X[:, :3] + 2 * rng.normal(size=(500, 3)) > 0) * 1.0
    model, fixed = BinaryRelevance(), BinaryRelevance(C=1.0)
    losses = [
        log_loss(Y[250:], one.fit(X[:250], Y[:250]).predict_proba(X[250:]))
        for one in (model, fixed)
    ]
    assert losses[0] < losses[1] - 0.02
    assert [one.C for one in model.estimators_] == model.C_.tolist()
    assert fixed.C_.tolist() == [1.0] * 3


def test_the_strength_belongs_to_the_default_classifier(rng):
    X = rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match="LogisticRegression has settings of its own"):
        BinaryRelevance(LogisticRegression(), C=0.1).fit(X, (X > 0) * 1.0)
    assert not hasattr(BinaryRelevance(LogisticRegression()).fit(X, (X > 0) * 1.0), "C_")


def test_coefficients_that_say_little_are_dropped(rng):
    X = sparse.csr_array(rng.random((400, 50)) * (rng.random((400, 50)) < 0.2))
    Y = (X[:, :3].toarray() > 0.3) * 1.0
    labels = as_labels(Y)
    C = np.full(3, 10.0)
    read = partial(known_entries, labels)
    fraction = choose_pruning(X, read, labels.n_positives(axis=0), C)
    whole, pruned = BinaryRelevance(C=10.0), BinaryRelevance(C=10.0, prune=fraction)
    probabilities = [model.fit(X, Y).predict_proba(X) for model in (whole, pruned)]
    assert fraction > 0
    assert sparse.issparse(pruned.coef_)
    assert pruned.coef_.nnz < 0.5 * whole.coef_.size
    assert np.abs(probabilities[0] - probabilities[1]).mean() < 0.05


def test_sparse_coefficients_survive_a_pickle(rng):
    X = sparse.csr_array(rng.random((60, 9)))
    Y = np.column_stack([rng.integers(2, size=60), np.zeros(60)])
    model = BinaryRelevance(C=1.0, prune=0.05).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    expected = model.estimators_[0].predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X.toarray()), model.predict_proba(X), atol=1e-6)
