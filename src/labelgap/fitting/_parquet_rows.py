"""Rows in Parquet files: every row group of the features is a block."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.fitting._row_blocks import RowPair, Zeros, block_labels
from labelgap.labels import Labels, State


class ParquetRows:
    """Features in the columns of a Parquet file, labels beside them or in a file of their own.

    Blocks are runs of row groups: a row group is the least that Parquet can read, so memory is
    bounded by the largest of them. A file that was written as one row group should be rewritten
    (``row_group_size`` in pyarrow and pandas), or turned into a block folder once with
    :func:`write_blocks`, which also makes every later visit much faster.

    Parameters
    ----------
    features : path
        The file with one column per feature.
    labels : LongLabels or WideLabels
        Where the labels are.
    columns : sequence of str, default=None
        Feature columns; by default all that are neither labels nor ids.
    id_column : str, default=None
        The column of the features file that the lines of :class:`LongLabels` refer to; without
        it they refer to row numbers from 0.
    block_rows : int, default=None
        Join row groups until a block has at least this many rows; by default each row group is a
        block.
    dtype : numpy float type, default=float64

    See Also
    --------
    write_blocks : Makes later visits much faster.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from labelgap.fitting import ParquetRows, WideLabels
    >>> path = tempfile.mkdtemp() + "/items.parquet"
    >>> pd.DataFrame({"size": [1.0, 2.0], "red": [1, 0]}).to_parquet(path)
    >>> rows = ParquetRows(path, WideLabels(["red"]))
    >>> rows.n_features, rows.n_labels
    (1, 1)
    """

    in_memory = False

    def __init__(
        self,
        features: str | os.PathLike,
        labels: LongLabels | WideLabels,
        *,
        columns: Sequence[str] | None = None,
        id_column: str | None = None,
        block_rows: int | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self._path = Path(features).absolute()
        self.dtype = np.dtype(dtype)
        self._id_column = id_column
        with _open(self._path) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            schema = file.schema_arrow
        self.n_samples = sum(sizes)
        if not self.n_samples:
            raise ValueError(f"{self._path} has no rows")
        apart = {id_column, *labels.columns_in(self._path)}
        self._columns = _feature_columns(schema, columns, apart, self._path)
        self.n_features = len(self._columns)
        self._groups, self._starts = _runs(sizes, 1 if block_rows is None else block_rows)
        self._labels = labels.opened(self._path, self.n_samples, self._ids())
        self.names, self.n_labels = self._labels.names, len(self._labels.names)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, index: int) -> RowPair:
        groups, start = self._groups[index], self._starts[index]
        wanted = [*self._columns, *([self._id_column] if self._id_column else [])]
        with _open(self._path) as file:
            table = file.read_row_groups(groups, columns=wanted, use_threads=False)
        X = np.empty((table.num_rows, self.n_features), dtype=self.dtype)
        for j, name in enumerate(self._columns):
            column = table.column(name)
            if column.null_count:
                row = start + column.is_null().to_pylist().index(True)
                raise ValueError(
                    f"{self._path}: column {name!r} is null in row {row}; fill it or drop the row"
                )
            X[:, j] = column.to_numpy()
        keys = None if self._id_column is None else table.column(self._id_column)
        return X, self._labels.read(start, table.num_rows, keys)

    def reader(self, index: int) -> Callable[[], RowPair]:
        return partial(self.__getitem__, index)

    def _ids(self) -> Callable[[], Iterator[Any]] | None:
        if self._id_column is None:
            return None
        return partial(_column_batches, self._path, self._id_column)


def _feature_columns(
    schema: Any, columns: Sequence[str] | None, apart: set[str | None], path: Path
) -> list[str]:
    pa = _arrow()
    names = [name for name in schema.names if name not in apart] if columns is None else columns
    if not names:
        raise ValueError(f"{path} has no feature columns")
    for name in names:
        if name not in schema.names:
            raise ValueError(f"columns: {path} has no column {name!r}")
        kind = schema.field(name).type
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (numeric or pa.types.is_boolean(kind)):
            raise ValueError(
                f"{path}: column {name!r} is {kind}, not a number; leave it out with columns=..."
            )
    return list(names)


def _runs(sizes: list[int], block_rows: int) -> tuple[list[list[int]], list[int]]:
    """Runs of row groups of at least ``block_rows`` rows (but the last), and their first rows."""
    if block_rows < 1:
        raise ValueError(f"block_rows={block_rows}: a block needs at least one row")
    groups: list[list[int]] = []
    starts: list[int] = []
    row, held = 0, block_rows
    for group, size in enumerate(sizes):
        if held >= block_rows:
            groups.append([])
            starts.append(row)
            held = 0
        groups[-1].append(group)
        row, held = row + size, held + size
    return groups, starts


def _column_batches(path: Path, column: str) -> Iterator[Any]:
    with _open(path) as file:
        for batch in file.iter_batches(columns=[column], use_threads=False):
            yield batch.column(0)


class WideLabels:
    """One column per label, in the rows' order: 1, 0 and null for unknown.

    Parameters
    ----------
    columns : sequence of str
        The label columns.
    path : path, default=None
        Their file; that of the features by default.
    zeros : {"negative", "unlabeled"}, default="negative"

    See Also
    --------
    LongLabels : One line per (row, label) pair.
    """

    def __init__(
        self,
        columns: Sequence[str],
        path: str | os.PathLike | None = None,
        *,
        zeros: Zeros = "negative",
    ) -> None:
        self.names: Any = np.array(list(columns), dtype=object)
        self._path = None if path is None else Path(path).absolute()
        self._zeros = zeros

    def columns_in(self, features: Path) -> list[str]:
        return list(self.names) if self._path in (None, features) else []

    def opened(self, features: Path, n_samples: int, ids: Any) -> WideLabels:
        """These labels for rows of a features file, checked."""
        opened = copy.copy(self)
        opened._path = self._path or features
        with _open(opened._path) as file:
            if file.metadata.num_rows != n_samples:
                raise ValueError(
                    f"{opened._path} has {file.metadata.num_rows} rows, {features} has {n_samples}"
                )
            missing = [name for name in self.names if name not in file.schema_arrow.names]
        if missing:
            raise ValueError(f"{opened._path} has no column {missing[0]!r}")
        return opened

    def read(self, start: int, n_samples: int, keys: Any) -> Labels:
        """The labels of some rows."""
        pa = _arrow()
        pieces = []
        with _open(self._path) as file:
            first = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                begin, end = max(start, first), min(start + n_samples, first + size)
                if begin < end:
                    table = file.read_row_group(group, columns=list(self.names), use_threads=False)
                    pieces.append(table.select(list(self.names)).slice(begin - first, end - begin))
                first += size
        return block_labels(pa.concat_tables(pieces), self._zeros).with_names(None)


class LongLabels:
    """One line per (row, label) pair, with an optional value: 1, 0 or null for unknown.

    Lines are found through the minima and maxima of row groups: a file that is sorted by row is
    read once per pass over the data, an unsorted one once per block.

    Parameters
    ----------
    path : path
    row, label : str, default="row" and "label"
        Columns with the row (its number from 0, or the id of ``id_column``) and the label.
    value : str, default=None
        Column of values; all 1 when absent.
    names : sequence, default=None
        The labels in column order; by default those that occur, sorted.
    implicit : {"negative", "unknown", "unlabeled"}, default="negative"
        What a pair that is not in the file means.

    See Also
    --------
    WideLabels : One column per label.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        row: str = "row",
        label: str = "label",
        value: str | None = None,
        names: Sequence | None = None,
        implicit: Literal["negative", "unknown", "unlabeled"] = "negative",
    ) -> None:
        self._path = Path(path).absolute()
        self._row, self._label, self._value = row, label, value
        self.names: Any = None if names is None else np.array(list(names), dtype=object)
        self._implicit = implicit

    def columns_in(self, features: Path) -> list[str]:
        return []

    def opened(
        self, features: Path, n_samples: int, ids: Callable[[], Iterator[Any]] | None
    ) -> LongLabels:
        """These labels for rows of a features file, with all lines checked once.

        The ids, if there are any, are in memory while this runs.
        """
        with _open(self._path) as file:
            for name in self._wanted():
                if name not in file.schema_arrow.names:
                    raise ValueError(f"{self._path} has no column {name!r}")
        known = _range_check(n_samples) if ids is None else _id_check(ids, features)
        labels: set = set()
        line = 0
        with _open(self._path) as file:
            for batch in file.iter_batches(columns=self._wanted(), use_threads=False):
                self._check_lines(batch, known, features, line)
                labels.update(batch.column(self._label).unique().to_pylist())
                line += batch.num_rows
        names = sorted(labels) if self.names is None else self.names
        unnamed = labels.difference(names)
        if unnamed:
            raise ValueError(f"{self._path}: label {min(unnamed)!r} is not among names")
        opened = copy.copy(self)
        opened.names = np.array(list(names), dtype=object)
        return opened

    def read(self, start: int, n_samples: int, keys: Any) -> Labels:
        """The labels of some rows, given by their position or their ids."""
        pa = _arrow()
        keys = pa.array(np.arange(start, start + n_samples)) if keys is None else keys
        rows, columns, codes = [], [], []
        for table in self._lines_between(keys):
            position = _index_in(table.column(self._row), keys)
            ours = position >= 0
            table = table.filter(pa.array(ours))
            rows.append(position[ours])
            columns.append(_index_in(table.column(self._label), pa.array(self.names.tolist())))
            codes.append(self._codes(table))
        shape = (n_samples, len(self.names))
        none = np.empty(0, dtype=np.int64)
        flat = np.concatenate([none, *rows]) * shape[1] + np.concatenate([none, *columns])
        entries = self._entries(flat, np.concatenate([none, *codes]), shape, start)
        return Labels(entries, self._implicit)

    def _wanted(self) -> list[str]:
        return [self._row, self._label, *([self._value] if self._value else [])]

    def _check_lines(self, batch: Any, known: Callable, features: Path, line: int) -> None:
        for name in (self._row, self._label):
            if batch.column(name).null_count:
                first = line + batch.column(name).is_null().to_pylist().index(True)
                raise ValueError(f"{self._path}: {name!r} is null in line {first}; drop the line")
        wrong = np.flatnonzero(~known(batch.column(self._row)))
        if wrong.size:
            key = batch.column(self._row)[int(wrong[0])].as_py()
            raise ValueError(
                f"{self._path}: line {line + int(wrong[0])} is about row {key!r}, which is not "
                f"in {features}; drop the line"
            )

    def _lines_between(self, keys: Any) -> Iterator[Any]:
        """Row groups that may hold lines about some of the keys."""
        bounds = _arrow("pyarrow.compute").min_max(keys).as_py()
        with _open(self._path) as file:
            column = file.schema_arrow.names.index(self._row)
            for group in range(file.num_row_groups):
                facts = file.metadata.row_group(group).column(column).statistics
                known = facts is not None and facts.has_min_max
                if not known or (facts.max >= bounds["min"] and facts.min <= bounds["max"]):
                    yield file.read_row_group(group, columns=self._wanted(), use_threads=False)

    def _codes(self, table: Any) -> np.ndarray:
        if self._value is None:
            return np.full(table.num_rows, State.RELEVANT, dtype=np.int8)
        values = np.array(table.column(self._value).to_pylist(), dtype=np.float64)
        wrong = np.flatnonzero(~(np.isnan(values) | np.isin(values, (0, 1))))
        if wrong.size:
            key = table.column(self._row)[int(wrong[0])].as_py()
            raise ValueError(
                f"{self._path}: value {values[wrong[0]]} of row {key!r}; use 1, 0 or null"
            )
        known = np.where(values == 1, State.RELEVANT, State.NEGATIVE)
        return np.where(np.isnan(values), State.UNKNOWN, known).astype(np.int8)

    def _entries(
        self, flat: np.ndarray, codes: np.ndarray, shape: tuple[int, int], start: int
    ) -> sparse.csr_array:
        unique, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
        clash = np.flatnonzero(codes != codes[first][inverse])
        if clash.size:
            row, label = divmod(int(flat[clash[0]]), shape[1])
            raise ValueError(
                f"{self._path}: row number {start + row}, label {self.names[label]!r} has two "
                "different values; keep one of them"
            )
        rows, columns = np.divmod(unique, max(shape[1], 1))
        return sparse.csr_array((codes[first].astype(np.int8), (rows, columns)), shape=shape)


