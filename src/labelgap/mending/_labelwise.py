"""For each label a model of the features and of the other labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression

from labelgap.labels import Labels, State
from labelgap.mending._completers import Completer
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, readable_by_workers

__all__ = ["LabelwiseCompleter"]

# a code nearer to zero than this is left out, which keeps the codes of rare labels sparse
_SMALLEST_CODE = 0.05


class LabelwiseCompleter(Completer):
    """One model per label, of the features and the other observed labels of a row.

    Label k enters with y - p_k where it is observed, p_k its observed frequency, and with zero
    where it is not: nothing known, nothing said. The model of label j is trained on the rows in
    which j is observed, so that what it says of the others was not learned from them.

    Parameters
    ----------
    estimator : classifier or regressor, optional
        By default ``LogisticRegression(solver="liblinear")``. Should be at least as strong as the
        classifier that learns from the completed labels. Of a regressor the prediction is the
        chance, cut off at 0 and 1; a classifier without ``predict_proba`` is calibrated by
        :class:`sklearn.calibration.CalibratedClassifierCV`.
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        self.frequency_ = observed_frequency(labels)
        joined = self._joined(X, labels)
        self.models_: dict[int, Any] = {}
        for label in range(labels.n_labels) if wanted is None else wanted:
            rows, values = labels.column(label)
            self.models_[int(label)] = self._one(joined, rows, values.astype(np.intp), label)
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        joined = self._joined(X, labels)
        for label, model in self.models_.items():
            if isinstance(model, ConstantLabel):
                yield np.full(X.shape[0], model.probability)
                continue
            blind = without_column(joined, X.shape[1] + label)
            yield chances_of(model, blind)

    def _one(self, joined: Any, rows: np.ndarray, values: np.ndarray, label: int) -> Any:
        if values.size == 0 or values.min() == values.max():
            return ConstantLabel(float(self.frequency_[label]))
        blind = without_column(joined[rows], joined.shape[1] - len(self.frequency_) + label)
        template = probabilistic(self.estimator)
        return clone(template).fit(
            blind, values.astype(float) if is_regressor(template) else values
        )

    def _joined(self, X: Any, labels: Labels) -> Any:
        """Features and codes of labels, side by side."""
        codes = label_codes(labels, self.frequency_).astype(X.dtype)
        if sparse.issparse(X):
            return readable_by_workers(sparse.csr_array(sparse.hstack([X, codes], format="csr")))
        return np.hstack([X, codes.toarray()])


def probabilistic(estimator: Any) -> Any:
    """The estimator, or what makes probabilities of its margins."""
    if estimator is None:
        return LogisticRegression(solver="liblinear")
    if is_regressor(estimator) or hasattr(estimator, "predict_proba"):
        return estimator
    return CalibratedClassifierCV(estimator, cv=3, ensemble=False)


def chances_of(model: Any, X: Any) -> np.ndarray:
    """Probability of relevance in each row."""
    if is_regressor(model):
        return np.clip(np.ravel(model.predict(X)), 0.0, 1.0)
    return model.predict_proba(X)[:, 1]


def label_codes(labels: Labels, frequency: np.ndarray) -> sparse.csr_array:
    """y - p where a label is observed, zero where not or where that is next to zero."""
    ones = labels.positives()
    codes = sparse.csr_array(ones, dtype=np.float64)
    codes.data = 1.0 - frequency[codes.indices]
    if labels.unstated == State.AMBIGUOUS or labels.ambiguous:
        return codes
    common = np.flatnonzero(frequency >= _SMALLEST_CODE)
    if not common.size:
        return codes
    zeros = labels[:, common].where(State.IRRELEVANT).tocoo()
    columns = common[zeros.col]
    shape = labels.shape
    below = sparse.csr_array((-frequency[columns], (zeros.row, columns)), shape=shape)
    return sparse.csr_array(codes + below)


def without_column(joined: Any, column: int) -> Any:
    """A copy with zeros in one column: a label must not explain itself."""
    joined = joined.copy()
    if sparse.issparse(joined):
        joined.data[joined.indices == column] = 0
        joined.eliminate_zeros()
    else:
        joined[:, column] = 0
    return joined
