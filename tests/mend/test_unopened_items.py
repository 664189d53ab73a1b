"""Items that nobody opened: found where labels were to be expected, and not where none apply."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from labelgap import Mend
from labelgap.labels import Labels, State
from labelgap.mend._unopened_items import find_unopened_items, with_unknown_rows
from labelgap.metrics import average_precision
from labelgap.protocols import hide_unopened_items


def problem(n_samples=900, prior=-0.5, n_labels=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 12))
    logits = 2 * X @ rng.normal(size=(12, n_labels)) / np.sqrt(12) + prior
    Y = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    return X, Labels.from_dense(Y.astype(int)).with_zeros("unlabeled")


def test_labels_that_come_together_or_not_at_all_do_not_mislead():
    """Half of the items have no label rightly, the others have most of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    something = X[:, 0] > 0
    Y = something[:, None] & (rng.random((1500, 6)) < 0.7)
    labels = Labels.from_dense(Y.astype(int)).with_zeros("unlabeled")
    assert find_unopened_items(X, labels, np.random.default_rng(0)).size < 0.05 * 1500


def test_unopened_items_are_found():
    X, labels = problem()
    hidden = hide_unopened_items(labels, 0.4, random_state=0)
    found = find_unopened_items(X, hidden.labels, np.random.default_rng(0))
    unopened = hidden.details["unopened"]
    assert unopened[found].mean() > 0.95
    assert unopened[found].sum() > 0.8 * unopened.sum()


def test_items_to_which_nothing_applies_stay():
    X, labels = problem(prior=-3.5)
    empty = labels.n_positives(axis=1) == 0
    assert empty.mean() > 0.4
    assert find_unopened_items(X, labels, np.random.default_rng(0)).size < 0.05 * empty.sum()


def test_items_with_a_label_or_a_stated_zero_were_opened():
    X, labels = problem()
    hidden = hide_unopened_items(labels, 0.4, random_state=0)
    unopened = np.flatnonzero(hidden.details["unopened"])
    stated = unopened[::2]
    checked = hidden.labels.with_entries(stated, np.zeros(stated.size, dtype=int), State.NEGATIVE)
    found = find_unopened_items(X, checked, np.random.default_rng(0))
    assert not np.isin(found, stated).any()
    assert np.isin(unopened[1::2], found).mean() > 0.8


@pytest.mark.parametrize("missing", [np.nan, None])
def test_features_may_be_missing(missing):
    X, labels = problem(200)
    X[::7, 0] = np.nan if missing is not None else X[::7, 0]
    hidden = hide_unopened_items(labels, 0.4, random_state=0)
    assert find_unopened_items(X, hidden.labels, np.random.default_rng(0)).size > 40


def test_unknown_rows_keep_the_others():
    _, labels = problem(20)
    changed = with_unknown_rows(labels, np.array([3, 7]))
    states = changed.states()
    assert (states[[3, 7]] == State.UNKNOWN).all()
    others = np.setdiff1d(np.arange(20), [3, 7])
    np.testing.assert_array_equal(states[others], labels.states()[others])
    assert with_unknown_rows(labels, np.empty(0, dtype=int)) is labels


def test_mend_learns_nothing_from_unopened_items():
    X, labels = problem(1200)
    train, test = np.arange(800), np.arange(800, 1200)
    hidden = hide_unopened_items(labels[train], 0.5, random_state=0)
    model = Mend(LogisticRegression(), zeros="unlabeled").fit(X[train], hidden.labels)
    unopened = np.flatnonzero(hidden.details["unopened"])
    assert np.isin(unopened, model.unopened_items_).mean() > 0.8
    truth = labels[test].with_zeros("negative")
    as_zeros = LogisticRegression()
    rows = hidden.labels.positives().toarray()
    plain = np.column_stack(
        [as_zeros.fit(X[train], column).predict_proba(X[test])[:, 1] for column in rows.T]
    )
    probabilities = model.predict_proba(X[test])
    assert average_precision(truth, probabilities) > average_precision(truth, plain) - 0.005
    # what is predicted is about as frequent as what is relevant, not half of it
    assert probabilities.mean() == pytest.approx(
        labels.n_positives() / labels.shape[0] / 8, rel=0.1
    )
    assert roc_auc_score(truth.to_dense().ravel(), probabilities.ravel()) > 0.85


def test_complete_or_negative_zeros_are_left_alone():
    X, labels = problem(200)
    model = Mend(LogisticRegression()).fit(X, labels.with_zeros("negative"))
    assert model.unopened_items_.size == 0
