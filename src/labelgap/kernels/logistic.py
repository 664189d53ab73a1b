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

__all__ = ["Targets", "fit_logistic", "logistic_objective"]

_SUFFICIENT = 1e-4
_MOST_HALVINGS = 30
# an exact step is not worth its products: labels that are done leave, and the others step again
_MOST_CG_STEPS = 20
_CG_TOLERANCE = 0.2
_SMALLEST_FLAT = 1e-12
# of rounding in an objective, in units of the last place
_SLACK = 45.0


class Targets(NamedTuple):
    """What is to be learned of k labels, as arrays of shape (n_rows, k).

    ``chances`` between 0 and 1 that a label is relevant in a row, and ``weights`` of these entries,
    zero where an entry does not count. ``own`` names for each label a feature that it must not use,
    or -1; none of them has one where it is left out.
    """

    chances: Any
    weights: Any
    own: np.ndarray | None = None

    def take(self, labels: np.ndarray) -> Targets:
        """Some of the labels."""
        own = None if self.own is None else self.own[labels]
        return Targets(self.chances[:, labels], self.weights[:, labels], own)


def fit_logistic(
    features: Features,
    targets: Targets,
    C: Any,
    *,
    start: Any = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> tuple[Any, np.ndarray]:
    """Coefficients that minimise, for every label,

        1/2 ||w||^2 + C sum_i s_i [log(1 + exp(z_i)) - q_i z_i],      z_i = x_i'w + b,

    with q the chances and s the weights, by Newton's method with conjugate gradients.

    Parameters
    ----------
    features : Features
        Of numpy, of scipy (CSR), or dense ones of a library of the array API standard.
    targets : Targets
        Arrays of the same library. Every label needs an entry that counts.
    C : float or array of shape (k,)
        Inverse strength of the penalty, as in scikit-learn.
    start : array of shape (n_features + 1, k), optional
        By default no coefficients, and the log-odds of the mean chance.
    tol : float
        A label is done when no derivative of its objective exceeds this times C times the weight
        of its rarer side, relevant or irrelevant.
    max_iter : int
        Newton steps.

    Returns
    -------
    coefficients : array of shape (n_features + 1, k)
        The last row is the intercept, which is not penalised.
    n_iter : int array of shape (k,)
        Steps of each label.
    """
    xp = array_namespace(targets.chances)
    k = targets.chances.shape[1]
    C = array_like(xp, np.broadcast_to(C, (k,)).copy(), targets.chances)
    W = _begin(xp, features, targets) if start is None else start + 0.0
    n_iter = np.zeros(k, dtype=np.intp)
    open_labels = np.arange(k)
    part, cost, place = targets, C, W + 0.0
    for _ in range(max_iter):
        scores = linear_part(features, place)
        slope = _slope(xp, features, part, cost, place, scores)
        steepest = xp.max(xp.abs(slope), axis=0) / (cost * _rarer(xp, part))
        going = np.flatnonzero(to_numpy(steepest > tol))
        if going.size < open_labels.size:
            W[:, open_labels] = place
            if not going.size:
                return W, n_iter
            open_labels, part = open_labels[going], part.take(going)
            cost, place, scores = cost[going], place[:, going], scores[:, going]
            slope = slope[:, going]
        place = _newton(xp, features, part, cost, place, scores, slope)
        n_iter[open_labels] += 1
    W[:, open_labels] = place
    return W, n_iter


def logistic_objective(features: Features, targets: Targets, C: Any, W: Any) -> Any:
    """The objective of every label."""
    xp = array_namespace(targets.chances)
    return _value(xp, targets, C, W, linear_part(features, W))


def _begin(xp: ModuleType, features: Features, targets: Targets) -> Any:
    total = xp.sum(targets.weights, axis=0)
    mean = xp.sum(targets.weights * targets.chances, axis=0) / total
    mean = xp.clip(mean, 0.5 / (total + 1.0), 1 - 0.5 / (total + 1.0))
    W = array_like(xp, np.zeros((features.shape[1] + 1, mean.shape[0])), targets.chances)
    W[-1, :] = xp.log(mean / (1 - mean))
    return W


def _rarer(xp: ModuleType, part: Targets) -> Any:
    ones = xp.sum(part.weights * part.chances, axis=0)
    rarer = xp.minimum(ones, xp.sum(part.weights, axis=0) - ones)
    return xp.clip(rarer, 1.0, None)


def _newton(
    xp: ModuleType, features: Features, part: Targets, C: Any, W: Any, scores: Any, slope: Any
) -> Any:
    """One step for every label, halved until its objective falls enough."""
    relevant = _sigmoid(xp, scores)
    curvature = C * part.weights * relevant * (1 - relevant)
    diagonal = with_intercept(squared_transposed_times(features, curvature), curvature)
    diagonal = diagonal + _penalty(xp, W)
    # a label whose every entry is decided leaves its intercept without curvature
    diagonal = xp.where(diagonal > _SMALLEST_FLAT, diagonal, xp.ones_like(diagonal))

    def product(move: Any) -> Any:
        weighted = curvature * linear_part(features, move)
        image = with_intercept(transposed_times(features, weighted), weighted)
        return _without_own(part, image + _penalty(xp, W) * move)

    step = -conjugate_gradient(product, slope, diagonal, n_steps=_MOST_CG_STEPS, tol=_CG_TOLERANCE)
    move = linear_part(features, step)
    before, promised = _value(xp, part, C, W, scores), xp.sum(slope * step, axis=0)
    length = xp.ones_like(before)
    for _ in range(_MOST_HALVINGS):
        after = _value(xp, part, C, W + length * step, scores + length * move)
        # far below rounding nothing falls any more, and the step is as good as any
        slack = _SLACK * xp.finfo(before.dtype).eps * xp.abs(before)
        short = after > before + _SUFFICIENT * length * promised + slack
        if not bool(xp.any(short)):
            break
        length = xp.where(short, length / 2, length)
    return W + length * step


def _value(xp: ModuleType, part: Targets, C: Any, W: Any, scores: Any) -> Any:
    softplus = xp.clip(scores, 0.0, None) + xp.log1p(xp.exp(-xp.abs(scores)))
    losses = part.weights * (softplus - part.chances * scores)
    return C * xp.sum(losses, axis=0) + 0.5 * xp.sum(W[:-1, :] ** 2, axis=0)


def _slope(xp: ModuleType, features: Features, part: Targets, C: Any, W: Any, scores: Any) -> Any:
    excess = C * part.weights * (_sigmoid(xp, scores) - part.chances)
    slope = with_intercept(transposed_times(features, excess), excess)
    return _without_own(part, slope + _penalty(xp, W) * W)


def _penalty(xp: ModuleType, W: Any) -> Any:
    """1 for every coefficient and 0 for the intercept."""
    ones = np.ones((W.shape[0], 1))
    ones[-1] = 0.0
    return array_like(xp, ones, W)


def _without_own(part: Targets, values: Any) -> Any:
    if part.own is not None:
        labels = np.flatnonzero(part.own >= 0)
        values[part.own[labels], labels] = 0.0
    return values


def _sigmoid(xp: ModuleType, scores: Any) -> Any:
    if xp is np:
        return expit(scores)
    return 1 / (1 + xp.exp(-scores))
