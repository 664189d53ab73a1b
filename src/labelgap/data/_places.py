"""Where a row of a table is, in the words of whoever has to correct it."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Part", "TableName", "place_of", "place_of_names", "place_words"]


class Part(NamedTuple):
    """A file that rows of a table come from, in their order."""

    path: Path
    n_rows: int


class TableName(str):
    """What to call a table in messages; it knows which files its rows come from.

    Rows of text have the number of their line, rows of other files are counted from 1, and those
    of a frame from 0, as its positions are.
    """

    parts: tuple[Part, ...]

    def __new__(cls, name: str, parts: Sequence[Part] = ()) -> TableName:
        made = super().__new__(cls, name)
        made.parts = tuple(parts)
        return made


def place_of(file: str, row: int) -> dict[str, Any]:
    """``file`` and ``line`` or ``row`` of :class:`DataFormatError`, for a row counted from 0."""
    for part in getattr(file, "parts", ()):
        if row < part.n_rows:
            line = _line_of(part.path, row)
            counted = {"row": row + 1} if line is None else {"line": line}
            return {"file": str(part.path), **counted}
        row -= part.n_rows
    return {"file": str(file), "row": row}


def place_of_names(file: str) -> dict[str, Any]:
    """The same for the names of the columns."""
    parts = getattr(file, "parts", ())
    return {"file": str(file), "line": 1} if parts and _is_text(parts[0].path) else {"file": file}


def place_words(file: str, row: int, beside: str | None = None) -> str:
    """The same as "line 7"; with the file, unless that is the one ``beside`` it."""
    place = place_of(file, row)
    counted = f"line {place['line']}" if "line" in place else f"row {place['row']}"
    return counted if place["file"] == beside else f"{place['file']}, {counted}"


def _line_of(path: Path, row: int) -> int | None:
    """The line a row of comma- or tab-separated text begins in; None for other files."""
    if not _is_text(path):
        return None
    suffixes = [suffix.lower() for suffix in path.suffixes]
    opened = gzip.open if suffixes[-1] == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="") as stream:
        reader = csv.reader(stream, delimiter="\t" if ".tsv" in suffixes else ",")
        seen, begins = -1, 1
        try:
            for record in reader:
                # the first is the names; cells may hold line breaks, and empty lines are no rows
                if record:
                    if seen == row:
                        return begins
                    seen += 1
                begins = reader.line_num + 1
        except csv.Error:
            return row + 2
    return row + 2


def _is_text(path: Path) -> bool:
    """Whether lines can be counted."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return bool({".csv", ".tsv"} & set(suffixes)) and suffixes[-1] in (".csv", ".tsv", ".gz")
