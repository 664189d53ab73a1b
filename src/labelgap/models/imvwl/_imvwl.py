"""The IMVWL estimator: incomplete views and incomplete labels of the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import FitWarning, Monitor, Trace
from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.masked_targets import MaskedTarget
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels
from labelgap.models.imvwl._imvwl_objective import (
    IMVWLParams,
    IMVWLProblem,
    label_correlation,
    masked_labels,
    objective,
    observed_log_odds,
    observed_pairs,
)
from labelgap.models.imvwl._imvwl_steps import (
    descend,
    descend_labels,
    first_params,
    fold_in,
    random_start,
)
from labelgap.models.imvwl._scaled_views import (
    ColumnScaling,
    ViewComponents,
    find_components,
    learn_scaling,
    read_views,
)
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap.views import (
    Views,
    count_factors,
    covering_views,
    require_a_view,
    require_every_view,
)

# of the intercepts of the logistic regressions: a label that is always relevant keeps a finite one
_INTERCEPT_PRECISION = 1e-2


class ViewContribution(NamedTuple):
    """What a view has to do with the subspace.

    Attributes
    ----------
    explained : float
        Fraction of the squared (scaled) values that the subspace reproduces.
    weight : float
        Fraction of the curvature of a complete row that is due to the view: how much it decides
        about the row's vector.
    """

    explained: float
    weight: float


class LogisticPredictor(NamedTuple):
    """Log-odds ``(F - centre) / scale @ coef + intercept`` of all labels, for features F (n x k).

    centre, scale : (k,); coef : (k, n_labels); intercept : (n_labels,)
    """

    centre: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        return ((features - self.centre) / self.scale) @ self.coef + self.intercept


@with_parameters
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
    views : Views or mapping from name to slice, pair or width, default=None
        The columns of each view, see :func:`labelgap.views.from_blocks`; one view by default.
    n_factors : int or float, default=0.5
        Size of the subspace; a float is a fraction of the width of the narrowest view.
    alpha : float, default=0.01
        Weight of the labels against the views. A row of a scaled view has mean squared length 1.
    beta : float, default=0.01
        Weight of the nuclear norm of S.
    ridge : float, default=0.01
        Keeps the scales of V, U and W from drifting; 0 is the paper's objective, in which beta is
        of no consequence but for early stopping.
    supervised : bool, default=True
        Whether labels help to shape the subspace. False learns it from the views alone and W and S
        afterwards (iMVWL-Sp in the paper).
    correlation : bool, default=True
        Whether S is learned, or the identity (iMVWL-Nc).
    concatenate : bool, default=False
        Whether all views make a single one, absent ones filled with the means of the features
        (iMVWL-X). Otherwise absent views are left out of the loss.
    scaling : {"balance", "range"} or None, default="balance"
        "balance" divides each view by the root mean square length of its rows, so that wide views
        or those with large values do not drown the others. "range" maps every feature to [0, 1]
        before that, which also takes negative features (and makes a sparse view dense where a
        feature needs a shift); values of new rows below the range are clipped. None leaves X as it
        is.
    fit_intercept : bool, default=False
        Whether the labels have offsets, V W S + b; the paper has none.
    predictor : {"joint", "logistic", "combined"}, default="joint"
        Scores from W S; or from one logistic regression per label, on the square roots of the
        coordinates in the subspace ("logistic"), or on these and on principal components of the
        views, absent ones at their mean ("combined"). The last two see training rows as they will
        see new ones, folded in from their views alone.
    C : float, default=1/30
        Inverse regularisation of the logistic regressions as in scikit-learn, for standardised
        coordinates (the components have one scale together).
    n_components : int, default=300
        Number of principal components for ``predictor="combined"``.
    n_sweeps : int, default=2
        Sweeps over the coordinates of V and of U in each iteration.
    n_steps : int, default=5
        Steps of conjugate gradient for W and of proximal gradient for S in each iteration.
    init : "random" or array of shape (n_features, n_factors), default="random"
        Where U starts; "random" takes means of a few rows.

    Attributes
    ----------
    params_ : IMVWLParams
        U (n_features x k, of the scaled views), W, S, the offset, and V of the training rows at
        the end of the loop.
    embedding_ : array of shape (n_samples, k)
        Vectors of the training rows, solved to convergence for the final U, W and S.
    label_correlation_ : array of shape (n_labels, n_labels)
        S, scaled to ones on the diagonal; see :func:`labelgap.plots.plot_label_correlation`. The
        matrix itself is ``params_.S``.
    view_contribution_ : dict from name to ViewContribution
    views_ : Views
    scaling_ : ColumnScaling
    label_trace_ : Trace or None
        The same of W and S, when ``supervised=False``.
    slope_, intercept_ : float
        With ``predictor="joint"``, decision values are ``slope_ * (V W S + b) + intercept_``: one
        sigmoid for all labels, which keeps the order of the fitted values.
    logistic_ : LogisticPredictor or None
    components_ : ViewComponents or None
        For ``predictor="combined"``.

    References
    ----------
    .. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.

    See Also
    --------
    labelgap.views.from_blocks : One matrix from several views.
    labelgap.RMFL : A model of unknown labels for complete features.

    Examples
    --------
    >>> from labelgap import IMVWL
    >>> from labelgap.generators import make_views
    >>> data = make_views(200, {"colour": 10, "text": 15}, 5, random_state=0)
    >>> model = IMVWL(data.views, n_factors=4, max_iter=20, random_state=0)
    >>> model.fit(data.X, data.labels).predict_proba(data.X).shape
    (200, 5)
    """

    _allow_missing_features = True

    views: Mapping[str, Any] | None = parameter(None, Mapping, None)
    n_factors: int | float = parameter(0.5, AT_LEAST_ONE, Interval(Real, 0, 1, closed="right"))
    _: KW_ONLY
    alpha: float = parameter(0.01, NOT_NEGATIVE)
    beta: float = parameter(0.01, NOT_NEGATIVE)
    ridge: float = parameter(0.01, NOT_NEGATIVE)
    supervised: bool = parameter(True)
    correlation: bool = parameter(True)
    concatenate: bool = parameter(False)
    scaling: Literal["balance", "range"] | None = parameter("balance")
    fit_intercept: bool = parameter(False)
    predictor: Literal["joint", "logistic", "combined"] = parameter("joint")
    C: float = parameter(1 / 30, POSITIVE)
    n_components: int = parameter(300, AT_LEAST_ONE)
    max_iter: int = parameter(60)
    tol: float = parameter(0.0)
    n_sweeps: int = parameter(2, AT_LEAST_ONE)
    n_steps: int = parameter(5, AT_LEAST_ONE)
    init: Any = parameter("random", StrOptions({"random"}), np.ndarray)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        self.views_: Views = covering_views(self.views, X)
        there = require_a_view(X, self.views_)
        require_every_view(self.views_, there)
        k = count_factors(self.n_factors, self.views_)
        _warn_of_narrow_views(self.views_, k)
        self.scaling_: ColumnScaling = learn_scaling(X, self.views_, there, self.scaling)
        problem = self._problem(X, labels, there)
        if problem.target is None:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        params, self.trace_, self.label_trace_ = self._descend(problem, k, labels.n_labels)
        self.params_: IMVWLParams = params
        rows = problem if self.supervised else replace(problem, target=None)
        self.embedding_ = fold_in(rows, params)
        self.label_correlation_ = label_correlation(params)
        self.view_contribution_ = self._contributions(problem)
        self._fit_predictor(problem, problem.target, labels)
        self.n_iter_ = self.trace_.n_iter
        self._n_features_out = k

    def _descend(
        self, problem: IMVWLProblem, k: int, n_labels: int
    ) -> tuple[IMVWLParams, Trace, Trace | None]:
        rng = self._rng()
        if isinstance(self.init, str):
            U = random_start(problem.views, problem.n_samples, self.n_features_in_, k, rng)
        else:
            U = _checked_start(self.init, self.n_features_in_, k)
        joint = problem if self.supervised else replace(problem, target=None)
        params = first_params(joint, U, n_labels, self.correlation)
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        params = descend(joint, params, monitor, n_sweeps=self.n_sweeps, n_steps=self.n_steps)
        if self.supervised:
            return params, monitor.trace, None
        second = Monitor(self.max_iter, self.tol, self.callback)
        params = descend_labels(problem, params, second, n_steps=self.n_steps)
        return params, monitor.trace, second.trace

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _problem(self, X: Any, labels: Labels | None, there: np.ndarray) -> IMVWLProblem:
        labelled, target = (np.zeros(0, dtype=np.intp), None)
        if labels is not None:
            labelled, target = masked_labels(labels)
        owner = type(self).__name__
        return IMVWLProblem(
            n_samples=X.shape[0],
            views=read_views(
                X, self.views_, there, self.scaling_, concatenate=self.concatenate, owner=owner
            ),
            labelled=labelled,
            target=target,
            alpha=float(self.alpha),
            beta=float(self.beta),
            ridge=float(self.ridge),
            with_offset=self.fit_intercept,
        )

    def _fit_predictor(self, problem: IMVWLProblem, target: MaskedTarget, labels: Labels) -> None:
        """Logistic regressions, or the sigmoid that turns fitted values into probabilities.

        Both are fitted to training rows as new rows will be seen, from their views alone.
        """
        V = self.embedding_
        if self.supervised:
            V = fold_in(replace(problem, target=None), self.params_)
        self.logistic_: LogisticPredictor | None = None
        self.components_: ViewComponents | None = None
        self.slope_, self.intercept_ = 1.0, 0.0
        if self.predictor == "joint":
            pairs = observed_pairs(target, self._fitted_values(V[problem.labelled]))
            self.slope_, self.intercept_ = fit_sigmoid(*pairs)
            return
        if self.predictor == "combined":
            self.components_ = find_components(
                problem.views, problem.n_samples, self.scaling_.fill, self.n_components, self._rng()
            )
        features = self._predictor_features(problem, V)[problem.labelled]
        scale = features.std(axis=0)
        k = V.shape[1]
        scale[k:] = np.sqrt(np.mean(scale[k:] ** 2)) if scale[k:].any() else 1.0
        self.logistic_ = fit_predictor(
            features, scale, target, float(self.C), observed_log_odds(labels)
        )

    def _predictor_features(self, problem: IMVWLProblem, V: np.ndarray) -> np.ndarray:
        """What the logistic regressions see; coordinates are skewed as counts are, roots less."""
        roots = np.sqrt(V)
        if self.components_ is None:
            return roots
        return np.hstack([roots, self.components_.of(problem.views, problem.n_samples)])

    def _contributions(self, problem: IMVWLProblem) -> dict[str, ViewContribution]:
        losses = objective(problem, self.params_._replace(V=self.embedding_)).views
        names = ["+".join(self.views_)] if self.concatenate else list(self.views_)
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
        """Return the vectors of rows in the subspace, (n_samples, k), from the views they have."""
        return self._embed(self._validate_predict(X))

    def fold_in(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the vectors of rows from their views and, if given, from the labels known of them.

        A training row with its labels has the vector it has in ``embedding_``.
        """
        X = self._validate_predict(X)
        labels = None if Y is None else self.target_.read(Y, n_samples=X.shape[0])
        if labels is not None and labels.n_labels != self.params_.offset.size:
            raise ValueError(
                f"Y has {labels.n_labels} labels, the fit had {self.params_.offset.size}"
            )
        return self._embed(X, labels if self.supervised else None)

    def impute_views(self, X: Any) -> np.ndarray:
        """Return X with absent views and missing values imputed, in the units of X; always dense."""
        X = self._validate_predict(X)
        V = self._embed(X)
        there = require_a_view(X, self.views_)
        filled = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        for position, columns in enumerate(self.views_.values()):
            fitted = self.scaling_.restore(V @ self.params_.U[columns].T, columns)
            gaps = np.isnan(filled[:, columns]) | ~there[:, position][:, None]
            filled[:, columns] = np.where(gaps, fitted, filled[:, columns])
        return filled

    def _embed(self, X: Any, labels: Labels | None = None) -> np.ndarray:
        problem = self._problem(X, labels, require_a_view(X, self.views_))
        return fold_in(problem, self.params_)

    def _decision_function(self, X: Any) -> np.ndarray:
        problem = self._problem(X, None, require_a_view(X, self.views_))
        V = fold_in(problem, self.params_)
        if self.logistic_ is not None:
            return self.logistic_.log_odds(self._predictor_features(problem, V))
        return self.slope_ * self._fitted_values(V) + self.intercept_

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


def fit_predictor(
    features: np.ndarray, scale: np.ndarray, target: MaskedTarget, C: float, prior: np.ndarray
) -> LogisticPredictor:
    """Return one logistic regression per label on centred features, where the label is observed.

    The intercepts are drawn to ``prior``, a little for labels with many observed entries; it is
    the intercept of a label that has none.
    """
    centre = features.mean(axis=0)
    scale = np.where(scale > 1e-12 * np.abs(centre) + 1e-300, scale, 1.0)
    observed = np.ones(target.shape) if target.mask is None else target.mask.astype(np.float64)
    targets = LogisticTargets(
        target.ones.toarray(),
        observed,
        intercepts=prior,
        intercept_precision=C * _INTERCEPT_PRECISION,
    )
    start = np.vstack([np.zeros((features.shape[1], prior.size)), prior])
    standard = prepare_features((features - centre) / scale)
    found, _ = fit_logistic(standard, targets, C, start=start, tol=1e-9)
    return LogisticPredictor(centre, scale, found[:-1], found[-1])


def _warn_of_narrow_views(views: Views, k: int) -> None:
    name, width = min(views.widths.items(), key=lambda item: item[1])
    if k > width:
        warnings.warn(
            f"n_factors={k} is more than the {width} columns of view {name!r}: a row that has only "
            "this view does not determine its vector, and the ridge fills the gap; the paper uses "
            "at most 0.8 times the narrowest width",
            FitWarning,
            stacklevel=5,
        )


def _checked_start(U: Any, n_features: int, k: int) -> np.ndarray:
    U = np.asarray(U, dtype=np.float64)
    if U.shape != (n_features, k):
        raise ValueError(
            f"init has shape {U.shape}: give one row per feature and one column per factor, "
            f"({n_features}, {k})"
        )
    if not np.isfinite(U).all() or U.min() < 0:
        raise ValueError("init has negative, infinite or missing entries: use numbers of 0 or more")
    return U
