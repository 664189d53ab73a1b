"""The problem of iMSF: rows by pattern, the two losses, and the norms over patterns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labelgap.kernels.proximal import Differentiable, Prox, Quadratic, SmoothFunction

__all__ = [
    "LogisticLoss",
    "Pattern",
    "Problem",
    "feature_norms",
    "first_curvature",
    "first_state",
    "largest_weights",
    "logistic_loss",
    "read_problem",
    "scores_of",
    "shrink_features",
    "squared_loss",
]


class Pattern(NamedTuple):
    """The rows of one pattern.

    features : (n, d_p), those that the pattern has
    columns : (d_p,), where they are among all
    signs : (n, c), -1 and 1, and 0 where the row does not count for the label
    """

    features: np.ndarray
    columns: np.ndarray
    signs: np.ndarray


class Problem(NamedTuple):
    """n_known : (n_patterns, c), rows that count, 0 without rows of both kinds; shape : of states,
    (n_patterns, n_features + 1, c), the intercepts last"""

    patterns: list[Pattern]
    n_known: np.ndarray
    n_rows: int
    shape: tuple[int, int, int]


def read_problem(
    features: np.ndarray, Y: np.ndarray, pattern_of: np.ndarray, columns: list[np.ndarray]
) -> Problem:
    """Rows by pattern; Y has -1, 1 and NaN."""
    patterns, n_known = [], []
    for p, own in enumerate(columns):
        rows = np.flatnonzero(pattern_of == p)
        signs = np.nan_to_num(Y[rows])
        modelled = (signs > 0).any(axis=0) & (signs < 0).any(axis=0)
        signs[:, ~modelled] = 0
        patterns.append(Pattern(np.ascontiguousarray(features[rows][:, own]), own, signs))
        n_known.append(np.count_nonzero(signs, axis=0))
    shape = (len(columns), features.shape[1] + 1, Y.shape[1])
    return Problem(patterns, np.array(n_known), len(features), shape)


def first_state(problem: Problem, *, with_intercepts: bool) -> np.ndarray:
    """No weights, and the log-odds of each label in each pattern."""
    state = np.zeros(problem.shape)
    if with_intercepts:
        for p, pattern in enumerate(problem.patterns):
            modelled = problem.n_known[p] > 0
            signs = pattern.signs[:, modelled]
            odds = np.count_nonzero(signs > 0, axis=0) / np.count_nonzero(signs < 0, axis=0)
            state[p, -1, modelled] = np.log(odds)
    return state


def squared_loss(problem: Problem) -> Quadratic:
    """1/2 sum_p ||X_p w_p - y_p||^2 over what counts."""
    linear = np.zeros(problem.shape)
    for p, pattern in enumerate(problem.patterns):
        linear[p, pattern.columns] = pattern.features.T @ pattern.signs

    def product(state: np.ndarray) -> np.ndarray:
        out = np.zeros(problem.shape)
        for p, pattern in enumerate(problem.patterns):
            fitted = (pattern.signs != 0) * (pattern.features @ state[p, pattern.columns])
            out[p, pattern.columns] = pattern.features.T @ fitted
        return out

    return Quadratic(product, linear, 0.5 * float(problem.n_known.sum()))


def logistic_loss(problem: Problem) -> LogisticLoss:
    """sum_p of the mean of log(1 + exp(-y (X_p w_p + b_p))) over what counts."""
    return LogisticLoss(problem)


class LogisticLoss(Differentiable):
    """The loss at a state, whose gradient is computed only where it is asked for.

    Scores are affine: those beyond the last step follow from those before and after it.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.signs = np.concatenate([pattern.signs for pattern in problem.patterns])
        n_rows = [len(pattern.signs) for pattern in problem.patterns]
        self.shares = np.repeat(1 / np.maximum(problem.n_known, 1), n_rows, axis=0)
        self.shares *= self.signs != 0

    def at(self, x: np.ndarray) -> Any:
        return _Scored(self, x, scores_of(self.problem, x))

    def ahead(self, here: Any, before: Any, momentum: float) -> Any:
        scores = here.scores + momentum * (here.scores - before.scores)
        return _Scored(self, here.x + momentum * (here.x - before.x), scores)


class _Scored:
    """A place of the logistic loss: a state, and the scores of the rows of all patterns."""

    def __init__(self, loss: LogisticLoss, x: np.ndarray, scores: np.ndarray) -> None:
        self.loss, self.x, self.scores = loss, x, scores
        self._margins = loss.signs * scores
        self._decay = np.exp(-np.abs(self._margins))

    @cached_property
    def value(self) -> float:
        losses = np.log1p(self._decay) - np.minimum(self._margins, 0.0)
        return float(np.vdot(self.loss.shares, losses))

    @cached_property
    def slopes(self) -> np.ndarray:
        """The derivative by the scores."""
        chances = np.where(self._margins > 0, self._decay, 1.0) / (1 + self._decay)
        return -self.loss.signs * self.loss.shares * chances

    @cached_property
    def gradient(self) -> np.ndarray:
        gradient = np.zeros(self.loss.problem.shape)
        stop = 0
        for p, (features, columns, _) in enumerate(self.loss.problem.patterns):
            start, stop = stop, stop + len(features)
            slope = self.slopes[start:stop]
            gradient[p, columns] = features.T @ slope
            gradient[p, -1] = slope.sum(axis=0)
        return gradient


def scores_of(problem: Problem, state: np.ndarray) -> np.ndarray:
    """X_p w_p + b_p for the rows of one pattern after the other."""
    parts = [
        features @ state[p, columns] + state[p, -1]
        for p, (features, columns, _) in enumerate(problem.patterns)
    ]
    return np.concatenate(parts)


def feature_norms(state: np.ndarray) -> np.ndarray:
    """Of every feature and label, over the patterns: (n_features, c)."""
    weights = state[:, :-1]
    return np.sqrt(np.einsum("pfc,pfc->fc", weights, weights))


def largest_weights(smooth: SmoothFunction, start: np.ndarray) -> np.ndarray:
    """For every label the smallest lambda at which the start, without features, is best."""
    return feature_norms(smooth.at(start).gradient).max(axis=0)


def shrink_features(weights: np.ndarray) -> Prox:
    """The proximal operator of sum_c lambda_c sum_f ||w_fc||; intercepts are free."""

    def prox(state: np.ndarray, step: float) -> tuple[np.ndarray, float]:
        norms = feature_norms(state)
        shrunk = np.maximum(norms - step * weights, 0.0)
        out = state.copy()
        out[:, :-1] *= np.divide(shrunk, norms, out=np.zeros_like(norms), where=norms > 0)
        return out, float((weights * shrunk).sum())

    return prox


def first_curvature(smooth: SmoothFunction, prox: Prox, start: np.ndarray, n_rows: int) -> float:
    """The curvature along a first step, which is far too long: a scale to begin with."""
    origin = smooth.at(start)
    x, _ = prox(start - n_rows * origin.gradient, float(n_rows))
    _, along = smooth.moved(origin, x)
    return max(2 / n_rows, along) if along > 1 / n_rows else 1 / n_rows
