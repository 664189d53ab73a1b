"""Incomplete multi-source feature learning: one linear model per pattern of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval, StrOptions

from labelgap.baselines._view_blocks import ViewScaling, dense_views, learn_scaling
from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Monitor, Trace
from labelgap.kernels.proximal import (
    Differentiable,
    Prox,
    Quadratic,
    SmoothFunction,
    proximal_path,
)
from labelgap.labels import Labels
from labelgap.models.imvwl._checks import check_views, read_groups
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import log_odds, observed_frequency

__all__ = ["IMSF"]


class IMSF(LabelGapClassifier):
    """Incomplete multi-source feature learning [1]_.

    Rows with the same views form a pattern, and every pattern p has a linear model of its own on
    the features it has. A feature is used in all patterns or in none:

        min  sum_p loss_p(X_p w_p + b_p, y_p) + lambda sum_f ||(w_pf over the patterns with f)||

    for every label apart. With the logistic loss loss_p is the mean log-loss over the rows of the
    pattern; with least squares it is half the sum of squares for labels -1 and 1, without b.
    Nothing is filled in for absent views; a missing value inside a view that is there has the mean
    of its feature. Ambiguous zeros are zeros.

    Parameters
    ----------
    groups : ViewGroups or mapping from name to slice, pair or width, optional
        The columns of each view, see :func:`labelgap.views.from_blocks`; one view by default.
    alpha : float
        lambda, as a share of the smallest one (of each label) at which no feature is used.
    loss : {"logistic", "squared"}
    unknown : {"skip", "negative"}
        Whether rows are left out of the model of a label that is unknown for them, or labels are
        taken for irrelevant where they are unknown. The method itself knows no gaps in labels;
        comparisons in the literature count them as irrelevant.
    max_iter : int
    tol : float
        Converged when the objective, summed over labels, falls by less than ``tol`` times its
        size.
    restart : bool
        Whether momentum is dropped when the objective would increase, so that it never does.
        False is the published method.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration; returning True
        stops.

    Attributes
    ----------
    patterns_ : bool ndarray of shape (n_patterns, n_views)
        The patterns of the training rows.
    modelled_ : bool ndarray of shape (n_patterns, n_labels)
        Which label has a model in which pattern: it needs rows of both kinds there.
    coef_ : ndarray of shape (n_patterns, n_features, n_labels)
        w, of standardised features; zero for features that a pattern lacks.
    intercept_ : ndarray of shape (n_patterns, n_labels)
        b.
    prior_ : ndarray of shape (n_labels,)
        Log-odds of labels without any model.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of least squares; 1 and 0 for the logistic loss.
    groups_ : ViewGroups
    scaling_ : ViewScaling
        Every feature is centred and divided by its standard deviation over the rows that have it.
    curvature_ : float
        Of the last step.
    trace_ : Trace
        Objective of every iteration, to be minimised, and how the fit ended.
    n_iter_ : int
    classes_, n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    A new row is predicted by the model of its pattern. The paper says nothing of a row whose
    pattern did not occur (or has no model of the label): it is predicted from the pattern with
    most features among those it has all the views for, and if there is none, from the one with
    which it shares most features, the others at their means.

    All labels are fitted in one array of n_patterns x n_features x n_labels numbers.

    References
    ----------
    .. [1] L. Yuan, Y. Wang, P. M. Thompson, V. A. Narayan and J. Ye. Multi-source feature learning
       for joint analysis of incomplete multiple heterogeneous neuroimaging data. NeuroImage 61,
       2012.
    """

    _allow_missing_features = True
    _parameter_constraints: ClassVar[dict[str, list]] = {
        "groups": [Mapping, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"logistic", "squared"})],
        "unknown": [StrOptions({"skip", "negative"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "restart": ["boolean"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        groups: Mapping[str, Any] | None = None,
        alpha: float = 0.1,
        *,
        loss: Literal["logistic", "squared"] = "logistic",
        unknown: Literal["skip", "negative"] = "skip",
        max_iter: int = 2000,
        tol: float = 1e-6,
        restart: bool = True,
        callback: Callable | None = None,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.loss = loss
        self.unknown = unknown
        self.max_iter = max_iter
        self.tol = tol
        self.restart = restart
        self.callback = callback

    def _fit(self, X: Any, labels: Labels) -> None:
        self.groups_ = read_groups(self.groups, X)
        values, there = dense_views(X, self.groups_)
        check_views(self.groups_, there, 1)
        if not labels.n_observed(ambiguous=True):
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        Y = 2 * labels.to_dense(unknown=0.0 if self.unknown == "negative" else np.nan) - 1
        self.scaling_: ViewScaling = learn_scaling(values, self.groups_, "standard")
        self.prior_ = log_odds(observed_frequency(labels))
        self.patterns_, pattern_of = np.unique(there, axis=0, return_inverse=True)
        columns = [self._columns(pattern) for pattern in self.patterns_]
        problem = read_problem(self.scaling_.filled(values), Y, pattern_of.ravel(), columns)
        self.modelled_ = problem.n_known > 0
        self._descend(problem)
        self._calibrate(X, Y)

    def _descend(self, problem: Problem) -> None:
        smooth = squared_loss(problem) if self.loss == "squared" else logistic_loss(problem)
        start = first_state(problem, with_intercepts=self.loss == "logistic")
        prox = shrink_features(float(self.alpha) * largest_weights(smooth, start))
        path = proximal_path(
            smooth,
            prox,
            start,
            curvature=first_curvature(smooth, prox, start, problem.n_rows),
            restart=self.restart,
        )
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        for point in islice(path, self.max_iter):
            if monitor.record(point.value):
                break
        self.coef_, self.intercept_ = point.x[:, :-1], point.x[:, -1]
        self.curvature_ = point.curvature
        self.trace_: Trace = monitor.finish()
        self.n_iter_ = self.trace_.n_iter

    def _calibrate(self, X: Any, Y: np.ndarray) -> None:
        self.slope_, self.level_ = 1.0, 0.0
        if self.loss == "squared":
            scores, is_modelled = self._scores(X)
            used = is_modelled & ~np.isnan(Y)
            if used.any():
                self.slope_, self.level_ = fit_sigmoid(scores[used], (Y[used] > 0).astype(float))

    def _columns(self, pattern: np.ndarray) -> np.ndarray:
        parts = [np.arange(v.start, v.stop) for v in self.groups_.values()]
        return np.concatenate([part for part, has in zip(parts, pattern, strict=True) if has])

    def _scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """X w + b from the pattern that stands for each row, and where there is one."""
        values, there = dense_views(X, self.groups_)
        features = self.scaling_.filled(values)
        n_labels = len(self.prior_)
        scores = np.zeros((len(features), n_labels))
        asked, pattern_of = np.unique(there, axis=0, return_inverse=True)
        for position, pattern in enumerate(asked):
            rows = np.flatnonzero(pattern_of.ravel() == position)
            source = self._sources(pattern)
            for p in np.unique(source):
                cells = np.ix_(rows, source == p)
                coef, intercept = self.coef_[p][:, source == p], self.intercept_[p, source == p]
                scores[cells] = features[rows] @ coef + intercept
        is_modelled = np.broadcast_to(self.modelled_.any(axis=0), scores.shape)
        return scores, is_modelled

    def _sources(self, pattern: np.ndarray) -> np.ndarray:
        """The pattern with which each label is predicted for rows of some pattern."""
        widths = np.array(list(self.groups_.widths.values()))
        shared = (self.patterns_ & pattern) @ widths
        lacking = (self.patterns_ & ~pattern) @ widths
        order = np.lexsort((lacking, -shared, lacking > 0))
        return order[np.argmax(self.modelled_[order], axis=0)]

    def _decision_function(self, X: Any) -> np.ndarray:
        scores, is_modelled = self._scores(X)
        return np.where(is_modelled, self.slope_ * scores + self.level_, self.prior_)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


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


def logistic_loss(problem: Problem) -> Differentiable:
    """sum_p of the mean of log(1 + exp(-y (X_p w_p + b_p))) over what counts."""

    def value_and_gradient(state: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.0, np.zeros(problem.shape)
        for p, (features, columns, signs) in enumerate(problem.patterns):
            margin = signs * (features @ state[p, columns] + state[p, -1])
            each = 1 / np.maximum(problem.n_known[p], 1)
            losses = np.logaddexp(0, -margin) * (signs != 0)
            value += float((losses.sum(axis=0) * each).sum())
            slope = -signs * expit(-margin) * each
            gradient[p, columns] = features.T @ slope
            gradient[p, -1] = slope.sum(axis=0)
        return value, gradient

    return Differentiable(value_and_gradient)


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
