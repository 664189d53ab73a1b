"""Estimators of one label that see the frame: pipelines, and models that take categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from labelgap.frames._frame_rows import FrameRows

_BY_NAME = ("ColumnTransformer", "TableVectorizer", "ApplyToCols")
_TAKE_CATEGORIES = (
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "LGBMClassifier",
    "LGBMRegressor",
)


def wants_frame(estimator: Any, *, raw: bool) -> bool:
    """Return whether an estimator is to see a frame as it is: a pipeline, which prepares it itself.

    A frame that is not raw, with numbers and no empty cell, is for pipelines that ask for columns
    by name.
    """
    if not isinstance(estimator, Pipeline) or len(estimator.steps) < 2:
        return False
    return raw or any(
        type(value).__name__ in _BY_NAME for value in estimator.get_params(deep=True).values()
    )


def wants_categories(estimator: Any) -> bool:
    """Return whether an estimator takes a frame with categorical columns and NaN."""
    return any(kind.__name__ in _TAKE_CATEGORIES for kind in type(estimator).__mro__)


def frame_estimator(estimator: Any, X: Any) -> Any:
    """Return an estimator that takes :class:`FrameRows`, where X are some; or the estimator itself.

    Parameters
    ----------
    estimator : estimator
    X : array or FrameRows

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelgap.frames import frame_estimator
    >>> frame_estimator(LogisticRegression(), np.ones((2, 1)))
    LogisticRegression()
    """
    if not isinstance(X, FrameRows):
        return estimator
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    kind = WeightedFrameEstimator if has_fit_parameter(last, "sample_weight") else FrameEstimator
    return kind(estimator)


def _has(name: str) -> Any:
    return lambda self: hasattr(self.estimator, name)


class FrameEstimator(BaseEstimator):
    """An estimator that sees the frame of :class:`FrameRows`.

    Of a pipeline all steps but the last one see the frame alone, and the last one also the columns
    of numbers beside it.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: FrameRows, y: Any) -> FrameEstimator:
        return self._fit(X, y, {})

    def _fit(self, X: FrameRows, y: Any, weights: dict[str, Any]) -> FrameEstimator:
        model = clone(self.estimator)
        self.preparation_, self.model_ = None, model
        if isinstance(model, Pipeline):
            self.preparation_, self.model_ = Pipeline(model.steps[:-1]), model.steps[-1][1]
            prepared = self.preparation_.fit_transform(X.frame, y)
        else:
            prepared = X.frame
        self.model_.fit(_side_by_side(prepared, X.beside), y, **weights)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def _prepared(self, X: FrameRows) -> Any:
        frame = X.frame if self.preparation_ is None else self.preparation_.transform(X.frame)
        return _side_by_side(frame, X.beside)

    def predict(self, X: FrameRows) -> np.ndarray:
        return self.model_.predict(self._prepared(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: FrameRows) -> np.ndarray:
        return self.model_.predict_proba(self._prepared(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: FrameRows) -> np.ndarray:
        return self.model_.decision_function(self._prepared(X))

    def __sklearn_tags__(self):
        return get_tags(self.estimator)


class WeightedFrameEstimator(FrameEstimator):
    """The same for estimators that take weights of rows."""

    def fit(self, X: FrameRows, y: Any, sample_weight: Any = None) -> FrameEstimator:
        return self._fit(X, y, {} if sample_weight is None else {"sample_weight": sample_weight})


def _side_by_side(prepared: Any, beside: np.ndarray) -> Any:
    """Features with columns of numbers beside them, in the form of the features."""
    if not beside.shape[1]:
        return prepared
    if sparse.issparse(prepared):
        return sparse.csr_array(sparse.hstack([prepared, beside], format="csr"))
    if hasattr(prepared, "assign"):
        names = [f"label {j}" for j in range(beside.shape[1])]
        more = type(prepared)(beside, columns=names, index=prepared.index)
        return prepared.join(more)
    if hasattr(prepared, "with_columns"):
        names = [f"label {j}" for j in range(beside.shape[1])]
        return prepared.hstack(type(prepared)(beside, schema=names))
    return np.hstack([prepared, beside])
