"""Probabilities that entries are recorded, from the features alone, each item left out.

A model learns from some rows, those that somebody opened, and says of these rows what it learned from
the others, and of all other rows what it learned from all of these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.auditing._audit_input import FeatureRows
from labelgap.baselines import BinaryRelevance
from labelgap.fitting import StoredFeatures, sum_rows, take_rows
from labelgap.kernels.joint_ridge import penalised_inverse, row_dots
from labelgap.labels import Labels, LabelWarning, State

_MOST_ENTRIES = 4_000_000
_N_FOLDS, _C_SPARSE, _C_DENSE = 5, 6.0, 0.1
_N_TREES, _FEWEST_TREES = 150, 20
# splits of one tree that are looked at, over all trees: half a minute of one core
_TREE_WORK = {"dense": 2e9, "sparse": 8e9}
_RIDGE_PENALTY = 10.0

Say = Callable[[int, int], None]


class FeatureModel(Protocol):
    """What gives scores of any rows, all labels at once."""

    def scores(self, rows: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores of all entries in memory."""

    values: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return self.values[rows]


class FeatureRidge:
    """A ridge regression of every label on the features; rows of the fit are left out in turn.

    Nothing of the size items x labels is kept, which tables with many labels need.
    """

    def __init__(self, inputs: Any, labels: Labels, learned: np.ndarray) -> None:
        self._inputs, self._labels, self._learned = inputs, labels, learned
        rows = np.flatnonzero(learned)
        X, Y = take_rows(inputs, rows), labels[rows]
        known = np.maximum(Y.n_observed(axis=0, unlabeled=True), 1)
        self._prevalence = Y.n_positives(axis=0) / known
        sums = sum_rows(label_sums, X, [Y], labels.has_unknown)
        self._centre = sums.total / rows.size
        # what is not known counts as the prevalence: a sum of y - p over known entries
        known_sums = sums.total[:, None] if sums.known is None else sums.known
        cross = sums.relevant - known_sums * self._prevalence
        gram = sums.gram - rows.size * np.outer(self._centre, self._centre)
        self._inverse = penalised_inverse(gram, np.full(gram.shape[0], _RIDGE_PENALTY))
        self._weights = self._inverse @ cross
        self._n = rows.size

    def scores(self, rows: np.ndarray) -> np.ndarray:
        own = self._inputs[rows]
        block = safe_sparse_dot(own, self._inverse, dense_output=True)
        shifted = block - self._centre @ self._inverse
        leverage = row_dots(own, shifted) - shifted @ self._centre + 1 / self._n
        fitted = (
            self._prevalence
            + safe_sparse_dot(own, self._weights, dense_output=True)
            - self._centre @ self._weights
        )
        truth = self._labels[rows].to_dense(unlabeled=0.0)
        truth = np.where(np.isnan(truth), self._prevalence, truth)
        left_out = truth - (truth - fitted) / np.maximum(1 - leverage[:, None], 0.01)
        return np.where(self._learned[rows][:, None], left_out, fitted)


class LabelSums(NamedTuple):
    """Sums over rows: of features, of their products, and over rows with each label (known)."""

    total: np.ndarray
    gram: np.ndarray
    relevant: np.ndarray
    known: np.ndarray | None


def label_sums(X: Any, labels: Labels, with_unknown: bool) -> LabelSums:
    """Return the sums of some rows; those of known entries only where there are others."""
    total = np.asarray(X.sum(axis=0)).ravel()
    gram = safe_sparse_dot(X.T, X, dense_output=True)
    ones = labels.positives().astype(float)
    relevant = np.asarray(safe_sparse_dot(X.T, ones, dense_output=True))
    if not with_unknown:
        return LabelSums(total, gram, relevant, None)
    if labels.implicit is State.UNKNOWN:
        known = labels.observed(unlabeled=True).astype(float)
        products = np.asarray(safe_sparse_dot(X.T, known, dense_output=True))
        return LabelSums(total, gram, relevant, products)
    unknown = labels.where(State.UNKNOWN).astype(float)
    products = np.asarray(safe_sparse_dot(X.T, unknown, dense_output=True))
    return LabelSums(total, gram, relevant, total[:, None] - products)


