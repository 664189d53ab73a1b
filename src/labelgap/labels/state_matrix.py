"""The sparse matrix of state codes behind :class:`labelgap.Labels`, and operations at sparse cost.

An operation whose answer itself is large (all zeros of a sparse matrix, one by one) is refused
beyond a size, with the number of entries it would take, before any memory is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap.labels.states import State, shown
from labelgap.memory import block_size

if TYPE_CHECKING:
    from labelgap.labels._labels import Labels

MAX_ENTRIES = 2**30


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


def row_blocks(n_samples: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows whose dense blocks stay small."""
    step = block_size(n_columns)
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


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


# -- what a matrix of codes must satisfy -----------------------------------------------------------


def check_entries(entries: Any) -> sparse.csr_array:
    """Canonical int8 codes in arrays of their own."""
    if np.ndim(entries) != 2:
        raise ValueError("entries must be a sparse matrix of State codes (rows x labels)")
    matrix = canonical(sparse.csr_array(entries))
    rows, columns = rows_of(matrix), matrix.indices
    twice = np.flatnonzero((columns[1:] == columns[:-1]) & (rows[1:] == rows[:-1]))
    if twice.size:
        i, j = rows[twice[0]], columns[twice[0]]
        raise ValueError(f"entries[{i}, {j}] is stored twice; keep one")
    bad = np.flatnonzero(~np.isin(matrix.data, list(State)))
    if bad.size:
        i, j = rows[bad[0]], columns[bad[0]]
        raise ValueError(
            f"entries[{i}, {j}] = {shown(matrix.data[bad[0]])} is not a State code; "
            "labels coded 0/1/NaN go through Labels.from_dense or Labels.from_sparse"
        )
    return select(matrix, np.ones(matrix.nnz, dtype=bool), matrix.data.astype(np.int8))


def check_unseen(unseen: Any, entries: sparse.csr_array) -> np.ndarray:
    n_labels = entries.shape[1]
    if unseen is None:
        return np.zeros(n_labels, dtype=bool)
    mask = np.array(unseen)
    if mask.shape != (n_labels,) or mask.dtype != bool:
        raise ValueError(f"unseen must be a boolean array of length {n_labels}")
    stored = np.flatnonzero(mask[entries.indices])
    if stored.size:
        i, j = rows_of(entries)[stored[0]], entries.indices[stored[0]]
        raise ValueError(
            f"label {j} is unseen but entries[{i}, {j}] is stored; "
            "Labels.with_unseen drops what is stored there"
        )
    return mask


# -- rows and columns of an index ---------------------------------------------------------------


def split_key(key: Any) -> tuple[Any, Any]:
    """Rows and columns of an index; ``None`` for everything."""
    parts = key if isinstance(key, tuple) else (key, None)
    if len(parts) != 2:
        raise IndexError("labels have two dimensions: index with [rows] or [rows, columns]")
    rows, columns = (
        None if part is Ellipsis or (isinstance(part, slice) and part == slice(None)) else part
        for part in parts
    )
    return rows, columns


def as_index(key: Any, size: int, axis: str) -> Any:
    """Positions (or a slice) along one axis; a single number keeps the axis."""
    if isinstance(key, slice):
        return key
    index = np.atleast_1d(np.asarray(key))
    if index.ndim > 1:
        raise IndexError(f"index of {axis}s with {index.ndim} dimensions: give a flat one")
    if index.dtype == bool:
        if index.shape != (size,):
            raise IndexError(f"boolean index of length {len(index)} for {size} {axis}s")
        return np.flatnonzero(index)
    if index.size and index.dtype.kind not in "iu":
        raise IndexError(f"index of {axis}s {key!r}: use integers, booleans or a slice")
    index = index.astype(np.intp)
    outside = np.flatnonzero((index < -size) | (index >= size))
    if outside.size:
        raise IndexError(f"{axis} {index[outside[0]]} is outside: there are {size} {axis}s")
    return index


# -- entries of labels ---------------------------------------------------------------------------


