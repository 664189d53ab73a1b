"""Rows in Parquet files: every row group of the features is a block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from labelgap._extras import require
from labelgap.fitting._parquet_labels import LongLabels, WideLabels
from labelgap.fitting._sources import RowPair


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
    columns : sequence of str, optional
        Feature columns; by default all that are neither labels nor ids.
    id_column : str, optional
        The column of the features file that the lines of :class:`LongLabels` refer to; without
        it they refer to row numbers from 0.
    block_rows : int, optional
        Join row groups until a block has at least this many rows; by default each row group is a
        block.
    dtype : numpy float type
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
        self.n_rows = sum(sizes)
        if not self.n_rows:
            raise ValueError(f"{self._path} has no rows")
        apart = {id_column, *labels.columns_in(self._path)}
        self._columns = _feature_columns(schema, columns, apart, self._path)
        self.n_features = len(self._columns)
        self._groups, self._starts = _runs(sizes, 1 if block_rows is None else block_rows)
        self._labels = labels.opened(self._path, self.n_rows, self._ids())
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
    pa = require("pyarrow", extra="frames", purpose="ParquetRows")
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


def _open(path: Path) -> Any:
    parquet = require("pyarrow.parquet", extra="frames", purpose="ParquetRows")
    return parquet.ParquetFile(path, pre_buffer=False)
