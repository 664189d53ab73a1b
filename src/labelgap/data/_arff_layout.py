"""How the attributes of an ARFF file become columns of X and Y."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.data._arff_header import ArffHeader, Attribute
from labelgap.data._contents import Contents
from labelgap.kernels import parsing_arff as kernel
from labelgap.labels import Labels, State

_TRUE = frozenset({"true", "t", "yes", "y"})
_FALSE = frozenset({"false", "f", "no", "n"})


class ArffTable:
    """Entries of the file in CSR layout, with the implied categories of sparse rows."""

    def __init__(self, indptr, columns, values, is_sparse, implied: np.ndarray) -> None:
        self.n_rows = len(indptr) - 1
        self.any_sparse = bool(is_sparse.any())
        self.indptr, self.columns, self.values = indptr, columns, values
        if self.any_sparse and implied.any():
            self._state_implied(is_sparse, implied)

    def _state_implied(self, is_sparse: np.ndarray, implied: np.ndarray) -> None:
        """Add the first category where a sparse row leaves out a column whose first is not 0."""
        rows = [np.repeat(np.arange(self.n_rows), np.diff(self.indptr))]
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
        counts = np.bincount(np.concatenate(rows), minlength=self.n_rows)
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
        shape = (table.n_rows, len(self.feature_names))
        if not table.any_sparse:
            dense = np.zeros(shape)
            dense[np.repeat(np.arange(table.n_rows), np.diff(indptr)), where] = values
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
        codes = np.full(len(values), State.IRRELEVANT, dtype=np.int8)
        codes[relevant] = State.RELEVANT
        codes[unknown] = State.UNKNOWN
        entries = _csr(codes, columns, indptr, (table.n_rows, len(self.label_names)))
        return Labels(entries, State.IRRELEVANT, names=self.label_names)

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
