"""The labels of the nearest rows, as far as they are known."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, State, observed_prevalence
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, parameter, with_parameters


@with_parameters
class KNeighborsLabels(LabelGapClassifier):
    """Predict the weighted fraction of each label among the nearest rows in which it is known.

    With weights w_i of the ``n_neighbors`` nearest rows i, of mean one, and p_j the smoothed
    prevalence of label j (see :class:`LabelPrior`):

        P(label j) = (sum of w_i over i with y_ij = 1, + smoothing * p_j)
                   / (sum of w_i over i with y_ij known, + smoothing)

    so that a label that is unknown in the whole neighbourhood falls back to its prevalence. Rows
    in which nothing is known are never neighbours. With many unknown entries more neighbours
    are needed than with complete labels.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours.
    weights : {"uniform", "distance"}, default="uniform"
        All neighbours alike, or by the inverse of their distance; rows at distance zero then
        count alone.
    smoothing : float, default=1.0
        Weight of the prevalence of the label, in neighbours.
    metric : str or callable, default="euclidean"
        Of :class:`sklearn.neighbors.NearestNeighbors`.
    n_jobs : int, default=None
        For the search of neighbours.

    Attributes
    ----------
    prevalence_ : ndarray of shape (n_labels,)
        Smoothed prevalence of each label.

    See Also
    --------
    LabelPrior : the fallback of an unknown neighbourhood.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import KNeighborsLabels
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [1, 0], [np.nan, 0]])
    >>> KNeighborsLabels(n_neighbors=2).fit(X, Y).predict([[0.0], [3.0]])
    array([[0, 1],
           [1, 0]])
    """

    n_neighbors: int = parameter(10, AT_LEAST_ONE)
    _: KW_ONLY
    weights: str = parameter("uniform", StrOptions({"uniform", "distance"}))
    smoothing: float = parameter(1.0, NOT_NEGATIVE)
    metric: Any = parameter("euclidean", str, callable)
    n_jobs: int | None = parameter(None, Integral, None)

    def _fit(self, X: Any, labels: Labels) -> None:
        self.prevalence_ = observed_prevalence(labels)
        informative = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True))
        if len(informative) < self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors}, but only n_samples={len(informative)} rows have "
                "an observed label: use fewer neighbours"
            )
        if len(informative) < labels.n_samples:
            X, labels = X[informative], labels[informative]
        self._search = NearestNeighbors(
            n_neighbors=self.n_neighbors, metric=self.metric, n_jobs=self.n_jobs
        ).fit(X)
        self._of_sparse = sparse.issparse(X)
        self._relevant = labels.positives().astype(np.float64)
        self._unknown, self._known = _smaller_mask(labels)

    def _predict_proba(self, X: Any) -> np.ndarray:
        graph = self._weighted_graph(X)
        relevant = (graph @ self._relevant).toarray()
        if self._known is not None:
            known = (graph @ self._known).toarray()
        else:
            known = np.full(relevant.shape, float(self.n_neighbors))
            if self._unknown is not None:
                known -= (graph @ self._unknown).toarray()
        known = np.maximum(known, relevant)
        weight = known + self.smoothing
        probability = np.tile(self.prevalence_, (X.shape[0], 1))
        np.divide(
            relevant + self.smoothing * self.prevalence_, weight, out=probability, where=weight > 0
        )
        return probability

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def _weighted_graph(self, X: Any) -> sparse.csr_array:
        """Rows x training rows, the weights of the neighbours of each row."""
        if sparse.issparse(X) and not self._of_sparse:
            X = X.toarray()  # search trees take no other
        distance, neighbor = self._search.kneighbors(X)
        weight = np.ones(distance.shape)
        if self.weights == "distance":
            same = distance == 0
            inverse = np.divide(1.0, distance, out=np.zeros_like(weight), where=~same)
            weight = np.where(same.any(axis=1, keepdims=True), same, inverse)
            weight = weight * (self.n_neighbors / weight.sum(axis=1, keepdims=True))
        starts = np.arange(0, neighbor.size + 1, self.n_neighbors)
        shape = (X.shape[0], self._relevant.shape[0])
        return sparse.csr_array((weight.ravel(), neighbor.ravel(), starts), shape=shape)


def _smaller_mask(labels: Labels) -> tuple[sparse.csr_array | None, sparse.csr_array | None]:
    """The unknown entries or the known ones, whichever are fewer, and None for the other."""
    n_known = labels.n_observed(unlabeled=True)
    n_cells = labels.n_samples * labels.n_labels
    if n_known == n_cells:
        return None, None
    if 2 * n_known < n_cells:
        return None, labels.observed(unlabeled=True).astype(np.float64)
    return labels.where(State.UNKNOWN).astype(np.float64), None
