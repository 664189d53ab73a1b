"""One classifier per label, each trained where its label is known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Progress, RowSource, StoredFeatures, counting
from labelgap.frames import frame_estimator
from labelgap.labels import Labels, LabelWarning, State
from labelgap.one_vs_rest import (
    ConstantLabel,
    apply_per_label,
    choose_pruning,
    choose_strengths,
    fit_per_label,
    fit_stored,
    known_entries,
    probability_of_rows,
    score_rows,
)
from labelgap.parameters import POSITIVE, parameter, with_parameters

# of the mean loss: rankings do not change any more
_TOL = 2e-3
# coefficients that are all kept: 32 MB
_MOST_DENSE = 2**22


def _has_probabilities(self: BinaryRelevance) -> bool:
    if hasattr(self._template(), "predict_proba"):
        return True
    raise AttributeError(
        f"{type(self.estimator).__name__} has no predict_proba: use decision_function, or wrap it "
        "in sklearn.calibration.CalibratedClassifierCV"
    )


@with_parameters
class BinaryRelevance(LabelGapClassifier):
    """Train one scikit-learn classifier per label, on the observed entries of that label.

    Labels that were observed in the same rows share one selection of these rows; with complete
    labels nothing is copied. A label of which only one value was observed has a constant
    prediction, its smoothed prevalence (see :class:`LabelPrior`).

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier with ``predict_proba`` or ``decision_function``; by default
        a logistic regression.
    C : "auto" or float, default="auto"
        Inverse strength of the regularisation of the default classifier. "auto" chooses one for
        labels of similar frequency, by the log-loss of known entries of rows left out.
    prune : "auto" or float, default="auto"
        Without ``estimator``: the smallest coefficients of each label are dropped while their squares
        make up less than this fraction of all, and the others are sparse. "auto" keeps all where
        they take 32 MB at most, and otherwise takes the largest of a few fractions that costs half a
        percent of the log-loss of rows left out.
    unknown : {"ignore", "negative"}, default="ignore"
        Whether a row with an unknown entry is left out for that label, or counts as a zero.
        Unlabeled zeros count as zeros in both cases.
    n_jobs : int, default=None
        Number of processes, as everywhere in scikit-learn. Logistic regressions that are fitted
        together (see the notes) share the threads of the products instead.
    device : str, default=None
        Device of torch ("cuda", "cpu") for logistic regressions that are fitted together.
    callback : callable, default=None
        Called with a :class:`labelgap.fitting.Progress` after each label; a
        :class:`labelgap.fitting.ProgressBar` draws it.

    Attributes
    ----------
    estimators_ : list of length n_labels
        The classifier of each label.
    coef_ : ndarray or CSR array of shape (n_labels, n_features)
        Only when the classifiers are linear; rows of zeros for constant labels.
    prune_ : float
        Only without ``estimator``: the fraction of the squares that was dropped.
    C_ : ndarray of shape (n_labels,)
        Only without ``estimator``: the C of each label.
    intercept_ : ndarray of shape (n_labels,)
        Likewise.

    Notes
    -----
    A ``LogisticRegression`` with the squared penalty and a solver "lbfgs", "newton-cg" or
    "newton-cholesky" is fitted for all labels at once, by Newton's method on the shared features:
    the same minimum, to its tolerance, often in less time. "liblinear", which shrinks the
    intercept too, is fitted label by label. Such logistic regressions also learn from rows in
    blocks (:func:`labelgap.fitting.row_source`): folders, Parquet files and Dask arrays.

    The decision function is that of the classifiers, or log-odds where they have none. Margins of
    different labels need not be on one scale: prefer classifiers with probabilities where labels
    are ranked against each other.

    See Also
    --------
    labelgap.ProbabilisticLabelTree : for thousands of labels, in a fraction of the time.
    labelgap.Mend : the same classifiers, trained on imputed labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import BinaryRelevance
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [1, 0], [np.nan, 0]])
    >>> BinaryRelevance().fit(X, Y).predict([[0.0], [3.0]])
    array([[0, 1],
           [1, 0]])
    """

    estimator: Any = parameter(
        None, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None
    )
    _: KW_ONLY
    C: Any = parameter("auto", StrOptions({"auto"}), POSITIVE)
    prune: Any = parameter("auto", StrOptions({"auto"}), Interval(Real, 0, 1, closed="left"))
    unknown: str = parameter("ignore", StrOptions({"ignore", "negative"}))
    n_jobs: int | None = parameter(None, Integral, None)
    device: str | None = parameter(None)
    callback: Callable[[Progress], Any] | None = parameter(None)

    def _template(self) -> Any:
        return LogisticRegression(tol=_TOL) if self.estimator is None else self.estimator

    def _fit(self, X: Any, labels: Labels) -> None:
        if self.unknown == "negative":
            labels = _unknown_as_zero(labels)
        template = frame_estimator(clone(self._template()), X)
        how = self._regularisation(X, labels)
        if self.callback is not None:
            how["on_label"] = counting(self.callback, labels.n_labels)
        self.estimators_ = fit_per_label(template, X, labels, self.n_jobs, self.device, **how)
        self._stack_coefficients()

    def _regularisation(self, X: Any, labels: Labels) -> dict[str, Any]:
        """Return the C of each label of the default classifier, and the part of coefficients dropped."""
        for stale in ("C_", "prune_"):
            self.__dict__.pop(stale, None)
        if self.estimator is not None:
            for name in ("C", "prune"):
                if getattr(self, name) != "auto":
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} is for the default classifier, and "
                        f"{type(self.estimator).__name__} has settings of its own: leave one out"
                    )
            return {}
        n_relevant = labels.n_positives(axis=0)
        n_rarer = np.minimum(n_relevant, labels.n_observed(axis=0, unlabeled=True) - n_relevant)
        read = partial(known_entries, labels)
        if self.C == "auto":
            self.C_ = choose_strengths(X, read, n_rarer)
        else:
            self.C_ = np.full(labels.n_labels, float(self.C))
        if self.prune != "auto":
            self.prune_ = float(self.prune)
        elif labels.n_labels * X.shape[1] <= _MOST_DENSE:
            self.prune_ = 0.0
        else:
            self.prune_ = choose_pruning(X, read, n_rarer, self.C_)
        return {"C": self.C_, "prune": self.prune_}

    def _fit_source(self, source: RowSource) -> None:
        stored = StoredFeatures(source)
        labels = stored.labels
        if self.unknown == "negative":
            labels = _unknown_as_zero(labels)
        how = self._regularisation(stored, labels)
        self.estimators_ = fit_stored(clone(self._template()), stored, labels, **how)
        self._stack_coefficients()

    def _decision_function(self, X: Any) -> np.ndarray:
        if hasattr(self, "coef_"):
            X = X.astype(self.coef_.dtype, copy=False)
            return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return apply_per_label(score_rows, self.estimators_, X, self.n_jobs)

    def _predict_proba(self, X: Any) -> np.ndarray:
        if hasattr(self, "coef_") and isinstance(self._template(), LogisticRegression):
            return expit(self._decision_function(X))
        return apply_per_label(probability_of_rows, self.estimators_, X, self.n_jobs)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability that each label is relevant, of shape (n_samples, n_labels)."""
        return super().predict_proba(X)

    def _stack_coefficients(self) -> None:
        """One matrix of coefficients; those of the classifiers become views of its rows."""
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        linear = [model for model in self.estimators_ if not isinstance(model, ConstantLabel)]
        if not linear or not all(map(_is_linear, linear)):
            return
        stack = _sparse_rows if sparse.issparse(linear[0].coef_) else _dense_rows
        self.coef_ = stack(self.estimators_, np.shape(linear[0].coef_)[-1])
        self.intercept_ = np.array([_intercept(model) for model in self.estimators_])

    def __getstate__(self) -> dict:
        # the classifiers hold the same numbers
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("coef_", "intercept_")}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if hasattr(self, "estimators_"):
            self._stack_coefficients()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        accepted = get_tags(self._template()).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags


