"""Tables of labels: a column per label in one of many spellings, or one column that lists them."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from labelgap.labels import state_matrix
from labelgap.labels._label_readers import parse_tag_sets
from labelgap.labels._tag_cells import (
    TagCells,
    are_collections,
    is_matrix,
    one_per_row,
    read_tag_cells,
    tag_order,
)
from labelgap.labels.states import (
    CODINGS,
    LabelCellError,
    Parts,
    State,
    check_binary,
    check_names,
    is_missing,
    pack,
    read_values,
    shown,
    zero_state,
)

_YES = frozenset(
    "1 1.0 true t yes y x ✓ ✔ ☑ on relevant positive present "  # noqa: SIM905
    "ja wahr oui vrai sí si sì verdadero vero sim verdadeiro".split()
)
_NO = frozenset(
    "0 0.0 false f no n ☐ off irrelevant negative absent "  # noqa: SIM905
    "nein falsch non faux falso não nee onwaar".split()
)
_UNKNOWN = frozenset("? nan na n/a none null unknown <na>".split())  # noqa: SIM905
_MOST_SHOWN = 4


class LabelTable(NamedTuple):
    """What a table says of labels: state codes, names, and a sentence of how it was read."""

    parts: Parts
    names: list | np.ndarray | None
    sentence: str


def parse_frame(
    frame: Any, *, zeros: str, separator: str = "auto", empty: str = "auto"
) -> LabelTable:
    """Return the labels of a table, of any library that narwhals knows."""
    zero = zero_state(zeros)
    if empty not in ("auto", "zero", "unknown"):
        raise ValueError(f"empty={empty!r}: use 'auto', 'zero' or 'unknown'")
    if hasattr(frame, "collect") or not hasattr(frame, "columns"):
        raise TypeError(
            f"frame: expected a pandas, polars or pyarrow table, got {type(frame).__name__}; "
            "collect() a lazy frame first"
        )
    names = frame_names(frame)
    check_names(names, len(names))
    shown_names = None if has_default_names(frame) else names
    if _is_sparse_frame(frame):
        parts = _sparse_frame(frame, names, zero)
        return LabelTable(parts, shown_names, f"read {len(names):,} label columns")
    table = nw.from_native(frame, eager_only=True)
    if len(names) == 1:
        cells = _cells_if_listed(table[:, 0], separator, empty)
        if cells is not None:
            return tag_table(cells, f"column {names[0]!r}", zeros)
    is_one, gaps, sentence = _wide(table, names, empty)
    return LabelTable(pack(is_one, gaps, zero), shown_names, sentence)


def tag_table(cells: TagCells, place: str, zeros: str) -> LabelTable:
    """Return the labels of a column that lists them."""
    order = tag_order(cells.rows) if all(map(_is_text, cells.rows)) else None
    parts, names = parse_tag_sets(cells.rows, names=order, zeros=zeros)
    n_unknown = sum(row is None for row in cells.rows)
    n_none = sum(not row for row in cells.rows) - n_unknown
    more = f"; {n_none:,} rows list none" if n_none else ""
    more += f"; {n_unknown:,} empty cells are unknown" if n_unknown else ""
    return LabelTable(parts, names, f"read {len(names):,} tags from {place}, {cells.written}{more}")


def _is_text(row: set | None) -> bool:
    return row is None or all(isinstance(tag, str) for tag in row)


def _cells_if_listed(column: Any, separator: str, empty: str) -> TagCells | None:
    """The cells of a column that lists labels; None where it says yes or no to one label."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return None
    cells = column.to_list()
    if are_collections(cells):
        return read_tag_cells(cells, empty=empty)
    words = {str(cell).strip().casefold() for cell in cells if not is_missing(cell)}
    if separator == "auto" and words <= _KNOWN:
        return None
    tags = read_tag_cells(cells, separator=separator, empty=empty)
    # a word among yes and no is a mistake, and no class
    return one_per_row(cells, empty) if tags is None and not words & (_YES | _NO) else tags


_KNOWN = _YES | _NO | _UNKNOWN | {""}


def frame_names(frame: Any) -> list:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def has_default_names(frame: Any) -> bool:
    """Whether pandas numbered the columns because nobody named them."""
    names = frame_names(frame)
    return type(frame.columns).__name__ == "RangeIndex" and names == list(range(len(names)))


# -- a column per label -------------------------------------------------------------------------


