"""Labels from tables: frames, one collection of tags per row, long (item, label, value) tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from labelgap.labels import _csr
from labelgap.labels._checks import check_names, object_array
from labelgap.labels._matrices import Parts, pack
from labelgap.labels._states import State, zero_state
from labelgap.labels._values import check_binary, is_missing, read_values

# -- frames ------------------------------------------------------------------------------------


def parse_frame(frame: Any, *, zeros: str) -> tuple[Parts, list | None]:
    zero = zero_state(zeros)
    if hasattr(frame, "collect") or not hasattr(frame, "columns"):
        raise TypeError(
            f"frame: expected a pandas, polars or pyarrow table, got {type(frame).__name__}; "
            "collect() a lazy frame first"
        )
    names = frame_names(frame)
    check_names(names, len(names))
    if _is_sparse_frame(frame):
        parts = _sparse_frame(frame, names, zero)
    else:
        parts = _dense_frame(frame, names, zero)
    return parts, None if _is_unnamed(frame) else names


def frame_names(frame: Any) -> list:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _is_unnamed(frame: Any) -> bool:
    """Whether pandas numbered the columns because nobody named them."""
    columns = frame.columns
    return type(columns).__name__ == "RangeIndex" and list(columns) == list(range(len(columns)))


def _dense_frame(frame: Any, names: list, zero: State) -> Parts:
    table = nw.from_native(frame, eager_only=True)
    is_one, gaps = np.empty(table.shape, dtype=bool), np.empty(table.shape, dtype=bool)
    for j, name in enumerate(names):
        column, place = table[:, j], _column_place(name)
        null = column.is_null().to_numpy().astype(bool)
        values, gaps[:, j] = read_values(np.ma.MaskedArray(column.to_numpy(), mask=null), place)
        is_one[:, j] = check_binary(values, gaps[:, j], place)
    return pack(is_one, gaps, zero)


def _column_place(name: Any):
    return lambda index: f"column {name!r}, row {index[0]}: value"


def _is_sparse_frame(frame: Any) -> bool:
    """A pandas frame whose unstored entries are all zero."""
    fills = [getattr(dtype, "fill_value", None) for dtype in getattr(frame, "dtypes", ())]
    return bool(fills) and hasattr(frame, "sparse") and all(fill in (0, False) for fill in fills)


def _sparse_frame(frame: Any, names: list, zero: State) -> Parts:
    stored = sparse.csr_array(frame.sparse.to_coo())
    stored.sort_indices()
    rows = _csr.rows_of(stored)

    def place(index: tuple[int, ...]) -> str:
        entry = index[0]
        return f"column {names[stored.indices[entry]]!r}, row {rows[entry]}: value"

    values, gaps = read_values(stored.data, place)
    codes = np.where(check_binary(values, gaps, place), State.RELEVANT, State.UNKNOWN)
    return _csr.select(stored, (values != 0) | gaps, codes.astype(np.int8)), zero


# -- tag sets ----------------------------------------------------------------------------------


def parse_tag_sets(tag_sets: Iterable, *, names: Any, zeros: str) -> tuple[Parts, np.ndarray]:
    zero = zero_state(zeros)
    rows = [None if is_missing(tags) else _tags(i, tags) for i, tags in enumerate(tag_sets)]
    if names is None:
        names = _sorted_names({tag for tags in rows if tags is not None for tag in tags})
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


def _sorted_names(tags: set) -> list:
    try:
        return sorted(tags)
    except TypeError as error:
        raise ValueError(
            "the labels have several types and cannot be sorted: give their order as names="
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
    n_rows, n_unknown = len(columns), sum(row is None for row in columns)
    unstated = State.UNKNOWN if 2 * n_unknown > n_rows else zero
    _csr.refuse_large(min(n_unknown, n_rows - n_unknown) * n_labels, "rows that are None")
    every_label = np.arange(n_labels)
    indices, codes = [np.empty(0, np.int64)], [np.empty(0, np.int8)]
    for row in columns:
        if row is None:
            stored = every_label if unstated is zero else every_label[:0]
            states = np.full(stored.size, State.UNKNOWN, dtype=np.int8)
        elif unstated is zero:
            stored, states = row, np.full(row.size, State.RELEVANT, dtype=np.int8)
        else:
            stored, states = every_label, np.full(n_labels, zero, dtype=np.int8)
            states[row] = State.RELEVANT
        indices.append(stored)
        codes.append(states)
    row_of = np.repeat(np.arange(n_rows), [part.size for part in indices[1:]])
    entries = _csr.from_sorted(
        row_of, np.concatenate(indices), np.concatenate(codes), (n_rows, n_labels)
    )
    return entries, unstated


# -- long tables -------------------------------------------------------------------------------


def parse_long(items, labels, values, item_order, names) -> tuple[sparse.csr_array, np.ndarray]:
    items, labels = _keys(items, "item"), _keys(labels, "label")
    codes = _long_codes(values, len(items))
    if len(items) != len(labels) or len(codes) != len(items):
        raise ValueError(
            f"items, labels and values have {len(items)}, {len(labels)} and {len(codes)} lines: "
            "they must be equal"
        )
    if item_order is None:
        item_order = dict.fromkeys(items)
    if names is None:
        names = _sorted_names(set(labels))
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
    return _csr.from_keys(unique, codes[first], (len(item_order), len(names))), names


def _keys(column: Any, what: str) -> list:
    """The ids of a column as Python objects, so that equal ids of two types meet."""
    keys = column.tolist() if hasattr(column, "tolist") else list(column)
    distinct = set(keys)
    if any(is_missing(key) for key in distinct):
        line = next(line for line, key in enumerate(keys) if is_missing(key))
        raise ValueError(f"line {line}: the {what} is missing; drop the line")
    if any(isinstance(key, np.generic) for key in distinct):
        return [key.item() if isinstance(key, np.generic) else key for key in keys]
    return keys


def _long_codes(values: Any, n_lines: int) -> np.ndarray:
    if values is None:
        return np.full(n_lines, State.RELEVANT, dtype=np.int8)

    def place(index: tuple[int, ...]) -> str:
        return f"line {index[0]}: value"

    column = values if hasattr(values, "__array__") else list(values)
    numbers, gaps = read_values(column, place)
    codes = np.where(check_binary(numbers, gaps, place), State.RELEVANT, State.IRRELEVANT)
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
