"""Sparse coefficients: the smallest of each model are set to zero."""

from __future__ import annotations

import numpy as np

__all__ = ["kept_coefficients"]


def kept_coefficients(W: np.ndarray, fraction: float) -> np.ndarray:
    """Return which coefficients stay, for models in the columns of W.

    The smallest of each model go while the sum of their squares is at most this fraction of that of all.
    """
    squares = W * W
    ranked = np.sort(squares, axis=0)
    total = np.cumsum(ranked, axis=0, dtype=np.float64)
    n_dropped = (total <= fraction * total[-1:]).sum(axis=0)
    padded = np.vstack([np.zeros((1, W.shape[1]), W.dtype), ranked])
    return squares > padded[n_dropped, np.arange(W.shape[1])]
