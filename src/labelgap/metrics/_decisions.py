"""Metrics of yes-or-no predictions, over the entries whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgap.kernels.confusion import count_predicted
from labelgap.labels import Labels
from labelgap.metrics._averaging import (
    check_average,
    ratio,
    refuse_values,
    settle,
    summarise,
    undefined,
)
from labelgap.metrics._inputs import check_predictions, check_truth, row_default


@dataclass(frozen=True)
class Counts:
    """Right and wrong decisions over known entries, one value per row, per label or in all."""

    true_positives: np.ndarray
    false_positives: np.ndarray
    false_negatives: np.ndarray
    n_known: np.ndarray

    @property
    def n_wrong(self) -> np.ndarray:
        return self.false_positives + self.false_negatives

    def pooled(self) -> Counts:
        parts = (self.true_positives, self.false_positives, self.false_negatives, self.n_known)
        return Counts(*(np.atleast_1d(part.sum()) for part in parts))


class Decisions:
    """Checked truth and decisions, counted once for all metrics that need them."""

    def __init__(self, y_true: Any, y_pred: Any) -> None:
        labels: Labels = check_truth(y_true)
        predicted = check_predictions(y_pred, labels)
        entries = labels.entries
        row_hits, row_false, label_hits, label_false = count_predicted(
            entries.indptr,
            entries.indices,
            entries.data,
            row_default(labels),
            predicted.indptr,
            predicted.indices,
        )

        def counts(hits: np.ndarray, false: np.ndarray, axis: int) -> Counts:
            missed = labels.n_positives(axis=axis) - hits
            return Counts(hits, false, missed, labels.n_observed(axis=axis, ambiguous=True))

        self.by_row = counts(row_hits, row_false, 1)
        self.by_label = counts(label_hits, label_false, 0)
        self.all = self.by_row.pooled()

    def by(self, average: str) -> Counts:
        return {"micro": self.all, "macro": self.by_label, "instance": self.by_row}[average]


def decide(y_true: Any, y_pred: Any) -> Decisions:
    """New counts, or those that are given in place of ``y_true`` to be shared."""
    return y_true if isinstance(y_true, Decisions) else Decisions(y_true, y_pred)


def hamming_loss(y_true: Any, y_pred: Any, *, average: str = "micro", reduce: bool = True) -> Any:
    """Share of known entries that are predicted wrongly.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_pred : array or sparse matrix of 0 and 1 of shape (n_rows, n_labels)
    average : {"micro", "macro", "instance"}
        All known entries alike, or first within labels, or within rows; the three differ only when
        entries are unknown.
    reduce : bool
        False returns the value of every label or row (NaN without a known entry).

    Returns
    -------
    float, or array of shape (n_labels,) or (n_rows,)
    """
    average = check_average(average, ("micro", "macro", "instance"))
    counts = decide(y_true, y_pred).by(average)
    values = ratio(counts.n_wrong, counts.n_known)
    return _conclude(values, "hamming_loss", average, reduce)


def subset_accuracy(y_true: Any, y_pred: Any, *, reduce: bool = True) -> Any:
    """Share of rows whose known entries are all predicted rightly.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0; rows without a known entry are
        left out.
    y_pred : array or sparse matrix of 0 and 1 of shape (n_rows, n_labels)
    reduce : bool
        False returns 1, 0 or NaN for every row.

    Returns
    -------
    float, or array of shape (n_rows,)
    """
    counts = decide(y_true, y_pred).by_row
    values = np.where(counts.n_known > 0, (counts.n_wrong == 0).astype(float), np.nan)
    return _conclude(values, "subset_accuracy", "instance", reduce)


def f1(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    undefined: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """F1 score, 2 TP / (2 TP + FP + FN), over known entries.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_pred : array or sparse matrix of 0 and 1 of shape (n_rows, n_labels)
    average : {"macro", "micro", "example"}
        Mean over labels, all entries pooled, or mean over rows ("label" is a synonym of the first,
        "instance" and "samples" of the last).
    undefined : "drop" or a number
        What a label (or row) with neither a relevant nor a predicted known entry contributes;
        scikit-learn's default counts it as 0.
    reduce : bool
        False returns the value of every label or row (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_labels,) or (n_rows,)
    """
    return _overlap(
        y_true,
        y_pred,
        lambda c: ratio(2 * c.true_positives, 2 * c.true_positives + c.n_wrong),
        ("f1", average, undefined, reduce),
    )


def jaccard(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "example",
    undefined: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Jaccard index, TP / (TP + FP + FN), over known entries ("accuracy" in many papers).

    Parameters
    ----------
    y_true, y_pred, average, undefined, reduce
        As in `f1`.

    Returns
    -------
    float, or array of shape (n_labels,) or (n_rows,)
    """
    return _overlap(
        y_true,
        y_pred,
        lambda c: ratio(c.true_positives, c.true_positives + c.n_wrong),
        ("jaccard", average, undefined, reduce),
    )


def _overlap(
    y_true: Any,
    y_pred: Any,
    score: Callable[[Counts], np.ndarray],
    options: tuple[str, str, str | float, bool],
) -> Any:
    metric, average, choice, reduce = options
    average = check_average(average, ("macro", "micro", "instance"))
    counts = decide(y_true, y_pred).by(average)
    nothing = (counts.true_positives + counts.n_wrong == 0) & (counts.n_known > 0)
    values = settle(score(counts), nothing, choice, argument="undefined", defined=False)
    return _conclude(values, metric, average, reduce)


def _conclude(values: np.ndarray, metric: str, average: str, reduce: bool) -> Any:
    if average == "micro":
        refuse_values(average, reduce)
        if np.isnan(values[0]):
            return undefined(metric, "no known entry counts")
        return float(values[0])
    unit = "label" if average == "macro" else "row"
    return summarise(values, metric=metric, reduce=reduce, unit=unit)
