"""Weighted Gram matrices X' diag(g) X, with a column of ones added to X."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from labelgap.kernels.array_namespace import array_namespace
from labelgap.kernels.products import Features, transposed_times


def weighted_gram(features: Features, weights: np.ndarray) -> np.ndarray:
    """One Gram matrix per column of ``weights`` (n x k); shape (k, d + 1, d + 1).

    The last row and column belong to the intercept. Features of another library than numpy are
    dense.
    """
    xp = array_namespace(features.rows)
    if xp is not np:
        X = features.rows.T
        X = xp.concat([X, xp.ones_like(X[:1])], axis=0)
        return xp.stack([(X * weights[:, c]) @ X.T for c in range(weights.shape[1])])
    d, k = features.shape[1], weights.shape[1]
    out = np.zeros((k, d + 1, d + 1), dtype=np.result_type(features.dtype, weights.dtype))
    X = features.rows
    if sparse.issparse(X):
        _sparse_gram(X.indptr, X.indices, X.data, weights, out)
        for matrix in out:
            matrix += np.tril(matrix, -1).T
    else:
        for c in range(k):
            out[c, :d, :d] = X.T @ (weights[:, c, None] * X)
    edge = transposed_times(features, weights).T
    out[:, d, :d] = edge
    out[:, :d, d] = edge
    out[:, d, d] = weights.sum(axis=0)
    return out


@njit(cache=True, parallel=True)
def _sparse_gram(indptr, indices, data, weights, out):
    for c in prange(weights.shape[1]):
        for n in range(indptr.size - 1):
            g = weights[n, c]
            for a in range(indptr[n], indptr[n + 1]):
                value = g * data[a]
                i = indices[a]
                for b in range(indptr[n], indptr[n + 1]):
                    if indices[b] <= i:
                        out[c, i, indices[b]] += value * data[b]
