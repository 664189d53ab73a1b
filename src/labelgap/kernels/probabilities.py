"""Log-odds, and probabilities from scores that were computed without the entry they are compared to."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

_DRAWN_IN = 1e-5
_LEAST_SLOPE = 1e-3
_MOST_STEPS, _CONVERGED = 20, 1e-14


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)), finite also for probabilities of 0 and 1."""
    return logit(np.clip(probability, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).eps))


def bounded_log_odds(probability: np.ndarray, least: float) -> np.ndarray:
    """Return log(p / (1 - p)) with p no nearer to 0 and 1 than ``least``, without the interpreter."""
    flat = np.ascontiguousarray(probability).ravel()
    return _bounded_log_odds(flat, least).reshape(np.shape(probability))


@njit(cache=True, nogil=True)
def _bounded_log_odds(probability, least):
    found = np.empty(probability.size)
    for k in range(probability.size):
        p = min(max(np.float64(probability[k]), least), 1.0 - least)
        found[k] = np.log(p / (1.0 - p))
    return found


def weighted_mean(weights: Iterable[np.ndarray], probabilities: Iterable[np.ndarray]) -> np.ndarray:
    """Return the probability whose log-odds are the weighted mean of those of each.

    With :func:`drawn_in_log_odds`, so that a probability of 0 does not outvote all others.
    """
    pairs = zip(weights, probabilities, strict=True)
    mean = expit(sum(w * drawn_in_log_odds(p) for w, p in pairs))
    return np.clip((mean - _DRAWN_IN) / (1 - 2 * _DRAWN_IN), 0.0, 1.0)


def drawn_in_log_odds(probability: np.ndarray) -> np.ndarray:
    """Return the log-odds of a probability moved a little towards one half, in double precision."""
    return logit(_DRAWN_IN + (1 - 2 * _DRAWN_IN) * np.asarray(probability, dtype=np.float64))


@njit(cache=True, nogil=True)
def losses_of_means(total: np.ndarray, scores: np.ndarray, count: int) -> np.ndarray:
    """Return for each column of scores the mean of softplus(-(total + column) / count)."""
    n_rows, n_columns = scores.shape
    losses = np.zeros(n_columns)
    for row in range(n_rows):
        for column in range(n_columns):
            z = (total[row] + scores[row, column]) / count
            losses[column] += max(-z, 0.0) + np.log1p(np.exp(-abs(z)))
    return losses / max(n_rows, 1)


def mean_log_odds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the log-odds of the mean of two probabilities, from the log-odds of each."""
    relevant = np.logaddexp(log_expit(first), log_expit(second))
    return relevant - np.logaddexp(log_expit(-first), log_expit(-second))


def _newton_steps(start: np.ndarray, scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Go on to the minimum itself, where rounding in the scores changes nothing but rounding."""
    best, design = start, np.column_stack([scores, np.ones_like(scores)])
    for _ in range(_MOST_STEPS):
        p = expit(design @ best)
        hessian = design.T @ ((p * (1 - p))[:, None] * design)
        if np.linalg.cond(hessian) > 1e10:
            break
        moved = best - np.linalg.solve(hessian, design.T @ (p - target))
        if moved[0] <= _LEAST_SLOPE:
            break
        step, best = np.abs(moved - best).max(), moved
        if step < _CONVERGED * np.abs(best).max():
            break
    return best


def fit_sigmoid(scores: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of the sigmoid that turns scores into probabilities of a one.

    Minimises the log-loss of ``sigmoid(slope * scores + offset)`` against targets drawn inside by
    one imaginary observation each, (n_ones + 1) / (n_ones + 2) for a one and 1 / (n_zeros + 2)
    for a zero, so that separable scores keep a finite slope. The slope is kept positive, at least
    1e-3 per standard deviation of the scores, so that the order of the scores stays.

    References
    ----------
    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. In Advances in Large Margin Classifiers.
    """
    n_ones = int(np.count_nonzero(values))
    n_zeros = values.size - n_ones
    target = np.where(values == 1, (n_ones + 1) / (n_ones + 2), 1 / (n_zeros + 2))
    centre, scale = float(scores.mean()), float(scores.std())
    if scale <= 1e-12 * float(np.abs(scores).max()):
        scale = 1.0
    standard = (scores - centre) / scale

    def loss_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds = parameters[0] * standard + parameters[1]
        error = expit(log_odds) - target
        loss = np.mean(np.logaddexp(0, log_odds) - target * log_odds)
        return float(loss), np.array([np.mean(error * standard), np.mean(error)])

    start = np.array([1.0, np.log((n_ones + 1) / (n_zeros + 1))])
    bounds = [(_LEAST_SLOPE, None), (None, None)]
    best = minimize(
        loss_and_gradient, start, jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-12
    ).x
    best = _newton_steps(best, standard, target)
    slope = float(best[0]) / scale
    return slope, float(best[1]) - slope * centre
