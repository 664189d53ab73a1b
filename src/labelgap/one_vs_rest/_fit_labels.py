"""Fit one model per label to labels that are known, or known in part: together where possible."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.parallel import Parallel, delayed

from labelgap.extras import require
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.probabilities import log_odds
from labelgap.kernels.products import Features, prepare_features
from labelgap.kernels.pruning import kept_coefficients
from labelgap.labels import Labels
from labelgap.memory import block_size

# a probability that far from 0 or 1 counts as certain: one row in place of two
_CERTAIN = 0.01
# labels fitted at once to sparse rows: the coefficients of a block stay in the cache
_SPARSE_BLOCK = 64
_LEAST_SINGLE_TOL, _LARGEST_SINGLE = 1e-3, 1e3
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")


class SoftLabel(NamedTuple):
    """One label over some rows: probabilities of being relevant, and how much each row counts.

    See Also
    --------
    known_entries : The rows in which a label is known, as a soft label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import SoftLabel
    >>> SoftLabel(np.arange(3), np.array([1.0, 0.0, 0.3]), np.ones(3)).is_constant
    False
    """

    rows: np.ndarray
    probabilities: np.ndarray
    weights: np.ndarray

    @property
    def is_certain(self) -> bool:
        """Whether every probability is 0 or 1."""
        return bool(np.isin(self.probabilities, (0.0, 1.0)).all())

    @property
    def is_constant(self) -> bool:
        """Whether all rows that count are certain, and of one value."""
        probabilities = rounded(self.probabilities[self.weights > 0])
        return bool((probabilities == 0).all() or (probabilities == 1).all())


def rounded(probabilities: np.ndarray) -> np.ndarray:
    """Return nearly certain probabilities as certain ones."""
    probabilities = np.where(probabilities < _CERTAIN, 0.0, probabilities)
    return np.where(probabilities > 1 - _CERTAIN, 1.0, probabilities)


def known_entries(labels: Labels, label: int) -> SoftLabel:
    """Return the rows in which a label is known, with the same weight each.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.one_vs_rest import known_entries
    >>> rows, probabilities, _ = known_entries(as_labels(np.array([[1], [np.nan], [0]])), 0)
    >>> rows.tolist(), probabilities.tolist()
    ([0, 2], [1.0, 0.0])
    """
    rows, values = labels.column(label)
    return SoftLabel(rows, values.astype(np.float64), np.ones(rows.size))


class ConstantLabel(ClassifierMixin, BaseEstimator):
    """Predict one probability for every row: of a label with one observed value, or none.

    Parameters
    ----------
    probability : float
        What is predicted for every row.

    See Also
    --------
    labelgap.BinaryRelevance : Uses it for such labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel
    >>> ConstantLabel(0.25).predict_proba(np.zeros((1, 2))).tolist()
    [[0.75, 0.25]]
    """

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile([1 - self.probability, self.probability], (X.shape[0], 1))

    def decision_function(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], log_odds(np.asarray(self.probability)))

    def predict(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], int(self.probability > 0.5))


def fit_labels(
    estimator: Any,
    X: Any,
    soft: Iterable[SoftLabel],
    prevalence: np.ndarray,
    *,
    start: Sequence[Any] | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> list:
    """Return a fitted model of every label.

    Logistic regressions with the squared penalty are fitted together, ridge regressions with one
    factorisation for labels in the same rows, all others one by one with joblib.

    Parameters
    ----------
    estimator : classifier or regressor
    X : array or CSR matrix of shape (n_samples, n_features)
    soft : iterable of SoftLabel
        Read one after the other.
    prevalence : array of shape (n_labels,)
        What is predicted for labels of one value.
    start : sequence of models, default=None
        Models of the same labels that fits made together begin with.
    n_jobs : int, default=None
    device : str, default=None
        Device of torch for fits made together.

    See Also
    --------
    fit_per_label : For labels that are known or unknown, without probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelgap.one_vs_rest import SoftLabel, fit_labels
    >>> X = np.arange(6.0)[:, None]
    >>> soft = SoftLabel(np.arange(6), np.array([0, 0, 0.2, 0.8, 1, 1]), np.ones(6))
    >>> (model,) = fit_labels(LogisticRegression(), X, [soft], np.array([0.5]))
    >>> model.predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    from labelgap.one_vs_rest._fit_single_label import fit_ridges, fit_soft, have_one_factorisation

    if are_fitted_together(estimator):
        return fit_together(estimator, X, soft, prevalence, start=start, device=device)
    if have_one_factorisation(estimator):
        models: list[Any] = [ConstantLabel(float(p)) for p in prevalence]
        learnable = ((place, one) for place, one in enumerate(soft) if not one.is_constant)
        for place, model in fit_ridges(estimator, X, learnable):
            models[place] = model
        return models

    def task(one: SoftLabel, p: float) -> Any:
        return (
            delayed(ConstantLabel)(p) if one.is_constant else delayed(fit_soft)(estimator, X, one)
        )

    return list(
        Parallel(n_jobs=n_jobs)(
            task(one, float(prevalence[place])) for place, one in enumerate(soft)
        )
    )


