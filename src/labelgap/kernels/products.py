"""Products of a feature matrix (dense or CSR) with a block of columns, on all threads.

``X @ W`` and ``X' @ G`` are the cost of every regression step. The transposed product walks the
columns of ``X`` through a CSC copy, so that each output row is summed by one thread in one fixed
order: the result does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

from labelgap.kernels.array_namespace import array_namespace


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
    """Features of a dense or sparse matrix, without a copy of the rows."""
    if not sparse.issparse(X):
        is_numpy = array_namespace(X) is np
        return Features(np.ascontiguousarray(X) if is_numpy else X, None)
    rows = sparse.csr_array(X)
    return Features(rows, rows.tocsc())


def times(features: Features, W: np.ndarray) -> np.ndarray:
    """X @ W for W of shape (n_features, k)."""
    X = features.rows
    if not sparse.issparse(X):
        return X @ W
    out = np.empty((X.shape[0], W.shape[1]), dtype=np.result_type(X.dtype, W.dtype))
    _compressed_times(X.indptr, X.indices, X.data, np.ascontiguousarray(W), out)
    return out


def transposed_times(features: Features, G: np.ndarray) -> np.ndarray:
    """X' @ G for G of shape (n_rows, k)."""
    X = features.columns
    if X is None:
        return features.rows.T @ G
    out = np.empty((X.shape[1], G.shape[1]), dtype=np.result_type(X.dtype, G.dtype))
    _compressed_times(X.indptr, X.indices, X.data, np.ascontiguousarray(G), out)
    return out


def squared_transposed_times(features: Features, G: np.ndarray) -> np.ndarray:
    """(X o X)' @ G, the diagonal of X' diag(g) X for each column g of G."""
    X = features.columns
    if X is None:
        return (features.rows * features.rows).T @ G
    out = np.empty((X.shape[1], G.shape[1]), dtype=np.result_type(X.dtype, G.dtype))
    _compressed_times(X.indptr, X.indices, np.square(X.data), np.ascontiguousarray(G), out)
    return out


def linear_part(features: Features, weights: np.ndarray) -> np.ndarray:
    """X W + w_0 for weights with the intercept in their last row."""
    return times(features, weights[:-1]) + weights[-1]


def with_intercept(product: np.ndarray, summands: np.ndarray) -> np.ndarray:
    """X' G with the column sums of G below it: the same product with a column of ones in X."""
    xp = array_namespace(product)
    sums = xp.sum(summands, axis=0)[None, :]
    return np.vstack([product, sums]) if xp is np else xp.concat([product, sums], axis=0)


@njit(cache=True, parallel=True, fastmath={"contract"})
def _compressed_times(indptr, indices, data, dense, out):
    k = dense.shape[1]
    for i in prange(indptr.size - 1):
        for c in range(k):
            out[i, c] = 0
        for position in range(indptr[i], indptr[i + 1]):
            value = data[position]
            j = indices[position]
            for c in range(k):
                out[i, c] += value * dense[j, c]