def _wide(table: Any, names: list, empty: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Where entries are 1, where they are unknown, and how they were written."""
    is_one, gaps = np.empty(table.shape, dtype=bool), np.empty(table.shape, dtype=bool)
    blank, written = np.zeros(table.shape, dtype=bool), dict[str, None]()
    for j, name in enumerate(names):
        is_one[:, j], gaps[:, j], blank[:, j] = _read_column(table[:, j], name, written)
    no_zero = bool(written) and not (~is_one & ~gaps).any()
    if empty == "zero" or (empty == "auto" and no_zero):
        gaps &= ~blank
    words = [repr(word) for word in written]
    more = ", ..." if len(words) > _MOST_SHOWN else ""
    spelled = f", written as {', '.join(words[:_MOST_SHOWN])}{more}" if words else ""
    n_blank = int(blank.sum())
    means = "unknown" if (gaps & blank).any() else "zeros"
    filled = f"; {n_blank:,} empty cells are {means}" if n_blank else ""
    return is_one, gaps, f"read {len(names):,} label columns{spelled}{filled}"


def read_label_column(column: Any) -> np.ndarray:
    """Return 1, 0 and NaN from a column of a table whose cells say yes, no or nothing.

    Parameters
    ----------
    column : series of pandas or polars

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.labels import read_label_column
    >>> read_label_column(pd.Series(["yes", "no", None]))
    array([ 1.,  0., nan])
    """
    cells = nw.from_native(column, series_only=True)
    is_one, gaps, _ = _read_column(cells, cells.name, {})
    return np.where(gaps, np.nan, is_one)


def _read_column(
    column: Any, name: Any, written: dict[str, None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where cells say yes, where they say nothing, and where they are empty."""
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return _words(column.to_list(), name, written)
    null = column.is_null().to_numpy().astype(bool)
    is_one, gaps = _numbers(np.ma.MaskedArray(column.to_numpy(), mask=null), name)
    return is_one, gaps, gaps


def _numbers(cells: Any, name: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where cells are 1, and where they are empty."""
    values, gaps = read_values(cells, _place(name))
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~gaps)
    if wrong.size:
        row, value = int(wrong[0]), values[wrong[0]]
        raise LabelCellError(name, row, value, f"{_place(name)((row,))} = {shown(value)} {_WRONG}")
    return (values == 1) & ~gaps, gaps


def _words(
    cells: list, name: Any, written: dict[str, None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where cells say yes, where they say nothing, and where they are empty."""
    is_one = np.zeros(len(cells), dtype=bool)
    gaps, blank = is_one.copy(), is_one.copy()
    for row, cell in enumerate(cells):
        word = "" if is_missing(cell) else str(cell).strip().casefold()
        if not word:
            gaps[row] = blank[row] = True
            continue
        is_one[row], gaps[row] = word in _YES, word in _UNKNOWN
        if word not in _KNOWN:
            raise LabelCellError(
                name, row, cell, f"{_place(name)((row,))} = {shown(cell)} {_WRONG}"
            )
        if word[0] not in "01":
            written.setdefault(str(cell).strip())
    return is_one, gaps, blank


_WRONG = (
    f"is not a label state: {CODINGS}. A column that lists labels, such as 'a;b', is read alone, and "
    "a long table of items and labels with Labels.from_long"
)


def _place(name: Any):
    return lambda index: f"column {name!r}, row {index[0]}: value"


# -- sparse frames of pandas --------------------------------------------------------------------


def _is_sparse_frame(frame: Any) -> bool:
    """A pandas frame whose unstored entries are all zero."""
    fills = [getattr(dtype, "fill_value", None) for dtype in getattr(frame, "dtypes", ())]
    return bool(fills) and hasattr(frame, "sparse") and all(fill in (0, False) for fill in fills)


def _sparse_frame(frame: Any, names: list, zero: State) -> Parts:
    stored = sparse.csr_array(frame.sparse.to_coo())
    stored.sort_indices()
    rows = state_matrix.rows_of(stored)

    def place(index: tuple[int, ...]) -> str:
        entry = index[0]
        return f"column {names[stored.indices[entry]]!r}, row {rows[entry]}: value"

    values, gaps = read_values(stored.data, place)
    codes = np.where(check_binary(values, gaps, place), State.RELEVANT, State.UNKNOWN)
    return state_matrix.select(stored, (values != 0) | gaps, codes.astype(np.int8)), zero


# -- one column -----------------------------------------------------------------------------------


def tag_sets_of(tag_sets: Any, names: Any, separator: str, empty: str) -> tuple[Any, Any]:
    """Return collections of tags, from texts where they are, and the order of the tags."""
    cells = list(tag_sets)
    if not _are_texts(cells):
        return cells, names
    tags = read_tag_cells(cells, separator=separator, empty=empty) or one_per_row(cells, empty)
    return tags.rows, tag_order(tags.rows) if names is None else names


def parse_vector(y: Any, *, zeros: str) -> LabelTable | None:
    """Return the labels of a vector that lists them; None where it holds classes or a matrix.

    Categories are classes. Text with a separator lists labels; with commas only where the parts
    recur in other cells, as those of names such as "Smith, John" do not.
    """
    cells = _cells_of(y)
    if cells is None or _is_matrix(y, cells):
        return None
    tags = read_tag_cells(cells)
    if tags is not None and not tags.is_certain:
        row = next(row for row, cell in enumerate(cells) if "," in str(cell))
        raise ValueError(
            f"y[{row}] = {cells[row]!r} could be one class or a list of labels: give labels as "
            "Labels.from_tag_sets(y, separator=','), and classes as a categorical column or as "
            "numbers"
        )
    return None if tags is None else tag_table(tags, "y", zeros)


def _cells_of(y: Any) -> list | None:
    """The cells of a vector of text or collections, or None."""
    dtype = getattr(y, "dtype", None)
    if str(dtype).casefold().startswith(("category", "categorical", "enum")):
        return None
    if not isinstance(y, (list, tuple)):
        is_vector = len(getattr(y, "shape", ())) == 1
        if not is_vector or getattr(dtype, "kind", "O") not in "OUST":
            return None
    cells = y.to_list() if hasattr(y, "to_list") else list(y)
    return cells if _are_texts(cells) or are_collections(cells) else None


def _is_matrix(y: Any, cells: list) -> bool:
    """Lists of numbers are rows of a matrix, unless a column holds others than 0 and 1."""
    if not are_collections(cells):
        return False
    there = [cell for cell in cells if not is_missing(cell)]
    if any(isinstance(cell, (set, frozenset)) for cell in there):
        return False
    has_text = any(isinstance(tag, str) for cell in there for tag in cell)
    return not has_text and (isinstance(y, (list, tuple)) or is_matrix(cells))


def _are_texts(cells: list) -> bool:
    there = [cell for cell in cells if not is_missing(cell)]
    return bool(there) and all(isinstance(cell, str) for cell in there)
