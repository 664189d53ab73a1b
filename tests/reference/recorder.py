"""An estimator and a scorer that check which labels scikit-learn hands them.

They live in a module of their own so that worker processes can import them.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from labelgap import Labels


class Recorder(ClassifierMixin, BaseEstimator):
    """Checks that fit receives Labels with the states of exactly its rows."""

    def __init__(self, truth: Labels | None = None, scale: float = 1.0) -> None:
        self.truth = truth
        self.scale = scale

    def fit(self, X, y, weight=None):
        assert isinstance(y, Labels)
        rows = self._rows(X)
        assert y.equals(self.truth[rows])
        if weight is not None:
            np.testing.assert_array_equal(weight, rows)
        self.classes_ = np.arange(y.n_labels)
        return self

    def decision_function(self, X):
        return np.tile(self._rows(X)[:, None] * self.scale, (1, len(self.classes_)))

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)

    def _rows(self, X) -> np.ndarray:
        return np.asarray(X)[:, 0].round().astype(int)


def score(estimator, X, y) -> float:
    """Fails unless it receives the labels of its rows; larger for a larger scale."""
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
    assert isinstance(y, Labels)
    rows = final._rows(X) if final is estimator else np.arange(0)
    if final is estimator:
        assert y.equals(final.truth[rows])
    return final.scale * y.n_observed(unlabeled=True)


def touch(labels: Labels) -> tuple:
    """Everything that could write into a memory map."""
    part = labels[::2]
    rows, values = labels.column(0)
    edited = labels.hide([0], [0]).with_implicit("negative").compact()
    counts = labels.n_observed(axis=0).sum()
    return part.states(), rows, values, edited.states(), counts, labels.positives().sum()
