"""ARFF files of Mulan and MEKA, dense and sparse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelgap.data._arff_header import (
    ArffHeader,
    Attribute,
    label_columns,
    read_header,
    read_label_xml,
)
from labelgap.data._arff_rows import ArffRows, ColumnReader, read_rows
from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.labels import Labels, State


def read_arff(
    path: FileSource,
    labels: FileSource | Sequence[str] | int | None = None,
    *,
    nominal: Literal["onehot", "codes"] = "onehot",
    text: Literal["error", "drop"] = "error",
) -> Dataset:
    """Read a multi-label ARFF file, dense or sparse, plain or compressed (gzip, bz2, xz).

    Parameters
    ----------
    path : path
    labels : path, list of str or int, default=None
        Which attributes are labels: Mulan's XML file, their names, or their number (the first n,
        or the last n when negative). By default MEKA's ``-C n`` in the name of the relation.
        Labels keep the order they have in the ARFF file.
    nominal : {"onehot", "codes"}, default="onehot"
        What to do with features of three or more categories that are not numbers: one 0/1 column
        per category, named ``attribute=category``, or the position of the category. Categories
        that are numbers are read as numbers; two categories give one column, in which yes, true
        (or else the second) is 1.
    text : {"error", "drop"}, default="error"
        Whether to refuse string and date attributes or to leave them out.

    Returns
    -------
    Dataset
        ``X`` is sparse if any row of the file is. ``?`` is NaN in ``X`` and unknown in ``Y``. As in
        Weka, an entry that a sparse row leaves out is 0 or the first category.

    Raises
    ------
    DataFormatError
        With the file, the line and what to do.

    See Also
    --------
    read_label_xml : The list of labels that belongs to Mulan's files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.data import read_arff
    >>> lines = ["@relation toy", "@attribute size numeric", "@attribute red {0,1}", "@data"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.arff")
    ...     _ = path.write_text("\\n".join([*lines, "1.5,1", "2.0,?"]))
    ...     toy = read_arff(path, ["red"])
    >>> toy.X.tolist(), toy.Y.to_dense().tolist()
    ([[1.5], [2.0]], [[1.0], [nan]])
    """
    if nominal not in ("onehot", "codes"):
        raise ValueError(f"nominal={nominal!r}: use 'onehot' or 'codes'")
    if text not in ("error", "drop"):
        raise ValueError(f"text={text!r}: use 'error' or 'drop'")
    contents = contents_of(path)
    if isinstance(labels, (str, os.PathLike, Contents)):
        labels = read_label_xml(labels)
    header = read_header(contents)
    is_label = np.zeros(len(header.attributes), dtype=bool)
    is_label[label_columns(contents, header, labels)] = True
    layout = ArffLayout(contents, header, is_label, nominal, text)
    table = _read_rows(contents, header, layout)
    return Dataset(
        name=header.relation.split(":")[0].strip() or Path(contents.file).stem,
        X=layout.features(table),
        Y=layout.labels(table),
        feature_names=np.array(layout.feature_names, dtype=object),
    )


def _read_rows(contents: Contents, header: ArffHeader, layout: ArffLayout) -> ArffTable:
    rows = read_rows(contents, header, layout.readers)
    _refuse_duplicates(contents, rows.indptr, rows.columns, rows.lines)
    return ArffTable(rows, layout.implied)


def _refuse_duplicates(contents: Contents, indptr, columns, lines) -> None:
    falls = np.diff(columns) <= 0
    starts = indptr[1:-1]
    falls[starts[(starts > 0) & (starts < len(columns))] - 1] = False
    if not falls.any():
        return
    n_columns = int(columns.max()) + 1
    keys = np.sort(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * n_columns + columns)
    repeated = np.flatnonzero(np.diff(keys) == 0)
    if repeated.size:
        row, column = divmod(int(keys[repeated[0]]), n_columns)
        raise contents.error(
            f"attribute {column} has two values in the row",
            line=int(lines[row]),
            remedy="Keep one of them",
        )


_TRUE = frozenset({"true", "t", "yes", "y"})
_FALSE = frozenset({"false", "f", "no", "n"})


class ArffTable:
    """Entries of the file in CSR layout, with the implied categories of sparse rows."""

    def __init__(self, rows: ArffRows, implied: np.ndarray) -> None:
        self.n_samples = len(rows.lines)
        self.any_sparse = bool(rows.is_sparse.any())
        self.indptr, self.columns, self.values = rows.indptr, rows.columns, rows.values
        if self.any_sparse and implied.any():
            self._state_implied(rows.is_sparse, implied)

    def _state_implied(self, is_sparse: np.ndarray, implied: np.ndarray) -> None:
        """Add the first category where a sparse row leaves out a column whose first is not 0."""
        rows = [np.repeat(np.arange(self.n_samples), np.diff(self.indptr))]
        columns, values = [self.columns], [self.values]
        for column in np.flatnonzero(implied):
            silent = is_sparse.copy()
            silent[rows[0][self.columns == column]] = False
            rows.append(np.flatnonzero(silent))
            columns.append(np.full(len(rows[-1]), column, dtype=self.columns.dtype))
            values.append(np.full(len(rows[-1]), implied[column]))
        order = np.argsort(np.concatenate(rows), kind="stable")
        self.columns = np.concatenate(columns)[order]
        self.values = np.concatenate(values)[order]
        counts = np.bincount(np.concatenate(rows), minlength=self.n_samples)
        self.indptr = np.concatenate([[0], np.cumsum(counts)])


class ArffLayout:
    """Where every attribute goes, and what its categories stand for."""

    def __init__(
        self, contents: Contents, header: ArffHeader, is_label, nominal: str, text: str
    ) -> None:
        self.contents, self.header, self.is_label = contents, header, is_label
        n_columns = len(header.attributes)
        self.implied = np.zeros(n_columns)
        self.position = np.full(n_columns, -1, dtype=np.int32)
        self.width = np.ones(n_columns, dtype=np.int64)
        self.feature_names: list[str] = []
        self.label_names: list[str] = []
        self.readers: list[ColumnReader] = []
        for j, attribute in enumerate(header.attributes):
            self._place(j, attribute, nominal, text)

    def _place(self, j: int, attribute: Attribute, nominal: str, text: str) -> None:
        if attribute.is_text:
            if text == "error" or self.is_label[j]:
                raise self.contents.error(
                    f"attribute {attribute.name!r} holds text",
                    remedy="Pass text='drop' to leave such attributes out"
                    if not self.is_label[j]
                    else "A label is numeric or has the categories {0,1}",
                )
            self.readers.append(ColumnReader(is_text=True))
            return
        names = self.label_names if self.is_label[j] else self.feature_names
        self.position[j] = len(names)
        if attribute.categories is None:
            names.append(attribute.name)
            self.readers.append(ColumnReader())
        else:
            values, onehot = _category_values(attribute.categories, nominal)
            if onehot and self.is_label[j]:
                raise self.contents.error(
                    f"label {attribute.name!r} has the categories {attribute.categories[:5]}",
                    remedy="A label has the two categories 0 and 1 (or no and yes)",
                )
            self.width[j] = len(values) if onehot else 1
            self.implied[j] = values[0] if values else 0.0
            names.extend(
                [f"{attribute.name}={c}" for c in attribute.categories]
                if onehot
                else [attribute.name]
            )
            known = dict(zip(reversed(attribute.categories), reversed(values), strict=False))
            self.readers.append(ColumnReader(known))

    def features(self, table: ArffTable) -> Any:
        """The features, one-hot columns spread out."""
        indptr, where, values = self._select(table, ~self.is_label)
        if (self.width > 1).any():
            width = np.ones(len(self.feature_names), dtype=np.int64)
            placed = ~self.is_label & (self.position >= 0)
            width[self.position[placed]] = self.width[placed]
            indptr, where, values = _spread(indptr, where, values, width[where])
        shape = (table.n_samples, len(self.feature_names))
        if not table.any_sparse:
            dense = np.zeros(shape)
            dense[np.repeat(np.arange(table.n_samples), np.diff(indptr)), where] = values
            return dense
        matrix = _csr(values, where, indptr, shape)
        matrix.eliminate_zeros()
        return matrix

    def labels(self, table: ArffTable) -> Labels:
        """The labels: 1 relevant, 0 irrelevant, ``?`` unknown."""
        indptr, columns, values = self._select(table, self.is_label)
        relevant = values == 1
        unknown = np.isnan(values)
        bad = np.flatnonzero(~(relevant | unknown | (values == 0)))
        if bad.size:
            row = np.searchsorted(indptr, bad[0], side="right")
            raise self.contents.error(
                f"label {self.label_names[columns[bad[0]]]!r} is {values[bad[0]]:g} in data row "
                f"{row}",
                remedy="Labels are 0, 1 or ? (unknown); check which attributes are labels",
            )
        codes = np.full(len(values), State.NEGATIVE, dtype=np.int8)
        codes[relevant] = State.RELEVANT
        codes[unknown] = State.UNKNOWN
        entries = _csr(codes, columns, indptr, (table.n_samples, len(self.label_names)))
        return Labels(entries, State.NEGATIVE, names=self.label_names)

    def _select(self, table: ArffTable, chosen: np.ndarray) -> tuple:
        """The entries of the chosen columns, at their new positions."""
        where = np.where(chosen, self.position, -1)[table.columns]
        kept = where >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[table.indptr]
        return indptr, where[kept], table.values[kept]


@lru_cache(maxsize=1024)
def _category_values(categories: tuple[str, ...], nominal: str) -> tuple[tuple[float, ...], bool]:
    """The number each category stands for, and whether those are one-hot positions (from 1)."""
    try:
        return tuple(float(category) for category in categories), False
    except ValueError:
        pass
    lowered = [category.lower() for category in categories]
    if len(categories) == 2 and lowered[0] in _TRUE and lowered[1] in _FALSE:
        return (1.0, 0.0), False
    if len(categories) <= 2 or nominal == "codes":
        return tuple(float(code) for code in range(len(categories))), False
    return tuple(float(code) for code in range(1, len(categories) + 1)), True


def _spread(indptr, where, values, width):
    """Turn one-hot positions into ones; an unknown category is unknown in all of its columns."""
    spread = width > 1
    gap = spread & np.isnan(values)
    known = spread & ~gap
    where[known] += values[known].astype(where.dtype) - 1
    values[known] = 1.0
    copies = np.where(gap, width, 1)
    before = np.concatenate([[0], np.cumsum(copies)])
    offset = np.arange(before[-1]) - np.repeat(before[:-1], copies)
    return before[indptr], np.repeat(where, copies) + offset, np.repeat(values, copies)


def _csr(values, columns, indptr, shape: tuple[int, int]) -> sparse.csr_array:
    index = np.int32 if len(columns) < 2**31 else np.int64
    matrix = sparse.csr_array((values, columns.astype(index), indptr.astype(index)), shape=shape)
    matrix.sort_indices()
    return matrix
