"""For each label a model of the features and of the other labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.parallel import Parallel, delayed

from labelgap.frames import FrameRows
from labelgap.imputers._imputer import Imputer
from labelgap.labels import Labels, State, observed_prevalence
from labelgap.memory import block_size
from labelgap.one_vs_rest import (
    ConstantLabel,
    all_scores,
    are_fitted_together,
    check_device,
    fit_together,
    has_squared_penalty,
    known_entries,
    readable_by_workers,
)

# scikit-learn's words on rows that every tree saw
_SEEN_BY_ALL = "Some inputs do not have OOB scores"
# a code nearer to zero than this is left out, which keeps the codes of rare labels sparse
_SMALLEST_CODE = 0.1
# probabilities for imputation need not be as exact as the model that learns from them
_LOOSER = 10.0
# single precision is for such tolerances, and for features whose squares it holds
_COARSE, _LARGEST_SINGLE = 1e-4, 1e3
# a label with fewer rows of one value is imputed by its prevalence, where scores are calibrated
_CALIBRATION_FOLDS = 3


class PerLabelImputer(Imputer):
    """Impute each label with a model of the features and the other observed labels of a row.

    Label k enters with y - p_k where it is observed, p_k its observed prevalence, and with zero
    where it is not. The model of label j is trained on the rows in which j is observed, so its
    probabilities for the other rows are held out.

    With a forest: a forest of the features, with a bootstrap, and a logistic regression on its
    log-odds and the other labels, which learns from trees that did not see the row.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        None means ``LogisticRegression()``. Should be at least as strong as the classifier that
        learns from the imputed labels. The prediction of a regressor is the probability, cut off at
        0 and 1; a classifier without ``predict_proba`` is calibrated by
        :class:`sklearn.calibration.CalibratedClassifierCV`.
    label_variance : float, default=3.0
        Prior variance of the coefficients of the other labels, for logistic regressions with the
        squared penalty (C is that of the features). These are log odds ratios, the size of which is
        known beforehand, whatever C suits the features. With forests, of all coefficients of the
        last regression.
    device : str, default=None
        Device of torch for logistic regressions that are fitted together, as in
        :class:`labelgap.BinaryRelevance`.
    n_jobs : int, default=None
        Labels that are fitted at once, for estimators that are not fitted together.

    Attributes
    ----------
    models_ : dict
        By label, the fitted model.
    prevalence_ : ndarray of shape (n_labels,)
        Observed prevalence of each label.

    See Also
    --------
    labelgap.Mend : Uses this imputer by default.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import PerLabelImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> first = X[:, 0] + rng.normal(size=200) > 0
    >>> Y = np.column_stack([first, first]).astype(float)
    >>> Y[:50, 0] = np.nan
    >>> labels = as_labels(Y)
    >>> column = next(PerLabelImputer().fit(X, labels).columns(X, labels))
    >>> bool(((column > 0.5) == first)[:50].mean() > 0.95)
    True
    """

    takes_pseudo_labels = True
    takes_start = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        label_variance: float = 3.0,
        device: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.label_variance = label_variance
        self.device = device
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        start: Sequence[Any] | None = None,
        pseudo_labels: sparse.csr_array | None = None,
    ) -> Self:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        labels : Labels
        wanted : int array, default=None
            Positions of the labels that :meth:`columns` gives; None means all.
        start : sequence of models, default=None
            Models of the wanted labels without the other labels, to start joint fits from.
        pseudo_labels : csr_array of the shape of the labels, default=None
            Centred estimates of labels where they are unknown.
        """
        template = self._start(labels)
        asked = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        self.models_: dict[int, Any] = {}
        if is_forest(self.estimator):
            X = readable_by_workers(X)
            codes = centred_labels(labels, self.prevalence_, pseudo_labels)
            forests = self._in_parallel(self._forest, X, codes, labels, asked)
            self.models_ = dict(zip(asked.tolist(), forests, strict=True))
        elif are_fitted_together(template):
            looser = clone(template).set_params(tol=_LOOSER * template.tol)
            joined = self._joined(X, labels, pseudo_labels)
            numbers = joined.data if sparse.issparse(joined) else joined
            largest = np.abs(numbers).max(initial=0.0)
            is_coarse = looser.tol >= _COARSE and largest <= _LARGEST_SINGLE
            models = fit_together(
                looser,
                joined,
                (known_entries(labels, label) for label in asked.tolist()),
                self.prevalence_[asked],
                own=X.shape[1] + asked,
                start=start,
                device=self.device,
                dtype=np.float32 if is_coarse else np.float64,
            )
            self.models_ = dict(zip(asked.tolist(), models, strict=True))
        else:
            joined = self._joined(X, labels, pseudo_labels)
            models = self._in_parallel(self._single, joined, X.shape[1], labels, asked)
            self.models_ = dict(zip(asked.tolist(), models, strict=True))
        return self

    def _in_parallel(self, function: Any, *given: Any) -> list:
        """Return what a function makes of each label; the labels come last."""
        *given_first, asked = given
        task = delayed(function)
        return list(Parallel(self.n_jobs)(task(*given_first, one) for one in asked.tolist()))

    def _single(self, joined: Any, n_features: int, labels: Labels, label: int) -> Any:
        """A model of one label, from the features and the codes of the other labels."""
        rows, values = labels.column(label)
        n_relevant = int(values.sum())
        fewest = 1
        if isinstance(self._template, CalibratedClassifierCV):
            fewest = _CALIBRATION_FOLDS
        if min(n_relevant, values.size - n_relevant) < fewest:
            return ConstantLabel(float(self.prevalence_[label]))
        blind = without_column(joined[rows], n_features + label)
        target = values.astype(float if is_regressor(self._template) else np.intp)
        return clone(self._template).fit(blind, target)

    def columns(
        self, X: Any, labels: Labels, *, pseudo_labels: sparse.csr_array | None = None
    ) -> Iterator[np.ndarray]:
        if is_forest(self.estimator):
            X = readable_by_workers(X)
            codes = centred_labels(labels, self.prevalence_, pseudo_labels)
            for label, model in self.models_.items():
                yield _forest_column(model, X, without_column(codes, label))
            return
        joined = self._joined(X, labels, pseudo_labels)
        if are_fitted_together(self._template):
            # they were kept from using their own codes
            models = list(self.models_.values())
            most = block_size(max(joined.shape))
            for first in range(0, len(models), most):
                yield from expit(all_scores(models[first : first + most], joined)).T
            return
        for label, model in self.models_.items():
            if isinstance(model, ConstantLabel):
                yield np.full(X.shape[0], model.probability)
                continue
            blind = without_column(joined, X.shape[1] + label)
            if is_regressor(model):
                yield np.clip(np.ravel(model.predict(blind)), 0.0, 1.0)
            else:
                yield model.predict_proba(blind)[:, 1]

    @property
    def is_of_forests(self) -> bool:
        """Whether :meth:`held_out_columns` can be asked for."""
        return is_forest(self.estimator)

    def held_out_columns(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        folds: Sequence[np.ndarray],
        *,
        pseudo_labels: sparse.csr_array | None = None,
    ) -> Iterator[np.ndarray]:
        """Yield columns of forests in which no row took part in what is learned for it.

        Trees predict rows that they did not see, and ``folds`` are left out of the regressions
        alone: one forest per label in place of one for every fold.
        """
        self._start(labels)
        X, codes = readable_by_workers(X), centred_labels(labels, self.prevalence_, pseudo_labels)
        fold_of = np.empty(labels.n_samples, dtype=np.intp)
        for place, rows in enumerate(folds):
            fold_of[rows] = place
        for label in wanted.tolist():
            model = self._forest(X, codes, labels, label)
            rows, _ = labels.column(label)
            column = np.full(labels.n_samples, self.prevalence_[label])
            others = np.setdiff1d(np.arange(labels.n_samples), rows, assume_unique=True)
            if isinstance(model, ForestAndLabels):
                column[rows] = model.held_out_probabilities(fold_of[rows])
            if others.size:
                blind = without_column(codes[others], label)
                column[others] = _forest_column(model, X[others], blind)
            yield column

    def _start(self, labels: Labels) -> Any:
        """Check the parameters, and return the estimator or what makes probabilities of it."""
        if not self.label_variance > 0:
            raise ValueError(f"label_variance={self.label_variance}: give a number above 0")
        self._template = LogisticRegression() if self.estimator is None else self.estimator
        if not is_regressor(self._template) and not hasattr(self._template, "predict_proba"):
            self._template = CalibratedClassifierCV(
                self._template, cv=_CALIBRATION_FOLDS, ensemble=False
            )
        check_device(self._template, self.device)
        self.prevalence_ = observed_prevalence(labels)
        return self._template

    def _forest(self, X: Any, codes: sparse.csr_array, labels: Labels, label: int) -> Any:
        rows, values = labels.column(label)
        if values.size == 0 or values.min() == values.max():
            return ConstantLabel(float(self.prevalence_[label]))
        model = ForestAndLabels(self.estimator, self.label_variance)
        return model.fit(X[rows], without_column(codes[rows], label), values.astype(np.intp))

    def _joined(self, X: Any, labels: Labels, pseudo_labels: sparse.csr_array | None) -> Any:
        """Return features and codes of labels, side by side."""
        codes = centred_labels(labels, self.prevalence_, pseudo_labels)
        if has_squared_penalty(self._template):
            codes = codes * np.sqrt(self.label_variance / self._template.C)
        codes = codes.astype(X.dtype)
        if isinstance(X, FrameRows):
            return X.with_columns(codes)
        if sparse.issparse(X):
            return readable_by_workers(sparse.csr_array(sparse.hstack([X, codes], format="csr")))
        return np.hstack([X, codes.toarray()])


