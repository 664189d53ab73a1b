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
from labelgap.data._contents import Contents, FileSource, contents_of, read_pending
from labelgap.data._dataset import Dataset
from labelgap.kernels import parsing_arff as kernel
from labelgap.labels import Labels, State

_PROBLEMS = {
    kernel.TOO_MANY_VALUES: ("the row has more values than there are attributes", "Remove them"),
    kernel.TOO_FEW_VALUES: ("the row has fewer values than there are attributes", "Add them"),
    kernel.BAD_INDEX: (
        "this is not '<index> <value>' with the index of an attribute",
        "Indices start at 0 and must be smaller than the number of attributes",
    ),
    kernel.UNKNOWN_CATEGORY: (
        "the value is not one of the categories of its attribute",
        "Add it to the braces of the @attribute line, or write ? for unknown",
    ),
    kernel.UNCLOSED: ("a quote or brace is not closed", "Close it before the end of the line"),
    kernel.WEIGHTED_ROW: (
        "the row carries an instance weight",
        "Remove the weights, which have no place in a data set here",
    ),
}


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
    indptr, columns, values, lines, is_sparse, pending, status, place, line = (
        kernel.parse_arff_rows(contents.buffer, header.data_start, layout.schema())
    )
    if status != kernel.OK:
        problem, remedy = _PROBLEMS[status]
        near = contents.text(place, place + 30).split("\n")[0]
        raise contents.error(
            f"{problem} (at {near!r})", line=header.data_line + line, remedy=remedy
        )
    read_pending(contents, pending, values, indptr, header.data_line + lines)
    _refuse_duplicates(contents, indptr, columns, header.data_line + lines)
    return ArffTable(indptr, columns, values, is_sparse, layout.implied)


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

    def __init__(self, indptr, columns, values, is_sparse, implied: np.ndarray) -> None:
        self.n_samples = len(indptr) - 1
        self.any_sparse = bool(is_sparse.any())
        self.indptr, self.columns, self.values = indptr, columns, values
        if self.any_sparse and implied.any():
            self._state_implied(is_sparse, implied)

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
        self.kinds = np.full(n_columns, kernel.NUMERIC, dtype=np.int8)
        self.implied = np.zeros(n_columns)
        self.position = np.full(n_columns, -1, dtype=np.int32)
        self.width = np.ones(n_columns, dtype=np.int64)
        self.feature_names: list[str] = []
        self.label_names: list[str] = []
        self.category_values: list[tuple[float, ...]] = []
        for j, attribute in enumerate(header.attributes):
            self._place(j, attribute, nominal, text)

    def _place(self, j: int, attribute: Attribute, nominal: str, text: str) -> None:
        values: tuple[float, ...] = ()
        if attribute.is_text:
            if text == "error" or self.is_label[j]:
                raise self.contents.error(
                    f"attribute {attribute.name!r} holds text",
                    remedy="Pass text='drop' to leave such attributes out"
                    if not self.is_label[j]
                    else "A label is numeric or has the categories {0,1}",
                )
            self.kinds[j] = kernel.SKIPPED
            self.category_values.append(values)
            return
        names = self.label_names if self.is_label[j] else self.feature_names
        self.position[j] = len(names)
        if attribute.categories is None:
            names.append(attribute.name)
        else:
            self.kinds[j] = kernel.NOMINAL
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
        self.category_values.append(values)

    def schema(self) -> tuple:
        """The columns as :func:`labelgap.kernels.parsing_arff.parse_arff_rows` wants them."""
        spelt = [
            category.encode("utf-8")
            for attribute, values in zip(self.header.attributes, self.category_values, strict=True)
            for category in (attribute.categories or ())[: len(values)]
        ]
        counts = [len(values) for values in self.category_values]
        return (
            self.kinds,
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(s) for s in spelt], dtype=np.int64)]).astype(
                np.int64
            ),
            np.frombuffer(b"".join(spelt) + b"\0", dtype=np.uint8),
            np.array([v for values in self.category_values for v in values] + [0.0]),
            self._digits(),
        )

    def _digits(self) -> np.ndarray:
        """Value of every token of one digit in every column, NaN where it has none."""
        digits = np.full((len(self.kinds), 10), np.nan)
        digits[self.kinds == kernel.NUMERIC] = np.arange(10)
        nominal = np.flatnonzero(self.kinds == kernel.NOMINAL)
        rows = [
            _digit_values(self.header.attributes[j].categories, self.category_values[j])
            for j in nominal
        ]
        if rows:
            digits[nominal] = rows
        return digits

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
        position = np.where(chosen, self.position, -1).astype(np.int32)
        return kernel.select_columns(table.indptr, table.columns, table.values, position)


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


@lru_cache(maxsize=1024)
def _digit_values(categories: tuple[str, ...], values: tuple[float, ...]) -> np.ndarray:
    row = np.full(10, np.nan)
    for category, value in zip(categories, values, strict=True):
        if len(category) == 1 and category in "0123456789":
            row[int(category)] = value
    return row


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
