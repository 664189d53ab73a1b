"""Selectors that rank features by how much a linear map from features to labels uses them."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from labelgap.estimator import LabelGapClassifier
from labelgap.extras import require
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.products import Features
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import AT_LEAST_ONE, SharedParameter
from labelgap_papers.methods._iterative import Iterative
from labelgap_papers.methods._linear import placed


class DeviceGraph:
    """A sparse matrix on a device of torch: its products with dense columns, and its diagonal."""

    def __init__(self, matrix: sparse.csr_array, device: str) -> None:
        torch = require("torch", extra="gpu", purpose="device=")
        entries = matrix.tocoo()
        places = torch.asarray(np.stack(entries.coords).astype(np.int64), device=device)
        values = torch.asarray(entries.data, device=device)
        made = torch.sparse_coo_tensor(places, values, matrix.shape, check_invariants=True)
        self._matrix = made.coalesce()
        self._diagonal = torch.asarray(matrix.diagonal(), device=device)

    def __matmul__(self, columns: Any) -> Any:
        return self._matrix @ columns

    def diagonal(self) -> Any:
        return self._diagonal


class LinearSelector(SelectorMixin, Iterative, LabelGapClassifier):
    """A selector with ``coef_`` (n_features, n_labels) and ``intercept_``; it predicts with both.

    A subclass writes ``_fit_map(X, Y, rows)`` for features in double precision and labels of
    shape (n_samples, n_labels) with NaN where an entry is unknown; every row and every label has an
    observed entry, and ``rows`` says which of the rows given to ``fit`` these are. It returns
    the coefficients, their intercepts and the scores of the features, where they were computed:
    a subclass with the parameter ``device`` takes them there by ``_placed``.
    """

    n_features_to_select: int | float | None
    device: str | None = None
    _shared_parameters: ClassVar[dict[str, SharedParameter]] = {
        **LabelGapClassifier._shared_parameters,
        "n_features_to_select": SharedParameter(
            "int, float",
            "How many features to keep, or which fraction of them; half by default.",
            [None, Interval(RealNotInt, 0, 1, closed="neither"), AT_LEAST_ONE],
        ),
    }

    def _fit(self, X: Any, labels: Labels) -> None:
        n_wanted = _n_wanted(self.n_features_to_select, X.shape[1])
        rows = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True))
        if not rows.size:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        X, labels = X[rows].astype(np.float64), labels[rows]
        if sparse.issparse(X):
            X = sparse.csr_array(X)
        seen = labels.n_observed(axis=0, unlabeled=True) > 0
        Y = labels.to_dense()[:, seen]
        coef, intercept, self.scores_ = map(to_numpy, self._fit_map(X, Y, rows))
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        self.coef_[:, seen] = coef
        self.intercept_ = observed_prevalence(labels)
        self.intercept_[seen] = intercept
        self.ranking_ = np.argsort(-self.scores_, kind="stable")
        self.n_features_to_select_ = n_wanted
        observed = ~np.isnan(Y)
        fitted = self._linear_scores(X)[:, seen]
        self.slope_, self.level_ = fit_sigmoid(fitted[observed], Y[observed])

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit_map")

    def _placed(self, X: Any, *arrays: np.ndarray) -> tuple[Features, *tuple[Any, ...]]:
        """Features and arrays on the device, or as they are without one."""
        return placed(self.device, X, *arrays)

    def _placed_graph(self, matrix: sparse.csr_array) -> sparse.csr_array | DeviceGraph:
        return matrix if self.device is None else DeviceGraph(matrix, self.device)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.ranking_[: self.n_features_to_select_]] = True
        return mask

    def _linear_scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_) + self.intercept_

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * self._linear_scores(X.astype(np.float64)) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


def _n_wanted(wanted: int | float | None, n_features: int) -> int:
    """How many features a number, a fraction or None (half of them) stand for; at least one."""
    if wanted is None:
        return max(1, n_features // 2)
    if isinstance(wanted, Integral):
        if wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted} is more than n_features={n_features} of X: give at "
                "most as many, or a fraction between 0 and 1"
            )
        return int(wanted)
    return max(1, int(wanted * n_features))


def cut_graph(graph: Any, rows: np.ndarray) -> sparse.csr_array:
    """The part of a graph of all training rows that belongs to some of them."""
    graph = sparse.csr_array(graph)
    if graph.shape[0] != graph.shape[1] or graph.shape[0] <= rows.max():
        raise ValueError(
            f"graph has the shape {tuple(graph.shape)}: it must be (n_samples, n_samples), with "
            "similarities of the rows of X"
        )
    return graph[rows][:, rows]