def centred_labels(
    labels: Labels, prevalence: np.ndarray, pseudo_labels: sparse.csr_array | None = None
) -> sparse.csr_array:
    """Return y - p where a label is observed, zero where that is next to zero.

    Where a label is not observed: its pseudo-label, or zero.
    """
    codes = sparse.csr_array(labels.positives(), dtype=np.float64)
    codes.data = 1.0 - prevalence[codes.indices]
    if labels.implicit == State.UNLABELED or labels.unlabeled:
        return codes if pseudo_labels is None else sparse.csr_array(codes + pseudo_labels)
    rows, columns = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for label in np.flatnonzero(prevalence >= _SMALLEST_CODE).tolist():
        known, values = labels.column(label)
        rows.append(known[values == 0])
        columns.append(np.full(rows[-1].size, label))
    at = np.concatenate(rows), np.concatenate(columns)
    below = sparse.csr_array((-prevalence[at[1]], at), shape=labels.shape)
    codes = sparse.csr_array(codes + below)
    return codes if pseudo_labels is None else sparse.csr_array(codes + pseudo_labels)


def without_column(joined: Any, column: int) -> Any:
    """Return a copy with zeros in one column: a label must not explain itself."""
    if isinstance(joined, FrameRows):
        return joined.without_column(column)
    joined = joined.copy()
    if sparse.issparse(joined):
        joined.data[joined.indices == column] = 0
        joined.eliminate_zeros()
    else:
        joined[:, column] = 0
    return joined


