"""Assembly of the sparse matrix of state codes, and small operations on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

MAX_ENTRIES = 2**30
_BLOCK_CELLS = 2**22


def from_keys(keys: np.ndarray, codes: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """CSR matrix of int8 codes from unique, sorted flat keys ``row * n_labels + column``."""
    rows, columns = np.divmod(keys, max(shape[1], 1))
    return from_sorted(rows, columns, codes, shape)


def from_sorted(rows, columns, codes, shape: tuple[int, int]) -> sparse.csr_array:
    """CSR matrix of int8 codes from coordinates in row-major order."""
    indptr = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    return _csr(codes, columns, indptr, shape)


def select(matrix: sparse.csr_array, keep: np.ndarray, data=None) -> sparse.csr_array:
    """The stored entries for which ``keep`` is true, with other data when given, as a copy."""
    data = matrix.data if data is None else data
    counts = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    indptr = counts[matrix.indptr]
    return _csr(data[keep], matrix.indices[keep], indptr, matrix.shape, dtype=data.dtype)


def fill(
    matrix: sparse.csr_array, keep: np.ndarray, data: np.ndarray, columns: np.ndarray, value: Any
) -> sparse.csr_array:
    """The stored entries that ``keep`` marks, and ``value`` wherever ``columns`` store nothing.

    Dense blocks of a few rows at a time; the result is allocated once, at its final size.
    """
    inside = columns[matrix.indices]
    filled, local = np.flatnonzero(columns), np.cumsum(columns) - 1
    rows = rows_of(matrix)
    taken = np.bincount(rows[inside & ~keep], minlength=matrix.shape[0])
    indptr = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
    np.cumsum(filled.size - taken, out=indptr[1:])
    indices = np.empty(indptr[-1], dtype=_index_type(indptr[-1], matrix.shape))
    values = np.empty(indptr[-1], dtype=data.dtype)
    for block in row_blocks(matrix.shape[0], filled.size):
        stored = slice(matrix.indptr[block.start], matrix.indptr[block.stop])
        there = inside[stored]
        at = (rows[stored][there] - block.start, local[matrix.indices[stored][there]])
        dense = np.full((block.stop - block.start, filled.size), value, dtype=data.dtype)
        dense[at] = np.where(keep[stored], data[stored], 0)[there]
        new = slice(indptr[block.start], indptr[block.stop])
        if new.stop - new.start == dense.size:
            indices[new], values[new] = np.tile(filled, len(dense)), dense.ravel()
        else:
            where = np.flatnonzero(dense)
            indices[new], values[new] = filled[where % filled.size], dense.ravel()[where]
    result = _csr(values, indices, indptr, matrix.shape, dtype=data.dtype)
    return result if inside.all() else result + select(matrix, keep & ~inside, data)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows whose dense blocks stay small."""
    step = max(1, _BLOCK_CELLS // max(n_columns, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def refuse_large(n_entries: int, what: str) -> None:
    """Raise before an answer with too many entries is written out one by one."""
    if n_entries > MAX_ENTRIES:
        raise ValueError(
            f"{what}: there are {n_entries:.3g} of them, too many to store one by one; work on "
            "blocks of rows (labels[start:stop]), or ask for the other entries"
        )


def keys_of(matrix: sparse.csr_array) -> np.ndarray:
    """Flat keys ``row * n_labels + column`` of the stored entries, ascending."""
    return rows_of(matrix).astype(np.int64) * matrix.shape[1] + matrix.indices


def rows_of(matrix: sparse.csr_array) -> np.ndarray:
    """The row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def canonical(matrix: sparse.csr_array) -> sparse.csr_array:
    """Sorted column indices within each row; duplicates are the caller's business."""
    if not matrix.has_sorted_indices:
        matrix = matrix.copy()
        matrix.sort_indices()
    return matrix


def first_duplicate(matrix: sparse.csr_array) -> tuple[int, int] | None:
    """Coordinates of the first entry that is stored twice, for sorted indices."""
    same = matrix.indices[1:] == matrix.indices[:-1]
    rows = rows_of(matrix)
    where = np.flatnonzero(same & (rows[1:] == rows[:-1]))
    return (int(rows[where[0]]), int(matrix.indices[where[0]])) if where.size else None


def _csr(data, indices, indptr, shape, dtype=np.int8) -> sparse.csr_array:
    # one index type for both arrays: scipy would otherwise copy them on every operation
    index = _index_type(indptr[-1], shape)
    parts: tuple[np.ndarray, np.ndarray, np.ndarray] = (
        np.asarray(data, dtype=dtype),
        np.asarray(indices, dtype=index),
        np.asarray(indptr, dtype=index),
    )
    matrix = sparse.csr_array(parts, shape=shape)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def _index_type(n_entries: int, shape: tuple[int, int]) -> type:
    return np.int32 if max(int(n_entries), *shape) < np.iinfo(np.int32).max else np.int64
