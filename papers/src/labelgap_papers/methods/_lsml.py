"""Label-specific features for labels that are completed by other labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np

from labelgap.parameters import NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.centred import CentredFeatures
from labelgap_papers.kernels.proximal import (
    nonnegative_soft_threshold,
    soft_threshold,
    symmetric_norm,
)
from labelgap_papers.methods._linear import LinearScores


class LSMLProblem(NamedTuple):
    """What the objective needs of features and labels; moments of the fit may be centred."""

    features: CentredFeatures
    cross: np.ndarray  # X'Y, centred with the features
    fitted: np.ndarray  # Y'Y of the labels the features fit, centred with the features
    moments: np.ndarray  # Y'Y
    lambda_1: float
    lambda_2: float
    lambda_3: float
    lambda_4: float
    largest_moment: float  # eigenvalue of fitted + lambda_1 moments
    symmetric: bool


class LSMLPlace(NamedTuple):
    """W, C, and X'X W."""

    W: np.ndarray
    C: np.ndarray
    image: np.ndarray


def similarity(problem: LSMLProblem, C: np.ndarray) -> np.ndarray:
    """S of the Laplacian diag(S 1) - S."""
    return (C + C.T) / 2 if problem.symmetric else C


def two_laplacians(problem: LSMLProblem, C: np.ndarray) -> np.ndarray:
    """The Laplacian and its transpose together: W times it is the slope of the last term in W."""
    S = similarity(problem, C)
    laplacian = np.diag(S.sum(axis=1)) - S
    return laplacian + laplacian.T


def laplacian_slope(problem: LSMLProblem, W: np.ndarray) -> np.ndarray:
    """Slope of tr(W Lap W') in C: ||w_i||^2 - w_i . w_j."""
    products = W.T @ W
    return similarity(problem, products.diagonal()[:, None] - products)


def label_curvature(problem: LSMLProblem, C: np.ndarray) -> float:
    return problem.largest_moment or 1.0


def feature_curvature(problem: LSMLProblem, C: np.ndarray) -> float:
    largest = problem.features.largest_eigenvalue
    return largest + problem.lambda_4 * symmetric_norm(two_laplacians(problem, C)) or 1.0


def objective(problem: LSMLProblem, place: LSMLPlace) -> float:
    W, C, image = place
    less_one = C - np.eye(len(C))
    value = 0.5 * np.vdot(W, image) - np.vdot(W, problem.cross @ C)
    value += 0.5 * np.vdot(C, problem.fitted @ C)
    value += 0.5 * problem.lambda_1 * np.vdot(less_one, problem.moments @ less_one)
    value += problem.lambda_2 * np.abs(W).sum() + problem.lambda_3 * C.sum()
    return float(value + problem.lambda_4 / 2 * np.vdot(W, W @ two_laplacians(problem, C)))


def step(problem: LSMLProblem, here: LSMLPlace, before: LSMLPlace, momentum: float) -> LSMLPlace:
    """A proximal gradient step in C and then in W, each from beyond the last point."""
    W, C, image = (now + momentum * (now - then) for now, then in zip(here, before, strict=True))
    slope = problem.fitted @ C + problem.lambda_1 * (problem.moments @ C - problem.moments)
    slope += problem.lambda_4 * laplacian_slope(problem, here.W) - problem.cross.T @ here.W
    curvature = label_curvature(problem, here.C)
    C = nonnegative_soft_threshold(C - slope / curvature, problem.lambda_3 / curvature)
    slope = image - problem.cross @ C + problem.lambda_4 * (W @ two_laplacians(problem, C))
    curvature = feature_curvature(problem, C)
    W = soft_threshold(W - slope / curvature, problem.lambda_2 / curvature)
    return LSMLPlace(W, C, problem.features.gram_times(W))