def fit_together(
    estimator: LogisticRegression,
    X: Any,
    soft: Iterable[SoftLabel],
    prevalence: np.ndarray,
    *,
    own: np.ndarray | None = None,
    start: Sequence[Any] | None = None,
    device: str | None = None,
    dtype: Any = np.float64,
    C: np.ndarray | None = None,
    prune: float = 0.0,
) -> list:
    """Return logistic regressions of all labels, fitted in blocks of labels.

    Parameters
    ----------
    estimator : LogisticRegression
        One for which :func:`are_fitted_together` is true.
    X : ndarray or CSR matrix
    soft : iterable of SoftLabel
        Read block by block, so that an iterator never holds all of them.
    prevalence : array of shape (n_labels,)
        Of labels of one value, which get a :class:`ConstantLabel`.
    own : int array of shape (n_labels,), default=None
        For every label a feature that it must not use.
    start : sequence of models, default=None
        Logistic regressions to start from, of the first features at least; a block with other
        models starts from nothing.
    device : str, default=None
        Device of torch; X is made dense there.
    dtype : dtype, default=float64
        Of the computations. float32 halves their time where the tolerance is at least 1e-4.
    C : array of shape (n_labels,), default=None
        Inverse strength of the regularisation of each label; that of the estimator by default.
    prune : float, default=0.0
        The smallest coefficients of each label are dropped while their squares make up less than this
        fraction of all; the others are sparse.

    Examples
    --------
    >>> from labelgap.one_vs_rest import fit_together
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelgap.one_vs_rest import SoftLabel
    >>> X = np.arange(4.0)[:, None]
    >>> soft = SoftLabel(np.arange(4), np.array([0, 0, 1, 1.0]), np.ones(4))
    >>> fit_together(LogisticRegression(), X, [soft], np.array([0.5]))[0].predict(X).tolist()
    [0, 0, 1, 1]
    """
    X = X.astype(dtype, copy=False)
    if device is None:
        features = prepare_features(X)
    else:
        dense = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
        torch = require("torch", extra="gpu", purpose="device=")
        features = prepare_features(torch.as_tensor(dense, device=device))
    most = block_size(X.shape[0], fraction=1 / 2 if device else 1 / 32)
    if features.columns is not None:
        most = min(most, _SPARSE_BLOCK)
    strengths = np.full(len(prevalence), estimator.C) if C is None else C
    models: list[Any] = []
    waiting: list[tuple[int, SoftLabel]] = []
    for place, label in enumerate(soft):
        models.append(ConstantLabel(float(prevalence[place])))
        if not label.is_constant:
            waiting.append((place, label))
        if len(waiting) == most:
            _fit_block(estimator, features, waiting, models, strengths, own, start, prune)
            waiting = []
    if waiting:
        _fit_block(estimator, features, waiting, models, strengths, own, start, prune)
    fitted = [model for model in models if isinstance(model, LogisticRegression)]
    n_slow = sum(int(model.n_iter_[0]) >= estimator.max_iter for model in fitted)
    if n_slow:
        warnings.warn(
            f"{n_slow} of {len(fitted)} labels took all {estimator.max_iter} steps: scale the "
            "features, or raise max_iter of the LogisticRegression",
            ConvergenceWarning,
            stacklevel=2,
        )
    return models


