"""Products of feature matrices with blocks of columns, and weighted Gram matrices.

``X @ W`` and ``X' @ G`` are the cost of every regression step. The transposed product walks the
columns of a sparse ``X`` through a CSC copy, so that each output row is summed by one thread in one
fixed order: the result does not depend on the number of threads.

Loops over rows run on numba's threads. A linear algebra library with threads of its own gets in
their way: those of either side spin for a while after every piece of work, on cores that the other
needs, and a fit that goes back and forth between the two loses more than it gains.
:func:`one_blas_thread` holds the library to one thread, and :func:`dense_times` calls it from numba's
threads for blocks of rows, which depend on the number of rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse
from threadpoolctl import ThreadpoolController

from labelgap.kernels.array_namespace import array_namespace

__all__ = [
    "Features",
    "block_edges",
    "dense_times",
    "dense_transposed_times",
    "linear_part",
    "one_blas_thread",
    "prepare_features",
    "squared_transposed_times",
    "times",
    "transposed_times",
    "weighted_gram",
    "with_intercept",
]

_LEAST_ROWS, _MOST_BLOCKS = 512, 8


class Features(NamedTuple):
    """A feature matrix ready for products in both directions.

    ``rows`` is the matrix itself (a dense array of any library of the array API standard, or a
    CSR matrix); ``columns`` its CSC copy when sparse.
    """

    rows: Any
    columns: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype


def prepare_features(X: Any) -> Features:
    """Return features of a dense or sparse matrix, without a copy of the rows."""
    if not sparse.issparse(X):
        is_numpy = array_namespace(X) is np
        return Features(np.ascontiguousarray(X) if is_numpy else X, None)
    rows = sparse.csr_array(X)
    return Features(rows, rows.tocsc())


def times(features: Features, W: np.ndarray) -> np.ndarray:
    """Return X @ W for W of shape (n_features, k)."""
    X = features.rows
    if not sparse.issparse(X):
        return X @ W
    out = np.empty((X.shape[0], W.shape[1]), dtype=np.result_type(X.dtype, W.dtype))
    _compressed_times(X.indptr, X.indices, X.data, np.ascontiguousarray(W), out)
    return out


def transposed_times(features: Features, G: np.ndarray) -> np.ndarray:
    """Return X' @ G for G of shape (n_samples, k)."""
    X = features.columns
    if X is None:
        return features.rows.T @ G
    out = np.empty((X.shape[1], G.shape[1]), dtype=np.result_type(X.dtype, G.dtype))
    _compressed_times(X.indptr, X.indices, X.data, np.ascontiguousarray(G), out)
    return out


def squared_transposed_times(features: Features, G: np.ndarray) -> np.ndarray:
    """Return (X o X)' @ G, the diagonal of X' diag(g) X for each column g of G."""
    X = features.columns
    if X is None:
        return (features.rows * features.rows).T @ G
    out = np.empty((X.shape[1], G.shape[1]), dtype=np.result_type(X.dtype, G.dtype))
    _compressed_times(X.indptr, X.indices, np.square(X.data), np.ascontiguousarray(G), out)
    return out


def linear_part(features: Features, weights: np.ndarray) -> np.ndarray:
    """Return X W + w_0 for weights with the intercept in their last row."""
    return times(features, weights[:-1]) + weights[-1]


def with_intercept(product: np.ndarray, summands: np.ndarray) -> np.ndarray:
    """Return X' G with the column sums of G below it: the same product with a column of ones in X."""
    xp = array_namespace(product)
    sums = xp.sum(summands, axis=0)[None, :]
    return np.vstack([product, sums]) if xp is np else xp.concat([product, sums], axis=0)


@njit(cache=True, parallel=True, fastmath={"contract"})
def _compressed_times(indptr, indices, data, dense, out):
    k = dense.shape[1]
    for i in prange(indptr.size - 1):
        for c in range(k):
            out[i, c] = 0
        position, stop = indptr[i], indptr[i + 1]
        # four at a time: a sum is read and written once for all of them; unsigned indices need no
        # check for counting from the end
        while position + 4 <= stop:
            x0, x1 = data[position], data[position + 1]
            x2, x3 = data[position + 2], data[position + 3]
            j0, j1 = np.uint32(indices[position]), np.uint32(indices[position + 1])
            j2, j3 = np.uint32(indices[position + 2]), np.uint32(indices[position + 3])
            for c in range(k):
                four = x0 * dense[j0, c] + x1 * dense[j1, c] + x2 * dense[j2, c]
                out[i, c] += four + x3 * dense[j3, c]
            position += 4
        while position < stop:
            value, j = data[position], np.uint32(indices[position])
            for c in range(k):
                out[i, c] += value * dense[j, c]
            position += 1


def weighted_gram(features: Features, weights: np.ndarray) -> np.ndarray:
    """Return one Gram matrix per column of ``weights`` (n x k); shape (k, d + 1, d + 1).

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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the linear algebra libraries of numpy and scipy to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def block_edges(n_samples: int) -> np.ndarray:
    """Return where the blocks of rows begin and, last, where they end."""
    n_blocks = min(max(n_samples // _LEAST_ROWS, 1), _MOST_BLOCKS)
    return np.linspace(0, n_samples, n_blocks + 1).astype(np.intp)


def dense_times(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return X @ W in double precision, for C-contiguous X of single or double precision."""
    W = np.ascontiguousarray(W, dtype=np.float64)
    out = np.empty((X.shape[0], W.shape[1]))
    with one_blas_thread():
        _times(X, W, block_edges(X.shape[0]), out)
    return out


def dense_transposed_times(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return X' @ G in double precision, for C-contiguous X of single or double precision."""
    G = np.ascontiguousarray(G, dtype=np.float64)
    with one_blas_thread():
        return _transposed_times(X, G, block_edges(X.shape[0])).sum(axis=0)


@njit(cache=True, parallel=True)
def _times(X, W, edges, out):
    for b in prange(edges.size - 1):
        rows = slice(edges[b], edges[b + 1])
        np.dot(X[rows].astype(np.float64), W, out[rows])


@njit(cache=True, parallel=True)
def _transposed_times(X, G, edges):
    parts = np.empty((edges.size - 1, X.shape[1], G.shape[1]))
    for b in prange(edges.size - 1):
        rows = slice(edges[b], edges[b + 1])
        np.dot(X[rows].astype(np.float64).T, G[rows], parts[b])
    return parts
