"""Slow twins of the kernels for non-negative and masked least squares."""

from __future__ import annotations

import numpy as np


def row_quadratic(shared, pattern, weights, factors):
    """The matrix of each row's quadratic: shared, plus its own terms."""
    dense = np.asarray(weights.todense())
    return np.array(
        [
            shared[p] + sum(w * np.outer(f, f) for w, f in zip(row, factors, strict=True))
            for p, row in zip(pattern, dense, strict=True)
        ]
    )


def coordinate_sweeps(Z, linear, matrices, n_sweeps):
    """One coordinate of one row at a time, each to its minimiser."""
    Z = Z.copy()
    for z, b, Q in zip(Z, linear, matrices, strict=True):
        for _ in range(n_sweeps):
            for j in range(len(z)):
                if Q[j, j] > 0:
                    z[j] = max(0.0, z[j] - (Q[j] @ z - b[j]) / Q[j, j])
    return Z


def masked_residual(Y, mask, V, F, offset):
    return np.where(mask, V @ F + offset - Y, 0.0)
