"""What the parts of a label matrix must satisfy, and how rows and columns are addressed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap.labels import _csr
from labelgap.labels._states import LabelWarning, State
from labelgap.labels._values import shown

if TYPE_CHECKING:
    from labelgap.labels._container import Labels


def check_entries(entries: Any) -> sparse.csr_array:
    """Canonical int8 codes in arrays of their own."""
    if np.ndim(entries) != 2:
        raise ValueError("entries must be a sparse matrix of State codes (rows x labels)")
    matrix = _csr.canonical(sparse.csr_array(entries))
    duplicate = _csr.first_duplicate(matrix)
    if duplicate is not None:
        raise ValueError(f"entries[{duplicate[0]}, {duplicate[1]}] is stored twice; keep one")
    bad = np.flatnonzero(~np.isin(matrix.data, list(State)))
    if bad.size:
        i, j = _csr.rows_of(matrix)[bad[0]], matrix.indices[bad[0]]
        raise ValueError(
            f"entries[{i}, {j}] = {shown(matrix.data[bad[0]])} is not a State code; "
            "labels coded 0/1/NaN go through Labels.from_dense or Labels.from_sparse"
        )
    return _csr.select(matrix, np.ones(matrix.nnz, dtype=bool), matrix.data.astype(np.int8))


def object_array(values: Any) -> np.ndarray:
    """One Python object per element, whatever the elements are."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def check_names(names: Sequence | np.ndarray | None, n_labels: int) -> np.ndarray | None:
    if names is None:
        return None
    if isinstance(names, (str, bytes)):
        raise TypeError(f"names={names!r} is a string: give a sequence with one name per label")
    array = object_array(names)
    if len(array) != n_labels:
        raise ValueError(
            f"names has {len(array)} entries for {n_labels} labels: give one name per column"
        )
    seen: dict[Any, int] = {}
    for j, name in enumerate(array):
        if name in seen:
            raise ValueError(
                f"names[{j}] = {name!r} is the name of label {seen[name]} too: "
                "label names must be unique; rename or merge the columns"
            )
        seen[name] = j
    return array


def check_unseen(unseen: Any, entries: sparse.csr_array) -> np.ndarray:
    n_labels = entries.shape[1]
    if unseen is None:
        return np.zeros(n_labels, dtype=bool)
    mask = np.array(unseen)
    if mask.shape != (n_labels,) or mask.dtype != bool:
        raise ValueError(f"unseen must be a boolean array of length {n_labels}")
    stored = np.flatnonzero(mask[entries.indices])
    if stored.size:
        i, j = _csr.rows_of(entries)[stored[0]], entries.indices[stored[0]]
        raise ValueError(
            f"label {j} is unseen but entries[{i}, {j}] is stored; "
            "Labels.with_unseen drops what is stored there"
        )
    return mask


def same_names(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.tolist() == second.tolist()


def split_key(key: Any) -> tuple[Any, Any]:
    """Rows and columns of an index; ``None`` for everything."""
    parts = key if isinstance(key, tuple) else (key, None)
    if len(parts) != 2:
        raise IndexError("labels have two dimensions: index with [rows] or [rows, columns]")
    rows, columns = (None if _is_everything(part) else part for part in parts)
    return rows, columns


def _is_everything(part: Any) -> bool:
    return part is Ellipsis or (isinstance(part, slice) and part == slice(None))


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


def warn_unobserved(labels: Labels, stacklevel: int) -> None:
    """Warns of the first label that no row says anything about."""
    if labels.n_rows == 0:
        return
    empty = (labels.n_observed(axis=0, ambiguous=True) == 0) & ~labels.unseen
    if empty.any():
        first = int(np.flatnonzero(empty)[0])
        name = "" if labels.names is None else f" ({labels.names[first]!r})"
        warnings.warn(
            f"label {first}{name} has no observed entry"
            + (f", nor have {int(empty.sum()) - 1} others" if empty.sum() > 1 else "")
            + ": nothing can be learned about it; drop the column, or mark it with with_unseen",
            LabelWarning,
            stacklevel=stacklevel + 1,
        )
