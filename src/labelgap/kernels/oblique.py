"""Matrices with rows of length one, and the quadratic that label manifolds are made of."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["row_sweeps"]


def row_sweeps(V: np.ndarray, Z: np.ndarray, n_sweeps: int) -> np.ndarray:
    """Minimise tr(V'Z Z'V) over one row of Z at a time, all rows of length one.

    With all other rows fixed the trace is linear in z_i, apart from a constant:
    2 z_i . sum_{j != i} (v_i . v_j) z_j, so that the exact minimiser is minus that sum, scaled to
    length one; where the sum is zero every z_i is as good, and the row stays as it is.

    Parameters
    ----------
    V : array of shape (n_labels, n_factors)
    Z : array of shape (n_labels, width)
        Rows of length one; not changed.
    n_sweeps : int
        Passes over all rows, in the order of falling length of v_i, so that the result does not
        depend on the order of the labels.

    Returns
    -------
    array of shape (n_labels, width)
    """
    Z = np.array(Z, dtype=np.float64, order="C")
    V = np.ascontiguousarray(V, dtype=np.float64)
    order = np.argsort(-np.einsum("lk,lk->l", V, V), kind="stable")
    _sweep(V, Z, V.T @ Z, order, n_sweeps)
    return Z


@njit(cache=True)
def _sweep(V, Z, product, order, n_sweeps):
    """``product`` is V'Z (n_factors x width), kept up to date: a row costs k x width, not L."""
    k = V.shape[1]
    width = Z.shape[1]
    direction = np.empty(width)
    for _ in range(n_sweeps):
        for i in order:
            own = 0.0
            for f in range(k):
                own += V[i, f] * V[i, f]
            size, scale = 0.0, 0.0
            for w in range(width):
                total = 0.0
                for f in range(k):
                    total += V[i, f] * product[f, w]
                scale = max(scale, abs(total))
                direction[w] = own * Z[i, w] - total
                size += direction[w] * direction[w]
            size = np.sqrt(size)
            if size <= 1e-14 * max(scale, own) or size == 0.0:
                continue
            for w in range(width):
                new = direction[w] / size
                change = new - Z[i, w]
                Z[i, w] = new
                for f in range(k):
                    product[f, w] += V[i, f] * change
