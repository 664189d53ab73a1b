"""For each label a model of the features and of the other labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression

from labelgap.labels import Labels, State
from labelgap.mending._completers import Completer
from labelgap.mending._forests import ForestAndLabels, is_forest
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, known_entries, readable_by_workers
from labelgap.yardsticks._together import (
    are_fitted_together,
    check_device,
    fit_together,
    has_squared_penalty,
    scores_together,
)

__all__ = ["LabelwiseCompleter"]

# a code nearer to zero than this is left out, which keeps the codes of rare labels sparse
_SMALLEST_CODE = 0.1
# what is said of a row need not be as exact as the model that learns from it
_LOOSER = 10.0
_COARSE = 1e-4
_BLOCK_CELLS = 2**22


class LabelwiseCompleter(Completer):
    """One model per label, of the features and the other observed labels of a row.

    Label k enters with y - p_k where it is observed, p_k its observed frequency, and with zero
    where it is not: nothing known, nothing said. The model of label j is trained on the rows in
    which j is observed, so that what it says of the others was not learned from them.

    Of forests: a forest of the features, with a bootstrap, and a logistic regression on its
    log-odds and the other labels. What it learns from is said by trees that did not see the row.

    Parameters
    ----------
    estimator : classifier or regressor, optional
        By default ``LogisticRegression()``. Should be at least as strong as the
        classifier that learns from the completed labels. Of a regressor the prediction is the
        chance, cut off at 0 and 1; a classifier without ``predict_proba`` is calibrated by
        :class:`sklearn.calibration.CalibratedClassifierCV`.
    label_variance : float
        Of logistic regressions with the squared penalty, whose C is the prior variance of the
        coefficients: the prior variance of those of the other labels. These are log odds ratios,
        the size of which is known beforehand, whatever C suits the features. Of forests that of
        all coefficients of the last regression.
    device : str, optional
        Device of torch for logistic regressions that are fitted together, as in
        :class:`labelgap.BinaryRelevance`.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        label_variance: float = 3.0,
        device: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.label_variance = label_variance
        self.device = device

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        start: Sequence[Any] | None = None,
        guesses: sparse.csr_array | None = None,
    ) -> Self:
        """Learn from rows of features and their labels.

        ``start`` are models of the wanted labels without the other labels, if there are any: fits
        that are made together begin with them. ``guesses`` are codes of labels where they are not
        known, of the shape of the labels.
        """
        self._check()
        self.frequency_ = observed_frequency(labels)
        self.models_: dict[int, Any]
        asked = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        if self.is_of_forests:
            X, codes = readable_by_workers(X), self._codes(labels, guesses)
            self.models_ = {one: self._forest(X, codes, labels, one) for one in asked.tolist()}
            return self
        joined = self._joined(X, labels, guesses)
        template = probabilistic(self.estimator)
        if are_fitted_together(template):
            self.models_ = self._together(template, joined, labels, asked, start)
            return self
        self.models_ = {}
        for label in asked.tolist():
            rows, values = labels.column(label)
            self.models_[label] = self._one(joined, rows, values.astype(np.intp), label)
        return self

    @property
    def takes_guesses(self) -> bool:
        return True

    def _check(self) -> None:
        if not self.label_variance > 0:
            raise ValueError(f"label_variance={self.label_variance}: give a number above 0")
        check_device(probabilistic(self.estimator), self.device)

    def columns(
        self, X: Any, labels: Labels, *, guesses: sparse.csr_array | None = None
    ) -> Iterator[np.ndarray]:
        if self.is_of_forests:
            X, codes = readable_by_workers(X), self._codes(labels, guesses)
            for label, model in self.models_.items():
                yield self._said_of(model, X, without_column(codes, label))
            return
        joined = self._joined(X, labels, guesses)
        if are_fitted_together(probabilistic(self.estimator)):
            # they were kept from using their own codes
            yield from chances_together(list(self.models_.values()), joined)
            return
        for label, model in self.models_.items():
            if isinstance(model, ConstantLabel):
                yield np.full(X.shape[0], model.probability)
            else:
                yield chances_of(model, without_column(joined, X.shape[1] + label))

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
        guesses: sparse.csr_array | None = None,
    ) -> Iterator[np.ndarray]:
        """Columns of forests in which nothing that saw a row speaks of it.

        Trees speak of rows that they did not see, and ``folds`` are left out of the regressions
        alone: one forest per label in place of one for every fold.
        """
        self._check()
        self.frequency_ = observed_frequency(labels)
        X, codes = readable_by_workers(X), self._codes(labels, guesses)
        fold_of = np.empty(labels.n_rows, dtype=np.intp)
        for place, rows in enumerate(folds):
            fold_of[rows] = place
        for label in wanted.tolist():
            model = self._forest(X, codes, labels, label)
            rows, _ = labels.column(label)
            column = np.full(labels.n_rows, self.frequency_[label])
            others = np.setdiff1d(np.arange(labels.n_rows), rows, assume_unique=True)
            if isinstance(model, ForestAndLabels):
                column[rows] = model.held_out_chances(fold_of[rows])
            if others.size:
                column[others] = self._said_of(
                    model, X[others], without_column(codes[others], label)
                )
            yield column

    def _forest(self, X: Any, codes: sparse.csr_array, labels: Labels, label: int) -> Any:
        rows, values = labels.column(label)
        if values.size == 0 or values.min() == values.max():
            return ConstantLabel(float(self.frequency_[label]))
        model = ForestAndLabels(self.estimator, self.label_variance)
        return model.fit(X[rows], without_column(codes[rows], label), values.astype(np.intp))

    def _said_of(self, model: Any, X: Any, codes: sparse.csr_array) -> np.ndarray:
        if isinstance(model, ConstantLabel):
            return np.full(X.shape[0], model.probability)
        return model.chances(X, codes)

    def _together(
        self,
        template: Any,
        joined: Any,
        labels: Labels,
        asked: np.ndarray,
        start: Sequence[Any] | None,
    ) -> dict[int, Any]:
        n_known, n_relevant = labels.n_observed(axis=0, ambiguous=True), labels.n_positives(axis=0)
        can_learn = (n_relevant[asked] > 0) & (n_relevant[asked] < n_known[asked])
        learnable = asked[can_learn]
        begun = (
            None
            if start is None
            else [start[place] for place in np.flatnonzero(can_learn).tolist()]
        )
        models: dict[int, Any] = {
            int(label): ConstantLabel(float(self.frequency_[label])) for label in asked
        }
        own = joined.shape[1] - labels.n_labels + learnable
        entries = (known_entries(labels, label) for label in learnable.tolist())
        looser = clone(template).set_params(tol=_LOOSER * template.tol)
        dtype = np.float32 if looser.tol >= _COARSE else np.float64
        options: dict[str, Any] = {"start": begun, "device": self.device, "dtype": dtype}
        fitted = fit_together(looser, joined, entries, own=own, **options)
        return models | dict(zip(learnable.tolist(), fitted, strict=True))

    def _one(self, joined: Any, rows: np.ndarray, values: np.ndarray, label: int) -> Any:
        if values.size == 0 or values.min() == values.max():
            return ConstantLabel(float(self.frequency_[label]))
        blind = without_column(joined[rows], joined.shape[1] - len(self.frequency_) + label)
        template = probabilistic(self.estimator)
        return clone(template).fit(
            blind, values.astype(float) if is_regressor(template) else values
        )

    def _codes(self, labels: Labels, guesses: sparse.csr_array | None) -> sparse.csr_array:
        codes = label_codes(labels, self.frequency_)
        return codes if guesses is None else sparse.csr_array(codes + guesses)

    def _joined(self, X: Any, labels: Labels, guesses: sparse.csr_array | None = None) -> Any:
        """Features and codes of labels, side by side."""
        codes = self._codes(labels, guesses)
        template = probabilistic(self.estimator)
        if has_squared_penalty(template):
            codes = codes * np.sqrt(self.label_variance / template.C)
        codes = codes.astype(X.dtype)
        if sparse.issparse(X):
            return readable_by_workers(sparse.csr_array(sparse.hstack([X, codes], format="csr")))
        return np.hstack([X, codes.toarray()])


def probabilistic(estimator: Any) -> Any:
    """The estimator, or what makes probabilities of its margins."""
    if estimator is None:
        return LogisticRegression()
    if is_regressor(estimator) or hasattr(estimator, "predict_proba"):
        return estimator
    return CalibratedClassifierCV(estimator, cv=3, ensemble=False)


def chances_of(model: Any, X: Any) -> np.ndarray:
    """Probability of relevance in each row."""
    if is_regressor(model):
        return np.clip(np.ravel(model.predict(X)), 0.0, 1.0)
    return model.predict_proba(X)[:, 1]


def chances_together(models: list, X: Any) -> Iterator[np.ndarray]:
    """The same of many logistic regressions, block by block; some may be constant."""
    most = max(1, _BLOCK_CELLS // max(X.shape[0], X.shape[1]))
    for first in range(0, len(models), most):
        scores = scores_together(models[first : first + most], X)
        yield from expit(scores).T


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
