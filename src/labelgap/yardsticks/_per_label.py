"""One classifier per label: which rows it sees, and how the work is spread over processes."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.parallel import Parallel, delayed

from labelgap.labels import Labels
from labelgap.yardsticks._groups import same_rows
from labelgap.yardsticks._label_prior import log_odds, observed_frequency
from labelgap.yardsticks._together import (
    Entries,
    are_fitted_together,
    check_device,
    fit_together,
)

_TASKS_PER_JOB = 4


class ConstantLabel(ClassifierMixin, BaseEstimator):
    """The classifier of a label of which only one value, or none, was observed.

    Parameters
    ----------
    probability : float
        What it predicts for every row.
    """

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile([1 - self.probability, self.probability], (X.shape[0], 1))

    def decision_function(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], log_odds(np.asarray(self.probability)))

    def predict(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], int(self.probability > 0.5))


def fit_per_label(
    estimator: Any, X: Any, labels: Labels, n_jobs: int | None, device: str | None = None
) -> list:
    """A fitted classifier for each label, from the rows in which the label is known."""
    check_device(estimator, device)
    n_known = labels.n_observed(axis=0, ambiguous=True)
    n_relevant = labels.n_positives(axis=0)
    fitted: list = [ConstantLabel(p) for p in observed_frequency(labels).tolist()]
    learnable = np.flatnonzero((n_relevant > 0) & (n_relevant < n_known))
    if are_fitted_together(estimator):
        entries = (known_entries(labels, label) for label in learnable.tolist())
        for label, model in zip(
            learnable, fit_together(estimator, X, entries, device=device), strict=True
        ):
            fitted[label] = model
        return fitted
    tasks = list(_split(same_rows(labels, learnable), effective_n_jobs(n_jobs), len(learnable)))
    X = readable_by_workers(X)
    # the targets are a generator: those of a task are made when it is handed to a worker
    results = Parallel(n_jobs=n_jobs)(
        delayed(_fit_task)(estimator, X, rows, [labels.column(label)[1] for label in group])
        for rows, group in tasks
    )
    for (_, group), classifiers in zip(tasks, results, strict=True):
        for label, classifier in zip(group, classifiers, strict=True):
            fitted[label] = classifier
    return fitted


def known_entries(labels: Labels, label: int) -> Entries:
    """The rows in which a label is known, with the same weight each."""
    rows, values = labels.column(label)
    return Entries(rows, values.astype(np.float64), np.ones(rows.size))


def _split(groups: Iterator, n_workers: int, n_labels: int) -> Iterator:
    """Parts of large groups, small enough that no worker waits for another at the end."""
    size = max(1, ceil(n_labels / (n_workers * _TASKS_PER_JOB))) if n_workers > 1 else n_labels
    for rows, group in groups:
        for start in range(0, len(group), size):
            yield rows, group[start : start + size]


def _fit_task(estimator: Any, X: Any, rows: np.ndarray | None, targets: list) -> list:
    # the selection lives as long as the task: never more of them than there are workers
    part = X if rows is None else X[rows]
    return [clone(estimator).fit(part, target.astype(np.intp)) for target in targets]


def readable_by_workers(X: Any) -> Any:
    """X in a form that needs no change in place, which memory-mapped input would refuse.

    Workers see large arrays through read-only memory maps, in which sparse indices cannot be
    sorted any more; and liblinear takes 32-bit indices only.
    """
    if not sparse.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    largest = max(X.nnz, *X.shape)
    if X.indices.dtype != np.int32 and largest <= np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
        X.has_canonical_format = True
    return X


def score_rows(estimator: Any, X: Any) -> np.ndarray:
    """Scores of one label: the decision function, or log-odds where there is none."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return log_odds(estimator.predict_proba(X)[:, 1])


def probability_of_rows(estimator: Any, X: Any) -> np.ndarray:
    """Probability of one label."""
    return estimator.predict_proba(X)[:, 1]


def apply_per_label(function: Any, estimators: list, X: Any, n_jobs: int | None) -> np.ndarray:
    """One column per label of what ``function`` says of its estimator."""
    X = readable_by_workers(X)
    columns = Parallel(n_jobs=n_jobs)(delayed(function)(one, X) for one in estimators)
    return np.column_stack(columns)