def _fit_block(
    estimator: LogisticRegression,
    features: Features,
    block: list[tuple[int, SoftLabel]],
    models: list,
    C: np.ndarray,
    own: np.ndarray | None,
    start: Sequence[Any] | None,
    prune: float,
) -> None:
    """Fit some labels at once and put their models in their places."""
    places = [place for place, _ in block]
    dtype = to_numpy(features.rows[:1]).dtype if features.columns is None else features.dtype
    probabilities, weights = np.zeros((2, features.rows.shape[0], len(block)), dtype=dtype)
    for column, (_, label) in enumerate(block):
        probabilities[label.rows, column] = label.probabilities
        weights[label.rows, column] = label.weights
    begin = None
    if start is not None and all(isinstance(start[p], LogisticRegression) for p in places):
        begin = np.zeros((features.rows.shape[1] + 1, len(block)), dtype=dtype)
        for column, place in enumerate(places):
            begin[: start[place].coef_.shape[1], column] = start[place].coef_[0]
            begin[-1, column] = start[place].intercept_[0]
    coefficients, n_iter = fit_logistic(
        features,
        LogisticTargets(probabilities, weights, None if own is None else own[places]),
        C[places],
        start=begin,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
    )
    place_models(estimator, to_numpy(coefficients), n_iter, C, places, models, prune)


def place_models(
    estimator: LogisticRegression,
    coefficients: np.ndarray,
    n_iter: np.ndarray,
    C: np.ndarray,
    places: Sequence[int] | np.ndarray,
    models: list,
    prune: float = 0.0,
) -> None:
    """Put logistic regressions with these coefficients, one column each, in their places.

    With ``prune`` they are sparse.
    """
    blank = clone(estimator)
    weights: Any = coefficients[:-1].T.astype(np.float64)
    if prune:
        kept = kept_coefficients(coefficients[:-1], prune)
        weights = sparse.csr_array((coefficients[:-1] * kept).T.astype(np.float64))
    for column, place in enumerate(places):
        model = models[place] = copy.copy(blank)
        model.C = float(C[place])
        model.classes_ = np.array([0, 1])
        model.coef_ = weights[column : column + 1].copy()
        model.intercept_ = coefficients[-1:, column].astype(np.float64)
        model.n_iter_ = n_iter[column : column + 1].astype(np.int32)
        model.n_features_in_ = coefficients.shape[0] - 1


def are_fitted_together(estimator: Any) -> bool:
    """Return whether fits of this classifier to many labels are computed together.

    A logistic regression with the squared penalty whose intercept is left alone: what scikit-learn
    fits by its smooth solvers.

    Examples
    --------
    >>> from labelgap.one_vs_rest import are_fitted_together
    >>> from sklearn.linear_model import LogisticRegression
    >>> are_fitted_together(LogisticRegression(solver="lbfgs"))
    True
    """
    if not has_squared_penalty(estimator):
        return False
    given = estimator.get_params()
    plain = given["fit_intercept"] and given["class_weight"] is None and not given["warm_start"]
    return plain and given["solver"] in _SOLVERS


