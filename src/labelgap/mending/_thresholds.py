"""Thresholds that probabilities themselves recommend."""

from __future__ import annotations

import numpy as np

__all__ = ["expected_f1_threshold"]


def expected_f1_threshold(probabilities: np.ndarray) -> float:
    """The threshold with the largest expected F1 score, were the probabilities true.

    With the m largest of them decided relevant, expected hits are their sum S_m, and
    F1 is about 2 S_m / (m + S_n).
    """
    ordered = np.sort(probabilities)[::-1]
    sums = np.cumsum(ordered)
    if not sums.size or sums[-1] <= 0:
        return 0.5
    promised = 2 * sums / (np.arange(1, ordered.size + 1) + sums[-1])
    best = int(np.argmax(promised))
    below = ordered[best + 1] if best + 1 < ordered.size else 0.0
    return float((ordered[best] + below) / 2)
