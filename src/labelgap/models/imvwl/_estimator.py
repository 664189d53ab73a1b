"""The estimator: wiring between what users give and the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Monitor, Trace
from labelgap.kernels.masked_targets import MaskedTarget
from labelgap.labels import Labels
from labelgap.models.imvwl import _checks, _fit
from labelgap.models.imvwl._components import Components, find_components
from labelgap.models.imvwl._logistic import LogisticPredictor, fit_logistic
from labelgap.models.imvwl._params import Params, Problem, label_correlation, objective
from labelgap.models.imvwl._scaling import Scaling, learn_scaling
from labelgap.models.imvwl._target import observed_log_odds, observed_pairs, read_labels
from labelgap.models.imvwl._views import read_views
from labelgap.yardsticks._calibration import fit_sigmoid

__all__ = ["IMVWL", "ViewContribution"]


class ViewContribution(NamedTuple):
    """What a view has to do with the subspace.

    Attributes
    ----------
    explained : float
        Share of the squared (scaled) values that the subspace reproduces.
    weight : float
        Share of the view in the curvature of a complete row, which is how much it has to say about
        the row's vector.
    """

    explained: float
    weight: float


class IMVWL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LabelGapClassifier):
    """Incomplete multi-view weak-label learning: missing labels and missing views together [1]_.

    All views of a row share one non-negative vector v, from which its labels are predicted
    through a low-rank label correlation S:

        min  sum_v ||O_v o (X_v - V U_v')||^2 + alpha ||M o (V W S - Y)||^2 + beta ||S||_*
             + ridge (||V||^2 + sum_v ||U_v||^2 + ||W||^2),     V, U_v >= 0.

    O_v and M leave out what is missing: whole views of a row (NaN in all columns of the view),
    single values (NaN among others), and unknown labels. Rows all of whose labels are unknown
    help to find the subspace; new rows are folded in from whatever views they have.

    Parameters
    ----------
    groups : ViewGroups or mapping from name to slice, pair or width, optional
        The columns of each view, see :func:`labelgap.views.from_blocks`; one view by default.
    n_factors : int or float
        Size of the subspace; a float is a share of the width of the narrowest view.
    alpha : float
        Weight of the labels against the views. A row of a scaled view has mean squared length 1.
    beta : float
        Weight of the nuclear norm of S.
    ridge : float
        Keeps the scales of V, U and W from drifting; 0 is the paper's objective, in which beta is
        of no consequence but for early stopping.
    supervised : bool
        Whether labels help to shape the subspace. False learns it from the views alone and W and S
        afterwards (iMVWL-Sp in the paper).
    correlation : bool
        Whether S is learned, or the identity (iMVWL-Nc).
    views : {"separate", "concatenated"}
        Whether absent views are left out of the loss; or filled with means of the features, all
        views together making a single one (iMVWL-X).
    scaling : {"balance", "range"} or None
        "balance" divides each view by the root mean square length of its rows, so that wide views
        or those with large values do not drown the others. "range" maps every feature to [0, 1]
        before that, which also takes negative features (and makes a sparse view dense where a
        feature needs a shift); values of new rows below the range are clipped. None leaves X as it
        is.
    intercept : bool
        Whether the labels have offsets, V W S + b; the paper has none.
    predictor : {"joint", "logistic", "combined"}
        Scores from W S; or from one logistic regression per label, on the square roots of the
        coordinates in the subspace ("logistic"), or on these and on principal components of the
        views, absent ones at their mean ("combined"). The last two see training rows as they will
        see new ones, folded in from their views alone.
    penalty : float
        Ridge on the coefficients of the logistic regressions, for standardised coordinates (the
        components have one scale together).
    n_components : int
        Number of principal components for ``predictor="combined"``.
    max_iter : int
    tol : float
        Converged when the objective falls by less than ``tol`` times its size.
    n_sweeps : int
        Sweeps over the coordinates of V and of U in each iteration.
    n_steps : int
        Steps of conjugate gradient for W and of proximal gradient for S in each iteration.
    init : "random" or array of shape (n_features, n_factors)
        Where U starts; "random" takes means of a few rows.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration; returning True
        stops.
    random_state : int, RandomState or None

    Attributes
    ----------
    params_ : Params
        U (n_features x k, of the scaled views), W, S, the offset, and V of the training rows at
        the end of the loop.
    embedding_ : array of shape (n_rows, k)
        Vectors of the training rows, solved to convergence for the final U, W and S.
    label_correlation_ : array of shape (n_labels, n_labels)
        S, scaled to ones on the diagonal; see :func:`labelgap.plots.plot_label_correlation`. The
        matrix itself is ``params_.S``.
    view_contribution_ : dict from name to ViewContribution
    groups_ : ViewGroups
    scaling_ : Scaling
    trace_ : Trace
        Objective of every iteration, to be minimised, and how the fit ended.
    label_trace_ : Trace or None
        The same of W and S, when ``supervised=False``.
    slope_, level_ : float
        Of the sigmoid, for ``predictor="joint"``.
    logistic_ : LogisticPredictor or None
    components_ : Components or None
        For ``predictor="combined"``.
    n_iter_ : int
    classes_, n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    With ``predictor="joint"`` decision values are ``slope_ * (V W S + b) + level_``: one sigmoid
    for all labels, which keeps the order of the fitted values, turns them into probabilities. A
    label without any observed entry has a constant fitted value.

    References
    ----------
    .. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.
    """

    _allow_missing_features = True
    _parameter_constraints: ClassVar[dict[str, list]] = {
        "groups": [Mapping, None],
        "n_factors": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "supervised": ["boolean"],
        "correlation": ["boolean"],
        "views": [StrOptions({"separate", "concatenated"})],
        "scaling": [StrOptions({"balance", "range"}), None],
        "intercept": ["boolean"],
        "predictor": [StrOptions({"joint", "logistic", "combined"})],
        "penalty": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_sweeps": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"random"}), np.ndarray],
        "callback": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        groups: Mapping[str, Any] | None = None,
        n_factors: int | float = 0.5,
        *,
        alpha: float = 0.01,
        beta: float = 0.01,
        ridge: float = 0.01,
        supervised: bool = True,
        correlation: bool = True,
        views: Literal["separate", "concatenated"] = "separate",
        scaling: Literal["balance", "range"] | None = "balance",
        intercept: bool = False,
        predictor: Literal["joint", "logistic", "combined"] = "joint",
        penalty: float = 30.0,
        n_components: int = 300,
        max_iter: int = 60,
        tol: float = 0.0,
        n_sweeps: int = 2,
        n_steps: int = 5,
        init: Any = "random",
        callback: Callable | None = None,
        random_state: Any = None,
    ) -> None:
        self.groups = groups
        self.n_factors = n_factors
        self.alpha = alpha
        self.beta = beta
        self.ridge = ridge
        self.supervised = supervised
        self.correlation = correlation
        self.views = views
        self.scaling = scaling
        self.intercept = intercept
        self.predictor = predictor
        self.penalty = penalty
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_sweeps = n_sweeps
        self.n_steps = n_steps
        self.init = init
        self.callback = callback
        self.random_state = random_state

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        self.groups_ = _checks.read_groups(self.groups, X)
        there = _checks.present_views(X, self.groups_)
        k = _checks.count_factors(self.n_factors, self.groups_)
        _checks.check_views(self.groups_, there, k)
        self.scaling_: Scaling = learn_scaling(X, self.groups_, there, self.scaling)
        problem = self._problem(X, labels, there)
        target = _checks.check_labels(problem)
        params, self.trace_, self.label_trace_ = self._descend(problem, k, labels.n_labels)
        self.params_: Params = params
        rows = problem if self.supervised else replace(problem, target=None)
        self.embedding_ = _fit.fold_in(rows, params)
        self.label_correlation_ = label_correlation(params)
        self.view_contribution_ = self._contributions(problem)
        self._fit_predictor(problem, target, labels)
        self.n_iter_ = self.trace_.n_iter
        self._n_features_out = k

    def _descend(self, problem: Problem, k: int, n_labels: int) -> tuple[Params, Trace, Any]:
        rng = self._rng()
        if isinstance(self.init, str):
            views = problem.views
            U = _fit.random_start(views, problem.n_rows, self.n_features_in_, k, rng)
        else:
            U = _checks.check_start(self.init, self.n_features_in_, k)
        joint = problem if self.supervised else replace(problem, target=None)
        params = _fit.first_params(joint, U, n_labels, self.correlation)
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        params = _fit.descend(joint, params, monitor, n_sweeps=self.n_sweeps, n_steps=self.n_steps)
        if self.supervised:
            return params, monitor.trace, None
        second = Monitor(self.max_iter, self.tol, self.callback)
        params = _fit.descend_labels(problem, params, second, n_steps=self.n_steps)
        return params, monitor.trace, second.trace

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _problem(self, X: Any, labels: Labels | None, there: np.ndarray) -> Problem:
        labelled, target = (np.zeros(0, dtype=np.intp), None)
        if labels is not None:
            labelled, target = read_labels(labels)
        return Problem(
            n_rows=X.shape[0],
            views=read_views(
                X,
                self.groups_,
                there,
                self.scaling_,
                concatenated=self.views == "concatenated",
                owner=type(self).__name__,
            ),
            labelled=labelled,
            target=target,
            alpha=float(self.alpha),
            beta=float(self.beta),
            ridge=float(self.ridge),
            with_offset=self.intercept,
        )

    def _fit_predictor(self, problem: Problem, target: MaskedTarget, labels: Labels) -> None:
        """Logistic regressions, or the sigmoid that turns fitted values into probabilities.

        Both are fitted to training rows as new rows will be seen, from their views alone.
        """
        V = self.embedding_
        if self.supervised:
            V = _fit.fold_in(replace(problem, target=None), self.params_)
        self.logistic_: LogisticPredictor | None = None
        self.components_: Components | None = None
        self.slope_, self.level_ = 1.0, 0.0
        if self.predictor == "joint":
            pairs = observed_pairs(target, self._fitted_values(V[problem.labelled]))
            self.slope_, self.level_ = fit_sigmoid(*pairs)
            return
        if self.predictor == "combined":
            self.components_ = find_components(
                problem.views, problem.n_rows, self.scaling_.fill, self.n_components, self._rng()
            )
        features = self._predictor_features(problem, V)[problem.labelled]
        scale = features.std(axis=0)
        k = V.shape[1]
        scale[k:] = np.sqrt(np.mean(scale[k:] ** 2)) if scale[k:].any() else 1.0
        prior = observed_log_odds(labels)
        self.logistic_ = fit_logistic(features, target, float(self.penalty), prior, scale)

    def _predictor_features(self, problem: Problem, V: np.ndarray) -> np.ndarray:
        """What the logistic regressions see; coordinates are skewed as counts are, roots less."""
        roots = np.sqrt(V)
        if self.components_ is None:
            return roots
        return np.hstack([roots, self.components_.of(problem.views, problem.n_rows)])

    def _contributions(self, problem: Problem) -> dict[str, ViewContribution]:
        losses = objective(problem, self.params_._replace(V=self.embedding_)).views
        names = list(self.groups_) if self.views == "separate" else ["+".join(self.groups_)]
        parts = [self.params_.U[view.columns] for view in problem.views]
        curvature = np.array([float(np.vdot(part, part)) for part in parts])
        weights = curvature / max(curvature.sum(), 1e-300)
        explained = [
            1 - loss / max(view.squares, 1e-300)
            for loss, view in zip(losses, problem.views, strict=True)
        ]
        rows = zip(names, explained, weights, strict=True)
        return {name: ViewContribution(float(e), float(w)) for name, e, w in rows}

    # -- prediction ---------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Vectors of rows in the subspace, from the views they have; of shape (n_rows, k)."""
        return self._embed(self._validate_predict(X))

    def fold_in(self, X: Any, Y: Any = None) -> np.ndarray:
        """Vectors of rows from their views and, where given, from the labels known of them.

        A training row with its labels has the vector it has in ``embedding_``.
        """
        X = self._validate_predict(X)
        labels = None if Y is None else self.target_.read(Y, n_rows=X.shape[0])
        if labels is not None and labels.n_labels != self.params_.offset.size:
            raise ValueError(
                f"Y has {labels.n_labels} labels, the fit had {self.params_.offset.size}"
            )
        return self._embed(X, labels if self.supervised else None)

    def impute_views(self, X: Any) -> np.ndarray:
        """X with absent views and missing values filled in, in the units of X; always dense."""
        X = self._validate_predict(X)
        V = self._embed(X)
        there = _checks.present_views(X, self.groups_)
        filled = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        for position, columns in enumerate(self.groups_.values()):
            fitted = self.scaling_.restore(V @ self.params_.U[columns].T, columns)
            gaps = np.isnan(filled[:, columns]) | ~there[:, position][:, None]
            filled[:, columns] = np.where(gaps, fitted, filled[:, columns])
        return filled

    def _embed(self, X: Any, labels: Labels | None = None) -> np.ndarray:
        problem = self._problem(X, labels, _checks.present_views(X, self.groups_))
        return _fit.fold_in(problem, self.params_)

    def _decision_function(self, X: Any) -> np.ndarray:
        problem = self._problem(X, None, _checks.present_views(X, self.groups_))
        V = _fit.fold_in(problem, self.params_)
        if self.logistic_ is not None:
            return self.logistic_.log_odds(self._predictor_features(problem, V))
        return self.slope_ * self._fitted_values(V) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def _fitted_values(self, V: np.ndarray) -> np.ndarray:
        return V @ self.params_.F + self.params_.offset

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.scaling != "range"
        # least squares cannot single out a class that lies between two others
        tags.classifier_tags.poor_score = self.predictor == "joint"
        return tags
