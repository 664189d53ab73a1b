"""How wide a Gaussian kernel is by default."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import pairwise_distances_chunked

__all__ = ["mean_distance_gamma"]


def mean_distance_gamma(X: Any) -> float:
    """1 / (2 width^2), the width being the mean distance of two different rows."""
    n_rows = X.shape[0]
    total = sum(float(block.sum()) for block in pairwise_distances_chunked(X))
    if total == 0:
        return 1.0
    return 1 / (2 * (total / (n_rows * (n_rows - 1))) ** 2)
