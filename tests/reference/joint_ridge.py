"""Every column on all others, every row left out: one regression after the other."""

from __future__ import annotations

import numpy as np


def left_out_residuals(Z: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Residual of z_ij under the ridge regression of column j on the others without row i."""
    n, width = Z.shape
    found = np.empty((n, width))
    for i in range(n):
        rest = np.delete(Z, i, axis=0)
        for j in range(width):
            inputs, target = np.delete(rest, j, axis=1), rest[:, j]
            damping = np.diag(np.delete(penalty, j))
            weights = np.linalg.solve(inputs.T @ inputs + damping, inputs.T @ target)
            found[i, j] = Z[i, j] - np.delete(Z[i], j) @ weights
    return found
