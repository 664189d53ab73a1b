"""Metrics of yes-or-no predictions, over the entries whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgap.kernels.ranking import count_predicted
from labelgap.labels import Labels
from labelgap.metrics._metric_inputs import (
    check_average,
    check_predictions,
    check_truth,
    documented,
    in_order_of,
    ratio,
    refuse_values,
    row_default,
    settle,
    summarise,
    undefined,
)


@dataclass(frozen=True)
class DecisionCounts:
    """Right and wrong decisions over known entries, one value per row, per label or in all."""

    true_positives: np.ndarray
    false_positives: np.ndarray
    false_negatives: np.ndarray
    n_known: np.ndarray

    @property
    def n_wrong(self) -> np.ndarray:
        return self.false_positives + self.false_negatives

    def pooled(self) -> DecisionCounts:
        parts = (self.true_positives, self.false_positives, self.false_negatives, self.n_known)
        return DecisionCounts(*(np.atleast_1d(part.sum()) for part in parts))


class CheckedDecisions:
    """Checked truth and decisions, counted once for all metrics that need them."""

    def __init__(self, y_true: Any, y_pred: Any) -> None:
        labels: Labels = check_truth(y_true)
        predicted = check_predictions(in_order_of(y_true, y_pred, "y_pred"), labels)
        entries = labels.entries
        row_hits, row_false, label_hits, label_false = count_predicted(
            entries.indptr,
            entries.indices,
            entries.data,
            row_default(labels),
            predicted.indptr,
            predicted.indices,
        )

        def counts(hits: np.ndarray, false: np.ndarray, axis: int) -> DecisionCounts:
            missed = labels.n_positives(axis=axis) - hits
            return DecisionCounts(hits, false, missed, labels.n_observed(axis=axis, unlabeled=True))

        self.by_row = counts(row_hits, row_false, 1)
        self.by_label = counts(label_hits, label_false, 0)
        self.all = self.by_row.pooled()

    def by(self, average: str) -> DecisionCounts:
        return {"micro": self.all, "macro": self.by_label, "instance": self.by_row}[average]


def decide(y_true: Any, y_pred: Any) -> CheckedDecisions:
    """New counts, or those that are given in place of ``y_true`` to be shared."""
    return y_true if isinstance(y_true, CheckedDecisions) else CheckedDecisions(y_true, y_pred)


@documented
def hamming_loss(y_true: Any, y_pred: Any, *, average: str = "micro", reduce: bool = True) -> Any:
    """Return the fraction of known entries that are predicted wrongly.

    Parameters
    ----------
    average : {"micro", "macro", "instance"}, default="micro"
        All known entries alike, or first within labels, or within rows; the three differ only when
        entries are unknown.

    See Also
    --------
    subset_accuracy : whole rows.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import hamming_loss
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> predicted = np.array([[1, 0, 1], [1, 1, 0]])
    >>> round(hamming_loss(Y, predicted), 3)
    0.4
    """
    average = check_average(average, ("micro", "macro", "instance"))
    counts = decide(y_true, y_pred).by(average)
    values = ratio(counts.n_wrong, counts.n_known)
    return _conclude(values, "hamming_loss", average, reduce)


@documented
def subset_accuracy(y_true: Any, y_pred: Any, *, reduce: bool = True) -> Any:
    """Return the fraction of rows whose known entries are all predicted correctly.

    See Also
    --------
    hamming_loss : single entries.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import subset_accuracy
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> predicted = np.array([[1, 0, 1], [1, 1, 0]])
    >>> round(subset_accuracy(Y, predicted), 3)
    0.5
    """
    counts = decide(y_true, y_pred).by_row
    values = np.where(counts.n_known > 0, (counts.n_wrong == 0).astype(float), np.nan)
    return _conclude(values, "subset_accuracy", "instance", reduce)


@documented
def f1(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    undefined: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Return the F1 score, 2 TP / (2 TP + FP + FN), over known entries.

    Parameters
    ----------
    average : {"macro", "micro", "example"}, default="macro"
        Mean over labels, all entries pooled, or mean over rows ("label" is a synonym of the first,
        "instance" and "samples" of the last).
    undefined : "drop" or a number, default="drop"
        What a label (or row) with neither a relevant nor a predicted known entry contributes;
        scikit-learn's default counts it as 0.

    See Also
    --------
    jaccard : overlap without counting hits twice.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import f1
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> predicted = np.array([[1, 0, 1], [1, 1, 0]])
    >>> round(f1(Y, predicted), 3)
    0.556
    """
    return _overlap(
        y_true,
        y_pred,
        lambda c: ratio(2 * c.true_positives, 2 * c.true_positives + c.n_wrong),
        ("f1", average, undefined, reduce),
    )


@documented
def jaccard(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "example",
    undefined: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Return the Jaccard index, TP / (TP + FP + FN), over known entries.

    Parameters
    ----------
    average : {"example", "macro", "micro"}, default="example"
        As in `f1`.
    undefined : "drop" or a number, default="drop"
        As in `f1`.

    See Also
    --------
    f1 : the harmonic mean of precision and recall.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import jaccard
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> predicted = np.array([[1, 0, 1], [1, 1, 0]])
    >>> round(jaccard(Y, predicted), 3)
    0.667
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
    score: Callable[[DecisionCounts], np.ndarray],
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
