"""What the encodings of other people say, as state codes: matrices, tag sets, long tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels import state_matrix
from labelgap.labels.states import (
    Parts,
    State,
    check_binary,
    check_names,
    is_missing,
    object_array,
    read_ids,
    read_matrix,
    read_values,
    shown,
    sorted_names,
    zero_state,
)

# -- matrices ----------------------------------------------------------------------------------


def parse_signed(array: Any) -> Parts:
    if sparse.issparse(array):
        entries = canonical_rows(array, "y")
        shape, values = entries.shape, entries.data
        rows, columns = state_matrix.rows_of(entries), entries.indices
    else:
        dense, gaps = read_matrix(array)
        shape = dense.shape
        rows, columns = np.nonzero((dense != 0) & ~gaps)
        values = dense[rows, columns]
    bad = np.flatnonzero(~np.isin(values, (-1, 0, 1)))
    if bad.size:
        i, j, value = rows[bad[0]], columns[bad[0]], values[bad[0]]
        raise ValueError(
            f"y[{i}, {j}] = {shown(value)} is not a signed label: use +1 (relevant), "
            "-1 (irrelevant) and 0 (unknown)"
        )
    stated = values != 0
    codes = np.where(values == 1, State.RELEVANT, State.NEGATIVE)
    entries = state_matrix.from_sorted(rows[stated], columns[stated], codes[stated], shape)
    return entries, State.UNKNOWN


def parse_sparse(positives: Any, *, observed: Any, zeros: str) -> Parts:
    if not sparse.issparse(positives):
        raise TypeError("positives: expected a scipy sparse matrix; see Labels.from_dense")
    zero = zero_state(zeros)
    ones = _binary_entries(positives, "positives")
    if observed is None:
        return ones, zero
    if not sparse.issparse(observed):
        observed = np.asarray(observed)
    if observed.shape != ones.shape:
        raise ValueError(
            f"observed has shape {observed.shape}, positives {ones.shape}: they must be equal"
        )
    if sparse.issparse(observed):
        seen_keys = state_matrix.keys_of(_binary_entries(observed, "observed"))
    else:
        seen_keys = np.flatnonzero(_check_mask(observed))
    one_keys = state_matrix.keys_of(ones)
    missing = one_keys[~np.isin(one_keys, seen_keys, assume_unique=True)]
    if missing.size:
        i, j = divmod(int(missing[0]), ones.shape[1])
        raise ValueError(
            f"positives[{i}, {j}] is 1 but observed[{i}, {j}] is False: an entry cannot be both "
            "relevant and unknown; drop it from positives or mark it observed"
        )
    return _from_masked_keys(one_keys, seen_keys, ones.shape, zero)


def _from_masked_keys(one_keys, seen_keys, shape, zero: State) -> Parts:
    """Stores the smaller of the observed zeros and the unknown entries."""
    size = shape[0] * shape[1]
    if 2 * seen_keys.size < size:
        codes = np.full(seen_keys.size, zero, dtype=np.int8)
        codes[np.searchsorted(seen_keys, one_keys)] = State.RELEVANT
        return state_matrix.from_keys(seen_keys, codes, shape), State.UNKNOWN
    hidden = np.ones(size, dtype=bool)
    hidden[seen_keys] = False
    hidden_keys = np.flatnonzero(hidden)
    keys = np.concatenate([one_keys, hidden_keys])
    codes = np.repeat(
        np.array([State.RELEVANT, State.UNKNOWN], dtype=np.int8), [one_keys.size, hidden_keys.size]
    )
    order = np.argsort(keys, kind="stable")
    return state_matrix.from_keys(keys[order], codes[order], shape), zero


def _binary_entries(matrix: Any, argument: str) -> sparse.csr_array:
    entries = canonical_rows(matrix, argument)
    bad = np.flatnonzero(~((entries.data == 1) | (entries.data == 0)))
    if bad.size:
        i, j = state_matrix.rows_of(entries)[bad[0]], entries.indices[bad[0]]
        remedy = (
            "unknown entries go into the mask, Labels.from_sparse(positives, observed=mask); "
            "counts and entries stored twice are made binary with (positives > 0)"
            if argument == "positives"
            else "use True or 1 where somebody looked"
        )
        raise ValueError(
            f"{argument}[{i}, {j}] = {shown(entries.data[bad[0]])} is neither 0 nor 1: {remedy}"
        )
    ones = np.full(entries.nnz, State.RELEVANT, dtype=np.int8)
    return state_matrix.select(entries, np.asarray(entries.data == 1), ones)


def _check_mask(mask: np.ndarray) -> np.ndarray:
    bad = np.argwhere(~np.asarray((mask == 1) | (mask == 0), dtype=bool))
    if bad.size:
        i, j = bad[0]
        raise ValueError(
            f"observed[{i}, {j}] = {shown(mask[i, j])}: use True where somebody looked"
        )
    return mask.astype(bool)


# -- tag sets ----------------------------------------------------------------------------------


def parse_tag_sets(tag_sets: Iterable, *, names: Any, zeros: str) -> tuple[Parts, np.ndarray]:
    zero = zero_state(zeros)
    rows = [None if is_missing(tags) else _tags(i, tags) for i, tags in enumerate(tag_sets)]
    if names is None:
        names = sorted_names({tag for tags in rows if tags is not None for tag in tags})
    names = object_array(names)
    check_names(names, len(names))
    order = {name: j for j, name in enumerate(names)}
    columns = [None if tags is None else _columns_of(i, tags, order) for i, tags in enumerate(rows)]
    return _stack_rows(columns, len(names), zero), names


def _tags(i: int, tags: Any) -> set:
    if isinstance(tags, (str, bytes)):
        raise ValueError(
            f"tag_sets[{i}] = {tags!r} is a string, not a collection of tags: "
            "split it first, for example tags.split(',')"
        )
    try:
        return set(tags)
    except TypeError as error:
        raise ValueError(
            f"tag_sets[{i}] = {tags!r} is not a collection of tags: give a set or list of "
            "hashable tags, or None for a row nobody looked at"
        ) from error


def _columns_of(i: int, tags: set, order: dict) -> np.ndarray:
    try:
        return np.array(sorted(order[tag] for tag in tags), dtype=np.int64)
    except KeyError as error:
        raise ValueError(
            f"tag_sets[{i}] has the tag {error.args[0]!r}, which is not in names: add it to names "
            "or drop it"
        ) from None


def _stack_rows(columns: list[np.ndarray | None], n_labels: int, zero: State) -> Parts:
    """Rows that nobody looked at are stored in full, or else all the others are."""
    n_samples, n_unknown = len(columns), sum(row is None for row in columns)
    implicit = State.UNKNOWN if 2 * n_unknown > n_samples else zero
    state_matrix.refuse_large(
        min(n_unknown, n_samples - n_unknown) * n_labels, "rows that are None"
    )
    every_label = np.arange(n_labels)
    indices, codes = [np.empty(0, np.int64)], [np.empty(0, np.int8)]
    for row in columns:
        if row is None:
            stored = every_label if implicit is zero else every_label[:0]
            states = np.full(stored.size, State.UNKNOWN, dtype=np.int8)
        elif implicit is zero:
            stored, states = row, np.full(row.size, State.RELEVANT, dtype=np.int8)
        else:
            stored, states = every_label, np.full(n_labels, zero, dtype=np.int8)
            states[row] = State.RELEVANT
        indices.append(stored)
        codes.append(states)
    row_of = np.repeat(np.arange(n_samples), [part.size for part in indices[1:]])
    entries = state_matrix.from_sorted(
        row_of, np.concatenate(indices), np.concatenate(codes), (n_samples, n_labels)
    )
    return entries, implicit


# -- long tables -------------------------------------------------------------------------------


def parse_long(items, labels, values, item_order, names) -> tuple[sparse.csr_array, np.ndarray]:
    items, labels = read_ids(items, "item"), read_ids(labels, "label")
    codes = _long_codes(values, len(items))
    if len(items) != len(labels) or len(codes) != len(items):
        raise ValueError(
            f"items, labels and values have {len(items)}, {len(labels)} and {len(codes)} lines: "
            "they must be equal"
        )
    if item_order is None:
        item_order = dict.fromkeys(items)
    if names is None:
        names = sorted_names(set(labels))
    item_order, names = list(item_order), object_array(names)
    rows = _positions(items, item_order, "item", "item_order")
    columns = _positions(labels, names.tolist(), "label", "names")
    keys = rows * max(len(names), 1) + columns
    unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    clash = np.flatnonzero(codes != codes[first][inverse])
    if clash.size:
        line = clash[0]
        raise ValueError(
            f"line {line}: item {items[line]!r}, label {labels[line]!r} was given another value "
            f"in line {first[inverse[line]]}; keep one of them"
        )
    return state_matrix.from_keys(unique, codes[first], (len(item_order), len(names))), names


def _long_codes(values: Any, n_lines: int) -> np.ndarray:
    if values is None:
        return np.full(n_lines, State.RELEVANT, dtype=np.int8)

    def place(index: tuple[int, ...]) -> str:
        return f"line {index[0]}: value"

    column = values if hasattr(values, "__array__") else list(values)
    numbers, gaps = read_values(column, place)
    codes = np.where(check_binary(numbers, gaps, place), State.RELEVANT, State.NEGATIVE)
    return np.where(gaps, State.UNKNOWN, codes).astype(np.int8)


def _positions(keys: list, order: list, what: str, argument: str) -> np.ndarray:
    position: dict[Any, int] = {}
    for p, key in enumerate(order):
        if key in position:
            raise ValueError(f"{argument}[{p}] = {key!r} is there twice; keep one of them")
        position[key] = p
    try:
        return np.fromiter((position[key] for key in keys), dtype=np.int64, count=len(keys))
    except KeyError as error:
        line = keys.index(error.args[0])
        raise ValueError(
            f"line {line}: unknown {what} {keys[line]!r}; add it to {argument} or drop the line"
        ) from None