@with_parameters
class LSML(LinearScores):
    """Label-specific features for multi-label learning with missing labels [1]_.

    Labels are completed by other labels, Y C, while a sparse map from the features learns the
    completed ones, and labels that complete each other have similar coefficients:

        min  1/2 ||X W + 1 b' - Y C||^2 + lambda_1/2 ||Y C - Y||^2 + lambda_2 ||W||_1
             + lambda_3 ||C||_1 + lambda_4 tr(W Lap W'),      C >= 0,

    with Lap the Laplacian of C, diag(C 1) - C. Proximal gradient steps in C and W take turns.

    Parameters
    ----------
    lambda_1, lambda_2, lambda_3, lambda_4 : float, default=1.0, 0.1, 0.1, 0.01
        Weights of the terms.
    rho : float, default=0.1
        Ridge of the regression that is the start of W; C starts at zero.
    symmetric : bool, default=True
        Whether Lap is the Laplacian of (C + C')/2, which makes the last term a sum of
        C_ij/2 ||w_i - w_j||^2. The published code takes C as it is; then the term has no lower
        bound, and neither has the objective: what is found is a local minimum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        W.
    intercept_ : ndarray of shape (n_labels,)
        b, or zeros.
    label_coef_ : ndarray of shape (n_labels, n_labels)
        C; zero for labels without an observed entry.

    Notes
    -----
    Unknown entries are zeros of Y, and so are unlabeled ones: the method does not tell them from
    irrelevant ones, and relies on C to fill them in. Rows without any observed label are left out.

    The published algorithm leaves the slope of the last term out of the step for C, and ends
    where its objective has no stationary point. Here it is in, and each step has the length that
    the curvature of its own block allows.

    References
    ----------
    .. [1] J. Huang, F. Qin, X. Zheng, Z. Cheng, Z. Yuan, W. Zhang and Q. Huang. Improving
       multi-label classification with missing labels by learning label-specific features.
       Information Sciences 492, 2019.
    """

    lambda_1: float = parameter(1.0, NOT_NEGATIVE)
    lambda_2: float = parameter(0.1, NOT_NEGATIVE)
    lambda_3: float = parameter(0.1, NOT_NEGATIVE)
    lambda_4: float = parameter(0.01, NOT_NEGATIVE)
    _: KW_ONLY
    rho: float = parameter(0.1, POSITIVE)
    fit_intercept: bool = parameter(True)
    symmetric: bool = parameter(True)
    max_iter: int = parameter(1000)
    tol: float = parameter(1e-5)
    restart: bool = parameter(True)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = np.nan_to_num(Y)
        features = CentredFeatures(X, centre=self.fit_intercept)
        means = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        moments = Y.T @ Y
        weights = (self.lambda_1, self.lambda_2, self.lambda_3, self.lambda_4)
        fitted = moments - len(Y) * np.outer(means, means)
        largest = symmetric_norm(fitted + self.lambda_1 * moments)
        statistics = (features, features.cross(Y), fitted, moments)
        problem = LSMLProblem(*statistics, *weights, largest, self.symmetric)
        start = features.ridge(Y, self.rho)
        place = self._descend(
            problem, LSMLPlace(start, np.zeros_like(moments), features.gram_times(start))
        )
        self.label_coef_ = np.zeros((len(seen), len(seen)))
        self.label_coef_[np.ix_(seen, seen)] = place.C
        return place.W, means @ place.C - features.means @ place.W

    def _descend(self, problem: LSMLProblem, start: LSMLPlace) -> LSMLPlace:
        monitor = self._monitor()
        here = before = start
        value, b_before, b = np.inf, 1.0, 1.0
        for _ in range(self.max_iter):
            found = step(problem, here, before, (b_before - 1) / b)
            reached = objective(problem, found)
            if self.restart and reached > value:
                b = 1.0
                found = step(problem, here, here, 0.0)
                reached = objective(problem, found)
                if reached > value:  # by rounding alone
                    found, reached = here, value
            before, here, value = here, found, reached
            b_before, b = b, (1 + np.sqrt(4 * b**2 + 1)) / 2
            if monitor.record(value):
                break
        self._keep_trace(monitor)
        return here
