"""Labels as numbers to regress on, and ridge regressions of all labels in two forms.

Each label is regressed on the features and all other labels, by one inverse; or, where the Gram
matrix of so many labels has no place in memory, on those labels alone that stand beside it most.
Both forms need sums over the rows only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.fitting import sum_rows
from labelgap.kernels.joint_ridge import (
    left_out_residuals,
    penalised_inverse,
    regression_weights,
    residuals,
)
from labelgap.kernels.sparse_ridge import RidgeSums, SparseRidge, fit_sparse_ridge, ridge_sums
from labelgap.labels import Labels, State

INTERCEPT_PENALTY = 1e-6


class LabelCodes(NamedTuple):
    """Labels as numbers to regress on: y where it is known, else the prevalence of the label.

    Predictions must not take the places of unknown entries: they come from the other labels of the
    row, among them those that would then be predicted from them. The ``matrix`` holds y + ``shift``,
    which is zero where unknown entries are stored, and minus the prevalence where the known ones are,
    so that an entry that is not stored stands for its mean. Since unknown entries hold the mean,
    predicted differences from it are too small by the fraction of known entries, ``shrinkage``.
    ``positives`` holds ones where labels are relevant: the ``matrix`` itself where these are the same.
    """

    matrix: Any
    shift: np.ndarray
    prevalence: np.ndarray
    shrinkage: np.ndarray
    positives: Any = None

    def take(self, rows: Any) -> LabelCodes:
        """Return the codes of some rows."""
        matrix = self.matrix[rows]
        same = self.positives is self.matrix
        return self._replace(matrix=matrix, positives=matrix if same else self.positives[rows])

    def scores(self, codes: np.ndarray, labels: Any) -> np.ndarray:
        """Return estimates of y from estimates of codes."""
        prevalence = self.prevalence[labels]
        return prevalence + (codes - self.shift[labels] - prevalence) / self.shrinkage[labels]


def label_codes(labels: Labels, like: LabelCodes | None = None) -> LabelCodes:
    """Return codes of labels, each of which has a known entry; or ``like`` those of other rows."""
    if like is None:
        n_known = labels.n_observed(axis=0, unlabeled=True)
        prevalence, shrinkage = labels.n_positives(axis=0) / n_known, n_known / labels.n_samples
    else:
        prevalence, shrinkage = like.prevalence, like.shrinkage
    entries = labels.entries.tocoo()
    relevant, unknown = entries.data == State.RELEVANT, entries.data == State.UNKNOWN
    if labels.implicit is State.UNKNOWN:
        values, shift = relevant - prevalence[entries.col], -prevalence
    else:
        values = np.where(unknown, prevalence[entries.col], relevant.astype(float))
        shift = np.zeros_like(prevalence)
    kept = values != 0
    places = (entries.row[kept], entries.col[kept])
    matrix: Any = sparse.csr_array((values[kept], places), shape=labels.shape)
    positives = matrix
    if like is not None and not np.array_equal(shift, like.shift):
        matrix, shift = matrix.toarray() + (like.shift - shift), like.shift
    if not np.array_equal(kept, relevant) or positives is not matrix:
        positives = labels.positives().astype(np.float64)
    return LabelCodes(matrix, shift, prevalence, shrinkage, positives)


class Regressions(Protocol):
    """Regressions of all labels: predicted codes, and the weights of features and labels."""

    def predict(self, X: Any, codes: LabelCodes, labels: np.ndarray) -> np.ndarray:
        """Return predictions for rows that had no part in the fit."""

    def left_out(self, X: Any, codes: LabelCodes, labels: Any = None) -> np.ndarray:
        """Return predictions for rows of the fit, each from all other rows."""

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of features and of labels in the regression of one label."""


class JointRegressions(NamedTuple):
    """By the inverse of the penalised Gram matrix of intercept, features and labels."""

    inverse: np.ndarray
    n_features: int

    @staticmethod
    def sums(X: Any, codes: LabelCodes) -> np.ndarray:
        """Return the Gram matrix."""
        return sum_rows(_gram, X, [codes.matrix])

    @classmethod
    def solve(cls, gram: np.ndarray, n_samples: int, n_features: int, penalties: Any) -> Any:
        widths = [1, n_features, gram.shape[0] - 1 - n_features]
        penalty = np.repeat([INTERCEPT_PENALTY * n_samples, *penalties], widths)
        return cls(penalised_inverse(gram, penalty), n_features)

    def predict(self, X: Any, codes: LabelCodes, labels: np.ndarray) -> np.ndarray:
        pieces = _pieces(X, codes.matrix)
        errors = residuals(pieces, self.inverse, 1 + self.n_features + labels)
        return _dense(codes.matrix[:, labels]) - errors

    def left_out(self, X: Any, codes: LabelCodes, labels: Any = None) -> np.ndarray:
        columns = slice(1 + self.n_features, self.inverse.shape[0])
        errors = left_out_residuals(_pieces(X, codes.matrix), self.inverse, columns)
        found = _dense(codes.matrix) - errors
        return found if labels is None else found[:, labels]

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        first = 1 + self.n_features
        weights = regression_weights(self.inverse, first + label)
        return weights[1:first], weights[first:]


class CooccurringRegressions(NamedTuple):
    """On the features and on the labels that stand most beside each label."""

    ridge: SparseRidge

    @staticmethod
    def sums(X: Any, codes: LabelCodes) -> RidgeSums:
        """Return the sums that the regressions follow from."""
        same = codes.positives is codes.matrix
        return sum_rows(
            _ridge_sums, X, [codes.positives] if same else [codes.positives, codes.matrix]
        )

    @classmethod
    def solve(
        cls,
        sums: RidgeSums,
        n_samples: int,
        penalties: Any,
        n_cooccurring: int,
        labels: np.ndarray | None = None,
    ) -> CooccurringRegressions:
        penalty = np.full(sums.gram.shape[0], penalties[0])
        penalty[0] = INTERCEPT_PENALTY * n_samples
        return cls(fit_sparse_ridge(sums, penalty, penalties[1], n_cooccurring, labels))

    def predict(self, X: Any, codes: LabelCodes, labels: np.ndarray) -> np.ndarray:
        return self.ridge.only(labels).fitted(_with_intercept(X), codes.positives)

    def left_out(self, X: Any, codes: LabelCodes, labels: Any = None) -> np.ndarray:
        ridge, targets = self.ridge, codes.matrix
        if labels is not None:
            ridge, targets = ridge.only(labels), targets[:, labels]
        return ridge.left_out(_with_intercept(X), codes.positives, targets)

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        of_labels = self.ridge.label_weights[:, [label]].toarray().ravel()
        return self.ridge.weights[1:, label], of_labels


def _gram(X: Any, matrix: Any, argument: None) -> np.ndarray:
    pieces = _pieces(X, matrix)
    return np.block(
        [[safe_sparse_dot(left.T, right, dense_output=True) for right in pieces] for left in pieces]
    )


def _ridge_sums(X: Any, positives: Any, *matrix: Any) -> RidgeSums:
    targets = positives if matrix[0] is None else matrix[0]
    return ridge_sums(_with_intercept(X), positives, targets)


def _pieces(X: Any, matrix: Any) -> list[Any]:
    return [np.ones((X.shape[0], 1)), X, matrix]


def _with_intercept(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([ones, X], format="csr") if sparse.issparse(X) else np.hstack([ones, X])


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
