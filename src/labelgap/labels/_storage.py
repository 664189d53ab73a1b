"""The same entries in other storage, other entries in the same storage, at sparse cost.

An operation whose answer itself is large (all zeros of a sparse matrix, one by one) is refused
beyond a size, with the number of entries it would take, before any memory is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap.labels import _csr
from labelgap.labels._states import State
from labelgap.labels._values import shown

if TYPE_CHECKING:
    from labelgap.labels._container import Labels


def where(labels: Labels, states: tuple[State, ...]) -> sparse.csr_array:
    """The entries in any of the given states, stored or not."""
    entries = labels.entries
    keep = np.isin(entries.data, states)
    ones = np.ones(entries.nnz, dtype=bool)
    columns = np.zeros(labels.n_labels, dtype=bool)
    if labels.unstated in states:
        columns |= ~labels.unseen
    if State.UNKNOWN in states:
        columns |= labels.unseen
    if not columns.any():
        return _csr.select(entries, keep, ones)
    unstored = labels.n_rows * int(columns.sum()) - int(np.count_nonzero(columns[entries.indices]))
    _csr.refuse_large(int(keep.sum()) + unstored, "the entries in this state")
    return _csr.fill(entries, keep, ones, columns, True)


def restore(labels: Labels, unstated: State) -> sparse.csr_array:
    """The stored entries when ``unstated`` is what unstored entries mean."""
    entries = labels.entries
    keep = entries.data != unstated
    n_stored = int(keep.sum()) + labels._n_unstored()
    _csr.refuse_large(n_stored, f"everything that is not {unstated.name.lower()}")
    return _csr.fill(entries, keep, entries.data, ~labels.unseen, np.int8(labels.unstated))


def most_common_unstated(labels: Labels) -> State:
    """The state that leaves most entries unstored; the present one in a tie."""
    candidates = (State.IRRELEVANT, State.UNKNOWN, State.AMBIGUOUS)
    stored = np.bincount(labels.entries.data, minlength=5)
    counts = {state: int(stored[state]) for state in candidates}
    counts[labels.unstated] += labels._n_unstored()
    return max(candidates, key=lambda state: (counts[state], state is labels.unstated))


def same_entries(first: Labels, second: Labels) -> bool:
    """Whether all entries agree; both have the same shape and unseen labels."""
    if first.unstated is not second.unstated:
        # a cell that neither stores would differ
        if first._n_unstored() > second.entries.nnz:
            return False
        second = second.with_unstated(first.unstated)
    return all(
        np.array_equal(getattr(first.entries, part), getattr(second.entries, part))
        for part in ("indptr", "indices", "data")
    )


def column(labels: Labels, label: int, ambiguous: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which one label is known, and its values there."""
    if not -labels.n_labels <= label < labels.n_labels:
        raise IndexError(f"label {label} is outside: there are {labels.n_labels} labels")
    label = int(label) % labels.n_labels
    by_column = labels._columns()
    start, stop = by_column.indptr[label : label + 2]
    rows, codes = by_column.indices[start:stop], by_column.data[start:stop]
    known = [State.RELEVANT, State.IRRELEVANT, *([State.AMBIGUOUS] if ambiguous else [])]
    if labels.unstated in known and not labels.unseen[label]:
        full = np.full(labels.n_rows, int(labels.unstated), dtype=np.int8)
        full[rows] = codes
        rows, codes = np.arange(labels.n_rows), full
    keep = np.isin(codes, known)
    return rows[keep].astype(np.intp), (codes[keep] == State.RELEVANT).astype(np.int8)


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
    old = _csr.keys_of(labels.entries)
    stay = ~np.isin(old, keys, assume_unique=True)
    new = codes != labels.unstated
    all_keys = np.concatenate([old[stay], keys[new]])
    all_codes = np.concatenate([labels.entries.data[stay], codes[new]])
    order = np.argsort(all_keys, kind="stable")
    return _csr.from_keys(all_keys[order], all_codes[order], labels.shape)


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
    outside = (rows < 0) | (rows >= labels.n_rows) | (columns < 0) | (columns >= labels.n_labels)
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
