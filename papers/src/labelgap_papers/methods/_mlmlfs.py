"""Feature selection while missing labels are filled in and similar rows are kept alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from labelgap.kernels.array_namespace import array_like, array_namespace
from labelgap.kernels.products import (
    Features,
    linear_part,
    transposed_times,
    weighted_gram,
    with_intercept,
)
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.row_sparse import (
    SMOOTHING,
    reweight,
    row_norms,
    solve_positive,
    solve_reweighted,
    sum_of_norms,
)
from labelgap_papers.kernels.smoothness import heat_graph, laplacian
from labelgap_papers.methods._selector import LinearSelector, cut_graph


def smooth_regression(
    features: Features,
    target: Any,
    row_weights: Any,
    penalties: Any,
    roughness: Any,
) -> Any:
    """argmin over (W, b) of  sum_i g_i ||x_i W + b - y_i||^2 + tr(W'(T + diag p) W).

    ``roughness`` is T = alpha X' Lap X; a constant b is smooth, so that it does not enter there.
    The intercept is the last row of what is returned.
    """
    d = features.shape[1]
    matrix = weighted_gram(features, row_weights[:, None])[0]
    matrix[:d, :d] += roughness
    matrix[np.arange(d), np.arange(d)] += penalties
    weighted = row_weights[:, None] * target
    return solve_positive(matrix, with_intercept(transposed_times(features, weighted), weighted))


@with_parameters
class MLMLFS(LinearSelector):
    """Multi-label feature selection with missing labels: fill in, smooth, and select [1]_.

    With labels of -1 and 1, F = X W + b and the graph Laplacian Lap of similar rows,

        min  sum_i ||f_i - y_i|| + alpha tr(F' Lap F) + weight sum_f ||w_f||^p

    over W, b and the unknown entries of Y, which may be anything in [-1, 1]. The score of a
    feature is the length of its row of W.

    Parameters
    ----------
    alpha : float, default=0.01
        Weight of the smoothness.
    weight : float, default=1.0
        Weight of the row norms.
    p : float, default=1.0
        Power of the row norms, above 0 and at most 2; below 1 the problem is not convex.
    n_neighbors : int, default=5
        Of the graph of similar rows, with heat-kernel weights.
    graph : sparse matrix of shape (n_samples, n_samples), default=None
        Similarities of the training rows to take instead.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Lengths of the rows of ``coef_``.
    coef_ : ndarray of shape (n_features, n_labels)
        W / 2: for labels of 0 and 1.
    intercept_ : ndarray of shape (n_labels,)
        (b + 1) / 2.

    Notes
    -----
    Each iteration solves a ridge regression for W and b together, with weights that touch the
    norms, and then fills unknown entries with F clipped to [-1, 1]; neither increases the
    objective. In the authors' code a one stands in the place of an identity matrix, which makes
    F - Y smooth instead of F, and the objective goes up at times.

    A row whose known labels are fitted exactly gets so large a weight that its filled entries
    stay where they are, and the descent ends above the minimum. The norm of a residual is
    therefore taken as sqrt(||r||^2 + s), with s = 1 at first and half as much in every iteration:
    as s falls so does the objective, which is what the trace holds.

    Unknown entries are filled; an unlabeled zero is a zero, and is not.

    References
    ----------
    .. [1] P. Zhu, Q. Xu, Q. Hu, C. Zhang and H. Zhao. Multi-label feature selection with missing
       labels. Pattern Recognition 74, 2018.
    """

    alpha: float = parameter(0.01, NOT_NEGATIVE)
    weight: float = parameter(1.0, POSITIVE)
    p: float = parameter(1.0, Interval(Real, 0, 2, closed="right"))
    _: KW_ONLY
    n_neighbors: int = parameter(5, AT_LEAST_ONE)
    graph: Any = parameter(None, "sparse matrix", None)
    n_features_to_select: int | float | None = parameter(None)
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        unknown = np.isnan(Y)
        filled = np.where(unknown, 0.0, 2 * Y - 1)
        roughness = self.alpha * _gram_along(X, self._laplacian(X, rows))
        features, unknown, filled, roughness = self._placed(X, unknown, filled, roughness)
        xp = array_namespace(filled)
        monitor = self._monitor()
        W = self._first(features, filled)
        while True:
            fitted = linear_part(features, W)
            filled[unknown] = xp.clip(fitted[unknown], -1, 1)
            residual = fitted - filled
            smoothing = max(0.5**monitor.trace.n_iter, SMOOTHING)
            done = monitor.record(self._objective(residual, W, roughness, smoothing))
            if done or monitor.trace.n_iter == self.max_iter:
                break
            weights = reweight(residual, smoothing)
            W = smooth_regression(features, filled, weights, self._penalties(W), roughness)
        self._keep_trace(monitor)
        return W[:-1] / 2, (W[-1] + 1) / 2, row_norms(W[:-1] / 2)

    def _laplacian(self, X: Any, rows: np.ndarray) -> sparse.csr_array:
        if self.graph is None:
            return laplacian(heat_graph(X, self.n_neighbors))
        return laplacian(cut_graph(self.graph, rows))

    def _first(self, features: Features, filled: Any) -> Any:
        """Ridge regression with a free intercept."""
        xp = array_namespace(filled)
        penalties = np.append(np.full(features.shape[1], self.weight), 0.0)
        ones = xp.ones_like(filled[:, 0])
        return solve_reweighted(features, filled, ones, array_like(xp, penalties, filled))

    def _penalties(self, W: Any) -> Any:
        """Weights of squares that touch weight ||w_f||^p at W."""
        squares = row_norms(W[:-1]) ** 2 + SMOOTHING
        return self.weight * self.p / 2 * squares ** (self.p / 2 - 1)

    def _objective(self, residual: Any, W: Any, roughness: Any, smoothing: float) -> float:
        W = W[:-1]
        rough = float((W * (roughness @ W)).sum())
        powers = float(((row_norms(W) ** 2 + SMOOTHING) ** (self.p / 2)).sum())
        return sum_of_norms(residual, smoothing) + rough + self.weight * powers


def _gram_along(X: Any, lap: sparse.csr_array) -> np.ndarray:
    """X' Lap X."""
    gram = X.T @ (lap @ X)
    return gram.toarray() if sparse.issparse(gram) else gram
