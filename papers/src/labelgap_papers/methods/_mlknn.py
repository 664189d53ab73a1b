"""A naive Bayes rule for how many of a row's neighbours carry a label."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

from labelgap.estimator import LabelGapClassifier
from labelgap.labels import Labels, State
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters


@with_parameters
class MLkNN(LabelGapClassifier):
    """ML-kNN: a lazy learner with a prior and a likelihood of counts for every label [1]_.

    Of the ``n_neighbors`` nearest training rows, let C_j carry label j. Then

        P(y_j = 1 | C_j = c) ~ P(y_j = 1) P(C_j = c | y_j = 1),

    and likewise for 0, with both factors counted over the training rows, where a row is not among
    its own neighbours, and smoothed:

        P(y_j = 1) = (s + n_1) / (2 s + n_0 + n_1),
        P(C_j = c | y_j = 1) = (s + n_1(c)) / (s (n_neighbors + 1) + n_1).

    Parameters
    ----------
    n_neighbors : int, default=10
    smoothing : float, default=1.0
        s, the number of imaginary rows with each value.
    metric : str or callable, default="euclidean"
        Of :class:`sklearn.neighbors.NearestNeighbors`.
    n_jobs : int, default=None
        For the search of neighbours.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
        P(y_j = 1).
    likelihood_ : ndarray of shape (2, n_labels, n_neighbors + 1)
        P(C_j = c | y_j = 0) and P(C_j = c | y_j = 1).

    Notes
    -----
    n_0, n_1 and n_1(c) count the rows in which label j is known. A neighbour in which it is
    unknown is not among the C_j; since the same holds for new rows, fewer are simply expected.
    For the same reason rows of which nothing is known stay neighbours: with many of them, leave
    them out of the training set. Unlabeled zeros are zeros. A label that was never observed has
    probability 1/2.

    There is no objective: everything is counted once.

    References
    ----------
    .. [1] M.-L. Zhang and Z.-H. Zhou. ML-KNN: a lazy learning approach to multi-label learning.
       Pattern Recognition 40, 2007.
    """

    n_neighbors: int = parameter(10, AT_LEAST_ONE)
    _: KW_ONLY
    smoothing: float = parameter(1.0, POSITIVE)
    metric: Any = parameter("euclidean", str, callable)
    n_jobs: int | None = parameter(None, Integral, None)

    def _fit(self, X: Any, labels: Labels) -> None:
        if X.shape[0] <= self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors}, but n_samples={X.shape[0]}: a row is not its own "
                "neighbour, so use fewer neighbours than rows"
            )
        # a tree and brute force break ties in different orders: one search for every layout
        self._search = NearestNeighbors(
            n_neighbors=self.n_neighbors, metric=self.metric, algorithm="brute", n_jobs=self.n_jobs
        ).fit(X)
        self._relevant = labels.positives().astype(np.float64)
        counts = self._count(_neighbors_in_training(self._search))
        n_ones = labels.n_positives(axis=0)
        n_known = labels.n_observed(axis=0, unlabeled=True)
        self.prior_ = (self.smoothing + n_ones) / (2 * self.smoothing + n_known)
        self.likelihood_ = self._likelihood(counts, labels.states())

    def _likelihood(self, counts: np.ndarray, states: np.ndarray) -> np.ndarray:
        n_labels, n_values = states.shape[1], self.n_neighbors + 1
        value = np.where(states == State.RELEVANT, 1, 0)
        cell = (value * n_labels + np.arange(n_labels)) * n_values + counts
        found = np.bincount(cell[states != State.UNKNOWN], minlength=2 * n_labels * n_values)
        smoothed = found.reshape(2, n_labels, n_values) + self.smoothing
        return smoothed / smoothed.sum(axis=2, keepdims=True)

    def _count(self, neighbors: np.ndarray) -> np.ndarray:
        """How many of the neighbours of each row carry each label."""
        n_samples, width = neighbors.shape
        starts = np.arange(0, neighbors.size + 1, width)
        graph = sparse.csr_array(
            (np.ones(neighbors.size), neighbors.ravel(), starts),
            shape=(n_samples, self._relevant.shape[0]),
        )
        return (graph @ self._relevant).toarray().astype(np.intp)

    def _decision_function(self, X: Any) -> np.ndarray:
        counts = self._count(_neighbors_of_new(self._search, X))
        label = np.arange(len(self.prior_))
        for_zero, for_one = (table[label, counts] for table in np.log(self.likelihood_))
        return np.log(self.prior_) - np.log1p(-self.prior_) + for_one - for_zero

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


def _neighbors_in_training(search: NearestNeighbors) -> np.ndarray:
    """The nearest other rows of every training row."""
    return search.kneighbors(return_distance=False)


def _neighbors_of_new(search: NearestNeighbors, X: Any) -> np.ndarray:
    return search.kneighbors(X, return_distance=False)
