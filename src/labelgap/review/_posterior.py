"""What the answers so far say: a correction of the audit's chances, label by label.

An entry of item i and label j belongs to the label with log-odds

    eta_ij = a + b s_ij + h_ij w_j . t_i,       w_j ~ N(0, diag(tau_0^2, tau^2, ..., tau^2)),

where s_ij are the log-odds of the audit and t_i = (1, traits of the item). The scale a, b is common
to all labels: are the audit's chances too bold or too timid altogether? The correction w_j is the
label's own: is it forgotten more often than assumed, and on what kind of items? Its prior variances
are estimated from the labels together, so that labels with few answers borrow from the others. It
fades (h_ij) where the audit's chances are small, see :meth:`Candidates.reach`.

Answers enter by penalised maximum likelihood (Newton steps on a and b and on each w_j in turn; the
objective is convex), and the uncertainty of w_j is that of Laplace's approximation. The result
depends on the answers alone, not on their order: nothing has to be stored but the answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.review._candidates import Candidates

__all__ = ["Posterior", "chance", "learn"]

_MOST_ROUNDS, _SMALL = 25, 1e-4
# prior of the scale: log-odds are as good as they stand, give or take
_SCALE_MEAN = np.array([0.0, 1.0])
_SCALE_PRECISION = np.diag([1 / 0.7**2, 1 / 0.2**2])
# variances of the corrections before any answer, and how many labels that assumption counts for
_VARIANCE_OF_OFFSET, _VARIANCE_OF_TRAITS, _WORTH_LABELS = 0.5, 0.05, 2.0


class Posterior(NamedTuple):
    """The scale (a, b) of the audit's log-odds and the correction of each label.

    Both with covariances, which are taken to be independent of each other.
    """

    scale: np.ndarray
    scale_covariance: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def log_odds(self, candidates: Candidates, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the log-odds of some candidates."""
        traits = candidates.reach(some)
        columns = candidates.columns[some]
        base = with_constant(candidates.log_odds[some])
        mean = base @ self.scale + np.einsum("nd,nd->n", traits, self.means[columns])
        spread = np.einsum("nd,nde,ne->n", traits, self.covariances[columns], traits)
        return mean, spread + np.einsum("nd,de,ne->n", base, self.scale_covariance, base)


def with_constant(log_odds: np.ndarray) -> np.ndarray:
    """Rows (1, s), to be multiplied by the scale."""
    return np.column_stack([np.ones(log_odds.size), log_odds])


def chance(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected sigmoid of a normal variable, by MacKay's approximation."""
    return expit(mean / np.sqrt(1 + np.pi / 8 * variance))


def learn(candidates: Candidates, answered: np.ndarray, answers: np.ndarray) -> Posterior:
    """The posterior from the answers.

    Parameters
    ----------
    candidates : Candidates
    answered : int array
        Positions of the candidates that were decided.
    answers : array of 0 and 1
        Whether the label belongs to the item.
    """
    n_labels, d = len(candidates.labels), candidates.traits.shape[1]
    variances = np.full(d, _VARIANCE_OF_TRAITS)
    variances[0] = _VARIANCE_OF_OFFSET
    scale, means = _SCALE_MEAN.copy(), np.zeros((n_labels, d))
    scale_covariance = np.linalg.inv(_SCALE_PRECISION)
    traits = candidates.reach(answered)
    columns = candidates.columns[answered]
    base = with_constant(candidates.log_odds[answered])
    groups = [(int(j), np.flatnonzero(columns == j)) for j in np.unique(columns)]
    covariances = {}
    for _ in range(_MOST_ROUNDS if answered.size else 0):
        before = scale.copy(), means.copy()
        own = np.einsum("nd,nd->n", traits, means[columns])
        scale, scale_covariance = _newton(base, answers, own, scale, _SCALE_PRECISION, _SCALE_MEAN)
        precision = np.diag(1 / variances)
        for j, here in groups:
            means[j], covariances[j] = _newton(
                traits[here], answers[here], base[here] @ scale, means[j], precision, np.zeros(d)
            )
        variances = _pooled(means, covariances, d)
        if max(np.abs(scale - before[0]).max(), np.abs(means - before[1]).max()) < _SMALL:
            break
    spread = np.broadcast_to(np.diag(variances), (n_labels, d, d)).copy()
    for j, covariance in covariances.items():
        spread[j] = covariance
    return Posterior(scale, scale_covariance, means, spread)


def _newton(
    design: np.ndarray,
    answers: np.ndarray,
    offset: np.ndarray,
    start: np.ndarray,
    precision: np.ndarray,
    prior_mean: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """One damped Newton step on a penalised logistic regression, and the inverse curvature."""
    fitted = expit(offset + design @ start)
    gradient = design.T @ (answers - fitted) - precision @ (start - prior_mean)
    curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design + precision
    inverse = np.linalg.inv(curvature)
    step = inverse @ gradient
    longest = float(np.abs(step).max())
    return start + step * min(1.0, 2.0 / max(longest, 1e-12)), inverse


def _pooled(means: np.ndarray, covariances: dict[int, np.ndarray], d: int) -> np.ndarray:
    """Prior variances that suit the corrections so far: one of offsets, one of all traits."""
    squares = np.array([means[j] ** 2 + np.diag(one) for j, one in covariances.items()])
    n = len(squares)
    offset = (_WORTH_LABELS * _VARIANCE_OF_OFFSET + squares[:, 0].sum()) / (_WORTH_LABELS + n)
    variances = np.full(d, offset)
    if d > 1:
        mean_square = squares[:, 1:].mean(axis=1).sum()
        variances[1:] = (_WORTH_LABELS * _VARIANCE_OF_TRAITS + mean_square) / (_WORTH_LABELS + n)
    return variances
