"""Which models have scores that are linear in the features, and what their coefficients are.

Many models come to the same in the end: a matrix and a vector. They are read from what the model
says of the origin and of the unit vectors, and the reading is then checked on random rows far and
near, so that no model is taken for a linear one that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from labelgap.estimator import LabelGapClassifier
from labelgap.memory import block_size
from labelgap.models.rmfl import RMFL, RMFLCV

_SCALES, _ROWS_PER_SCALE = (0.03, 1.0, 30.0), 16
_RELATIVE, _OF_PROBABILITY = 1e-7, 1e-7


class NotLinearError(ValueError):
    """The scores of a model are not linear in its features, and the message says why."""


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A linear model: scores ``X coef + intercept``, probabilities ``sigmoid(slope * scores + level)``.

    Attributes
    ----------
    coef : array of shape (n_features, n_labels)
    intercept : array of shape (n_labels,)
    slope, level : arrays of shape (n_labels,), or None
        None for a model without probabilities.
    """

    coef: np.ndarray
    intercept: np.ndarray
    slope: np.ndarray | None
    level: np.ndarray | None

    def scores(self, X: Any) -> np.ndarray:
        """Return what ``decision_function`` of the model gives."""
        return np.asarray(X @ self.coef) + self.intercept

    def probabilities(self, X: Any) -> np.ndarray:
        """Return what ``predict_proba`` of the model gives."""
        if self.slope is None or self.level is None:
            raise ValueError("the model has no probabilities: use scores")
        return expit(self.slope * self.scores(X) + self.level)


def linear_form(model: Any) -> LinearForm:
    """Return coefficients and sigmoid of a fitted model whose scores are linear in the features.

    Parameters
    ----------
    model : fitted estimator of the library

    Returns
    -------
    LinearForm

    Raises
    ------
    NotLinearError
        If the scores are not linear, or the probabilities no sigmoid of them.

    See Also
    --------
    to_onnx : The same as a file for other programs.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import BinaryRelevance
    >>> from labelgap.export import linear_form
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = BinaryRelevance().fit(X, [[0], [0], [1], [1]])
    >>> form = linear_form(model)
    >>> bool(np.allclose(form.probabilities(X), model.predict_proba(X)))
    True
    """
    check_is_fitted(model)
    name = type(model).__name__
    if not isinstance(model, LabelGapClassifier):
        raise NotLinearError(f"{name} is no estimator of labelgap: export a model of the library")
    if model.target_.kind != "multilabel":
        raise NotLinearError(
            f"{name} was fitted to a vector of classes: fit it to a label matrix, one column per "
            "label"
        )
    reader = getattr(model, "frame_reader_", None)
    if reader is not None:
        raise NotLinearError(
            f"{name} was fitted to {'a frame of more than numbers' if reader.columns else 'texts'}, "
            "of which it made features itself: export a pipeline that makes them, such as "
            "make_pipeline(TfidfVectorizer(), BinaryRelevance())"
        )
    if get_tags(model).input_tags.pairwise:
        raise NotLinearError(f"{name} takes kernel values of its training rows, not features")
    with_probabilities = hasattr(model, "predict_proba")
    try:
        coef, intercept = _read(model)
        slope, level = _link(model, len(intercept)) if with_probabilities else (None, None)
        form = LinearForm(coef, intercept, slope, level)
        wrong = _first_difference(model, form)
    except ValueError as error:
        raise NotLinearError(f"{name} is not linear in its features: {error}") from error
    if wrong is not None:
        raise NotLinearError(
            f"{name} is not linear in its features ({wrong}): export a linear model such as "
            "BinaryRelevance"
        )
    return form


def _read(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values at the origin, and at the unit vectors less these."""
    n_features = model.n_features_in_
    intercept = np.asarray(model._decision_function(np.zeros((1, n_features))), dtype=float)[0]
    coef = np.empty((n_features, intercept.size))
    size = block_size(max(n_features, intercept.size))
    for start in range(0, n_features, size):
        stop = min(start + size, n_features)
        units = np.eye(stop - start, n_features, k=start)
        coef[start:stop] = model._decision_function(units) - intercept
    return coef, intercept


def _link(model: Any, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Slope and level of the sigmoid; scores are log-odds everywhere but in RMFL."""
    fitted = model.best_estimator_ if isinstance(model, RMFLCV) else model
    if isinstance(fitted, RMFL):
        slope = np.broadcast_to(np.asarray(fitted.slope_, dtype=float), (n_labels,))
        return slope, -slope * fitted.thresholds_
    return np.ones(n_labels), np.zeros(n_labels)


def _first_difference(model: Any, form: LinearForm) -> str | None:
    """Where the form says something else than the model, in words."""
    rng = np.random.default_rng(0)
    for scale in _SCALES:
        X = scale * rng.standard_normal((_ROWS_PER_SCALE, model.n_features_in_))
        said, wanted = form.scores(X), model._decision_function(X)
        size = np.abs(X) @ np.abs(form.coef) + np.abs(form.intercept) + 1e-12
        if not (np.abs(said - wanted) <= _RELATIVE * size + _RELATIVE).all():
            return "its scores of random rows are no sum over features"
        if form.slope is None:
            continue
        if not (np.abs(form.probabilities(X) - model._predict_proba(X)) <= _OF_PROBABILITY).all():
            return "its probabilities are no sigmoid of the scores"
    return None
