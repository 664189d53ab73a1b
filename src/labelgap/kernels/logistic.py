"""Many logistic regressions on the same rows, all at once.

Every label has its own targets and its own weights of the rows (zero where it is unknown), but the
features are shared: Newton's method then costs a few products of the feature matrix with a block of
columns, one column per label, whether it runs on a processor or on an accelerator.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import (
    Features,
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)

__all__ = [
    "LogisticTargets",
    "fit_logistic",
    "likelihoods",
    "log_losses",
    "mean_log_loss",
]

_SUFFICIENT = 1e-4
_MOST_HALVINGS = 30
# an exact step is not worth its products: labels that are done leave, and the others step again
_MOST_CG_STEPS = 20
_CG_TOLERANCE = 0.2
_SMALLEST_FLAT = 1e-12
# of rounding in an objective, in units of the last place
_SLACK = 45.0
# probabilities of 0 and 1 count as no nearer than this
_NEAREST = 1e-6


class LogisticTargets(NamedTuple):
    """What is to be learned of k labels, as arrays of shape (n_samples, k).

    ``probabilities`` that a label is relevant in a row, and ``weights`` of these entries, zero where
    an entry does not count. ``own`` names for each label a feature that it must not use,
    or -1; none of them has one where it is left out. The intercepts have a Gaussian prior of mean
    ``intercepts`` (k) and precision ``intercept_precision``, in units of the coefficients' prior
    precision; none by default.
    """

    probabilities: Any
    weights: Any
    own: np.ndarray | None = None
    intercepts: Any = 0.0
    intercept_precision: float = 0.0


def fit_logistic(
    features: Features,
    targets: LogisticTargets,
    C: Any,
    *,
    start: Any = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> tuple[Any, np.ndarray]:
    """Return the coefficients that minimise, for every label,

        1/2 ||w||^2 + C sum_i s_i [log(1 + exp(z_i)) - q_i z_i],      z_i = x_i'w + b,

    with q the probabilities and s the weights, by Newton's method with conjugate gradients.

    features : Features. Of numpy, of scipy (CSR), or dense ones of a library of the array API
        standard.
    targets : LogisticTargets. Arrays of the same library, or of numpy. Every label needs an entry
        that counts, or a ``start``.
    C : float or array of shape (k,). Inverse strength of the penalty, as in scikit-learn.
    start : array of shape (n_features + 1, k), default=None. None starts without coefficients, at
        the log-odds of the mean probability.
    tol : float, default=1e-3. A label is done when no derivative of its objective exceeds this
        times C times the weight of its rarer side, relevant or irrelevant.
    max_iter : int, default=100. Newton steps.
    Returns coefficients : array of shape (n_features + 1, k). The last row is the intercept, which
        has no penalty but that of ``targets``.
    and n_iter : int array of shape (k,). Steps of each label.
    """
    xp = array_namespace(features.rows)
    like = features.rows
    probabilities, weights = (array_like(xp, part, like) for part in targets[:2])
    k = probabilities.shape[1]
    C = array_like(xp, np.broadcast_to(C, (k,)).copy(), like)
    total, ones = xp.sum(weights, axis=0), xp.sum(weights * probabilities, axis=0)
    if start is None:
        mean = xp.clip(ones / total, 0.5 / (total + 1.0), 1 - 0.5 / (total + 1.0))
        W = array_like(xp, np.zeros((features.rows.shape[1] + 1, k)), like)
        W[-1, :] = xp.log(mean / (1 - mean))
    else:
        W = array_like(xp, start, like) + 0.0
    rarer = C * xp.clip(xp.minimum(ones, total - ones), 1.0, None)
    precisions = np.ones((W.shape[0], 1))
    precisions[-1] = targets.intercept_precision
    targets = targets._replace(probabilities=probabilities, weights=weights)
    problem = _Problem(xp, features, targets, C, array_like(xp, precisions, like))
    n_iter = np.zeros(k, dtype=np.intp)
    open_labels, place = np.arange(k), W + 0.0
    for _ in range(max_iter):
        scores = linear_part(features, place)
        relevant = expit(scores) if xp is np else 1 / (1 + xp.exp(-scores))
        slope = problem.slope(place, relevant)
        going = np.flatnonzero(to_numpy(xp.max(xp.abs(slope), axis=0) / rarer > tol))
        if going.size < open_labels.size:
            W[:, open_labels] = place
            if not going.size:
                return W, n_iter
            open_labels, problem, rarer = open_labels[going], problem.take(going), rarer[going]
            place, scores = place[:, going], scores[:, going]
            relevant, slope = relevant[:, going], slope[:, going]
        place = problem.newton_step(place, scores, relevant, slope)
        n_iter[open_labels] += 1
    W[:, open_labels] = place
    return W, n_iter


class _Problem(NamedTuple):
    """What is minimised; ``penalty`` is 1 for every coefficient, and the intercept's precision."""

    xp: ModuleType
    features: Features
    targets: LogisticTargets
    C: Any
    penalty: Any

    def take(self, labels: np.ndarray) -> _Problem:
        part = self.targets
        part = part._replace(
            probabilities=part.probabilities[:, labels],
            weights=part.weights[:, labels],
            own=None if part.own is None else part.own[labels],
            intercepts=part.intercepts[labels] if part.intercept_precision else 0.0,
        )
        return self._replace(targets=part, C=self.C[labels])

    def value(self, W: Any, scores: Any) -> Any:
        xp, part = self.xp, self.targets
        softplus = xp.clip(scores, 0.0, None) + xp.log1p(xp.exp(-xp.abs(scores)))
        losses = part.weights * (softplus - part.probabilities * scores)
        off = part.intercept_precision * (W[-1, :] - part.intercepts) ** 2
        return self.C * xp.sum(losses, axis=0) + 0.5 * (xp.sum(W[:-1, :] ** 2, axis=0) + off)

    def slope(self, W: Any, relevant: Any) -> Any:
        part = self.targets
        excess = self.C * part.weights * (relevant - part.probabilities)
        slope = with_intercept(transposed_times(self.features, excess), excess)
        slope = slope + self.penalty * W
        slope[-1, :] -= part.intercept_precision * part.intercepts
        return self.without_own(slope)

    def newton_step(self, W: Any, scores: Any, relevant: Any, slope: Any) -> Any:
        """Return one step for every label, halved until its objective falls enough."""
        xp, features = self.xp, self.features
        curvature = self.C * self.targets.weights * relevant * (1 - relevant)
        diagonal = with_intercept(squared_transposed_times(features, curvature), curvature)
        diagonal = diagonal + self.penalty
        # a label whose every entry is decided leaves its intercept without curvature
        diagonal = xp.where(diagonal > _SMALLEST_FLAT, diagonal, xp.ones_like(diagonal))

        def product(move: Any) -> Any:
            weighted = curvature * linear_part(features, move)
            image = with_intercept(transposed_times(features, weighted), weighted)
            return self.without_own(image + self.penalty * move)

        step = -conjugate_gradient(
            product, slope, diagonal, n_steps=_MOST_CG_STEPS, tol=_CG_TOLERANCE
        )
        move = linear_part(features, step)
        before, promised = self.value(W, scores), xp.sum(slope * step, axis=0)
        length = xp.ones_like(before)
        for _ in range(_MOST_HALVINGS):
            after = self.value(W + length * step, scores + length * move)
            # far below rounding nothing falls any more, and the step is as good as any
            slack = _SLACK * xp.finfo(before.dtype).eps * xp.abs(before)
            short = after > before + _SUFFICIENT * length * promised + slack
            if not bool(xp.any(short)):
                break
            length = xp.where(short, length / 2, length)
        return W + length * step

    def without_own(self, values: Any) -> Any:
        own = self.targets.own
        if own is not None:
            labels = np.flatnonzero(own >= 0)
            values[own[labels], labels] = 0.0
        return values


def log_losses(probabilities: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the log-loss of each entry; no probability is nearer to 0 or 1 than 1e-6."""
    p = np.clip(probabilities, _NEAREST, 1 - _NEAREST)
    return -np.where(values == 1, np.log(p), np.log1p(-p))


def mean_log_loss(probabilities: np.ndarray, values: np.ndarray) -> float:
    """Return the mean log-loss of the observed values; NaN where there are none."""
    known = ~np.isnan(values)
    if not known.any():
        return float("nan")
    return float(log_losses(probabilities[known].astype(np.float64), values[known]).mean())


def likelihoods(probabilities: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the probability of each observed value, at least 1e-6, without entries of NaN."""
    known = ~np.isnan(values)
    p = probabilities[known].astype(np.float64)
    return np.maximum(np.where(values[known] == 1, p, 1 - p), _NEAREST)
