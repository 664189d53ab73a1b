"""A label manifold that follows that of the rows, and a regression onto it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils._param_validation import Interval, StrOptions

from labelgap.kernels.neighbors import mean_distance_gamma, nearest_rows, reconstruction_weights
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import Labels
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.proximal import Quadratic, backtrack, proximal_path
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods._linear import LinearScores, as_double

_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
_POSITIVE = [Interval(Real, 0, None, closed="neither")]


def label_manifold(
    weights: sparse.csr_array, signed: np.ndarray, margin: float, max_iter: int, tol: float
) -> tuple[np.ndarray, list[float]]:
    """min ||(I - S) U||^2 with u_il y_il >= margin where y is 1 or -1, and the way there.

    weights : csr_array of shape (n, n). S, how each row is put together from others.
    signed : array of shape (n, n_labels). Labels of 1 and -1, and 0 where u is free.
    margin : float
    max_iter : int
    tol : float. Relative fall of the objective that ends it.
    """
    rough = sparse.csr_array(sparse.eye_array(weights.shape[0]) - weights)
    low = np.where(signed > 0, margin, -np.inf)
    high = np.where(signed < 0, -margin, np.inf)

    def nearest(U: np.ndarray, step: float) -> tuple[np.ndarray, float]:
        return np.clip(U, low, high), 0.0

    start = margin * signed
    smooth = Quadratic(lambda U: 2 * (rough.T @ (rough @ U)), np.zeros_like(start))
    values: list[float] = []
    for point in islice(proximal_path(smooth, nearest, start), max_iter):
        values.append(point.value)
        if len(values) > 1 and values[-2] - values[-1] <= tol * max(values[-2], 1.0):
            break
    return point.x, values


def tube_loss(distances: np.ndarray, width: float) -> float:
    """sum max(0, u - width)^2."""
    return float(np.square(np.maximum(distances - width, 0.0)).sum())


def weighted_regression(
    K: np.ndarray, target: np.ndarray, row_weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """argmin over B, b of  tr(B'K B) + sum_i g_i ||K_i B + b - u_i||^2.

    Rows of weight zero are left out.
    """
    used = np.flatnonzero(row_weights > 0)
    roots = np.sqrt(row_weights[used])
    # R K R + I with R = G^1/2, for K + G^-1: no eigenvalue below 1, whatever g is
    matrix = K * roots if len(used) == len(K) else K[np.ix_(used, used)] * roots
    matrix *= roots[:, None]
    matrix[np.diag_indices(len(used))] += 1.0
    # transposed it is in the order of columns, and factored without a copy
    factor = linalg.cho_factor(matrix.T, overwrite_a=True, check_finite=False)
    right_side = roots[:, None] * np.column_stack([np.ones(len(used)), target[used]])
    both = roots[:, None] * linalg.cho_solve(factor, right_side, check_finite=False)
    level = both[:, 1:].sum(axis=0) / both[:, 0].sum()
    dual = np.zeros_like(target)
    dual[used] = both[:, 1:] - both[:, :1] * level
    return dual, level


class _Place(NamedTuple):
    """B, b and K B, or a step in them."""

    dual: np.ndarray
    level: np.ndarray
    image: np.ndarray

    def moved(self, step: float, move: _Place) -> _Place:
        return _Place(*(here + step * way for here, way in zip(self, move, strict=True)))


@with_parameters
class ML2(LinearScores):
    """Multi-label manifold learning: numbers for labels, as smooth as the rows are [1]_.

    Rows are put together from their neighbours, x_i = sum_j S_ij x_j. Labels become numbers that
    are put together in the same way, as far as their signs allow,

        min  sum_i ||u_i - sum_j S_ij u_j||^2    subject to  u_il y_il >= margin,

    for labels y of 1 and -1. Support vector regression with several outputs then predicts them,

        min  1/2 tr(B'K B) + C sum_i max(0, ||K_i B + b - u_i|| - epsilon)^2.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Distance from u that costs nothing.
    margin : float, default=1.0
    n_neighbors : int, default=10
        At most all other rows.
    lle_reg : float, default=0.001
        Regularisation of the reconstruction, relative to the trace of the local Gram matrix.
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : float, default=None
        Of "rbf"; by default 1 / (2 width^2), the width being the mean distance of two rows.
    max_iter : int, default=500
        Of the manifold, and of the regression.

    Attributes
    ----------
    label_numbers_ : ndarray of shape (n_samples, n_labels)
        u.
    dual_coef_, intercept_ : ndarrays of shape (n_samples, n_labels) and (n_labels,)
        B and b.
    manifold_objective_ : list of float
        The first objective, iteration by iteration.
    gamma_ : float or None
    rows_ : array or CSR matrix of shape (n_samples, n_features)
        The training rows.
    trace_ : Trace
        The second objective of every iteration, to be minimised, and how the fit ended.

    Notes
    -----
    Numbers of unknown labels have no sign to keep: they follow from the neighbours. The paper has
    complete labels. Unlabeled zeros are irrelevant. Rows without any label take part.

    The regression is solved by reweighting. Its quadratic does not lie above the loss, so that a
    line search keeps the objective from increasing.

    References
    ----------
    .. [1] P. Hou, X. Geng and M.-L. Zhang. Multi-label manifold learning. AAAI, 2016.
    """

    C: float = parameter(1.0, POSITIVE)
    epsilon: float = parameter(0.1, NOT_NEGATIVE)
    _: KW_ONLY
    margin: float = parameter(1.0, POSITIVE)
    n_neighbors: int = parameter(10, AT_LEAST_ONE)
    lle_reg: float = parameter(1e-3, POSITIVE)
    kernel: str = parameter("rbf", StrOptions({"rbf", "linear"}))
    gamma: float | None = parameter(None, *_POSITIVE, None)
    max_iter: int = parameter(500)
    tol: float = parameter(1e-5)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        Y = labels.to_dense()
        observed = ~np.isnan(Y)
        if not observed.any():
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        self.rows_ = X = as_double(X)
        self.gamma_ = None
        if self.kernel == "rbf":
            self.gamma_ = mean_distance_gamma(X) if self.gamma is None else float(self.gamma)
        graph = nearest_rows(X, self.n_neighbors)
        weights = reconstruction_weights(X, graph, reg=self.lle_reg)
        signed = np.where(observed, 2 * Y - 1, 0.0)
        self.label_numbers_, self.manifold_objective_ = label_manifold(
            weights, signed, self.margin, self.max_iter, self.tol
        )
        K = self._kernel_to_rows(X)
        self.dual_coef_, self.intercept_ = self._regress(K, self.label_numbers_)
        scores = K @ self.dual_coef_ + self.intercept_
        self.slope_, self.level_ = fit_sigmoid(scores[observed], Y[observed])

    def _regress(self, K: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        monitor = self._monitor()
        here = _Place(np.zeros_like(target), target.mean(axis=0), np.zeros_like(target))
        value = self._objective(target, here)
        for _ in range(self.max_iter):
            here, value = self._reweighted(K, target, here, value)
            if monitor.record(value):
                break
        self._keep_trace(monitor)
        return here.dual, here.level

    def _objective(self, target: np.ndarray, place: _Place) -> float:
        loss = tube_loss(row_norms(place.image + place.level - target), self.epsilon)
        return 0.5 * float(np.vdot(place.dual, place.image)) + self.C * loss

    def _reweighted(
        self, K: np.ndarray, target: np.ndarray, here: _Place, value: float
    ) -> tuple[_Place, float]:
        """Towards weighted least squares with the slope of the loss, as far as it helps."""
        weights, _ = self._weighted_residual(target, here)
        if not weights.any():
            return here, value
        new_dual, new_level = weighted_regression(K, target, weights)
        move = _Place(new_dual - here.dual, new_level - here.level, K @ new_dual - here.image)

        def slope(step: float) -> float:
            place = here.moved(step, move)
            weights, residual = self._weighted_residual(target, place)
            along = np.vdot(weights[:, None] * residual, move.image + move.level)
            return float(np.vdot(move.dual, place.image) + along)

        step, value = backtrack(
            lambda step: self._objective(target, here.moved(step, move)),
            value,
            slope(0.0),
            slope_after=slope,
        )
        return here.moved(step, move), value

    def _weighted_residual(
        self, target: np.ndarray, place: _Place
    ) -> tuple[np.ndarray, np.ndarray]:
        """g and K B + b - u, whose product is the slope of the loss."""
        residual = place.image + place.level - target
        distances = row_norms(residual)
        outside = distances > self.epsilon
        weights = np.zeros(len(residual))
        weights[outside] = 2 * self.C * (1 - self.epsilon / distances[outside])
        return weights, residual

    def _kernel_to_rows(self, X: Any) -> np.ndarray:
        parameters = {} if self.gamma_ is None else {"gamma": self.gamma_}
        kernel = pairwise_kernels(X, self.rows_, metric=self.kernel, **parameters)
        return kernel.toarray() if sparse.issparse(kernel) else kernel

    def _scores(self, X: Any) -> np.ndarray:
        return self._kernel_to_rows(X) @ self.dual_coef_ + self.intercept_
