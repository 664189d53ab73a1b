"""Incomplete multi-source feature learning: one linear model per pattern of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from labelgap.fitting import Monitor
from labelgap.kernels.probabilities import fit_sigmoid, log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import NOT_NEGATIVE, parameter, with_parameters
from labelgap_papers.kernels.proximal import proximal_path
from labelgap_papers.methods._imsf_problem import (
    IMSFProblem,
    WorkingSets,
    first_curvature,
    first_state,
    largest_weights,
    logistic_loss,
    read_problem,
    shrink_features,
    squared_loss,
)
from labelgap_papers.methods._view_blocks import (
    ViewClassifier,
    dense_views,
    learn_scaling,
)

_MOST_NUMBERS = 2**20


@with_parameters
class IMSF(ViewClassifier):
    """Incomplete multi-source feature learning [1]_.

    Rows with the same views form a pattern, and every pattern p has a linear model of its own on
    the features it has. A feature is used in all patterns or in none:

        min  sum_p loss_p(X_p w_p + b_p, y_p) + lambda sum_f ||(w_pf over the patterns with f)||

    for every label apart. With the logistic loss loss_p is the mean log-loss over the rows of the
    pattern; with least squares it is half the sum of squares for labels -1 and 1, without b.
    Nothing is filled in for absent views; a missing value inside a view that is there has the mean
    of its feature. Unlabeled zeros are zeros.

    Parameters
    ----------
    alpha : float, default=0.1
        lambda, as a fraction of the smallest one (of each label) at which no feature is used.
    loss : {"logistic", "squared"}, default="logistic"
    unknown : {"ignore", "negative"}, default="ignore"
        Whether rows are left out of the model of a label that is unknown for them, or labels are
        taken for irrelevant where they are unknown. The method itself knows no gaps in labels;
        comparisons in the literature count them as irrelevant.
    tol : float, default=1e-06
        Converged when the objective, summed over labels, falls by less than ``tol`` times its
        size.
    restart : bool, default=True
        Whether momentum is dropped when the objective would increase, so that it never does.
        False is the published method.

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
        Every feature is centred and divided by its standard deviation over the rows that have it.
    curvature_ : float
        Of the last step; the largest of all labels where these are fitted one by one.

    Notes
    -----
    A new row is predicted by the model of its pattern. The paper says nothing of a row whose
    pattern did not occur (or has no model of the label): it is predicted from the pattern with
    most features among those it has all the views for, and if there is none, from the one with
    which it shares most features, the others at their means.

    All labels are fitted in one array of n_patterns x n_features x n_labels numbers while there are
    at most a million of them. Beyond that labels are fitted one by one, each on a set of features
    that grows by those that violate the conditions of its optimum, and an iteration is a round of
    at most 200 steps for every label that is not finished.

    References
    ----------
    .. [1] L. Yuan, Y. Wang, P. M. Thompson, V. A. Narayan and J. Ye. Multi-source feature learning
       for joint analysis of incomplete multiple heterogeneous neuroimaging data. NeuroImage 61,
       2012.
    """

    views: Mapping[str, Any] | None = parameter(None)
    alpha: float = parameter(0.1, NOT_NEGATIVE)
    _: KW_ONLY
    loss: Literal["logistic", "squared"] = parameter("logistic")
    unknown: Literal["ignore", "negative"] = parameter("ignore")
    max_iter: int = parameter(2000)
    tol: float = parameter(1e-6)
    restart: bool = parameter(True)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        values, there = self._read_views(X, labels)
        Y = 2 * labels.to_dense(unknown=0.0 if self.unknown == "negative" else np.nan) - 1
        self.scaling_ = learn_scaling(values, self.views_, "standard")
        self.prior_ = log_odds(observed_prevalence(labels))
        self.patterns_, pattern_of = np.unique(there, axis=0, return_inverse=True)
        columns = [self._columns(pattern) for pattern in self.patterns_]
        problem = read_problem(self.scaling_.filled(values), Y, pattern_of.ravel(), columns)
        self.modelled_ = problem.n_known > 0
        self._descend(problem)
        self._calibrate(X, Y)

    def _descend(self, problem: IMSFProblem) -> None:
        monitor = self._monitor()
        if np.prod(problem.shape) > _MOST_NUMBERS:
            state = self._descend_by_sets(problem, monitor)
        else:
            state = self._descend_at_once(problem, monitor)
        self.coef_, self.intercept_ = state[:, :-1], state[:, -1]
        self._keep_trace(monitor)

    def _descend_at_once(self, problem: IMSFProblem, monitor: Monitor) -> np.ndarray:
        smooth = squared_loss(problem) if self.loss == "squared" else logistic_loss(problem)
        start = first_state(problem, with_intercepts=self.loss == "logistic")
        prox = shrink_features(float(self.alpha) * largest_weights(smooth, start))
        path = proximal_path(
            smooth,
            prox,
            start,
            curvature=first_curvature(smooth, prox, start, problem.n_samples),
            restart=self.restart,
        )
        for point in islice(path, self.max_iter):
            if monitor.record(point.value):
                break
        self.curvature_ = point.curvature
        return point.x

    def _descend_by_sets(self, problem: IMSFProblem, monitor: Monitor) -> np.ndarray:
        sets = WorkingSets(problem, self.loss, float(self.alpha), self.tol, self.restart)
        for _ in range(self.max_iter):
            if monitor.record(sets.round()):
                break
        self.curvature_ = sets.curvature
        return sets.state

    def _calibrate(self, X: Any, Y: np.ndarray) -> None:
        self.slope_, self.level_ = 1.0, 0.0
        if self.loss == "squared":
            scores, is_modelled = self._scores(X)
            used = is_modelled & ~np.isnan(Y)
            if used.any():
                self.slope_, self.level_ = fit_sigmoid(scores[used], (Y[used] > 0).astype(float))

    def _columns(self, pattern: np.ndarray) -> np.ndarray:
        parts = [np.arange(v.start, v.stop) for v in self.views_.values()]
        return np.concatenate([part for part, has in zip(parts, pattern, strict=True) if has])

    def _scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """X w + b from the pattern that stands for each row, and where there is one."""
        values, there = dense_views(X, self.views_)
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
        widths = np.array(list(self.views_.widths.values()))
        shared = (self.patterns_ & pattern) @ widths
        lacking = (self.patterns_ & ~pattern) @ widths
        order = np.lexsort((lacking, -shared, lacking > 0))
        return order[np.argmax(self.modelled_[order], axis=0)]

    def _decision_function(self, X: Any) -> np.ndarray:
        scores, is_modelled = self._scores(X)
        return np.where(is_modelled, self.slope_ * scores + self.level_, self.prior_)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))
