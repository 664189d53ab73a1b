"""Calibration error by sorting entries into bins one at a time."""

import math

import numpy as np


def calibration_error(entries, n_bins, strategy, norm):
    """Error of a list of (probability, truth) pairs of known entries; bins closed on the right."""
    if not entries:
        return math.nan
    edges = [b / n_bins for b in range(n_bins + 1)]
    if strategy == "quantile":
        edges = [float(np.quantile([p for p, _ in entries], e)) for e in edges]
    bins = [[] for _ in range(n_bins)]
    for probability, truth in entries:
        inner = [b for b in range(1, n_bins) if probability > edges[b]]
        bins[len(inner)].append((probability, truth))
    error = 0.0
    for members in bins:
        if not members:
            continue
        gap = abs(sum(p for p, _ in members) - sum(t for _, t in members)) / len(members)
        fraction = len(members) / len(entries)
        if norm == "max":
            error = max(error, gap)
        else:
            error += fraction * gap ** {"l1": 1, "l2": 2}[norm]
    return math.sqrt(error) if norm == "l2" else error
