"""Slow twin of the weighted ridge solves: one row and one feature at a time."""

from __future__ import annotations

import numpy as np


def gram_matrices(weights, F):
    """sum_j w_ij f_j f_j' in double precision."""
    weights, F = np.asarray(weights, dtype=float), np.asarray(F, dtype=float)
    out = np.zeros((weights.shape[0], F.shape[1], F.shape[1]))
    for i, row in enumerate(weights):
        for j, w in enumerate(row):
            out[i] += w * np.outer(F[j], F[j])
    return out


def pack(matrices):
    """The lower triangles, row by row."""
    k = matrices.shape[1]
    rows = [[A[a, b] for a in range(k) for b in range(a + 1)] for A in matrices]
    return np.array(rows).reshape(len(matrices), k * (k + 1) // 2)


def solve(grams, right_side, ridge, noise=None):
    """z, log determinants and inverses of grams + diag(ridge)."""
    n, k = right_side.shape
    ridge = np.broadcast_to(np.asarray(ridge, dtype=float), (n, k))
    z, log_det, inverse = np.zeros((n, k)), np.zeros(n), np.zeros((n, k, k))
    for i in range(n):
        A = grams[i] + np.diag(ridge[i])
        z[i] = np.linalg.solve(A, right_side[i])
        if noise is not None:
            z[i] += np.linalg.solve(np.linalg.cholesky(A).T, noise[i])
        log_det[i] = np.linalg.slogdet(A)[1]
        inverse[i] = np.linalg.inv(A)
    return z, log_det, inverse