def _forest_column(model: Any, X: Any, codes: sparse.csr_array) -> np.ndarray:
    if isinstance(model, ConstantLabel):
        return np.full(X.shape[0], model.probability)
    return model.probabilities(X, codes)


def is_forest(estimator: Any) -> bool:
    """Return whether there can be trees that did not see a row, which then predict it.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from labelgap.imputers import is_forest
    >>> is_forest(RandomForestClassifier())
    True
    """
    return isinstance(estimator, RandomForestClassifier | ExtraTreesClassifier)


class ForestAndLabels:
    """One label: a forest of the features, then a regression on its log-odds and other labels.

    A forest that tries a few of many columns at each split seldom comes to the codes of the other
    labels. It is therefore asked about the features alone, and a logistic regression joins what it
    says with the codes. That learns from what trees say of rows they did not see.

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
        It gets a bootstrap if it has none.
    variance : float
        Prior variance of the coefficients of the regression.
    """

    def __init__(self, forest: Any, variance: float) -> None:
        self.forest = forest
        self.variance = variance

    def fit(self, X: Any, codes: sparse.csr_array, values: np.ndarray) -> Self:
        """Learn from rows of features, codes of the *other* labels, and values of 0 and 1."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _SEEN_BY_ALL, UserWarning)
            forest = clone(self.forest).set_params(bootstrap=True, oob_score=True)
            self.forest_ = forest.fit(X, values)
        votes = self.forest_.oob_decision_function_
        some_left = votes.sum(axis=1) > 0
        fractions = np.where(some_left, votes[:, 1], values.mean())
        self.design_ = self._design(fractions, codes)
        self.values_ = values
        self.last_ = self._regression().fit(self.design_, values)
        return self

    def probabilities(self, X: Any, codes: sparse.csr_array) -> np.ndarray:
        """Of any rows."""
        fractions = self.forest_.predict_proba(X)[:, 1]
        return self.last_.predict_proba(self._design(fractions, codes))[:, 1]

    def held_out_probabilities(self, fold_of: np.ndarray) -> np.ndarray:
        """Of the rows of the fit: neither a tree nor the regression saw the row it speaks of.

        ``fold_of`` names the part of the rows that is left out of the regression with each row.
        """
        found = np.full(self.values_.size, self.values_.mean())
        for fold in np.unique(fold_of):
            held = fold_of == fold
            left = self.values_[~held]
            if left.size:
                found[held] = left.mean()
            if left.size and left.min() < left.max():
                last = self._regression().fit(self.design_[~held], left)
                found[held] = last.predict_proba(self.design_[held])[:, 1]
        return found

    def _design(self, fractions: np.ndarray, codes: sparse.csr_array) -> sparse.csr_array:
        """Log-odds of fractions of trees, half a tree for either side, beside the codes."""
        n_trees = self.forest.n_estimators
        odds = logit((n_trees * fractions + 0.5) / (n_trees + 1))
        joined = sparse.hstack([sparse.csr_array(odds[:, None]), codes], format="csr")
        return sparse.csr_array(joined * np.sqrt(self.variance))

    def _regression(self) -> LogisticRegression:
        return LogisticRegression(max_iter=1000, tol=1e-3)
