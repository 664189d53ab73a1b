"""Many logistic regressions on the same rows, all at once.

Every label has its own targets and its own weights of the rows (zero where it is unknown), but the
features are shared: Newton's method then costs a few products of the feature matrix with a block of
columns, one column per label, whether it runs on a processor or on an accelerator.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import (
    Features,
    block_edges,
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.kernels.sampled_curvature import newton_directions

__all__ = [
    "LogisticTargets",
    "fit_logistic",
    "log_losses",
    "mean_log_loss",
]

_SUFFICIENT = 1e-4
_MOST_HALVINGS = 30
# an exact step is not worth its products: labels that are done leave, and the others step again
_MOST_CG_STEPS = 20
_CG_TOLERANCE = 0.1
_SMALLEST_FLAT = 1e-12
# labels that are done leave the arrays when they are so many of them
_FRACTION_DONE = 0.25
# rows drawn in the first iteration, more for each entry of the rarer side, and times as many in the
# next iteration; where its draws begin
_ROWS_DRAWN, _PER_RARER, _MORE_ROWS, _GOLDEN = 128, 4.0, 1.3, 0.6180339887
_CERTAIN = 1e-3
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
    rarer = xp.clip(xp.minimum(ones, total - ones), 1.0, None)
    precisions = np.ones((W.shape[0], 1))
    precisions[-1] = targets.intercept_precision
    targets = targets._replace(probabilities=probabilities, weights=weights)
    problem = _Problem(xp, features, targets, C, array_like(xp, precisions, like), rarer)
    if features.columns is not None:
        squares = np.asarray(features.columns.power(2).mean(axis=0)).astype(features.dtype)
        problem = problem._replace(mean_squares=squares)
    n_iter = np.zeros(k, dtype=np.intp)
    open_labels, point = np.arange(k), problem.at(W + 0.0, linear_part(features, W))
    for iteration in range(max_iter):
        slope = problem.slope(point)
        done = to_numpy(xp.max(xp.abs(slope), axis=0) <= tol * problem.C * problem.rarer)
        if done.mean() > _FRACTION_DONE:
            W[:, open_labels] = point.W
            going = np.flatnonzero(~done)
            if not going.size:
                return W, n_iter
            open_labels, problem = open_labels[going], problem.take(going)
            point, slope, done = point.take(going), slope[:, going], done[going]
        slope[:, np.flatnonzero(done)] = 0.0
        point = problem.newton_step(point, slope, iteration)
        n_iter[open_labels[~done]] += 1
    W[:, open_labels] = point.W
    return W, n_iter


class _LogisticPoint(NamedTuple):
    """Coefficients, and what follows from them: scores, probabilities, and the objective."""

    W: Any
    scores: Any
    relevant: Any
    value: Any

    def take(self, labels: np.ndarray) -> _LogisticPoint:
        W, scores, relevant = (part[:, labels] for part in self[:3])
        return _LogisticPoint(W, scores, relevant, self.value[labels])


class _Problem(NamedTuple):
    """What is minimised; ``penalty`` is 1 for every coefficient, and the intercept's precision.

    ``rarer`` is the weight of the rarer side of each label, and ``mean_squares`` are those of sparse
    features.
    """

    xp: ModuleType
    features: Features
    targets: LogisticTargets
    C: Any
    penalty: Any
    rarer: Any = None
    mean_squares: Any = None

    def take(self, labels: np.ndarray) -> _Problem:
        part = self.targets
        part = part._replace(
            probabilities=part.probabilities[:, labels],
            weights=part.weights[:, labels],
            own=None if part.own is None else part.own[labels],
            intercepts=part.intercepts[labels] if part.intercept_precision else 0.0,
        )
        return self._replace(targets=part, C=self.C[labels], rarer=self.rarer[labels])

    def at(self, W: Any, scores: Any) -> _LogisticPoint:
        xp, part = self.xp, self.targets
        if xp is np:
            relevant, sums = _losses(scores, *part[:2], block_edges(scores.shape[0]))
        else:
            relevant = 1 / (1 + xp.exp(-scores))
            softplus = xp.clip(scores, 0.0, None) + xp.log1p(xp.exp(-xp.abs(scores)))
            sums = xp.sum(part.weights * (softplus - part.probabilities * scores), axis=0)
        off = part.intercept_precision * (W[-1, :] - part.intercepts) ** 2
        value = self.C * sums + 0.5 * (xp.sum(W[:-1, :] ** 2, axis=0) + off)
        return _LogisticPoint(W, scores, relevant, value)

    def slope(self, point: _LogisticPoint) -> Any:
        part = self.targets
        excess = self.C * part.weights * (point.relevant - part.probabilities)
        slope = with_intercept(transposed_times(self.features, excess), excess)
        slope = slope + self.penalty * point.W
        slope[-1, :] -= part.intercept_precision * part.intercepts
        return self.without_own(slope)

    def newton_step(self, point: _LogisticPoint, slope: Any, iteration: int) -> _LogisticPoint:
        """Return one step for every label, halved until its objective falls enough."""
        xp = self.xp
        curvature = self.curvature(point)
        n_drawn = (_ROWS_DRAWN + _PER_RARER * self.rarer) * _MORE_ROWS**iteration
        if self.features.columns is None or n_drawn.min() >= curvature.shape[0]:
            step = self.direction(curvature, slope)
        else:
            step = self.drawn_direction(curvature, slope, n_drawn, iteration * _GOLDEN % 1.0)
        move = linear_part(self.features, step)
        promised = xp.sum(slope * step, axis=0)
        length = xp.ones_like(promised)
        for _ in range(_MOST_HALVINGS):
            found = self.at(point.W + length * step, point.scores + length * move)
            # far below rounding nothing falls any more, and the step is as good as any
            slack = _SLACK * xp.finfo(promised.dtype).eps * xp.abs(point.value)
            short = found.value > point.value + _SUFFICIENT * length * promised + slack
            if not bool(xp.any(short)):
                break
            length = xp.where(short, length / 2, length)
        return found

    def curvature(self, point: _LogisticPoint) -> Any:
        """Return that of the losses; of entries on the wrong side, up to where they are as right.

        There an entry of a rare label is nearly flat, and the way over which it is, short: a step
        with the curvature of the place alone would have to be halved again and again.
        """
        xp, part, p = self.xp, self.targets, point.relevant
        there = p * (1 - p)
        wrong = (p - 0.5) * (part.probabilities - 0.5) < 0
        safe = xp.where(wrong, point.scores, xp.ones_like(p))
        there = xp.where(wrong, (p - 0.5) / safe, there)
        return self.C * part.weights * there

    def direction(self, curvature: Any, slope: Any) -> Any:
        """Return Newton's direction by products with all rows."""
        xp, features = self.xp, self.features
        diagonal = with_intercept(squared_transposed_times(features, curvature), curvature)
        diagonal = diagonal + self.penalty
        # a label whose every entry is decided leaves its intercept without curvature
        diagonal = xp.where(diagonal > _SMALLEST_FLAT, diagonal, xp.ones_like(diagonal))

        def product(move: Any) -> Any:
            weighted = curvature * linear_part(features, move)
            image = with_intercept(transposed_times(features, weighted), weighted)
            return self.without_own(image + self.penalty * move)

        return -conjugate_gradient(
            product, slope, diagonal, n_steps=_MOST_CG_STEPS, tol=_CG_TOLERANCE
        )

    def drawn_direction(
        self, curvature: np.ndarray, slope: np.ndarray, n_drawn: np.ndarray, offset: float
    ) -> np.ndarray:
        """Return Newton's direction by rows drawn for each label."""
        X, own = self.features.rows, self.targets.own
        step = newton_directions(
            (X.indptr, X.indices, X.data),
            self.mean_squares,
            np.ascontiguousarray(curvature.T),
            np.ascontiguousarray(slope.T),
            np.full(slope.shape[1], -1) if own is None else np.asarray(own),
            float(self.targets.intercept_precision),
            n_drawn,
            offset,
            _MOST_CG_STEPS,
            _CG_TOLERANCE,
        )
        return np.ascontiguousarray(step.T)

    def without_own(self, values: Any) -> Any:
        own = self.targets.own
        if own is not None:
            labels = np.flatnonzero(own >= 0)
            values[own[labels], labels] = 0.0
        return values


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _losses(scores, probabilities, weights, edges):
    """Return probabilities, and the sums over rows of weighted log-losses."""
    relevant = np.empty_like(scores)
    sums = np.zeros((edges.size - 1, scores.shape[1]))
    for b in prange(edges.size - 1):
        for i in range(edges[b], edges[b + 1]):
            for c in range(scores.shape[1]):
                z = scores[i, c]
                t = np.exp(-abs(z))
                p = 1 / (1 + t)
                relevant[i, c] = p if z >= 0 else t * p
                # five terms reach double precision; most entries are that certain
                if t < _CERTAIN:
                    softplus = t * (1 - t * (0.5 - t * (1 / 3 - t * (0.25 - t * 0.2))))
                else:
                    softplus = np.log1p(t)
                loss = max(z, 0) + softplus - probabilities[i, c] * z
                sums[b, c] += weights[i, c] * loss
    return relevant, sums.sum(axis=0).astype(scores.dtype)


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
