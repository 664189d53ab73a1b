"""Metrics of predicted probabilities, entry by entry, over the entries whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labelgap.metrics._averaging import (
    check_average,
    ratio,
    refuse_values,
    summarise,
    undefined,
)
from labelgap.metrics._inputs import check_probabilities, check_truth, entry_blocks

_AVERAGES = ("micro", "macro", "instance")


def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    average: str = "micro",
    clip: float | None = None,
    reduce: bool = True,
) -> Any:
    """Mean of -log of the probability given to the truth of an entry.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_proba : array of shape (n_rows, n_labels)
        Probabilities of relevance.
    average : {"micro", "macro", "instance"}
        All known entries alike, or first within labels, or within rows.
    clip : float, optional
        Probabilities are kept within [clip, 1 - clip]; None: the machine epsilon of their dtype.
    reduce : bool
        False returns the value of every label or row (NaN without a known entry).

    Returns
    -------
    float, or array of shape (n_labels,) or (n_rows,)
    """
    if clip is not None and not 0 <= clip < 0.5:
        raise ValueError(f"clip={clip!r}: use a number in [0, 0.5)")

    def loss(truth: np.ndarray, proba: np.ndarray) -> np.ndarray:
        margin = np.finfo(proba.dtype).eps if clip is None else clip
        bounded = np.clip(proba, margin, 1 - margin)
        with np.errstate(divide="ignore"):
            return -np.log(np.where(truth, bounded, 1 - bounded))

    return _mean_loss(y_true, y_proba, loss, "log_loss", average, reduce)


def brier(y_true: Any, y_proba: Any, *, average: str = "micro", reduce: bool = True) -> Any:
    """Mean squared difference between the probability of an entry and its truth.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_proba : array of shape (n_rows, n_labels)
        Probabilities of relevance.
    average : {"micro", "macro", "instance"}
        All known entries alike, or first within labels, or within rows.
    reduce : bool
        False returns the value of every label or row (NaN without a known entry).

    Returns
    -------
    float, or array of shape (n_labels,) or (n_rows,)
    """
    return _mean_loss(
        y_true, y_proba, lambda truth, proba: (proba - truth) ** 2, "brier", average, reduce
    )


def _mean_loss(
    y_true: Any,
    y_proba: Any,
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray],
    metric: str,
    average: str,
    reduce: bool,
) -> Any:
    average = check_average(average, _AVERAGES)
    labels = check_truth(y_true)
    proba = check_probabilities(y_proba, labels)
    by_row = np.zeros(labels.n_rows)
    by_label = np.zeros(labels.n_labels)
    for rows, truth, known in entry_blocks(labels):
        values = np.where(known, loss(truth, proba[rows]), 0.0)
        by_row[rows] = values.sum(axis=1, dtype=np.float64)
        by_label += values.sum(axis=0, dtype=np.float64)
    if average == "micro":
        refuse_values(average, reduce)
        n_known = labels.n_observed(ambiguous=True)
        return float(by_row.sum() / n_known) if n_known else undefined(metric, "nothing is known")
    if average == "macro":
        values = ratio(by_label, labels.n_observed(axis=0, ambiguous=True))
        return summarise(values, metric=metric, reduce=reduce, unit="label")
    values = ratio(by_row, labels.n_observed(axis=1, ambiguous=True))
    return summarise(values, metric=metric, reduce=reduce, unit="row")
