"""Rows of features as one sparse matrix in single precision."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelgap.fitting import StoredFeatures, row_slices

_ROWS_AT_ONCE = 10_000


def scale_rows(X: sparse.csr_array) -> None:
    """Scale rows to unit length, in place; indices may be of two kinds, as long matrices need."""
    for rows in row_slices(X.shape[0], _ROWS_AT_ONCE):
        edges = X.indptr[rows.start : rows.stop + 1]
        part = X.data[edges[0] : edges[-1]]
        total = np.concatenate([[0.0], np.cumsum(np.square(part, dtype=np.float64))])
        lengths = np.sqrt(np.diff(total[edges - edges[0]]))
        part /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(edges))


def single_precision(stored: StoredFeatures) -> sparse.csr_array:
    """Return the features of all rows; beside them one block is in memory at a time."""
    counts = [_sparse(block).indptr for block in stored.blocks()]
    lengths = np.concatenate([np.diff(indptr) for indptr in counts])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    start = 0
    for block in stored.blocks():
        part = _sparse(block)
        stop = start + part.nnz
        indices[start:stop], data[start:stop] = part.indices, part.data
        start = stop
    return sparse.csr_array((data, indices, indptr), shape=stored.shape)


def _sparse(block: sparse.csr_array | np.ndarray) -> sparse.csr_array:
    return block if isinstance(block, sparse.csr_array) else sparse.csr_array(block)