def has_squared_penalty(estimator: Any) -> bool:
    """Return whether this is a logistic regression whose C is the prior variance of its coefficients.

    Examples
    --------
    >>> from labelgap.one_vs_rest import has_squared_penalty
    >>> from sklearn.svm import LinearSVC
    >>> has_squared_penalty(LinearSVC())
    False
    """
    if type(estimator) is not LogisticRegression:
        return False
    given = estimator.get_params()
    squared = given.get("penalty") in ("l2", "deprecated") and not given.get("l1_ratio")
    return squared and np.isfinite(given["C"])


def check_device(estimator: Any, device: str | None) -> None:
    """Raise a ValueError where a device is given and the classifier has no use for it.

    Examples
    --------
    >>> from labelgap.one_vs_rest import check_device
    >>> from sklearn.linear_model import LogisticRegression
    >>> check_device(LogisticRegression(), "cuda")
    """
    if device is not None and not are_fitted_together(estimator):
        raise ValueError(
            f"device={device!r} is for LogisticRegression with the squared penalty and one of the "
            f"solvers {', '.join(_SOLVERS)} only, not for {estimator!r}: leave device=None"
        )


def readable_by_workers(X: Any) -> Any:
    """Return X in a form that needs no change in place, which memory-mapped input would refuse.

    Workers see large arrays through read-only memory maps, in which sparse indices cannot be
    sorted any more; and liblinear takes 32-bit indices only.

    Examples
    --------
    >>> from labelgap.one_vs_rest import readable_by_workers
    >>> from scipy import sparse
    >>> readable_by_workers(sparse.csr_array([[0.0, 1.0]])).indices.dtype.name
    'int32'
    """
    if not sparse.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    largest = max(X.nnz, *X.shape)
    if X.indices.dtype != np.int32 and largest <= np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
        X.has_canonical_format = True
    return X


def single_where_it_serves(X: Any, tol: float) -> Any:
    """Return float32 for sparse features of moderate size and a tolerance that it reaches.

    Examples
    --------
    >>> from scipy import sparse
    >>> from labelgap.one_vs_rest import single_where_it_serves
    >>> single_where_it_serves(sparse.csr_array([[0.0, 1.0]]), tol=1e-3).__name__
    'float32'
    """
    if not sparse.issparse(X) or tol < _LEAST_SINGLE_TOL:
        return np.float64
    return np.float32 if np.abs(X.data).max(initial=0.0) <= _LARGEST_SINGLE else np.float64


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Return log-odds where there are probabilities, else margins or predictions of a regressor.

    Examples
    --------
    >>> from labelgap.one_vs_rest import scores_of
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel
    >>> scores_of(ConstantLabel(0.5), np.zeros((2, 1))).tolist()
    [0.0, 0.0]
    """
    if is_regressor(model):
        return np.ravel(model.predict(X))
    if isinstance(model, LogisticRegression | ConstantLabel) or not hasattr(model, "predict_proba"):
        return np.ravel(model.decision_function(X))
    return log_odds(model.predict_proba(X)[:, 1])


def all_scores(models: Sequence[Any], X: Any) -> np.ndarray:
    """Return the scores of many models, (n_samples, n_models); at once where they are linear.

    Examples
    --------
    >>> from labelgap.one_vs_rest import all_scores
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel
    >>> all_scores([ConstantLabel(0.5), ConstantLabel(0.5)], np.zeros((1, 1))).tolist()
    [[0.0, 0.0]]
    """
    if not models:
        return np.empty((X.shape[0], 0))
    if not all(type(model) in (LogisticRegression, ConstantLabel) for model in models):
        return np.column_stack([scores_of(model, X) for model in models])
    coefficients = np.zeros((X.shape[1], len(models)))
    intercepts = np.empty(len(models))
    for place, model in enumerate(models):
        if isinstance(model, LogisticRegression):
            coefficients[:, place], intercepts[place] = model.coef_[0], model.intercept_[0]
        else:
            intercepts[place] = model.decision_function(X[:1])[0]
    return X @ coefficients + intercepts
