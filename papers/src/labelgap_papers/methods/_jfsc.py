"""Features chosen and labels predicted by one sparse map with a robust loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.kernels.products import (
    Features,
    prepare_features,
    times,
    transposed_times,
    weighted_gram,
)
from labelgap.parameters import NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.centred import CentredFeatures
from labelgap_papers.kernels.proximal import (
    SmoothPlace,
    absolute_values,
    proximal_path,
    spectral_norm,
)
from labelgap_papers.kernels.row_sparse import reweight, sum_of_norms
from labelgap_papers.methods._linear import (
    LinearScores,
    cosine_distances,
    fill_unknown,
    with_constant,
)


def fisher_scatter(X: Any, Y: np.ndarray) -> np.ndarray:
    """n_pos (var_pos + var_neg - (mean_pos - mean_neg)^2) of every feature for every label.

    Low where the relevant rows of a label are close together and far from the others. Zero for a
    label that all rows or none have.

    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, c). Labels between 0 and 1; in between a row belongs to both sides in
        part.
    Returns array of shape (d, c)
    """
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    n_pos = Y.sum(axis=0)
    within, means = 0.0, []
    for fraction in (Y, 1 - Y):
        weight = np.maximum(fraction.sum(axis=0), np.finfo(np.float64).tiny)
        mean = np.asarray(X.T @ fraction) / weight
        within = within + np.asarray(squares.T @ fraction) / weight - mean**2
        means.append(mean)
    both = (n_pos > 0) & (n_pos < len(Y))
    return np.where(both, n_pos * (within - (means[0] - means[1]) ** 2), 0.0)


def start_curvature(features: Features, W: np.ndarray, Y: np.ndarray, terms: JFSCTerms) -> float:
    """Largest curvature of the squares that touch the objective at W."""
    weights = 2 * reweight(times(features, W) - Y)
    d = features.shape[1]
    largest = spectral_norm(weighted_gram(features, weights[:, None])[0, :d, :d])
    return largest + spectral_norm(terms.distances) + float(np.abs(terms.scatter).max(initial=0.0))


class JFSCTerms:
    """1/2 tr(R W'W) + 1/2 sum S o W o W over the rows of W that are penalised."""

    def __init__(self, distances: np.ndarray, scatter: np.ndarray, penalised: np.ndarray) -> None:
        self.distances = distances
        self.scatter = scatter
        self.penalised = penalised

    def slope(self, W: np.ndarray) -> np.ndarray:
        return self.penalised * (W @ self.distances + self.scatter * W)


class RowNorms:
    """sum_i ||x_i W - y_i|| and the quadratic terms, with squares that touch the norms from above.

    A step is accepted by the squares that touch at the last point: where they do not increase, nor
    do the norms.
    """

    def __init__(self, features: Features, Y: np.ndarray, terms: JFSCTerms) -> None:
        self.features = features
        self.Y = Y
        self.terms = terms

    def at(self, x: np.ndarray) -> SmoothPlace:
        return self._place(x, times(self.features, x) - self.Y)

    def ahead(self, here: SmoothPlace, before: SmoothPlace, momentum: float) -> SmoothPlace:
        """Beyond the last step, with the squares of the last point."""
        x = here.x + momentum * (here.x - before.x)
        weights, residual = here.memory
        residual = residual + momentum * (residual - before.memory[1])
        gradient = transposed_times(self.features, weights[:, None] * residual)
        return SmoothPlace(x, np.nan, gradient + self.terms.slope(x), (weights, residual))

    def moved(self, origin: SmoothPlace, x: np.ndarray) -> tuple[SmoothPlace, float]:
        """The place x, and the curvature of the squares along the step to it."""
        move = x - origin.x
        weights, residual = origin.memory
        image = times(self.features, move)
        square = float(np.vdot(move, move))
        bent = float(
            np.vdot(image, weights[:, None] * image) + np.vdot(move, self.terms.slope(move))
        )
        return self._place(x, residual + image), bent / square if square else 0.0

    def _place(self, x: np.ndarray, residual: np.ndarray) -> SmoothPlace:
        weights = 2 * reweight(residual)
        slope = self.terms.slope(x)
        value = sum_of_norms(residual) + 0.5 * float(np.vdot(x, slope))
        gradient = transposed_times(self.features, weights[:, None] * residual) + slope
        return SmoothPlace(x, value, gradient, (weights, residual))


@with_parameters
class JFSC(LinearScores):
    """Joint feature selection and classification: a sparse map with a robust loss [1]_.

        min  sum_i ||x_i W + b - y_i|| + lambda_1/2 tr(R W'W) + lambda_2/2 sum_k w_k'S_k w_k
             + lambda_3 ||W||_1,

    where R holds the distances of labels, 1 - cos(y_i, y_j), and the diagonal S_k the scatter of
    features within the two sides of label k less that between them (Fisher's): features that
    separate a label are cheap for it. By accelerated proximal gradient from a ridge regression,
    on squares that touch the norms from above.

    Parameters
    ----------
    lambda_1, lambda_2, lambda_3 : float, default=0.01, 0.001, 0.1
        Weights of the terms.
    gamma : float, default=0.1
        Ridge of the start.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        W; the features of a label are those that are not zero.
    intercept_ : ndarray of shape (n_labels,)
        b, or zeros.

    Notes
    -----
    R has negative eigenvalues and S_k may have negative entries, while the loss grows only
    linearly: far out the objective has no lower bound. What is found is the local minimum below
    the ridge regression, which small lambda_1 and lambda_2 have; with larger ones the objective
    falls for ever, and a :class:`labelgap.fitting.FitDivergedError` may end the fit.

    Published code sums deviations from the mean without squaring them, so that nothing but the
    negative part of S_k is left; here they are squared.

    Unlabeled zeros are zeros. Rows without any observed label are left out; a label without any
    has the score of how often labels are relevant.

    References
    ----------
    .. [1] J. Huang, G. Li, Q. Huang and X. Wu. Joint feature selection and classification for
       multilabel learning. IEEE Transactions on Cybernetics 48, 2018.
    """

    lambda_1: float = parameter(0.01, NOT_NEGATIVE)
    lambda_2: float = parameter(0.001, NOT_NEGATIVE)
    lambda_3: float = parameter(0.1, NOT_NEGATIVE)
    _: KW_ONLY
    gamma: float = parameter(0.1, POSITIVE)
    fit_intercept: bool = parameter(True)
    unknown: str | None = parameter(None)
    max_iter: int = parameter(1000)
    tol: float = parameter(1e-5)
    restart: bool = parameter(True)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = fill_unknown(Y, self.unknown, "JFSC")
        d = X.shape[1]
        scatter = self.lambda_2 * fisher_scatter(X, Y)
        W = self._start(X, Y)
        penalised = np.ones((len(W), 1))
        if self.fit_intercept:
            X = with_constant(X)
            scatter = np.vstack([scatter, np.zeros(Y.shape[1])])
            penalised[-1] = 0.0
        features = prepare_features(X)
        terms = JFSCTerms(self.lambda_1 * cosine_distances(Y), scatter, penalised)
        path = proximal_path(
            RowNorms(features, Y, terms),
            absolute_values(self.lambda_3 * penalised),
            W,
            curvature=start_curvature(features, W, Y, terms) or 1.0,
            search=self.restart,
            restart=self.restart,
        )
        monitor = self._monitor()
        for point in islice(path, self.max_iter):
            if monitor.record(point.value):
                break
        self._keep_trace(monitor)
        W = point.x
        return W[:d], W[d] if self.fit_intercept else np.zeros(Y.shape[1])

    def _start(self, X: Any, Y: np.ndarray) -> np.ndarray:
        """Ridge regression, its free intercept in the last row where there is one."""
        centred = CentredFeatures(X, centre=self.fit_intercept)
        W = centred.ridge(Y, self.gamma)
        if not self.fit_intercept:
            return W
        return np.vstack([W, Y.mean(axis=0) - centred.means @ W])
