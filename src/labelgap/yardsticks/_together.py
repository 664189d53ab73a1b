"""Logistic regressions of all labels at once, in place of one scikit-learn fit per label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from labelgap._extras import require
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.logistic import Targets, fit_logistic
from labelgap.kernels.products import Features, prepare_features

__all__ = ["Entries", "are_fitted_together", "check_device", "fit_together", "scores_together"]

_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
_BLOCK_CELLS = 2**22
_DEVICE_CELLS = 2**26
# scikit-learn's tolerance is of the mean loss, that of the kernel of the rarer side alone
_TOLERANCES = 10.0


class Entries(NamedTuple):
    """What counts of one label: rows, chances of relevance in them, and weights."""

    rows: np.ndarray
    chances: np.ndarray
    weights: np.ndarray


def are_fitted_together(estimator: Any) -> bool:
    """Whether fits of this classifier to many labels have one solution in common code.

    A logistic regression with the squared penalty whose intercept is left alone: what scikit-learn
    fits by its smooth solvers.
    """
    if not has_squared_penalty(estimator):
        return False
    given = estimator.get_params()
    plain = given["fit_intercept"] and given["class_weight"] is None and not given["warm_start"]
    return plain and given["solver"] in _SOLVERS


def has_squared_penalty(estimator: Any) -> bool:
    """Whether this is a logistic regression whose C is the prior variance of its coefficients."""
    if type(estimator) is not LogisticRegression:
        return False
    given = estimator.get_params()
    squared = given.get("penalty") in ("l2", "deprecated") and not given.get("l1_ratio")
    return squared and np.isfinite(given["C"])


def fit_together(
    estimator: LogisticRegression,
    X: Any,
    labels: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
    *,
    own: Iterable[int] | None = None,
    start: Iterable[Any] | None = None,
    device: str | None = None,
    dtype: Any = np.float64,
) -> list[LogisticRegression]:
    """Fitted copies of the estimator, one for each label.

    Parameters
    ----------
    estimator : LogisticRegression
        One of which :func:`are_fitted_together` is true.
    X : ndarray or CSR matrix
    labels : iterable of Entries
        Every label needs something relevant and something irrelevant. They are read in blocks, so
        that an iterator never holds all of them.
    own : iterable of int, optional
        For every label a feature that it must not use.
    start : iterable of LogisticRegression, optional
        Models to start from, of the first features at least. Others than logistic regressions are
        passed over.
    device : str, optional
        Device of torch; X is made dense there.
    dtype : dtype
        Of the computations. float32 halves their time where the tolerance is no less than 1e-4.
    """
    features = _on_device(X, device, dtype)
    stream, owners = iter(labels), None if own is None else iter(own)
    begun = iter(()) if start is None else iter(start)
    most = max(1, (_DEVICE_CELLS if device else _BLOCK_CELLS) // X.shape[0])
    fitted: list[LogisticRegression] = []
    while block := list(islice(stream, most)):
        there = features.rows if device else np.empty(0)
        chances, weights = _dense(block, X.shape[0], dtype)
        mine = None if owners is None else np.array(list(islice(owners, len(block))))
        targets = Targets(_like(chances, there, device), _like(weights, there, device), mine)
        first = _stacked(list(islice(begun, len(block))), X.shape[1], dtype)
        coefficients, n_iter = fit_logistic(
            features,
            targets,
            estimator.C,
            start=None if first is None else _like(first, there, device),
            tol=_TOLERANCES * estimator.tol,
            max_iter=estimator.max_iter,
        )
        fitted.extend(_models(estimator, to_numpy(coefficients), n_iter))
    n_slow = sum(int(one.n_iter_[0]) >= estimator.max_iter for one in fitted)
    if n_slow:
        warnings.warn(
            f"{n_slow} of {len(fitted)} labels took all {estimator.max_iter} steps: scale the "
            "features, or raise max_iter of the LogisticRegression",
            ConvergenceWarning,
            stacklevel=2,
        )
    return fitted


def check_device(estimator: Any, device: str | None) -> None:
    """Raise a ValueError where a device is given and the classifier has no use for it."""
    if device is not None and not are_fitted_together(estimator):
        raise ValueError(
            f"device={device!r} is for LogisticRegression with the squared penalty and one of the "
            f"solvers {', '.join(_SOLVERS)} only, not for {estimator!r}: leave device=None"
        )


def _on_device(X: Any, device: str | None, dtype: Any) -> Features:
    X = X.astype(dtype, copy=False)
    if device is None:
        return prepare_features(X)
    torch = require("torch", extra="gpu", purpose="device=")
    dense = X.toarray() if sparse.issparse(X) else X
    return prepare_features(torch.as_tensor(np.ascontiguousarray(dense), device=device))


def _like(values: np.ndarray, there: Any, device: str | None) -> Any:
    if device is None:
        return values
    torch = require("torch", extra="gpu", purpose="device=")
    return torch.as_tensor(values, dtype=there.dtype, device=there.device)


def _dense(block: list, n_rows: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    chances, weights = (np.zeros((n_rows, len(block)), dtype=dtype) for _ in range(2))
    for place, (rows, values, shares) in enumerate(block):
        chances[rows, place] = values
        weights[rows, place] = shares
    return chances, weights


def scores_together(models: Sequence[Any], X: Any) -> np.ndarray:
    """Log-odds of logistic regressions, of shape (n_rows, k); others may be constant."""
    coefficients = np.zeros((X.shape[1], len(models)))
    level = np.empty(len(models))
    for place, one in enumerate(models):
        if isinstance(one, LogisticRegression):
            coefficients[:, place], level[place] = one.coef_[0], one.intercept_[0]
        else:
            level[place] = one.decision_function(X[:1])[0]
    return X @ coefficients + level


def _stacked(models: list, n_features: int, dtype: Any) -> np.ndarray | None:
    """Coefficients to start from, zero for features that the models do not know."""
    if not models or not all(isinstance(one, LogisticRegression) for one in models):
        return None
    first = np.zeros((n_features + 1, len(models)), dtype=dtype)
    for place, one in enumerate(models):
        first[: one.coef_.shape[1], place] = one.coef_[0]
        first[-1, place] = one.intercept_[0]
    return first


def _models(
    estimator: LogisticRegression, coefficients: np.ndarray, n_iter: np.ndarray
) -> Iterator[LogisticRegression]:
    blank = clone(estimator)
    for place in range(coefficients.shape[1]):
        model = copy(blank)
        model.classes_ = np.array([0, 1])
        model.coef_ = coefficients[None, :-1, place].astype(np.float64)
        model.intercept_ = coefficients[-1:, place].astype(np.float64)
        model.n_iter_ = n_iter[place : place + 1].astype(np.int32)
        model.n_features_in_ = coefficients.shape[0] - 1
        yield model
