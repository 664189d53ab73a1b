"""iMSF for many features: every label on the few of them that it may use."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from labelgap.baselines._imsf_problem import (
    Pattern,
    Problem,
    first_curvature,
    first_state,
    logistic_loss,
    scores_of,
    shrink_features,
    squared_loss,
)
from labelgap.kernels.proximal import proximal_path

__all__ = ["WorkingSets", "restricted"]

_MOST_STEPS = 200
_FEWEST_NEW = 20
_SLACK = 1e-6


def restricted(problem: Problem, label: int, features: np.ndarray) -> tuple[Problem, np.ndarray]:
    """The problem of one label on some features, and the patterns in which it has a model.

    Parameters
    ----------
    problem : Problem
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
    return Problem(patterns, problem.n_known[modelled][:, [label]], problem.n_rows, shape), modelled


class WorkingSets:
    """A descent label by label, each on the features that it uses and some that it lacks.

    A feature that a label does not use is as it should be while its gradient is at most lambda
    long. In every round those with the longest gradients join, at most as many as are used.

    Parameters
    ----------
    problem : Problem
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
        self, problem: Problem, loss: str, alpha: float, tol: float, restart: bool
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

    def _descend(self, part: Problem, label: int, start: np.ndarray) -> tuple[np.ndarray, float]:
        smooth = squared_loss(part) if self._is_squared else logistic_loss(part)
        prox = shrink_features(self.weights[[label]])
        # half of the last one: the first steps, from zero, may have needed more than the others
        curvature = self._curvatures[label] / 2
        if not curvature:
            curvature = first_curvature(smooth, prox, start, part.n_rows)
        path = proximal_path(smooth, prox, start, curvature=curvature, restart=self.restart)
        before = np.inf
        for point in islice(path, _MOST_STEPS):
            if abs(before - point.value) <= 0.1 * self.tol * abs(point.value):
                break
            before = point.value
        self._curvatures[label] = point.curvature
        return point.x, point.value

    def _keep_slopes(self, part: Problem, patterns: Any, labels: Any, x: np.ndarray) -> None:
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
