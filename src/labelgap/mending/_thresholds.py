"""Thresholds that probabilities themselves recommend."""

from __future__ import annotations

import numpy as np

__all__ = ["expected_f1_helps", "expected_f1_threshold", "expected_f1_thresholds"]


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


def expected_f1_thresholds(probabilities: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Thresholds of all columns: that of some labels by F1, 0.5 for the others."""
    thresholds = np.full(probabilities.shape[1], 0.5)
    thresholds[some] = [expected_f1_threshold(probabilities[:, label]) for label in some]
    return thresholds


def expected_f1_helps(chances: list[np.ndarray], values: list[np.ndarray]) -> bool:
    """Whether these thresholds give a larger F1 than 0.5 does, in the mean over labels."""
    gain = 0.0
    for p, y in zip(chances, values, strict=True):
        if y.any():
            gain += _f1(p > expected_f1_threshold(p), y) - _f1(p > 0.5, y)
    return gain > 0


def _f1(chosen: np.ndarray, values: np.ndarray) -> float:
    return float(2 * (chosen & (values == 1)).sum() / max(chosen.sum() + values.sum(), 1))
