"""Dense products that share numba's threads, block by block.

Loops over rows run on numba's threads. A linear algebra library with threads of its own gets in
their way: those of either side spin for a while after every piece of work, on cores that the other
needs, and a fit that goes back and forth between the two loses more than it gains. Here the library
is held to one thread, and numba's threads call it, each for blocks of rows. The blocks depend on
the number of rows alone, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from numba import njit, prange
from threadpoolctl import ThreadpoolController

__all__ = ["block_edges", "dense_times", "dense_transposed_times", "one_blas_thread"]

_LEAST_ROWS, _MOST_BLOCKS = 512, 8


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the linear algebra libraries of numpy and scipy to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def block_edges(n_rows: int) -> np.ndarray:
    """Where the blocks of rows begin and, last, where they end."""
    n_blocks = min(max(n_rows // _LEAST_ROWS, 1), _MOST_BLOCKS)
    return np.linspace(0, n_rows, n_blocks + 1).astype(np.intp)


def dense_times(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """X @ W in double precision, for C-contiguous X of single or double precision."""
    W = np.ascontiguousarray(W, dtype=np.float64)
    out = np.empty((X.shape[0], W.shape[1]))
    with one_blas_thread():
        _times(X, W, block_edges(X.shape[0]), out)
    return out


def dense_transposed_times(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """X' @ G in double precision, for C-contiguous X of single or double precision."""
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
