"""One classifier per label: which rows it sees, and how the work is spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from math import ceil
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.one_vs_rest._fit_labels import (
    ConstantLabel,
    are_fitted_together,
    check_device,
    fit_together,
    known_entries,
    readable_by_workers,
    single_where_it_serves,
)

_TASKS_PER_JOB = 4


def fit_per_label(
    estimator: Any,
    X: Any,
    labels: Labels,
    n_jobs: int | None,
    device: str | None = None,
    C: np.ndarray | None = None,
    prune: float = 0.0,
    on_label: Callable[[], None] | None = None,
) -> list:
    """Return a fitted classifier for each label, from the rows in which the label is known.

    Parameters
    ----------
    estimator : classifier or regressor
    X : array or CSR matrix of shape (n_samples, n_features)
    labels : Labels
    n_jobs : int or None
    device : str, default=None
        Device of torch for fits made together.
    C : array of shape (n_labels,), default=None
        Inverse strength of the regularisation of each label, for fits made together.
    prune : float, default=0.0
        Of coefficients, for fits made together; see :func:`fit_together`.
    on_label : callable, default=None
        Called for each label that is done.

    See Also
    --------
    fit_labels : For labels with probabilities and weights.

    Examples
    --------
    >>> from labelgap.one_vs_rest import fit_per_label
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from labelgap import as_labels
    >>> labels = as_labels(np.array([[0.0, 1], [0, 1], [1, np.nan], [1, 1]]))
    >>> fit_per_label(GaussianNB(), np.arange(4.0)[:, None], labels, None)
    [GaussianNB(), ConstantLabel(probability=0.921875)]
    """
    check_device(estimator, device)
    prevalence = observed_prevalence(labels)
    if are_fitted_together(estimator):
        known = _each_known(labels, on_label)
        dtype = single_where_it_serves(X, estimator.tol)
        how: Any = {"device": device, "dtype": dtype, "C": C, "prune": prune}
        return fit_together(estimator, X, known, prevalence, **how)
    n_known, n_relevant = labels.n_observed(axis=0, unlabeled=True), labels.n_positives(axis=0)
    learnable = np.flatnonzero((n_relevant > 0) & (n_relevant < n_known))
    fitted: list = [ConstantLabel(p) for p in prevalence.tolist()]
    n_jobs_here, n_learnable = effective_n_jobs(n_jobs), len(learnable)
    size = max(1, ceil(n_learnable / (n_jobs_here * _TASKS_PER_JOB)))
    if n_jobs_here == 1:
        size = n_learnable if on_label is None else 1
    tasks = list(_split(same_rows(labels, learnable), size))
    X = readable_by_workers(X)
    # the targets are a generator: those of a task are made when it is handed to a worker
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_task)(estimator, X, rows, [labels.column(label)[1] for label in group])
        for rows, group in tasks
    )
    for (_, group), classifiers in zip(tasks, results, strict=True):
        for label, classifier in zip(group, classifiers, strict=True):
            fitted[label] = classifier
            if on_label is not None:
                on_label()
    return fitted


def _each_known(labels: Labels, on_label: Callable[[], None] | None) -> Iterator:
    """The known entries of each label; a label is done when the next is asked for."""
    for label in range(labels.n_labels):
        yield known_entries(labels, label)
        if on_label is not None:
            on_label()


def _split(groups: Iterator, size: int) -> Iterator:
    """Parts of large groups, small enough that no worker waits for another at the end."""
    for rows, group in groups:
        for start in range(0, len(group), size):
            yield rows, group[start : start + size]


def _fit_task(estimator: Any, X: Any, rows: np.ndarray | None, targets: list) -> list:
    # the selection lives as long as the task: never more of them than there are workers
    part = X if rows is None else X[rows]
    return [clone(estimator).fit(part, target.astype(np.intp)) for target in targets]


def score_rows(estimator: Any, X: Any) -> np.ndarray:
    """Return the decision function of one label, or log-odds where there is none.

    Examples
    --------
    >>> from labelgap.one_vs_rest import score_rows
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel
    >>> score_rows(ConstantLabel(0.5), np.zeros((2, 1))).tolist()
    [0.0, 0.0]
    """
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return log_odds(estimator.predict_proba(X)[:, 1])


def probability_of_rows(estimator: Any, X: Any) -> np.ndarray:
    """Return the probability that one label is relevant in each row.

    Examples
    --------
    >>> from labelgap.one_vs_rest import probability_of_rows
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel
    >>> probability_of_rows(ConstantLabel(0.3), np.zeros((2, 1))).tolist()
    [0.3, 0.3]
    """
    return estimator.predict_proba(X)[:, 1]


def apply_per_label(function: Any, estimators: list, X: Any, n_jobs: int | None) -> np.ndarray:
    """Return one column per label, of ``function`` applied to its estimator.

    Examples
    --------
    >>> from labelgap.one_vs_rest import apply_per_label
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import ConstantLabel, probability_of_rows
    >>> models = [ConstantLabel(0.2), ConstantLabel(0.3)]
    >>> apply_per_label(probability_of_rows, models, np.zeros((1, 1)), None).tolist()
    [[0.2, 0.3]]
    """
    X = readable_by_workers(X)
    columns = Parallel(n_jobs=n_jobs)(delayed(function)(one, X) for one in estimators)
    return np.column_stack(columns)


def same_rows(labels: Labels, members: np.ndarray) -> Iterator[tuple[np.ndarray | None, list[int]]]:
    """Yield groups of labels that are known in exactly the same rows.

    Parameters
    ----------
    labels : Labels
    members : int array
        The labels to group.

    Yields
    ------
    rows : int array, or None for all rows
        Where the labels of the group are known; unlabeled zeros are known.
    group : list of int
        Those labels, ascending. The groups come in the order of their first label.

    Examples
    --------
    >>> from labelgap.one_vs_rest import same_rows
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> labels = as_labels(np.array([[0, np.nan, 1], [1, 1, 0]]))
    >>> [group for _, group in same_rows(labels, np.arange(3))]
    [[0, 2], [1]]
    """
    n_known = labels.n_observed(axis=0, unlabeled=True)
    groups: dict[bytes, list[int]] = {}
    for label in members.tolist():
        complete = n_known[label] == labels.n_samples
        key = b"" if complete else _digest(labels.column(label)[0])
        groups.setdefault(key, []).append(label)
    for key, group in groups.items():
        yield (labels.column(group[0])[0] if key else None), group


def _digest(rows: np.ndarray) -> bytes:
    return blake2b(np.ascontiguousarray(rows, dtype=np.int64).tobytes(), digest_size=16).digest()