def restore(labels: Labels, implicit: State) -> sparse.csr_array:
    """The stored entries when ``implicit`` is what unstored entries mean."""
    entries = labels.entries
    keep = entries.data != implicit
    n_stored = int(keep.sum()) + labels._n_unstored()
    refuse_large(n_stored, f"everything that is not {implicit.name.lower()}")
    return fill(entries, keep, entries.data, ~labels.unseen, np.int8(labels.implicit))


def most_common_implicit(labels: Labels) -> State:
    """The state that leaves most entries unstored; the present one in a tie."""
    candidates = (State.NEGATIVE, State.UNKNOWN, State.UNLABELED)
    stored = np.bincount(labels.entries.data, minlength=5)
    counts = {state: int(stored[state]) for state in candidates}
    counts[labels.implicit] += labels._n_unstored()
    return max(candidates, key=lambda state: (counts[state], state is labels.implicit))


def same_entries(first: Labels, second: Labels) -> bool:
    """Whether all entries agree; both have the same shape and unseen labels."""
    if first.implicit is not second.implicit:
        # a cell that neither stores would differ
        if first._n_unstored() > second.entries.nnz:
            return False
        second = second.with_implicit(first.implicit)
    return all(
        np.array_equal(getattr(first.entries, part), getattr(second.entries, part))
        for part in ("indptr", "indices", "data")
    )


def overwrite(labels: Labels, rows: Any, columns: Any, states: Any) -> sparse.csr_array:
    """The stored entries after setting states at coordinates."""
    rows, columns, codes = _coordinates(labels, rows, columns, states)
    keys, first, inverse = np.unique(
        rows * labels.n_labels + columns, return_index=True, return_inverse=True
    )
    clash = np.flatnonzero(codes != codes[first][inverse])
    if clash.size:
        at = (int(rows[clash[0]]), int(columns[clash[0]]))
        raise ValueError(f"entry {at} is given two states; keep one of them")
    outside = labels.unseen[columns[first]]
    keys, codes = keys[~outside], codes[first][~outside]
    old = keys_of(labels.entries)
    stay = ~np.isin(old, keys, assume_unique=True)
    new = codes != labels.implicit
    all_keys = np.concatenate([old[stay], keys[new]])
    all_codes = np.concatenate([labels.entries.data[stay], codes[new]])
    order = np.argsort(all_keys, kind="stable")
    return from_keys(all_keys[order], all_codes[order], labels.shape)


def _coordinates(labels: Labels, rows: Any, columns: Any, states: Any) -> list[np.ndarray]:
    given = [np.atleast_1d(np.asarray(part)) for part in (rows, columns, states)]
    for name, part in zip(("rows", "columns"), given[:2], strict=True):
        if part.size and part.dtype.kind not in "iu":
            raise IndexError(f"{name} has the type {part.dtype}: give integer positions")
    try:
        rows, columns, codes = (part.ravel() for part in np.broadcast_arrays(*given))
    except ValueError as error:
        sizes = ", ".join(str(part.size) for part in given)
        raise ValueError(f"rows, columns and states have unequal sizes: {sizes}") from error
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    outside = (rows < 0) | (rows >= labels.n_samples) | (columns < 0) | (columns >= labels.n_labels)
    bad = np.flatnonzero(outside)
    if bad.size:
        raise IndexError(f"entry ({rows[bad[0]]}, {columns[bad[0]]}) is outside {labels.shape}")
    bad = np.flatnonzero(~np.isin(codes, list(State)))
    if bad.size:
        at = (int(rows[bad[0]]), int(columns[bad[0]]))
        raise ValueError(
            f"entry {at}: {shown(codes[bad[0]])} is not a State; use State.RELEVANT, ..."
        )
    bad = np.flatnonzero(labels.unseen[columns] & (codes != State.UNKNOWN))
    if bad.size:
        raise ValueError(
            f"entry ({rows[bad[0]]}, {columns[bad[0]]}): label {columns[bad[0]]} is unseen and "
            "cannot hold a state"
        )
    return [rows, columns, codes.astype(np.int8)]
