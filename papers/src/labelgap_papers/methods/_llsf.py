"""Sparse regression with label-specific features, and correlated labels that share them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any

import numpy as np

from labelgap.fitting import FitWarning
from labelgap.parameters import NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.centred import CentredFeatures
from labelgap_papers.kernels.proximal import (
    Quadratic,
    absolute_values,
    proximal_path,
    spectral_norm,
)
from labelgap_papers.methods._linear import LinearScores, cosine_distances, fill_unknown


def largest_curvature(features: CentredFeatures, distances: np.ndarray, alpha: float) -> float:
    """Of the smooth part: the norm of W -> X'X W + alpha W R."""
    return features.largest_eigenvalue + alpha * spectral_norm(distances)


@with_parameters
class LLSF(LinearScores):
    """Learning label-specific features: a sparse map in which close labels use the same ones [1]_.

        min  1/2 ||X W + 1 b' - Y||^2 + alpha/2 tr(R W'W) + beta ||W||_1,

    where R holds the distances of labels, 1 - cos(y_i, y_j): coefficients of labels that do not
    occur together are drawn apart. By accelerated proximal gradient from a ridge regression.

    Parameters
    ----------
    alpha : float, default=0.01
        Weight of the distances. R has a zero diagonal and therefore negative eigenvalues, so that
        only a small alpha has a minimum (see Notes).
    beta : float, default=0.1
        Weight of the absolute values.
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
    The objective is bounded below if, and only if, alpha times the lowest eigenvalue of R and the
    lowest eigenvalue of X'X have no negative sum; with more features than rows no alpha above
    zero passes. A :class:`labelgap.fitting.FitWarning` says so: what comes out then is where
    ``max_iter`` steps lead from the start, as in the paper.

    Steps have the length 1/(||X'X|| + alpha ||R||), that of the exact curvature; the published
    bound, sqrt(2 ||X'X||^2 + 2 alpha^2 ||R||^2), is up to 1.4 times larger.

    Unlabeled zeros are zeros. Rows without any observed label are left out; a label without any
    has the score of how often labels are relevant.

    References
    ----------
    .. [1] J. Huang, G. Li, Q. Huang and X. Wu. Learning label specific features for multi-label
       classification. ICDM, 2015.
    """

    alpha: float = parameter(0.01, NOT_NEGATIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    _: KW_ONLY
    gamma: float = parameter(0.1, POSITIVE)
    fit_intercept: bool = parameter(True)
    unknown: str | None = parameter(None)
    max_iter: int = parameter(1000)
    tol: float = parameter(1e-5)
    restart: bool = parameter(True)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = fill_unknown(Y, self.unknown, "LLSF")
        features = CentredFeatures(X, centre=self.fit_intercept)
        distances = cosine_distances(Y)
        self._warn_if_unbounded(features, distances)
        means = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        smooth = Quadratic(
            lambda W: features.gram_times(W) + self.alpha * (W @ distances),
            features.cross(Y),
            0.5 * float(np.square(Y - means).sum()),
        )
        path = proximal_path(
            smooth,
            absolute_values(float(self.beta)),
            features.ridge(Y, self.gamma),
            curvature=largest_curvature(features, distances, self.alpha) or 1.0,
            search=False,
            restart=self.restart,
        )
        monitor = self._monitor()
        for point in islice(path, self.max_iter):
            if monitor.record(point.value):
                break
        self._keep_trace(monitor)
        return point.x, means - features.means @ point.x

    def _warn_if_unbounded(self, features: CentredFeatures, distances: np.ndarray) -> None:
        lowest = -float(np.linalg.eigvalsh(distances)[0])
        most = features.smallest_eigenvalue / lowest if lowest > 0 else np.inf
        if self.alpha > most:
            warnings.warn(
                f"LLSF has no minimum with alpha={self.alpha}: from these features and labels the "
                f"largest alpha with one is {most:.3g}. The result is that of at most "
                f"max_iter={self.max_iter} steps from ridge regression",
                FitWarning,
                stacklevel=4,
            )
