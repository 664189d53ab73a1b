"""Counts from frames, dense and sparse matrices, by name where there are names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from labelgap.cooccurrence._cooccurrence import Cooccurrence, unique_names, warn_unusual
from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels.states import is_missing, object_array, shown


def as_cooccurrence(
    M: Any,
    *,
    seen_names: Sequence | np.ndarray | None = None,
    label_names: Sequence | np.ndarray | None = None,
    seen: Any = None,
    observed: Any = None,
) -> Cooccurrence:
    """Return counts of seen (rows) with all labels (columns) from a frame or matrix.

    Names decide which row and column is which, where there are any on both sides; otherwise
    positions do: the first columns are then the seen labels, in the order of the rows, unless
    ``seen`` says otherwise.

    Parameters
    ----------
    M : Cooccurrence, frame, dense array or sparse matrix of shape (n_seen, n_labels)
        Counts as :mod:`labelgap.cooccurrence` defines them. A pandas frame has the names of the
        seen labels in its index; a polars or pyarrow table, or a pandas frame without an index,
        in its first column. NaN, null or masked entries are missing counts.
    seen_names : sequence, default=None
        The seen labels. Rows with names are put into this order, and rows of other labels are
        left out, so that a square table of all labels will do; rows without names get these.
    label_names : sequence, default=None
        All labels. Columns with names must be these, and are put into this order; columns
        without names get these.
    seen : int array of length n_seen, or bool array of length n_labels, default=None
        The columns of the seen labels, for counts without names.
    observed : bool array or sparse matrix of shape (n_seen, n_labels), default=None
        Where there is a count. What ``M`` holds elsewhere is never read.

    Returns
    -------
    Cooccurrence

    Warns
    -----
    LabelWarning
        When the seen block is not symmetric, and when an unseen label co-occurs with nothing.

    See Also
    --------
    count_cooccurrence : Counts them.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.cooccurrence import as_cooccurrence
    >>> table = pd.DataFrame({"sea": [5], "beach": [2]}, index=["sea"])
    >>> as_cooccurrence(table).unseen_names.tolist()
    ['beach']
    """
    if isinstance(M, Cooccurrence):
        if seen is not None or observed is not None:
            raise ValueError("seen and observed are part of a Cooccurrence: leave them out")
        read = M
    else:
        counts, row_names, names = _read(M)
        read = _assemble(counts, row_names, names, seen, observed, label_names)
    if read.names is None:
        read = _named(read, seen_names, label_names)
    else:
        read = _in_order(read, seen_names, label_names)
    warn_unusual(read)
    return read


def _assemble(
    counts: sparse.csr_array, row_names: Any, names: Any, seen: Any, observed: Any, label_names: Any
) -> Cooccurrence:
    if row_names is not None and names is None and label_names is not None:
        names = unique_names("label_names", label_names)
    if row_names is not None and names is not None:
        if seen is not None:
            raise ValueError("seen: the rows have names, which say their columns; leave it out")
        seen = _columns_of_rows(row_names, object_array(names))
    missing = None
    if observed is not None:
        mask = sparse.csr_array(observed).astype(bool)
        if mask.shape != counts.shape:
            raise ValueError(
                f"observed has shape {mask.shape}, cooccurrence {counts.shape}: they must be equal"
            )
        missing = ~mask.toarray()
    return Cooccurrence(counts, seen, names, missing)


def _columns_of_rows(row_names: np.ndarray, names: np.ndarray) -> np.ndarray:
    column_of = {name: column for column, name in enumerate(names)}
    seen = np.empty(len(row_names), dtype=np.intp)
    first_row: dict[Any, int] = {}
    for row, name in enumerate(row_names):
        if name in first_row:
            raise ValueError(
                f"cooccurrence: row {row} has the name {name!r} of row {first_row[name]} too; "
                "label names must be unique: add the two rows, or drop one"
            )
        if name not in column_of:
            raise ValueError(
                f"cooccurrence: row {row} is the label {name!r}, which has no column: the columns "
                "are all labels, the seen ones included; add it, with NaN where nobody counted"
            )
        first_row[name] = row
        seen[row] = column_of[name]
    return seen


def _named(read: Cooccurrence, seen_names: Any, label_names: Any) -> Cooccurrence:
    """Names for counts that have none, by position."""
    if label_names is None and seen_names is not None:
        if read.n_labels > read.n_seen:
            raise ValueError(
                f"cooccurrence has {read.n_labels} columns without names, and only the "
                f"{read.n_seen} seen labels have some: give label_names to as_cooccurrence, or "
                "counts with names"
            )
        _check_length("seen_names", seen_names, read.n_seen, "rows")
        names = np.empty(read.n_labels, dtype=object)
        names[read.seen] = object_array(seen_names)
        label_names = names
    if label_names is None:
        return read
    _check_length("label_names", label_names, read.n_labels, "columns")
    named = Cooccurrence(read.counts, read.seen, object_array(label_names), read.missing)
    if seen_names is not None:
        _check_length("seen_names", seen_names, read.n_seen, "rows")
        for row, given in enumerate(seen_names):
            name = label_names[read.seen[row]]
            if given != name:
                raise ValueError(
                    f"row {row} of cooccurrence is {given!r} by seen_names but {name!r} by "
                    "label_names: give the columns of the seen labels as seen="
                )
    return named


def _in_order(read: Cooccurrence, seen_names: Any, label_names: Any) -> Cooccurrence:
    """Rows and columns that have names, as asked for."""
    if label_names is not None:
        wanted = unique_names("label_names", label_names)
        known = set(wanted)
        extra = [name for name in object_array(read.names) if name not in known]
        if extra:
            raise ValueError(
                f"cooccurrence has the label {extra[0]!r}, which is not among the labels: leave "
                "it out with Cooccurrence.columns(names), or add it as an unseen label"
            )
        read = read.columns(wanted)
    return read if seen_names is None else read.rows(seen_names)


def _check_length(argument: str, names: Any, n: int, what: str) -> None:
    if len(names) != n:
        raise ValueError(
            f"{argument} has {len(names)} names for cooccurrence with {n} {what}: give counts "
            "with one row per seen label and one column per label"
        )


# -- reading ------------------------------------------------------------------------------------


def _read(M: Any) -> tuple[sparse.csr_array, np.ndarray | None, np.ndarray | None]:
    """Return counts (NaN where missing) and the names of rows and columns, where there are any."""
    if M is None:
        raise ValueError("cooccurrence is missing: give counts of seen with all labels")
    if hasattr(M, "collect"):
        raise TypeError("cooccurrence is a lazy frame: collect() it first")
    if sparse.issparse(M):
        return canonical_rows(M, "cooccurrence"), None, None
    if hasattr(M, "columns") or hasattr(M, "column_names"):
        return _read_frame(M)
    values = np.ma.getdata(M) if np.ma.isMaskedArray(M) else np.asarray(M)
    if values.ndim != 2:
        raise ValueError(
            f"cooccurrence has shape {values.shape}: give a matrix with one row per seen label "
            "and one column per label"
        )
    numbers = read_numbers(values, lambda i, j: f"{i}, {j}")
    if np.ma.isMaskedArray(M):
        numbers[np.ma.getmaskarray(M)] = np.nan
    return sparse.csr_array(numbers), None, None


def _read_frame(frame: Any) -> tuple[sparse.csr_array, np.ndarray | None, np.ndarray | None]:
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    unique_names("the columns of cooccurrence", names)
    index = getattr(frame, "index", None)
    table = nw.from_native(frame, eager_only=True)
    row_names = None if index is None or _is_default(index) else object_array(index.tolist())
    first = 0
    if row_names is None and names and not table[:, 0].dtype.is_numeric():
        row_names, first = object_array(table[:, 0].to_list()), 1
    names = names[first:]
    columns = None if _is_default(getattr(frame, "columns", None)) else object_array(names)
    values = np.empty((table.shape[0], len(names)), dtype=object)
    for j in range(len(names)):
        values[:, j] = table[:, first + j].to_list()

    def place(i: int, j: int) -> str:
        row = i if row_names is None else repr(row_names[i])
        return f"{row}, {names[j]!r}"

    return sparse.csr_array(read_numbers(values, place)), row_names, columns


def has_names(M: Any) -> bool:
    """Return whether counts say which label each column is.

    Examples
    --------
    >>> from labelgap.cooccurrence import has_names
    >>> has_names([[5, 2]])
    False
    """
    if isinstance(M, Cooccurrence):
        return M.names is not None
    if hasattr(M, "column_names"):
        return True
    return hasattr(M, "columns") and not _is_default(M.columns)


def _is_default(index: Any) -> bool:
    """Whether pandas numbered the rows or columns because nobody named them."""
    if type(index).__name__ != "RangeIndex":
        return False
    return list(index) == list(range(len(index)))


def read_numbers(values: np.ndarray, place: Any) -> np.ndarray:
    """Return floats with NaN for what is missing."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    result = np.full(values.shape, np.nan)
    for (i, j), value in np.ndenumerate(values):
        if is_missing(value):
            continue
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise ValueError(
                f"cooccurrence[{place(i, j)}] = {shown(value)} is not a count: give whole "
                "numbers, and NaN or null where nobody counted"
            )
        result[i, j] = value
    return result
