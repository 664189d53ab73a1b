"""Ridge regression of every label on the features and all other labels, each row left out.

One inversion gives the regressions of all labels, and all predictions that leave their own row out;
see :mod:`labelgap.kernels.joint_ridge`. The cost does not depend on the number of rows beyond one
product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.imputers._imputer import Imputer
from labelgap.kernels.joint_ridge import (
    left_out_residuals,
    penalised_inverse,
    regression_weights,
    residuals,
)
from labelgap.labels import Labels, State
from labelgap.memory import block_size

_FEATURE_PENALTIES = (10.0, 3.0, 30.0, 1.0, 100.0)
_LABEL_PENALTIES = (5.0, 1.0, 25.0)
_INTERCEPT_PENALTY = 1e-6
_VALIDATION_ROWS = 2000
_CHOOSING = "choosing penalties of features and labels"

Progress = Callable[[str, int, int | None], None]


class LabelCodes(NamedTuple):
    """Labels as numbers to regress on: y where it is known, else the prevalence of the label.

    Predictions must not take the places of unknown entries: they come from the other labels of the
    row, among them those that would then be predicted from them. The ``matrix`` holds y + ``shift``,
    which is zero where unknown entries are stored, and minus the prevalence where the known ones are,
    so that an entry that is not stored stands for its mean. Since unknown entries hold the mean,
    predicted differences from it are too small by the fraction of known entries, ``shrinkage``.
    """

    matrix: Any
    shift: np.ndarray
    prevalence: np.ndarray
    shrinkage: np.ndarray

    def scores(self, codes: np.ndarray, errors: np.ndarray, labels: Any) -> np.ndarray:
        """Return estimates of y from codes and their residuals."""
        prevalence = self.prevalence[labels]
        return (
            prevalence
            + (codes - errors - self.shift[labels] - prevalence) / (self.shrinkage[labels])
        )


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
    matrix = sparse.csr_array((values[kept], places), shape=labels.shape)
    if like is not None and not np.array_equal(shift, like.shift):
        matrix, shift = matrix.toarray() + (like.shift - shift), like.shift
    return LabelCodes(matrix, shift, prevalence, shrinkage)


class RidgeImputer(Imputer):
    """Impute by ridge regressions of every label on the features and all other labels.

    The default of :func:`labelgap.audit`. Every label needs known ones and zeros; features should
    be on one scale (:func:`labelgap.auditing.feature_rows`).

    Parameters
    ----------
    feature_penalty, label_penalty : float or None, default=None
        Penalties of the weights of features and of labels. None chooses those with the smallest
        squared leave-one-out error at known entries of at most 2,000 rows, one after the other.
    random_state : int, Generator or None, default=0
        Draws these rows.

    Attributes
    ----------
    penalties_ : tuple of float
        Of features and of labels.
    inverse_ : array
        Inverse of the penalised Gram matrix of intercept, features and labels, in this order.

    See Also
    --------
    PerLabelImputer : One classifier of any kind per label.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import RidgeImputer
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    >>> imputer = RidgeImputer().fit(X, as_labels(Y))
    >>> [column.shape for column in imputer.columns(X, as_labels(Y))]
    [(50,), (50,), (50,)]
    """

    inverse_: np.ndarray
    penalties_: tuple[float, float]

    def __init__(
        self,
        feature_penalty: float | None = None,
        label_penalty: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.feature_penalty = feature_penalty
        self.label_penalty = label_penalty
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Choose the penalties and fit; see :class:`Imputer`."""
        codes = self._start(labels, wanted)
        given = self.feature_penalty, self.label_penalty
        feature_penalties = _FEATURE_PENALTIES if given[0] is None else (given[0],)
        label_penalties = _LABEL_PENALTIES if given[1] is None else (given[1],)
        candidates = [(penalty, label_penalties[0]) for penalty in feature_penalties]
        n_steps, gram = len(feature_penalties) + len(label_penalties) - 1, _gram(X, codes)
        if n_steps == 1:
            return self._invert(gram, labels, candidates[0])
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(labels.n_samples)[:_VALIDATION_ROWS])
        truth = labels[rows].to_dense()
        best, inverse, least = candidates[0], gram, np.inf
        for step in range(n_steps):
            if progress is not None:
                progress(_CHOOSING, step, n_steps)
            if step == len(feature_penalties):
                candidates += [(best[0], penalty) for penalty in label_penalties[1:]]
            self._invert(gram, labels, candidates[step])
            error = float(np.nanmean((self._left_out_scores(X, codes, rows) - truth) ** 2))
            if error < least:
                best, inverse, least = candidates[step], self.inverse_, error
        self.inverse_, self.penalties_ = inverse, best
        if progress is not None:
            progress(_CHOOSING, n_steps, n_steps)
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        """Yield the scores, clipped to [0, 1], of each wanted label in all rows."""
        codes = label_codes(labels, like=self.codes_)
        size = block_size(labels.n_samples)
        for start in range(0, self.wanted_.size, size):
            scores = self._new_scores(X, codes, self.wanted_[start : start + size])
            yield from np.clip(scores, 0, 1).T

    def left_out_blocks(self, X: Any, labels: Labels) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield scores of the rows of the fit, each from all other rows.

        Scores estimate the label, 0 or 1, and can lie somewhat outside. They come with their rows
        and labels, some rows at a time and all labels.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        """
        size, n = block_size(self.inverse_.shape[0]), labels.n_samples
        parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        for rows, scores in zip(parts, self.left_out_parts(X, labels, parts), strict=True):
            yield rows, slice(0, labels.n_labels), scores

    def left_out_parts(self, X: Any, labels: Labels, parts: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yield scores as :meth:`left_out_blocks` does, of parts of the rows one after the other.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        parts : iterable of slices or int arrays
        """
        codes = label_codes(labels)
        for rows in parts:
            yield self._left_out_scores(X, codes, rows)

    def held_out_scores(
        self, X: Any, labels: Labels, learned: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Return the scores of some rows, learned with the same penalties from others alone.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        learned, rows : int arrays
        """
        codes = label_codes(labels)
        other = RidgeImputer(*self.penalties_)
        other._start(labels, None)
        other._invert(_gram(X, codes, learned), labels, self.penalties_)
        held_out = codes._replace(matrix=codes.matrix[rows])
        return other._new_scores(X[rows], held_out, np.arange(labels.n_labels))

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the features and of the other labels in the regression of one."""
        first = self._label_columns.start
        weights = regression_weights(self.inverse_, first + label)
        return weights[1:first], weights[first:]

    @property
    def _label_columns(self) -> slice:
        size = self.inverse_.shape[0]
        return slice(size - self.codes_.prevalence.size, size)

    def _start(self, labels: Labels, wanted: np.ndarray | None) -> LabelCodes:
        codes = label_codes(labels)
        self.codes_ = codes._replace(matrix=None)
        self.wanted_ = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        return codes

    def _left_out_scores(self, X: Any, codes: LabelCodes, rows: Any) -> np.ndarray:
        pieces = _pieces(X, codes, rows)
        errors = left_out_residuals(pieces, self.inverse_, self._label_columns)
        return codes.scores(pieces[-1].toarray(), errors, slice(None))

    def _new_scores(self, X: Any, codes: LabelCodes, labels: np.ndarray) -> np.ndarray:
        pieces = _pieces(X, codes, slice(None))
        errors = residuals(pieces, self.inverse_, self._label_columns.start + labels)
        own = pieces[-1][:, labels]
        return codes.scores(own.toarray() if sparse.issparse(own) else own, errors, labels)

    def _invert(self, gram: np.ndarray, labels: Labels, penalties: tuple[float, float]) -> Self:
        widths = [1, gram.shape[0] - 1 - labels.n_labels, labels.n_labels]
        penalty = np.repeat([_INTERCEPT_PENALTY * labels.n_samples, *penalties], widths)
        self.inverse_, self.penalties_ = penalised_inverse(gram, penalty), penalties
        return self


def _gram(X: Any, codes: LabelCodes, rows: Any = slice(None)) -> np.ndarray:
    pieces = _pieces(X, codes, rows)
    return np.block(
        [[safe_sparse_dot(left.T, right, dense_output=True) for right in pieces] for left in pieces]
    )


def _pieces(X: Any, codes: LabelCodes, rows: Any) -> list[Any]:
    features = X[rows]
    return [np.ones((features.shape[0], 1)), features, codes.matrix[rows]]
