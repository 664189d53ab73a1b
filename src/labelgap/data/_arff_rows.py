"""The data section of ARFF files, dense and sparse rows alike."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from labelgap.data._arff_header import QUOTED, ArffHeader, unquoted
from labelgap.data._contents import Contents

_VALUE = re.compile(rf"\s*({QUOTED}|(?!['\"])[^,]*?)\s*(?:(,)|$)")
_STATED = re.compile(rf"\s*(\d+)\s+({QUOTED}|(?!['\"])[^,]*?)\s*(?:,|$)")

_UNCLOSED = ("a quote or brace is not closed", "Close it before the end of the line")


class ColumnReader(NamedTuple):
    """How the values of a column are read: by their category, as text to skip, or as numbers."""

    categories: dict[str, float] | None = None
    is_text: bool = False

    @property
    def quick(self) -> Callable[[str], float]:
        """What reads almost all values, and fails for the others."""
        if self.is_text:
            return lambda token: 0.0
        return float if self.categories is None else self.categories.__getitem__

    def value(self, token: str) -> float:
        if token == "?":
            return np.nan
        if self.is_text:
            return 0.0
        if self.categories is not None and token in self.categories:
            return self.categories[token]
        try:
            number = float(token)
        except ValueError:
            if self.categories is None:
                raise _BadRowError(
                    f"{token[:30]!r} is not a number",
                    "Correct the value, or declare the column as what it is",
                ) from None
        else:
            if self.categories is None:
                return number
            for category, value in self.categories.items():
                if _is_number(category) and float(category) == number:
                    return value
        raise _BadRowError(
            f"the value is not one of the categories of its attribute (at {token[:30]!r})",
            "Add it to the braces of the @attribute line, or write ? for unknown",
        )


class ArffRows(NamedTuple):
    """The rows in CSR layout: dense ones leave out zeros, sparse ones keep what they state."""

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    is_sparse: np.ndarray


class _BadRowError(ValueError):
    """What is wrong with a row, and the remedy."""


def read_rows(contents: Contents, header: ArffHeader, readers: Sequence[ColumnReader]) -> ArffRows:
    """Read every row after the ``@data`` line."""
    indptr, lines, is_sparse = array("q", [0]), array("q"), array("b")
    columns, values = array("i"), array("d")
    quick = [reader.quick for reader in readers]
    for number, line in _lines(contents, header):
        sparse = line.startswith("{")
        try:
            where, stated = (_sparse_row if sparse else _dense_row)(line, readers, quick)
        except _BadRowError as error:
            problem, remedy = error.args
            raise contents.error(problem, line=number, remedy=remedy) from None
        columns.extend(where)
        values.extend(stated)
        indptr.append(len(values))
        lines.append(number)
        is_sparse.append(sparse)
    return ArffRows(
        np.array(indptr), np.array(columns), np.array(values), np.array(lines), np.array(is_sparse)
    )


def _lines(contents: Contents, header: ArffHeader) -> Iterator[tuple[int, str]]:
    text = contents.text(header.data_start)
    for number, line in enumerate(text.split("\n"), start=header.data_line + 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield number, stripped


def _dense_row(
    line: str, readers: Sequence[ColumnReader], quick: Sequence[Callable[[str], float]]
) -> tuple[list[int], list[float]]:
    tokens = _split(line) if "'" in line or '"' in line else line.split(",")
    if len(tokens) < len(readers):
        raise _BadRowError("the row has fewer values than there are attributes", "Add them")
    if len(tokens) > len(readers):
        if tokens[len(readers)].strip().startswith("{"):
            raise _BadRowError(
                "the row carries an instance weight",
                "Remove the weights, which have no place in a data set here",
            )
        raise _BadRowError("the row has more values than there are attributes", "Remove them")
    try:  # most rows have plain numbers and categories alone
        row = np.array([read(token) for read, token in zip(quick, tokens, strict=True)])
    except (KeyError, ValueError):
        row = np.array([r.value(token.strip()) for r, token in zip(readers, tokens, strict=True)])
    where = np.flatnonzero(row)
    return where.tolist(), row[where].tolist()


def _split(line: str) -> list[str]:
    tokens, position, more = [], 0, True
    while more:
        found = _VALUE.match(line, position)
        if found is None:
            raise _BadRowError(*_UNCLOSED)
        tokens.append(unquoted(found[1]))
        position, more = found.end(), found[2] is not None
    return tokens


def _sparse_row(
    line: str, readers: Sequence[ColumnReader], quick: Sequence[Callable[[str], float]]
) -> tuple[list[int], list[float]]:
    """The columns and values that ``{index value, ...}`` states."""
    if not line.endswith("}"):
        raise _BadRowError(*_UNCLOSED)
    words = line[1:-1].replace(",", " ").split()
    if len(words) == 2 * line.count(",") + 2 and "'" not in line and '"' not in line:
        try:
            where = list(map(int, words[::2]))
            if min(where) >= 0:
                values = zip(where, words[1::2], strict=True)
                return where, [quick[column](token) for column, token in values]
        except (IndexError, KeyError, ValueError):
            pass  # one by one, to say which
    where, stated = [], []
    position, stop = 1, len(line) - 1
    while line[position:stop].strip():
        found = _STATED.match(line, position, stop)
        if found is None or int(found[1]) >= len(readers):
            raise _BadRowError(
                f"this is not '<index> <value>' with the index of an attribute (at "
                f"{line[position : position + 30]!r})",
                "Indices start at 0 and must be smaller than the number of attributes",
            )
        column = int(found[1])
        where.append(column)
        stated.append(readers[column].value(unquoted(found[2])))
        position = found.end()
    return where, stated


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
