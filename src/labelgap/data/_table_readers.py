"""One reader per kind of table file; each returns a frame, and says what it had to find out."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from labelgap.data._annotation_exports import flat_records
from labelgap.data._contents import DataFormatError, shown_damage
from labelgap.extras import require

_MARKS = (",", ";", "\t", "|")
_SAMPLE_LINES = 60
_WRITE_AGAIN = "To get one, write it again, or rename it to .csv if it is text"
# whole numbers that an integer of 64 bits, or a floating-point number, holds exactly
_WHOLE, _WITH_POINT = r"-?(0|[1-9]\d{0,17})", r"-?(0|[1-9]\d{0,14})(\.0+)?"
_DECIMAL_COMMA = r"\s*-?\d+(,\d+)?\s*"
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class FileFrame(NamedTuple):
    """A frame, sentences of how it was read, and what separates the cells of text."""

    frame: Any
    notes: tuple[str, ...] = ()
    separator: str | None = None


Reader = Callable[[Any, IO[bytes], Path, Sequence[str]], FileFrame]


def reader_of(path: Path) -> Reader:
    """Return the reader for the name of a file; text where the name says nothing."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((_READERS[s] for s in reversed(suffixes) if s in _READERS), read_text)


# -- text ----------------------------------------------------------------------------------------


def read_text(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    """A frame of separated text. A name that two columns have is refused."""
    text, notes = _decoded(stream)
    separator = "\t" if ".tsv" in path.suffixes else _separator_of(text)
    if separator not in (",", "\t"):
        notes.append(f"read {path.name} as text separated by {separator!r}")
    names = pandas.read_csv(io.StringIO(text), sep=separator, header=None, nrows=1, dtype=str)
    names = names.iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise DataFormatError(
            f"two columns are called {twice.iloc[0]!r}",
            file=str(path),
            line=1,
            remedy="Give every column a name of its own",
        )
    as_text = dict.fromkeys(ids, str)
    frame = pandas.read_csv(io.StringIO(text), sep=separator, dtype=as_text, low_memory=False)
    for name in frame.columns.intersection(list(ids)):
        frame[name] = _number_if_nothing_is_lost(pandas, frame[name])
    if separator == ";":
        _read_decimal_commas(pandas, frame, ids, notes)
    return FileFrame(frame, tuple(notes), separator)


def _decoded(stream: IO[bytes]) -> tuple[str, list[str]]:
    """The text of a file: in the encoding that its first bytes name, UTF-8, or that of Windows."""
    raw = stream.read()
    for mark, encoding in _BOMS.items():
        if raw.startswith(mark):
            return raw.decode(encoding), []
    try:
        return raw.decode("utf-8"), []
    except UnicodeDecodeError as error:
        if b"\0" in raw[:1000]:
            raise
        line = raw.count(b"\n", 0, error.start) + 1
        note = (
            f"read as Windows-1252 text: line {line} is not UTF-8 (byte 0x{raw[error.start]:02x})"
        )
        return raw.decode("cp1252", errors="replace"), [note]


def _separator_of(text: str) -> str:
    """What separates the names of columns, and as many cells in the lines after them."""
    lines = text[:200_000].splitlines()[:_SAMPLE_LINES]
    best, most = ",", (0.0, 1)
    for mark in _MARKS:
        try:
            widths = [len(cells) for cells in csv.reader(lines, delimiter=mark) if cells]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            regular = Counter(widths)[widths[0]] / len(widths)
            best, most = max(
                (best, most), (mark, (round(regular, 1), widths[0])), key=lambda t: t[1]
            )
    return best


def _number_if_nothing_is_lost(pandas: Any, column: Any) -> Any:
    """Ids that are whole numbers as such, with or without a point; all others as written."""
    text = column.str.strip()
    there = text.dropna()
    pattern = _WITH_POINT if there.str.contains(".", regex=False).any() else _WHOLE
    return pandas.to_numeric(text) if there.str.fullmatch(pattern).all() else text


def _read_decimal_commas(pandas: Any, frame: Any, ids: Sequence[str], notes: list[str]) -> None:
    """Numbers such as 2,5, which go with semicolons."""
    found = []
    for name in frame.columns.difference(list(ids), sort=False):
        column = frame[name]
        if column.dtype.kind in "biuf":
            continue
        there = column.dropna().astype(str)
        if len(there) and there.str.fullmatch(_DECIMAL_COMMA).all():
            frame[name] = pandas.to_numeric(column.str.strip().str.replace(",", "."))
            found.append(str(name))
    if found:
        notes.append(f"read numbers with a decimal comma in {', '.join(found)}")


# -- other files ---------------------------------------------------------------------------------


def _read_parquet(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    with shown_damage("Parquet file", path, _WRITE_AGAIN):
        return FileFrame(pandas.read_parquet(stream))


def _read_feather(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    with shown_damage("Feather file", path, _WRITE_AGAIN):
        return FileFrame(pandas.read_feather(stream))


def _read_excel(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    require("openpyxl", extra="tables", purpose=f"reading {path.name}")
    with shown_damage("Excel workbook", path, _WRITE_AGAIN):
        book = pandas.ExcelFile(stream, engine="openpyxl")
        sheets = book.sheet_names
        frame = pandas.read_excel(book, sheet_name=sheets[0], dtype=dict.fromkeys(ids, object))
    more = f", the first of {len(sheets)}" if len(sheets) > 1 else ""
    return FileFrame(frame, (f"read sheet {sheets[0]!r}{more}",) if more else ())


def _read_json_lines(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    records = []
    for number, line in enumerate(_decoded(stream)[0].splitlines(), start=1):
        if line.strip():
            records.append(_json(line, path, number))
    return _of_records(pandas, records, path)


def _read_json(pandas: Any, stream: IO[bytes], path: Path, ids: Sequence[str]) -> FileFrame:
    return _of_records(pandas, _json(_decoded(stream)[0], path, None), path)


def _json(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise DataFormatError(
            "is nested too deeply", file=str(path), line=line, remedy="Give a flat list of records"
        ) from error
    except json.JSONDecodeError as error:
        raise DataFormatError(
            f"is no JSON ({error.msg})",
            file=str(path),
            line=error.lineno if line is None else line,
            remedy="A .json file holds a list of records, a .jsonl file one record per line",
        ) from error


def _of_records(pandas: Any, records: Any, path: Path) -> FileFrame:
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise DataFormatError(
            "does not hold a list of records",
            file=str(path),
            remedy='Write [{"id": 1, "tags": ["a", "b"]}, ...], or one record per line in .jsonl',
        )
    with shown_damage(
        "list of records", path, "Export it again, or write one flat record per item"
    ):
        flat, tool = flat_records(records)
        frame = pandas.DataFrame.from_records(flat)
    return FileFrame(frame, (f"read as an export of {tool}",) if tool else ())


_READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_text),
    **dict.fromkeys((".parquet", ".pq"), _read_parquet),
    **dict.fromkeys((".feather",), _read_feather),
    **dict.fromkeys((".xlsx", ".xlsm"), _read_excel),
    **dict.fromkeys((".jsonl", ".ndjson"), _read_json_lines),
    ".json": _read_json,
}
TABLE_SUFFIXES = tuple(suffix for suffix in _READERS if suffix != ".txt")
