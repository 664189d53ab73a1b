"""Multi-view embedding of incompletely labelled data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg

from labelgap.fitting import Monitor
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import POSITIVE, parameter, with_parameters
from labelgap.views import count_factors
from labelgap_papers.kernels.two_thirds import leading_svd
from labelgap_papers.methods._view_blocks import (
    ViewEmbedding,
    dense_views,
    learn_scaling,
    warn_of_filled_views,
)


@with_parameters
class LabelMe(ViewEmbedding):
    """Multi-view embedding learning for incompletely labelled data [1]_, after its description.

    Every view is mapped linearly into one space in which the images of a row lie close together,
    around a vector z from which its labels are predicted:

        min  sum_v ||X_v W_v - Z||^2 + alpha ||M o (Z B + 1 c' - Y)||^2
             + ridge (sum_v ||W_v||^2 + ||B||^2),

    where M leaves out unknown labels. Unlabeled zeros are zeros. Rows without labels take part, and
    new rows are placed at the mean of their images, which is the minimum for rows without labels.

    This objective is a reconstruction from how [2]_ describes the method (a subspace in which the
    views of an object are close, learned with incomplete labels, for complete views). It need not
    be that of [1]_ in detail, and figures published for LabelMe need not be those of this class.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the labels against the agreement of the views.
    ridge : float, default=0.3
        Of the maps. A row of a scaled view has mean squared length 1.
    absent : {"mean", "ignore"}, default="mean"
        The method assumes complete views. "mean" fills absent ones with the means of the features,
        with a warning, as in the comparison of [2]_; "ignore" leaves their images out. Missing
        values inside a view have the mean of their feature either way.

    Attributes
    ----------
    projections_ : ndarray of shape (n_features, k)
        W of all views, of scaled features.
    embedding_ : ndarray of shape (n_samples, k)
        Z, observed labels taken into account.
    coef_, intercept_ : ndarrays of shape (k, n_labels) and (n_labels,)
        B and c.

    Notes
    -----
    W, (B, c) and Z are each the exact minimum for the others, and the scale is shifted between Z
    and B; the objective never increases. The systems for W are factorised once. The sigmoid is
    fitted to training rows as new ones are seen, from their views alone.

    References
    ----------
    .. [1] W. Zhang, K. Zhang, P. Gu and X. Xue. Multi-view embedding learning for incompletely
       labeled data. IJCAI, 2013.
    .. [2] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.
    """

    views: Mapping[str, Any] | None = parameter(None)
    n_factors: int | float = parameter(0.5)
    _: KW_ONLY
    alpha: float = parameter(1.0, POSITIVE)
    ridge: float = parameter(0.3, POSITIVE)
    absent: Literal["mean", "ignore"] = parameter("mean")
    scaling: Literal["balance"] | None = parameter("balance")
    max_iter: int = parameter(300)
    tol: float = parameter(1e-5)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        values, there = self._read_views(X, labels)
        k = count_factors(self.n_factors, self.views_)
        if self.absent == "mean":
            warn_of_filled_views(type(self).__name__, values, there)
        self.scaling_ = learn_scaling(values, self.views_, self.scaling)
        Y = labels.to_dense()
        seen = ~np.isnan(Y).all(axis=0)
        features = self.scaling_.filled(values)
        views = self._views(features, there)
        problem = LabelMeProblem(views, len(Y), Y[:, seen], float(self.alpha), float(self.ridge))
        monitor = self._monitor()
        params, W = descend(problem, _first_vectors(features, k), monitor)
        self._keep_trace(monitor)
        self.projections_ = np.vstack(W)
        self.embedding_ = params.Z
        self.coef_ = np.zeros((k, len(seen)))
        self.coef_[:, seen] = params.B
        self.intercept_ = observed_prevalence(labels)
        self.intercept_[seen] = params.c
        known = ~np.isnan(Y)
        fitted = self._images(features, there) @ self.coef_ + self.intercept_
        self.slope_, self.level_ = fit_sigmoid(fitted[known], Y[known])
        self._n_features_out = k

    def _views(self, features: np.ndarray, there: np.ndarray) -> list[View]:
        found = []
        for position, columns in enumerate(self.views_.values()):
            present = there[:, position] if self.absent == "ignore" else np.ones(len(there), bool)
            rows = np.flatnonzero(present)
            found.append(View(rows, np.ascontiguousarray(features[rows, columns])))
        return found

    def _embed(self, X: Any) -> np.ndarray:
        """The means of the images of rows under their views."""
        values, there = dense_views(X, self.views_)
        return self._images(self.scaling_.filled(values), there)

    def _images(self, features: np.ndarray, there: np.ndarray) -> np.ndarray:
        parts = np.split(self.projections_, np.cumsum(list(self.views_.widths.values()))[:-1])
        views = self._views(features, there)
        total, count = image_sums(views, images_of(views, parts), len(features))
        return total / count[:, None]

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * (self._embed(X) @ self.coef_ + self.intercept_) + self.level_


class View(NamedTuple):
    """rows : those that have the view; features : (n_present, d_v)"""

    rows: np.ndarray
    features: np.ndarray


class LabelMeProblem(NamedTuple):
    """Y : (n, c), 0, 1 and NaN, every label with a known entry"""

    views: list[View]
    n_samples: int
    Y: np.ndarray
    alpha: float
    ridge: float


class LabelMeParams(NamedTuple):
    """W is what ``RidgeMap`` makes of the source, a matrix of vectors.

    source : (n, k); images : X_v W_v of every view; square : sum_v ||W_v||^2
    Z : (n, k); B : (k, c); c : (c,)
    """

    source: np.ndarray
    images: list[np.ndarray]
    square: float
    Z: np.ndarray
    B: np.ndarray
    c: np.ndarray


class RidgeMap:
    """W = argmin ||A W - Z||^2 + ridge ||W||^2, by a system of rows or of columns.

    With more columns than rows, A W and ||W||^2 follow from the system of rows, and no matrix of
    the size of W is made before it is asked for. Rows without a value other than zero, which stand
    for an absent view, take no part.
    """

    def __init__(self, A: np.ndarray, ridge: float) -> None:
        self.n_samples, self.ridge = len(A), ridge
        self.used = np.flatnonzero(A.any(axis=1))
        self.A = A if len(self.used) == len(A) else A[self.used]
        n, d = self.A.shape
        self.by_columns = d <= n
        gram = self.A.T @ self.A if self.by_columns else self.A @ self.A.T
        gram.flat[:: len(gram) + 1] += ridge
        self.system = linalg.cho_factor(gram, overwrite_a=True)

    def weights(self, Z: np.ndarray) -> np.ndarray:
        """W, of shape (d, k)."""
        if self.by_columns:
            return linalg.cho_solve(self.system, self.A.T @ Z[self.used])
        return self.A.T @ linalg.cho_solve(self.system, Z[self.used])

    def image(self, Z: np.ndarray) -> tuple[np.ndarray, float]:
        """A W and ||W||^2."""
        image = np.zeros((self.n_samples, Z.shape[1]))
        if self.by_columns:
            W = self.weights(Z)
            image[self.used] = self.A @ W
            return image, float(np.vdot(W, W))
        dual = linalg.cho_solve(self.system, Z[self.used])
        part = Z[self.used] - self.ridge * dual
        image[self.used] = part
        return image, float(np.vdot(dual, part))


def descend(
    problem: LabelMeProblem, Z: np.ndarray, monitor: Monitor
) -> tuple[LabelMeParams, list[np.ndarray]]:
    """W, (B, c) and Z in turn until the monitor says stop; the objective never increases.

    The second result is W.
    """
    maps = [RidgeMap(view.features, problem.ridge) for view in problem.views]
    for _ in range(monitor.max_iter):
        B, c = step_labels(problem, Z)
        params = balance(problem, step_vectors(problem, step_images(problem, maps, Z), B, c))
        Z = params.Z
        if monitor.record(objective(problem, params)):
            break
    pairs = zip(problem.views, maps, strict=True)
    return params, [ridge_map.weights(params.source[view.rows]) for view, ridge_map in pairs]


class Images(NamedTuple):
    """The part of ``LabelMeParams`` that W decides."""

    source: np.ndarray
    images: list[np.ndarray]
    square: float


def step_images(problem: LabelMeProblem, maps: list[RidgeMap], Z: np.ndarray) -> Images:
    """The best W of every view for given vectors."""
    pairs = zip(problem.views, maps, strict=True)
    found = [ridge_map.image(Z[view.rows]) for view, ridge_map in pairs]
    return Images(Z, [image for image, _ in found], sum(square for _, square in found))


def step_labels(problem: LabelMeProblem, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One ridge regression per label on the rows that know it; the intercept is free."""
    known = ~np.isnan(problem.Y)
    features = np.column_stack([Z, np.ones(len(Z))])
    penalties = np.full(features.shape[1], problem.ridge / problem.alpha)
    penalties[-1] = 0.0
    cross = np.nan_to_num(problem.Y).T @ features
    weights = np.ascontiguousarray(known.T, dtype=np.float64)
    solved = weighted_ridge(weights, features, cross, penalties).z.T
    return solved[:-1], solved[-1]


def step_vectors(
    problem: LabelMeProblem, views: Images, B: np.ndarray, c: np.ndarray
) -> LabelMeParams:
    """Every z between the images of its row and what its known labels ask for."""
    known = ~np.isnan(problem.Y)
    total, count = image_sums(problem.views, views.images, problem.n_samples)
    wanted = np.where(known, problem.Y - c, 0.0)
    right_side = total + problem.alpha * (wanted @ B.T)
    ridge = np.repeat(count[:, None], total.shape[1], axis=1)
    Z = weighted_ridge(problem.alpha * known, np.ascontiguousarray(B.T), right_side, ridge).z
    return LabelMeParams(*views, Z, B, c)


def balance(problem: LabelMeProblem, params: LabelMeParams) -> LabelMeParams:
    """Z and W times t, B divided by it, with the best t: the fitted labels stay as they are."""
    growing = _spread(problem, params) + problem.ridge * params.square
    falling = problem.ridge * float(np.vdot(params.B, params.B))
    if growing <= 0 or falling <= 0:
        return params
    t = (falling / growing) ** 0.25
    images = [t * image for image in params.images]
    square = t**2 * params.square
    return LabelMeParams(t * params.source, images, square, t * params.Z, params.B / t, params.c)


def objective(problem: LabelMeProblem, params: LabelMeParams) -> float:
    residual = np.nan_to_num(params.Z @ params.B + params.c - problem.Y)
    squares = params.square + float(np.vdot(params.B, params.B))
    value = _spread(problem, params) + problem.ridge * squares
    return value + problem.alpha * float(np.vdot(residual, residual))


def images_of(views: list[View], W: list[np.ndarray]) -> list[np.ndarray]:
    return [view.features @ w for view, w in zip(views, W, strict=True)]


def image_sums(
    views: list[View], images: list[np.ndarray], n_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the images of every row, and how many there are."""
    total, count = np.zeros((n_samples, images[0].shape[1])), np.zeros(n_samples)
    for view, image in zip(views, images, strict=True):
        total[view.rows] += image
        count[view.rows] += 1
    return total, count


def _spread(problem: LabelMeProblem, params: LabelMeParams) -> float:
    """sum_v ||X_v W_v - Z||^2."""
    total = 0.0
    for view, image in zip(problem.views, params.images, strict=True):
        residual = image - params.Z[view.rows]
        total += float(np.vdot(residual, residual))
    return total


def _first_vectors(features: np.ndarray, k: int) -> np.ndarray:
    """Principal components; zeros where there are more factors than those."""
    left, values, _ = leading_svd(features, k)
    return np.pad(left * values, ((0, 0), (0, k - len(values))))
