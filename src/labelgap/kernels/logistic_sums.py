"""Many logistic regressions on rows that lie in blocks: exact sums, and the curvature of some rows.

Newton's method needs a product with the curvature in every step of its conjugate gradients, each of
which would be a pass over all rows. Here passes give the objective, its slope and the diagonal of its
curvature, which are exact; the rest of the curvature is that of a sample of the rows, in memory, and
where its diagonal falls short of the exact one the difference is added. The minimum and the rule that
ends the fit are those of :func:`labelgap.kernels.logistic.fit_logistic`; with all rows in the sample
the steps are too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.logistic import LogisticTargets
from labelgap.kernels.products import (
    Features,
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)

__all__ = ["LogisticSums", "fit_logistic_sums", "logistic_sums"]

_SUFFICIENT = 1e-4
_MOST_CG_STEPS, _CG_TOLERANCE = 30, 0.1
_SHORTEST = 2.0**-30
_SMALLEST_FLAT = 1e-12


class LogisticSums(NamedTuple):
    """Sums over rows for k labels: log-losses (k,), their slope and its diagonal (n_features + 1, k)."""

    losses: np.ndarray
    slope: np.ndarray
    diagonal: np.ndarray


def logistic_sums(features: Features, targets: LogisticTargets, W: np.ndarray) -> LogisticSums:
    """Return the sums of some rows at coefficients W of shape (n_features + 1, k)."""
    scores = linear_part(features, W)
    relevant = expit(scores)
    losses = np.logaddexp(0, scores) - targets.probabilities * scores
    excess = targets.weights * (relevant - targets.probabilities)
    curvature = targets.weights * relevant * (1 - relevant)
    return LogisticSums(
        (targets.weights * losses).sum(axis=0),
        with_intercept(transposed_times(features, excess), excess),
        with_intercept(squared_transposed_times(features, curvature), curvature),
    )


def fit_logistic_sums(
    sums: Callable[[np.ndarray, np.ndarray], LogisticSums],
    features: Features,
    targets: LogisticTargets,
    C: np.ndarray,
    rarer: np.ndarray,
    start: np.ndarray,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and passes of each label; see :func:`labelgap.kernels.logistic.fit_logistic`.

    Parameters
    ----------
    sums : callable
        ``sums(labels, W)`` over all rows, for some of the k labels by position.
    features, targets
        Of the sample; its weights make up for the rows that are not in it.
    C : array of shape (k,)
    rarer : array of shape (k,)
        Weight of the rarer side of each label in all rows, at least 1.
    start : array of shape (n_features + 1, k)
    tol, max_iter
        Of :func:`labelgap.kernels.logistic.fit_logistic`; an iteration is a pass.
    """
    penalty = np.ones((start.shape[0], 1))
    penalty[-1] = 0.0
    W, n_iter = start.copy(), np.zeros(start.shape[1], dtype=np.intp)
    going, length = np.arange(start.shape[1]), np.ones(start.shape[1])
    step, value = np.zeros_like(W), np.full(start.shape[1], np.inf)
    promised = np.zeros(start.shape[1])
    for _ in range(max_iter):
        trial = W[:, going] + length[going] * step[:, going]
        found = sums(going, trial)
        n_iter[going] += 1
        after = C[going] * found.losses + 0.5 * (penalty * trial**2).sum(axis=0)
        limit = value[going] + _SUFFICIENT * length[going] * promised[going]
        slack = 1e-14 * np.abs(after)
        accepted = (after <= limit + slack) | (length[going] < _SHORTEST)
        length[going[~accepted]] /= 4
        at = going[accepted]
        slope = C[at] * found.slope[:, accepted] + penalty * trial[:, accepted]
        W[:, at], value[at] = trial[:, accepted], after[accepted]
        open_ = np.abs(slope).max(axis=0, initial=0.0) > tol * C[at] * rarer[at]
        if open_.any():
            part = at[open_]
            exact = C[part] * found.diagonal[:, accepted][:, open_]
            step[:, part] = _direction(features, targets, C, W, part, slope[:, open_], exact)
            promised[part] = (slope[:, open_] * step[:, part]).sum(axis=0)
            length[part] = 1.0
        going = np.sort(np.concatenate([going[~accepted], at[open_]]))
        if not going.size:
            break
    return W, n_iter


def _direction(
    features: Features,
    targets: LogisticTargets,
    C: np.ndarray,
    W: np.ndarray,
    labels: np.ndarray,
    slope: np.ndarray,
    exact: np.ndarray,
) -> np.ndarray:
    """Return Newton's step with the curvature of the sample, its diagonal at least the exact one."""
    relevant = expit(linear_part(features, W[:, labels]))
    curvature = C[labels] * targets.weights[:, labels] * relevant * (1 - relevant)
    sampled = with_intercept(squared_transposed_times(features, curvature), curvature)
    added = np.maximum(exact - sampled, 0.0)
    added[:-1] += 1.0
    diagonal = sampled + added
    diagonal[diagonal <= _SMALLEST_FLAT] = 1.0

    def product(move: Any) -> Any:
        weighted = curvature * linear_part(features, move)
        return with_intercept(transposed_times(features, weighted), weighted) + added * move

    return -conjugate_gradient(product, slope, diagonal, n_steps=_MOST_CG_STEPS, tol=_CG_TOLERANCE)
