"""Metrics of predicted probabilities, over the entries whose truth is known."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from labelgap.labels import Labels
from labelgap.metrics._metric_inputs import (
    check_average,
    check_choice,
    check_probabilities,
    check_truth,
    documented,
    entry_blocks,
    in_order_of,
    ratio,
    refuse_values,
    summarise,
    undefined,
)

_AVERAGES = ("micro", "macro", "instance")


@documented
def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    average: str = "micro",
    clip: float | None = None,
    reduce: bool = True,
) -> Any:
    """Return the mean of -log of the probability given to the truth of an entry.

    Parameters
    ----------
    average : {"micro", "macro", "instance"}, default="micro"
        All known entries alike, or first within labels, or within rows.
    clip : float, default=None
        Probabilities are kept within [clip, 1 - clip]; None: the machine epsilon of their dtype.

    See Also
    --------
    brier : bounded, less severe for confident errors.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import log_loss
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(log_loss(Y, scores), 3)
    0.592
    """
    if clip is not None and not 0 <= clip < 0.5:
        raise ValueError(f"clip={clip!r}: use a number in [0, 0.5)")

    def loss(truth: np.ndarray, proba: np.ndarray) -> np.ndarray:
        margin = np.finfo(proba.dtype).eps if clip is None else clip
        bounded = np.clip(proba, margin, 1 - margin)
        with np.errstate(divide="ignore"):
            return -np.log(np.where(truth, bounded, 1 - bounded))

    return _mean_loss(y_true, y_proba, loss, "log_loss", average, reduce)


@documented
def brier(y_true: Any, y_proba: Any, *, average: str = "micro", reduce: bool = True) -> Any:
    """Return the mean squared difference between the probability of an entry and its truth.

    Parameters
    ----------
    average : {"micro", "macro", "instance"}, default="micro"
        All known entries alike, or first within labels, or within rows.

    See Also
    --------
    log_loss : severe for confident errors.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import brier
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(brier(Y, scores), 3)
    0.214
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
    proba = check_probabilities(in_order_of(y_true, y_proba, "y_proba"), labels)
    by_row = np.zeros(labels.n_samples)
    by_label = np.zeros(labels.n_labels)
    for rows, truth, known in entry_blocks(labels):
        values = np.where(known, loss(truth, proba[rows]), 0.0)
        by_row[rows] = values.sum(axis=1, dtype=np.float64)
        by_label += values.sum(axis=0, dtype=np.float64)
    if average == "micro":
        refuse_values(average, reduce)
        n_known = labels.n_observed(unlabeled=True)
        return float(by_row.sum() / n_known) if n_known else undefined(metric, "nothing is known")
    if average == "macro":
        values = ratio(by_label, labels.n_observed(axis=0, unlabeled=True))
        return summarise(values, metric=metric, reduce=reduce, unit="label")
    values = ratio(by_row, labels.n_observed(axis=1, unlabeled=True))
    return summarise(values, metric=metric, reduce=reduce, unit="row")


@documented
def calibration_error(
    y_true: Any,
    y_proba: Any,
    *,
    n_bins: int = 15,
    strategy: str = "uniform",
    norm: str = "l1",
    average: str = "micro",
    reduce: bool = True,
) -> Any:
    """Return the gap between mean probability and fraction of relevant entries, over bins.

    With n_b known entries in bin b, mean probability c_b and relevant fraction r_b::

        l1 (expected calibration error)   sum_b n_b / n |c_b - r_b|
        l2                                sqrt(sum_b n_b / n (c_b - r_b)^2)
        max                               max_b |c_b - r_b|

    Parameters
    ----------
    n_bins : int, default=15
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in [0, 1], closed on the right, or of (nearly) equal numbers of known
        entries. "quantile" holds the known entries in memory, "uniform" only the sums.
    norm : {"l1", "l2", "max"}, default="l1"
    average : {"micro", "macro"}, default="micro"
        All known entries in the same bins, or the mean over labels of their own errors.
    reduce : bool, default=True
        False, with "macro", returns the value of every label (NaN without a known entry).

    See Also
    --------
    log_loss, brier : proper scores of probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import calibration_error
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(calibration_error(Y, scores), 3)
    0.38
    """
    if not isinstance(n_bins, numbers.Integral) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r}: use a whole number, at least 1")
    check_choice("strategy", strategy, ("uniform", "quantile"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    average = check_average(average, ("micro", "macro"))
    labels = check_truth(y_true)
    proba = check_probabilities(in_order_of(y_true, y_proba, "y_proba"), labels)
    per_label = average == "macro"
    if strategy == "uniform":
        sums = _uniform_sums(labels, proba, n_bins, per_label)
    else:
        sums = _quantile_sums(labels, proba, n_bins, per_label)
    values = _error(*sums, norm)
    if per_label:
        return summarise(values, metric="calibration_error", reduce=reduce, unit="label")
    refuse_values(average, reduce)
    if np.isnan(values[0]):
        return undefined("calibration_error", "no known entry")
    return float(values[0])


def _bin(proba: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Bin of each probability, bins closed on the right."""
    return np.searchsorted(edges[1:-1], proba)


def _bin_sums(bins: np.ndarray, proba: np.ndarray, truth: np.ndarray, size: int) -> np.ndarray:
    """Number, sum of probabilities and number of relevant entries of each bin."""
    return np.stack(
        [
            np.bincount(bins, minlength=size).astype(float),
            np.bincount(bins, weights=proba, minlength=size),
            np.bincount(bins, weights=truth, minlength=size),
        ]
    )


def _uniform_sums(labels: Labels, proba: np.ndarray, n_bins: int, per_label: bool) -> np.ndarray:
    n_groups = labels.n_labels if per_label else 1
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    sums = np.zeros((3, n_groups * n_bins))
    for rows, truth, known in entry_blocks(labels):
        values = proba[rows][known]
        bins = _bin(values, edges)
        if per_label:
            bins = bins + n_bins * np.nonzero(known)[1]
        sums += _bin_sums(bins, values, truth[known], sums.shape[1])
    return sums.reshape(3, n_groups, n_bins)


def _quantile_sums(labels: Labels, proba: np.ndarray, n_bins: int, per_label: bool) -> np.ndarray:
    quantiles = np.linspace(0.0, 1.0, n_bins + 1)

    def sums(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        if values.size == 0:
            return np.zeros((3, n_bins))
        return _bin_sums(_bin(values, np.quantile(values, quantiles)), values, truth, n_bins)

    if per_label:
        parts = []
        for label in range(labels.n_labels):
            rows, truth = labels.column(label)
            parts.append(sums(proba[rows, label], truth))
        return np.stack(parts, axis=1)
    blocks = [(proba[rows][known], truth[known]) for rows, truth, known in entry_blocks(labels)]
    values, truth = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return sums(values, truth)[:, None, :]


def _error(counts: np.ndarray, proba: np.ndarray, truth: np.ndarray, norm: str) -> np.ndarray:
    """Calibration error of each group from its bins; NaN for a group without entries."""
    filled = np.maximum(counts, 1)
    gaps = np.abs(proba - truth) / filled
    totals = counts.sum(axis=1)
    fractions = counts / np.maximum(totals, 1)[:, None]
    if norm == "l1":
        errors = (fractions * gaps).sum(axis=1)
    elif norm == "l2":
        errors = np.sqrt((fractions * gaps**2).sum(axis=1))
    else:
        errors = gaps.max(axis=1)
    return np.where(totals > 0, errors, np.nan)
