"""Labels in Parquet files: one column per label, or one line per (row, label) pair."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelgap._extras import require
from labelgap.fitting._sources import Zeros, block_labels
from labelgap.labels import Labels, State

_PURPOSE = "Labels in Parquet files"


class WideLabels:
    """One column per label, in the rows' order: 1, 0 and null for unknown.

    Parameters
    ----------
    columns : sequence of str
        The label columns.
    path : path, optional
        Their file; that of the features by default.
    zeros : {"irrelevant", "ambiguous"}
    """

    def __init__(
        self,
        columns: Sequence[str],
        path: str | os.PathLike | None = None,
        *,
        zeros: Zeros = "irrelevant",
    ) -> None:
        self.names: Any = np.array(list(columns), dtype=object)
        self._path = None if path is None else Path(path).absolute()
        self._zeros = zeros

    def columns_in(self, features: Path) -> list[str]:
        return list(self.names) if self._path in (None, features) else []

    def opened(self, features: Path, n_rows: int, ids: Any) -> WideLabels:
        """These labels for rows of a features file, checked."""
        opened = WideLabels(self.names, self._path or features, zeros=self._zeros)
        with _open(opened._path) as file:
            if file.metadata.num_rows != n_rows:
                raise ValueError(
                    f"{opened._path} has {file.metadata.num_rows} rows, {features} has {n_rows}"
                )
            missing = [name for name in self.names if name not in file.schema_arrow.names]
        if missing:
            raise ValueError(f"{opened._path} has no column {missing[0]!r}")
        return opened

    def read(self, start: int, n_rows: int, keys: Any) -> Labels:
        """The labels of some rows."""
        pa = require("pyarrow", extra="frames", purpose=_PURPOSE)
        pieces = []
        with _open(self._path) as file:
            first = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                begin, end = max(start, first), min(start + n_rows, first + size)
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
    row, label : str
        Columns with the row (its number from 0, or the id of ``id_column``) and the label.
    value : str, optional
        Column of values; all 1 when absent.
    names : sequence, optional
        The labels in column order; by default those that occur, sorted.
    unstated : {"irrelevant", "unknown", "ambiguous"}
        What a pair that is not in the file means.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        row: str = "row",
        label: str = "label",
        value: str | None = None,
        names: Sequence | None = None,
        unstated: Literal["irrelevant", "unknown", "ambiguous"] = "irrelevant",
    ) -> None:
        self._path = Path(path).absolute()
        self._row, self._label, self._value = row, label, value
        self.names: Any = None if names is None else np.array(list(names), dtype=object)
        self._unstated = unstated

    def columns_in(self, features: Path) -> list[str]:
        return []

    def opened(
        self, features: Path, n_rows: int, ids: Callable[[], Iterator[Any]] | None
    ) -> LongLabels:
        """These labels for rows of a features file, with all lines checked once.

        The ids, if there are any, are in memory while this runs.
        """
        with _open(self._path) as file:
            for name in self._wanted():
                if name not in file.schema_arrow.names:
                    raise ValueError(f"{self._path} has no column {name!r}")
        known = _range_check(n_rows) if ids is None else _id_check(ids, features)
        found: set = set()
        line = 0
        with _open(self._path) as file:
            for batch in file.iter_batches(columns=self._wanted(), use_threads=False):
                self._check_lines(batch, known, features, line)
                found.update(batch.column(self._label).unique().to_pylist())
                line += batch.num_rows
        names = sorted(found) if self.names is None else self.names
        strange = found.difference(names)
        if strange:
            raise ValueError(f"{self._path}: label {min(strange)!r} is not among names")
        return LongLabels(
            self._path,
            row=self._row,
            label=self._label,
            value=self._value,
            names=names,
            unstated=self._unstated,
        )

    def read(self, start: int, n_rows: int, keys: Any) -> Labels:
        """The labels of some rows, given by their position or their ids."""
        pa = require("pyarrow", extra="frames", purpose=_PURPOSE)
        keys = pa.array(np.arange(start, start + n_rows)) if keys is None else keys
        rows, columns, codes = [], [], []
        for table in self._lines_between(keys):
            position = _index_in(table.column(self._row), keys)
            ours = position >= 0
            table = table.filter(pa.array(ours))
            rows.append(position[ours])
            columns.append(_index_in(table.column(self._label), pa.array(self.names.tolist())))
            codes.append(self._codes(table))
        shape = (n_rows, len(self.names))
        none = np.empty(0, dtype=np.int64)
        flat = np.concatenate([none, *rows]) * shape[1] + np.concatenate([none, *columns])
        entries = self._entries(flat, np.concatenate([none, *codes]), shape, start)
        return Labels(entries, self._unstated)

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
        bounds = require("pyarrow.compute", extra="frames", purpose=_PURPOSE).min_max(keys).as_py()
        with _open(self._path) as file:
            place = file.schema_arrow.names.index(self._row)
            for group in range(file.num_row_groups):
                facts = file.metadata.row_group(group).column(place).statistics
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
        known = np.where(values == 1, State.RELEVANT, State.IRRELEVANT)
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


def _range_check(n_rows: int) -> Callable[[Any], np.ndarray]:
    def known(column: Any) -> np.ndarray:
        rows = column.to_numpy(zero_copy_only=False)
        if rows.dtype.kind not in "iu":
            raise ValueError(
                f"rows are numbered, but the first is {column[0].as_py()!r}: give id_column to "
                "find rows by an id"
            )
        return (rows >= 0) & (rows < n_rows)

    return known


def _id_check(ids: Callable[[], Iterator[Any]], features: Path) -> Callable[[Any], np.ndarray]:
    pa = require("pyarrow", extra="frames", purpose=_PURPOSE)
    everyone = pa.chunked_array(list(ids()))
    if everyone.null_count:
        raise ValueError(f"{features}: an id is null; every row needs one")
    counts = everyone.value_counts()
    twice = np.flatnonzero(counts.field("counts").to_numpy() > 1)
    if twice.size:
        key = counts.field("values")[int(twice[0])].as_py()
        raise ValueError(f"{features}: several rows have the id {key!r}; ids must be unique")
    return lambda column: _index_in(column, everyone) >= 0


def _index_in(column: Any, keys: Any) -> np.ndarray:
    """Position of each value among the keys, -1 where it is none of them."""
    compute = require("pyarrow.compute", extra="frames", purpose=_PURPOSE)
    if column.type != keys.type:
        column = column.cast(keys.type)
    found = compute.index_in(column, value_set=keys)
    return found.fill_null(-1).to_numpy().astype(np.int64)


def _open(path: Path | None) -> Any:
    parquet = require("pyarrow.parquet", extra="frames", purpose=_PURPOSE)
    return parquet.ParquetFile(path, pre_buffer=False)
