"""Cells that list the labels of a row: collections, "a;b;c", JSON lists, ``<a><b>``."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelgap.labels.states import is_missing

SEPARATORS = (";", "|", "\n", "\t", ",")
_IN_BRACKETS = re.compile(r"(<[^<>]+>)+")
_LISTS = {"[": "]", "(": ")", "{": "}"}
# a separator counts when it is in a tenth as many cells as the most frequent one
_RARE = 0.1
_MOST_CHARACTERS = 60


class TagCells(NamedTuple):
    """The labels that each row lists, and how they were written.

    ``rows`` has a set for each row, None where the row says nothing. ``written`` ends a sentence:
    "separated by ';'". ``is_certain`` is False where the cells could as well be names of classes.
    """

    rows: list[set | None]
    written: str
    is_certain: bool = True


def are_collections(cells: Sequence[Any]) -> bool:
    """Whether the cells that hold something hold lists, sets or arrays."""
    there = [cell for cell in cells if not is_missing(cell)]
    kinds = (set, frozenset, list, tuple, dict, np.ndarray)
    return bool(there) and all(isinstance(cell, kinds) for cell in there)


def is_matrix(cells: Sequence[Any]) -> bool:
    """Whether collections are the rows of a matrix of 0, 1 and NaN."""
    there = [cell for cell in cells if not is_missing(cell)]
    if len({len(cell) for cell in there}) != 1 or isinstance(there[0], (set, frozenset, dict)):
        return False
    values = {value for cell in there for value in np.asarray(cell, dtype=object).ravel().tolist()}
    return all(is_missing(value) or value in (0, 1) for value in values)


def read_tag_cells(
    cells: Iterable[Any], *, separator: str = "auto", empty: str = "auto"
) -> TagCells | None:
    """Return the labels that cells list; None where cells neither are lists nor hold a separator.

    cells : sequence. Collections, or text.
    separator : str, default="auto". What is between two labels; "auto" finds out, "json" reads JSON
        lists.
    empty : {"auto", "zero", "unknown"}, default="auto". Whether an empty cell lists no label or
        says nothing. "auto": it says nothing where the cells have another way to list none, as JSON
        lists have, and lists none otherwise.
    """
    cells = list(cells)
    if are_collections(cells):
        rows = [
            None if is_missing(cell) else _plain_set(row, cell) for row, cell in enumerate(cells)
        ]
        return TagCells(_with_empty(rows, empty, "unknown"), "lists")
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    if separator == "json" or (separator == "auto" and _are_lists(texts)):
        rows = [_listed(text) if text else None for text in texts]
        return TagCells(_with_empty(rows, empty, "unknown"), "JSON lists")
    if separator == "auto" and _all_match(texts, _IN_BRACKETS):
        rows = [set(re.findall(r"<([^<>]+)>", text)) if text else None for text in texts]
        return TagCells(_with_empty(rows, empty, "zero"), "written as <a><b>")
    found = _separator_of(texts) if separator == "auto" else separator
    if found is None:
        return None
    rows = [_parts(text, found) if text else None for text in texts]
    is_certain = separator != "auto" or found in ";|\n\t" or _tags_recur(texts, rows)
    return TagCells(_with_empty(rows, empty, "zero"), f"separated by {found!r}", is_certain)


def tag_order(rows: Iterable[set | None]) -> list:
    """The labels of all rows in order: whole numbers by their size, also where they are text."""
    tags = {tag for row in rows if row is not None for tag in row}
    if tags and all(isinstance(tag, str) and re.fullmatch(r"-?\d{1,18}", tag) for tag in tags):
        return sorted(tags, key=lambda tag: (int(tag), tag))
    return sorted(tags)


# so many different texts in as many rows are no labels
_FEW_TEXTS = 20


def one_per_row(cells: Iterable[Any], empty: str = "auto") -> TagCells:
    """The cells as one label per row."""
    rows: list[set | None] = [
        None if is_missing(cell) or not str(cell).strip() else {str(cell).strip()} for cell in cells
    ]
    given = [str(next(iter(row))) for row in rows if row]
    several_words = sum(len(text.split()) > 1 for text in given)
    if len(given) > _FEW_TEXTS and len(set(given)) == len(given) < 2 * several_words:
        raise ValueError(
            f"each row has a text of its own, such as {_short(given[0])}: a text is no label; name "
            "the column that holds labels"
        )
    return TagCells(_with_empty(rows, empty, "unknown"), "one per row")


def _with_empty(rows: list[set | None], empty: str, automatic: str) -> list[set | None]:
    if (automatic if empty == "auto" else empty) == "unknown":
        return rows
    return [set() if row is None else row for row in rows]


def _plain_set(row: int, cell: Any) -> set:
    try:
        return {value.item() if isinstance(value, np.generic) else value for value in _tags(cell)}
    except TypeError as error:
        raise ValueError(
            f"row {row} lists {_short(cell)}: labels must be text or numbers"
        ) from error


def _tags(cell: Any) -> Iterable:
    """The elements of a collection; of a mapping, the keys with a true value."""
    if isinstance(cell, dict):
        return [key for key, value in cell.items() if value]
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _are_lists(texts: list[str]) -> bool:
    return any(texts) and all(
        _LISTS.get(text[0]) == text[-1] and len(text) > 1 for text in texts if text
    )


def _all_match(texts: list[str], pattern: re.Pattern) -> bool:
    return any(texts) and all(pattern.fullmatch(text) for text in texts if text)


def _listed(text: str) -> set:
    """The labels of a JSON list, or of a list as Python prints it."""
    # NumPy prints lists without commas
    text = re.sub(r"(?<=['\"])\s+(?=['\"])", ", ", text)
    for read in (json.loads, ast.literal_eval):
        try:
            return {value if isinstance(value, str) else str(value) for value in _tags(read(text))}
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return {part.strip(" '\"") for part in text[1:-1].split(",")} - {""}


def _separator_of(texts: list[str]) -> str | None:
    counts = {mark: sum(mark in text for text in texts) for mark in SEPARATORS}
    most = max(counts.values())
    if most:
        return next(mark for mark in SEPARATORS if counts[mark] >= max(_RARE * most, 1))
    words = [word for text in texts for word in text.split()]
    several = any(" " in text for text in texts)
    if several and all(re.fullmatch(r"\d+|#\S+", word) for word in words):
        return " "
    return None


def _parts(text: str, separator: str) -> set:
    pieces = text.split() if separator == " " else text.split(separator)
    return {piece.strip() for piece in pieces} - {""}


def _tags_recur(texts: list[str], rows: list[set | None]) -> bool:
    """Whether cells combine fewer labels than there are different cells."""
    different = {text: row for text, row in zip(texts, rows, strict=True) if row}
    counts = Counter(tag for row in different.values() for tag in row or ())
    return len(counts) <= len(different)


def _short(cell: Any) -> str:
    text = " ".join(repr(cell).split())
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