def _range_check(n_samples: int) -> Callable[[Any], np.ndarray]:
    def known(column: Any) -> np.ndarray:
        rows = column.to_numpy(zero_copy_only=False)
        if rows.dtype.kind not in "iu":
            raise ValueError(
                f"rows are numbered, but the first is {column[0].as_py()!r}: give id_column to "
                "find rows by an id"
            )
        return (rows >= 0) & (rows < n_samples)

    return known


def _id_check(ids: Callable[[], Iterator[Any]], features: Path) -> Callable[[Any], np.ndarray]:
    pa = _arrow()
    every = pa.chunked_array(list(ids()))
    if every.null_count:
        raise ValueError(f"{features}: an id is null; every row needs one")
    counts = every.value_counts()
    twice = np.flatnonzero(counts.field("counts").to_numpy() > 1)
    if twice.size:
        key = counts.field("values")[int(twice[0])].as_py()
        raise ValueError(f"{features}: several rows have the id {key!r}; ids must be unique")
    return lambda column: _index_in(column, every) >= 0


def _index_in(column: Any, keys: Any) -> np.ndarray:
    """Position of each value among the keys, -1 where it is none of them."""
    compute = _arrow("pyarrow.compute")
    if column.type != keys.type:
        column = column.cast(keys.type)
    return compute.index_in(column, value_set=keys).fill_null(-1).to_numpy().astype(np.int64)


def _arrow(module: str = "pyarrow") -> Any:
    return require(module, extra="frames", purpose="ParquetRows")


def _open(path: Path | None) -> Any:
    return _arrow("pyarrow.parquet").ParquetFile(path, pre_buffer=False)