def default_models(
    rows: FeatureRows, labels: Labels, learned: np.ndarray, seed: int, say: Say
) -> list[FeatureModel]:
    """Return a logistic regression per label and trees; a ridge regression for large tables."""
    if not rows.scaled.shape[1]:
        return []
    is_stored = isinstance(rows.inputs, StoredFeatures)
    if is_stored or labels.n_samples * labels.n_labels > _MOST_ENTRIES:
        return [FeatureRidge(rows.inputs, labels, learned)]
    is_sparse = sparse.issparse(rows.scaled)
    X = rows.scaled if is_sparse else rows.scaled * np.sqrt(rows.scaled.shape[1])
    C = _C_SPARSE if is_sparse else _C_DENSE
    linear = LogisticRegression(C=C, max_iter=200, tol=1e-3)
    models: list[FeatureModel] = [cross_fitted_scores(linear, X, labels, learned, seed, say)]
    if rows.axes is not None:  # trees that try a few of very many words at each split learn little
        return models
    trees = _trees(X if is_sparse else rows.inputs, labels, learned, seed)
    return [*models, *([] if trees is None else [trees])]


def cross_fitted_scores(
    estimator: Any, X: Any, labels: Labels, learned: np.ndarray, seed: int, say: Say
) -> FeatureModel:
    """Return what an estimator says of rows it did not learn from."""
    model = _for_many_labels(estimator)
    at = np.flatnonzero(learned)
    shuffled = np.random.default_rng(seed).permutation(at)
    folds = [np.sort(fold) for fold in np.array_split(shuffled, min(_N_FOLDS, at.size))]
    others = np.flatnonzero(~learned)
    tasks = [(np.setdiff1d(at, fold, assume_unique=True), fold) for fold in folds]
    if others.size:
        tasks.append((at, others))
    values = np.zeros(labels.shape, dtype=np.float32)
    for done, (known, asked) in enumerate(tasks):
        say(done, len(tasks))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (LabelWarning, ConvergenceWarning))
            fitted = clone(model).fit(X[known], labels[known])
            values[asked] = fitted.predict_proba(X[asked])
    say(len(tasks), len(tasks))
    return StoredScores(values)


def _for_many_labels(estimator: Any) -> Any:
    from labelgap.estimator import LabelGapClassifier

    if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator={estimator!r}: give a classifier of scikit-learn or an estimator of labelgap"
        )
    if isinstance(estimator, LabelGapClassifier):
        return estimator
    return BinaryRelevance(estimator)


def _trees(X: Any, labels: Labels, learned: np.ndarray, seed: int) -> FeatureModel | None:
    """Return what trees say that did not draw the row; None where trees would take too long."""
    at = np.flatnonzero(learned)
    n_trees = _affordable_trees(X, at.size, labels.n_labels)
    if n_trees < _FEWEST_TREES:
        return None
    part = labels[at]
    prevalence = part.n_positives(axis=0) / np.maximum(part.n_observed(axis=0, unlabeled=True), 1)
    truth = part.to_dense(unlabeled=0.0)
    truth = np.where(np.isnan(truth), prevalence, truth)
    target = truth[:, 0] if truth.shape[1] == 1 else truth

    forest = ExtraTreesRegressor(
        n_trees,
        min_samples_leaf=2,
        max_features="sqrt" if sparse.issparse(X) else 1 / 3,
        bootstrap=True,
        oob_score=True,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = forest.fit(X[at], target)
    values = np.empty(labels.shape, dtype=np.float32)
    left_out = model.oob_prediction_.reshape(part.shape)
    # no forest is certain: one imaginary tree says the prevalence
    votes = 0.37 * n_trees
    values[at] = (votes * left_out + prevalence) / (votes + 1)
    others = np.flatnonzero(~learned)
    if others.size:
        said = model.predict(X[others]).reshape(others.size, -1)
        values[others] = (votes * said + prevalence) / (votes + 1)
    return StoredScores(values)


def _affordable_trees(X: Any, n_rows: int, n_labels: int) -> int:
    """Return how many trees are grown, by their work: the same on every machine."""
    is_sparse = sparse.issparse(X)
    tried = np.sqrt(X.shape[1]) if is_sparse else X.shape[1] / 3
    work = n_rows * np.log2(n_rows + 1) * tried * (1 + n_labels / 10)
    return int(min(_N_TREES, _TREE_WORK["sparse" if is_sparse else "dense"] / max(work, 1.0)))


def given_scores(pred_probs: Any, shape: tuple[int, int], labels: np.ndarray) -> FeatureModel:
    """Return the probabilities a user has, checked, of some of the labels."""
    values = np.asarray(pred_probs, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            f"pred_probs has the shape {values.shape}, the labels have {shape}: give one "
            "probability for each item and label"
        )
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        raise ValueError(
            f"pred_probs[{row}, {label}] is {values[row, label]}: give probabilities between 0 and 1"
        )
    return StoredScores(values[:, labels].astype(np.float32))
