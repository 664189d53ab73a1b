"""The problem of iMSF, and its minimum by growing sets of features."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from labelgap_papers.kernels.proximal import (
    Differentiable,
    Prox,
    Quadratic,
    SmoothFunction,
    proximal_path,
)


class Pattern(NamedTuple):
    """The rows of one pattern.

    features : (n, d_p), those that the pattern has
    columns : (d_p,), where they are among all
    signs : (n, c), -1 and 1, and 0 where the row does not count for the label
    """

    features: np.ndarray
    columns: np.ndarray
    signs: np.ndarray


class IMSFProblem(NamedTuple):
    """n_known : (n_patterns, c), rows that count, 0 without rows of both kinds; shape : of states,
    (n_patterns, n_features + 1, c), the intercepts last"""

    patterns: list[Pattern]
    n_known: np.ndarray
    n_samples: int
    shape: tuple[int, int, int]


def read_problem(
    features: np.ndarray, Y: np.ndarray, pattern_of: np.ndarray, columns: list[np.ndarray]
) -> IMSFProblem:
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
    return IMSFProblem(patterns, np.array(n_known), len(features), shape)


def first_state(problem: IMSFProblem, *, with_intercepts: bool) -> np.ndarray:
    """No weights, and the log-odds of each label in each pattern."""
    state = np.zeros(problem.shape)
    if with_intercepts:
        for p, pattern in enumerate(problem.patterns):
            modelled = problem.n_known[p] > 0
            signs = pattern.signs[:, modelled]
            odds = np.count_nonzero(signs > 0, axis=0) / np.count_nonzero(signs < 0, axis=0)
            state[p, -1, modelled] = np.log(odds)
    return state


def squared_loss(problem: IMSFProblem) -> Quadratic:
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


def logistic_loss(problem: IMSFProblem) -> LogisticLoss:
    """sum_p of the mean of log(1 + exp(-y (X_p w_p + b_p))) over what counts."""
    return LogisticLoss(problem)


class LogisticLoss(Differentiable):
    """The loss at a state, whose gradient is computed only where it is asked for.

    Scores are affine: those beyond the last step follow from those before and after it.
    """

    def __init__(self, problem: IMSFProblem) -> None:
        self.problem = problem
        self.signs = np.concatenate([pattern.signs for pattern in problem.patterns])
        n_samples = [len(pattern.signs) for pattern in problem.patterns]
        self.fractions = np.repeat(1 / np.maximum(problem.n_known, 1), n_samples, axis=0)
        self.fractions *= self.signs != 0

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
        return float(np.vdot(self.loss.fractions, losses))

    @cached_property
    def slopes(self) -> np.ndarray:
        """The derivative by the scores."""
        chances = np.where(self._margins > 0, self._decay, 1.0) / (1 + self._decay)
        return -self.loss.signs * self.loss.fractions * chances

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


def scores_of(problem: IMSFProblem, state: np.ndarray) -> np.ndarray:
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


def first_curvature(smooth: SmoothFunction, prox: Prox, start: np.ndarray, n_samples: int) -> float:
    """The curvature along a first step, which is far too long: a scale to begin with."""
    origin = smooth.at(start)
    x, _ = prox(start - n_samples * origin.gradient, float(n_samples))
    _, along = smooth.moved(origin, x)
    return max(2 / n_samples, along) if along > 1 / n_samples else 1 / n_samples


_MOST_STEPS = 200
_FEWEST_NEW = 20
_SLACK = 1e-6


def restricted(
    problem: IMSFProblem, label: int, features: np.ndarray
) -> tuple[IMSFProblem, np.ndarray]:
    """The problem of one label on some features, and the patterns in which it has a model.

    problem : IMSFProblem
    label : int
    features : int array, sorted
    """
    modelled = np.flatnonzero(problem.n_known[:, label])
    patterns = []
    for p in modelled:
        whole = problem.patterns[p]
        has = np.isin(features, whole.columns, assume_unique=True)
        place = np.searchsorted(whole.columns, features[has])
        part = np.take(whole.features, place, axis=1)
        patterns.append(Pattern(part, np.flatnonzero(has), whole.signs[:, [label]]))
    shape = (len(modelled), len(features) + 1, 1)
    return IMSFProblem(
        patterns, problem.n_known[modelled][:, [label]], problem.n_samples, shape
    ), modelled


class WorkingSets:
    """A descent label by label, each on the features that it uses and some that it lacks.

    A feature that a label does not use is as it should be while its gradient is at most lambda
    long. In every iteration those with the longest gradients join, at most as many as are used.

    Parameters
    ----------
    problem : IMSFProblem
    loss : {"logistic", "squared"}
    alpha, tol, restart
        As in IMSF.

    Attributes
    ----------
    state : array of shape (n_patterns, n_features + 1, n_labels)
    weights : array of shape (n_labels,)
        lambda of every label.
    """

    def __init__(
        self, problem: IMSFProblem, loss: str, alpha: float, tol: float, restart: bool
    ) -> None:
        self.problem, self.tol, self.restart = problem, tol, restart
        self._is_squared = loss == "squared"
        self.state = first_state(problem, with_intercepts=not self._is_squared)
        n_patterns, n_columns, n_labels = problem.shape
        self._slopes = [np.zeros(pattern.signs.shape) for pattern in problem.patterns]
        self._keep_slopes(problem, range(n_patterns), slice(None), self.state)
        self._norms = self._gradient_norms()
        self.weights = alpha * self._norms.max(axis=0)
        self._unfinished = np.asarray((problem.n_known > 0).any(axis=0))
        self._values = np.where(self._unfinished, np.inf, 0.0)
        self._curvatures = np.zeros(n_labels)
        self._used = np.zeros((n_columns - 1, n_labels), dtype=bool)

    @property
    def curvature(self) -> float:
        """The largest of the last steps of all labels."""
        return float(self._curvatures.max())

    def round(self) -> float:
        """Steps for every label that lacks features or may still fall; the objective after them."""
        lacking = (self._norms > self.weights * (1 + _SLACK)) & ~self._used
        todo = np.flatnonzero(self._unfinished | lacking.any(axis=0)).tolist()
        for label in todo:
            self._fit_label(label, self._features(label, np.flatnonzero(lacking[:, label])))
        if len(todo):
            self._norms = self._gradient_norms()
        return float(self._values.sum())

    def _features(self, label: int, lacking: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(self._used[:, label])
        n_new = max(_FEWEST_NEW, len(used))
        longest = np.argsort(-self._norms[lacking, label], kind="stable")
        return np.union1d(used, lacking[longest[:n_new]])

    def _fit_label(self, label: int, features: np.ndarray) -> None:
        part, patterns = restricted(self.problem, label, features)
        columns = np.append(features, self.problem.shape[1] - 1)
        place = np.ix_(patterns, columns, np.array([label]))
        x, value = self._descend(part, label, self.state[place])
        fall = self._values[label] - value
        self._unfinished[label] = abs(fall) > self.tol * abs(value)
        if self.restart and fall < 0:  # by rounding alone
            return
        self.state[place], self._values[label] = x, value
        self._used[features, label] = (x[:, :-1, 0] != 0).any(axis=0)
        self._keep_slopes(part, patterns, [label], x)

    def _descend(
        self, part: IMSFProblem, label: int, start: np.ndarray
    ) -> tuple[np.ndarray, float]:
        smooth = squared_loss(part) if self._is_squared else logistic_loss(part)
        prox = shrink_features(self.weights[[label]])
        # half of the last one: the first steps, from zero, may have needed more than the others
        curvature = self._curvatures[label] / 2
        if not curvature:
            curvature = first_curvature(smooth, prox, start, part.n_samples)
        path = proximal_path(smooth, prox, start, curvature=curvature, restart=self.restart)
        before = np.inf
        for point in islice(path, _MOST_STEPS):
            if abs(before - point.value) <= 0.1 * self.tol * abs(point.value):
                break
            before = point.value
        self._curvatures[label] = point.curvature
        return point.x, point.value

    def _keep_slopes(self, part: IMSFProblem, patterns: Any, labels: Any, x: np.ndarray) -> None:
        """The derivative of the loss by the scores of some labels."""
        if self._is_squared:
            signs = np.concatenate([pattern.signs for pattern in part.patterns])
            slopes = (signs != 0) * scores_of(part, x) - signs
        else:
            slopes = logistic_loss(part).at(x).slopes
        ends = np.cumsum([len(pattern.signs) for pattern in part.patterns])
        for p, slope in zip(patterns, np.split(slopes, ends[:-1]), strict=True):
            self._slopes[p][:, labels] = slope

    def _gradient_norms(self) -> np.ndarray:
        """Of every feature and label, over the patterns: (n_features, n_labels)."""
        squares = np.zeros((self.problem.shape[1] - 1, self.problem.shape[2]))
        for pattern, slopes, n_known in zip(
            self.problem.patterns, self._slopes, self.problem.n_known, strict=True
        ):
            modelled = np.flatnonzero(n_known)
            gradient = pattern.features.T @ slopes[:, modelled]
            squares[np.ix_(pattern.columns, modelled)] += np.square(gradient)
        return np.sqrt(squares)
