"""Cross-validation as in scikit-learn, with labels that have gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from labelgap.model_selection._splits_and_scorers import as_scorers, as_splitter


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Fit and score an estimator on several splits of rows whose labels have gaps.

    :func:`sklearn.model_selection.cross_validate`, which refuses NaN in ``y``, with two
    differences: a number of folds is stratified by all labels, and scorers given by name skip
    unknown entries.

    Parameters
    ----------
    estimator : estimator
    X : array-like with n_samples rows
    y : Labels, array or frame with NaN, or anything :func:`labelgap.as_labels` takes, default=None
        The estimator gets rows of it as they are. A vector of classes is treated as in scikit-learn.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together; a number of folds then means ``GroupKFold``.
    scoring : str, callable, list or dict, default=None
        Names of ``labelgap.metrics.METRICS``, or scikit-learn's for the same metrics; a
        loss, with or without the prefix ``neg_``, is negated. None is the estimator's ``score``.
    cv : int, splitter or iterable of splits, default=None
        None means 5 folds of :class:`IterativeStratification`.
    **options
        Further parameters of scikit-learn's function, such as ``n_jobs``, ``params`` or
        ``return_train_score``.

    Returns
    -------
    dict of arrays of shape (n_splits,)
        As in scikit-learn.

    See Also
    --------
    cross_val_predict : Predictions of the rows left out.
    labelgap.metrics.get_multi_scorer : Several metrics from one set of predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import BinaryRelevance
    >>> from labelgap.model_selection import cross_validate
    >>> X = np.arange(24.0)[:, None]
    >>> Y = np.column_stack([X[:, 0] > 8, X[:, 0] > 15]).astype(float)
    >>> Y[::5, 0] = np.nan
    >>> scores = cross_validate(BinaryRelevance(), X, Y, cv=3, scoring=["auc_macro", "log_loss"])
    >>> scores["test_auc_macro"]
    array([1., 1., 1.])
    """
    splitter, scorers = as_splitter(cv, y, groups), as_scorers(scoring, y)
    return model_selection.cross_validate(
        estimator, X, y, groups=groups, scoring=scorers, cv=splitter, **options
    )


def cross_val_score(
    estimator: Any, X: Any, y: Any = None, *, scoring: Any = None, **options: Any
) -> np.ndarray:
    """Return the score of each split of rows whose labels have gaps.

    Parameters
    ----------
    estimator : estimator
    X : array-like with n_samples rows
    y : Labels, array or frame with NaN, or anything :func:`labelgap.as_labels` takes, default=None
    scoring : str or callable, default=None
        As in :func:`cross_validate`, a single one.
    **options
        Further parameters of :func:`cross_validate`.

    Returns
    -------
    ndarray of shape (n_splits,)

    See Also
    --------
    cross_validate : Several metrics, and times.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import LabelPrior
    >>> from labelgap.model_selection import cross_val_score
    >>> Y = np.tile([[1.0, np.nan], [0, 1], [0, 0]], (4, 1))
    >>> cross_val_score(LabelPrior(), np.zeros((12, 1)), Y, cv=2, scoring="hamming_loss").round(2)
    array([-0.4, -0.4])
    """
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring={scoring!r}: give one metric, or call cross_validate")
    return cross_validate(estimator, X, y, scoring=scoring, **options)["test_score"]


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    params: dict[str, Any] | None = None,
    method: str = "predict",
) -> np.ndarray:
    """Predict each row by a model that did not see it, from labels that have gaps.

    Like :func:`sklearn.model_selection.cross_val_predict`, which reads NaN as one more class.

    Parameters
    ----------
    estimator : estimator
    X : array-like with n_samples rows
    y : Labels, array or frame with NaN, or anything :func:`labelgap.as_labels` takes, default=None
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together; a number of folds then means ``GroupKFold``.
    cv : int, splitter or iterable of splits, default=None
        Every row must be tested once. None means 5 folds of :class:`IterativeStratification`.
    n_jobs : int, default=None
        Folds that are computed at once.
    params : dict, default=None
        Further arguments of ``fit``; arrays with n_samples rows are divided with them.
    method : {"predict", "predict_proba", "decision_function"}, default="predict"
        What is asked of each model.

    Returns
    -------
    ndarray
        Predictions, in the order of the rows.

    See Also
    --------
    cross_validate : Scores of each fold.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import LabelPrior
    >>> from labelgap.model_selection import cross_val_predict
    >>> Y = np.tile([[1.0, np.nan], [0, 1], [0, 0]], (4, 1))
    >>> cross_val_predict(LabelPrior(), np.zeros((12, 1)), Y, cv=2, method="predict_proba").shape
    (12, 2)
    """
    splitter = as_splitter(cv, y, groups)
    n_samples = _num_samples(X)
    if hasattr(splitter, "split"):
        splits = list(splitter.split(X, y, groups))
    else:
        splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter]
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(n_samples)):
        raise ValueError("cv: every row must be tested exactly once to be predicted; use folds")
    task: Callable[..., Any] = delayed(_fit_and_predict)
    predicted = Parallel(n_jobs=n_jobs)(
        task(clone(estimator), X, y, train, test, params or {}, method) for train, test in splits
    )
    return np.concatenate(predicted)[np.argsort(tested)]


def _fit_and_predict(
    estimator: Any, X: Any, y: Any, train: Any, test: Any, params: dict[str, Any], method: str
) -> np.ndarray:
    given = _check_method_params(X, params, train)
    if y is None:
        estimator.fit(_safe_indexing(X, train), **given)
    else:
        estimator.fit(_safe_indexing(X, train), _safe_indexing(y, train), **given)
    return np.asarray(getattr(estimator, method)(_safe_indexing(X, test)))
