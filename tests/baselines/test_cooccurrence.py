from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance
from labelgap.baselines import CooccurrenceVote
from labelgap.data import load_dataset
from labelgap.generators import make_unseen
from labelgap.metrics import precision_at_k
from labelgap.protocols import hide_labels
from reference.cooccurrence import votes


class Fixed(GaussianNB):
    """Says of every row what its label says in the first two features."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.column = int(np.array_equal(X[:, 1] > 0.5, y == 1))
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, self.column], X[:, self.column]])


X = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6], [0.1, 0.1]])
Y = (X > 0.5).astype(int)
# items with the seen labels: 8 and 5
M = np.array([[8, 2, 4, 8], [2, 5, 1, 5]])


def test_scores_by_hand():
    model = CooccurrenceVote(Fixed()).fit(X, Y, cooccurrence=M)
    q = np.column_stack([X, X @ [4 / 8, 1 / 5], X.sum(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X), np.minimum(q, 1))
    np.testing.assert_array_equal(model.predict(X), q > 0.5)
    # as log-odds below one half, and along the tangent above
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision[3, 2], np.log(0.07 / 0.93))
    np.testing.assert_allclose(decision[2, 3], 4 * 1.3 - 2)
    np.testing.assert_array_equal(np.argsort(decision, axis=None), np.argsort(q, axis=None))


@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_those_of_a_loop(missing, rng):
    made = make_unseen(60, 5, 9, random_state=3)
    counts = made.cooccurrence.toarray().astype(float)
    if missing:
        gaps = rng.random(counts.shape) < 0.3
        gaps[np.arange(len(counts)), made.hidden.seen] = False
        gaps[counts.argmax(axis=0), np.arange(counts.shape[1])] = False
        counts[gaps] = np.nan
    model = CooccurrenceVote().fit(made.X, made.hidden.labels, cooccurrence=counts)
    default = LogisticRegression(C=10, solver="liblinear")
    alone = BinaryRelevance(default).fit(made.X, made.hidden.labels[:, made.hidden.seen])
    probability = alone.predict_proba(made.X)
    n_seen = made.full.n_positives(axis=0)[made.hidden.seen]
    expected = votes(probability, counts[:, made.hidden.unseen], n_seen)
    np.testing.assert_array_equal(model.predict_proba(made.X, labels="seen"), probability)
    unseen = model.predict_proba(made.X, labels="unseen")
    np.testing.assert_allclose(unseen, np.minimum(expected, 1))


def test_margins_are_no_probabilities():
    with pytest.raises(ValueError, match="'estimator' parameter"):
        CooccurrenceVote(LinearSVC()).fit(X, Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the unseen label .* co-occurs with no:labelgap.LabelWarning")
def test_bibtex_with_half_of_the_labels_unseen(data_dir):
    bibtex = load_dataset("bibtex")
    truth = bibtex.Y[bibtex.test]
    everything, unseen = [], []
    for draw in range(3):
        hidden = hide_labels(bibtex.Y[bibtex.train], 0.5, random_state=draw)
        model = CooccurrenceVote(LogisticRegression(solver="liblinear"))
        model.fit(bibtex.X[bibtex.train], hidden.labels, cooccurrence=hidden.cooccurrence)
        scores = model.decision_function(bibtex.X[bibtex.test])
        everything.append(precision_at_k(truth, scores, k=1))
        relevant = truth.to_dense()[:, hidden.unseen]
        first = scores[:, hidden.unseen].argmax(axis=1)
        unseen.append(relevant[np.arange(len(first)), first].mean())
    assert np.mean(everything) >= 0.46
    assert np.mean(unseen) >= 0.22