def _is_linear(estimator: Any) -> bool:
    return (
        isinstance(estimator, LinearClassifierMixin)
        and type(estimator).decision_function is LinearClassifierMixin.decision_function
        and (isinstance(estimator.coef_, np.ndarray) or sparse.issparse(estimator.coef_))
    )


def _intercept(model: Any) -> float:
    if isinstance(model, ConstantLabel):
        return float(model.decision_function(np.empty((1, 0)))[0])
    return float(np.ravel(model.intercept_)[0])


def _dense_rows(models: list[Any], n_features: int) -> np.ndarray:
    linear = [model for model in models if not isinstance(model, ConstantLabel)]
    coef = np.zeros((len(models), n_features), linear[0].coef_.dtype)
    for label, model in enumerate(models):
        if not isinstance(model, ConstantLabel):
            coef[label] = np.ravel(model.coef_)
            model.coef_ = coef[label].reshape(model.coef_.shape)
    return coef


def _sparse_rows(models: list[Any], n_features: int) -> sparse.csr_array:
    blank = sparse.csr_array((1, n_features))
    rows = [blank if isinstance(model, ConstantLabel) else model.coef_ for model in models]
    coef = sparse.csr_array(sparse.vstack(rows, format="csr"))
    for label, model in enumerate(models):
        if not isinstance(model, ConstantLabel):
            own = slice(coef.indptr[label], coef.indptr[label + 1])
            parts = coef.data[own], coef.indices[own], np.array([0, own.stop - own.start])
            model.coef_ = sparse.csr_array(parts, shape=blank.shape, copy=False)
    return coef


def _unknown_as_zero(labels: Labels) -> Labels:
    """A zero wherever an entry is unknown, unseen columns excepted; names are not needed here."""
    entries = labels.positives().astype(np.int8)
    entries.data[:] = State.RELEVANT
    return Labels(entries, State.NEGATIVE, unseen=labels.unseen)


def fit_seen(
    estimator: Any, X: Any, labels: Labels, *, unknown: str, n_jobs: int | None
) -> BinaryRelevance:
    """Fit binary relevance on labels that were validated, and warned of, before."""
    template = None if estimator is None else clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return BinaryRelevance(template, unknown=unknown, n_jobs=n_jobs).fit(X, labels)
