"""Small estimators that show the contract to be usable, and broken ones that it must catch."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.parameters import parameter, with_parameters


class LinearToy(LabelGapClassifier):
    """Scores ``X @ coef_``; subclasses say how the coefficients come about."""

    def _decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_, dtype=np.float64)

    def _predict_proba(self, X: Any) -> np.ndarray:
        # saturates slowly: different scores stay different probabilities
        scores = self._decision_function(X)
        return 0.5 + 0.5 * scores / (1 + np.abs(scores))


@with_parameters
class GradientDescent(LinearToy):
    """A few steps of gradient descent on the masked logistic loss.

    Parameters
    ----------
    max_iter : int
    init : array of shape (n_features, n_labels), optional
        Start; random by default.
    random_state : int, RandomState instance or None
    """

    max_iter: int = parameter(30)
    _: KW_ONLY
    init: Any = parameter(None, np.ndarray, None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Any) -> None:
        start = self.init
        if start is None:
            random = check_random_state(self.random_state)
            start = 0.1 * random.standard_normal((X.shape[1], labels.n_labels))
        self.coef_ = self._descend(X, labels, start)
        self.n_iter_ = self.max_iter

    def _descend(self, X: Any, labels: Any, start: np.ndarray, weights: Any = 1.0) -> np.ndarray:
        target = labels.to_dense()
        weights = weights * (labels.n_observed(axis=1) > 0)
        for _ in range(self.max_iter):
            error = weights[:, None] * np.nan_to_num(expit(X @ start) - target)
            start = start - (X.T @ error) / weights.sum()
        return start

    @staticmethod
    def some_start(X: Any, Y: Any) -> np.ndarray:
        return 0.3 * np.random.default_rng(7).standard_normal((X.shape[1], Y.shape[1]))


class OnePassPerceptron(LinearToy):
    """One pass over the rows, in their order."""

    def _fit(self, X: Any, labels: Any) -> None:
        sign = 2 * labels.to_dense(unknown=0.5) - 1
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        for i in range(X.shape[0]):
            row = X[[i]].toarray()[0] if sparse.issparse(X) else X[i]
            wrong = sign[i] * (row @ self.coef_) <= 0
            self.coef_ += row[:, None] * np.where(wrong, sign[i], 0.0)


# -- broken on purpose ---------------------------------------------------------------------------


class Sound(GradientDescent):
    """Keeps the contract; what the broken ones have in common.

    Parameters
    ----------
    max_iter : int
    init : ignored
    random_state : ignored
    """

    def __init__(self, max_iter: int = 30, *, init: Any = None, random_state: Any = 0) -> None:
        super().__init__(max_iter, init=init, random_state=random_state)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Sound:
        self.weights_ = 1.0 if sample_weight is None else sample_weight
        return super().fit(X, y)

    def _fit(self, X: Any, labels: Any) -> None:
        start = np.zeros((X.shape[1], labels.n_labels))
        self.coef_ = self._descend(X, labels, start, self.weights_)


class UsesGlobalRandomness(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        super()._fit(X, labels)
        self.coef_ = self.coef_ + np.random.standard_normal(self.coef_.shape)  # noqa: NPY002


class LeaksBetweenFits(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        self.seen_rows_ = getattr(self, "seen_rows_", 0) + X.shape[0]
        super()._fit(X, labels)
        self.coef_ = self.coef_ * self.seen_rows_


class ChangesItsInput(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        if not sparse.issparse(X):
            X *= 2
        super()._fit(X, labels)


class ReadsBehindTheMask(Sound):
    def fit(self, X: Any, Y: Any = None) -> ReadsBehindTheMask:
        super().fit(X, Y)
        if np.ma.isMaskedArray(Y):
            self.coef_ = self.coef_ * (1 + np.ma.getdata(Y).sum())
        return self


class DependsOnRowOrder(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        half = X.shape[0] // 2
        super()._fit(X[:half], labels[:half])


class DependsOnLabelOrder(Sound):
    def _decision_function(self, X: Any) -> np.ndarray:
        scores = super()._decision_function(X)
        return scores * (1 + np.arange(scores.shape[1]))


class DependsOnFeatureOrder(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        super()._fit(X, labels)
        self.coef_[0] = 0


class TreatsSparseDifferently(Sound):
    def _decision_function(self, X: Any) -> np.ndarray:
        return super()._decision_function(X) + (1.0 if sparse.issparse(X) else 0.0)


class LosesPrecision(Sound):
    def _decision_function(self, X: Any) -> np.ndarray:
        scores = super()._decision_function(X)
        return scores if X.dtype == np.float64 else scores + 0.1


class ForgetsOnPickling(Sound):
    def __getstate__(self) -> dict:
        state = super().__getstate__()
        return {**state, "coef_": np.zeros_like(state["coef_"])} if "coef_" in state else state


class AcceptsAnything(Sound):
    def _validate_params(self) -> None:
        """Accepts every value of every parameter."""


class ProbabilitiesOutOfRange(Sound):
    def _predict_proba(self, X: Any) -> np.ndarray:
        return 0.5 + self._decision_function(X)


class LetsStoredFormsIn(Sound):
    """Has no door, and walks through stored entries, the last of which wins."""

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        if not sparse.issparse(X):
            return super()._validate_features(X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        found = np.zeros(X.shape)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(sparse.csr_array(X).indptr))
        found[rows, X.indices] = X.data
        return found


class CountsLabels(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        super()._fit(X, labels)
        self.coef_ = self.coef_ * labels.n_labels


class CountsRows(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        super()._fit(X, labels)
        self.coef_ = self.coef_ * X.shape[0]


class CountsStoredEntries(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        super()._fit(X, labels)
        self.coef_ = self.coef_ * labels.entries.nnz


class ForgetsWeights(Sound):
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Sound:
        return super().fit(X, y)


class ClipsItsInputInPlace(Sound):
    def _fit(self, X: Any, labels: Any) -> None:
        if sparse.issparse(X):
            np.clip(X.data, -10, 10, out=X.data)
        super()._fit(X, labels)
