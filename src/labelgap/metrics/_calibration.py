"""How far predicted probabilities are from the frequencies they promise."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from labelgap.labels import Labels
from labelgap.metrics._averaging import check_average, refuse_values, summarise, undefined
from labelgap.metrics._inputs import check_choice, check_probabilities, check_truth, entry_blocks


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
    """Gap between mean probability and share of relevant entries, over bins of probability.

    With n_b known entries in bin b, mean probability c_b and relevant share r_b::

        l1 (expected calibration error)   sum_b n_b / n |c_b - r_b|
        l2                                sqrt(sum_b n_b / n (c_b - r_b)^2)
        max                               max_b |c_b - r_b|

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_proba : array of shape (n_rows, n_labels)
        Probabilities of relevance.
    n_bins : int
    strategy : {"uniform", "quantile"}
        Bins of equal width in [0, 1], closed on the right, or of (nearly) equal numbers of known
        entries. "quantile" holds the known entries in memory, "uniform" only the sums.
    norm : {"l1", "l2", "max"}
    average : {"micro", "macro"}
        All known entries in the same bins, or the mean over labels of their own errors.
    reduce : bool
        False, with "macro", returns the value of every label (NaN without a known entry).

    Returns
    -------
    float, or array of shape (n_labels,)
    """
    if not isinstance(n_bins, numbers.Integral) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r}: use a whole number, at least 1")
    check_choice("strategy", strategy, ("uniform", "quantile"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    average = check_average(average, ("micro", "macro"))
    labels = check_truth(y_true)
    proba = check_probabilities(y_proba, labels)
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
    shares = counts / np.maximum(totals, 1)[:, None]
    if norm == "l1":
        errors = (shares * gaps).sum(axis=1)
    elif norm == "l2":
        errors = np.sqrt((shares * gaps**2).sum(axis=1))
    else:
        errors = gaps.max(axis=1)
    return np.where(totals > 0, errors, np.nan)
