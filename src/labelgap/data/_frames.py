"""Tables from wherever they are, each opened once, and where a row of them is."""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from labelgap.data._contents import DataFormatError, decompressing
from labelgap.data._saved_datasets import is_saved_dataset, read_saved_dataset
from labelgap.data._table_readers import TABLE_SUFFIXES, reader_of
from labelgap.extras import require

_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
DATABASES = (*_DUCKDB, *_SQLITE)
"""Endings of the names of database files."""
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz")
_MOST_NAMED = 8
_NAME = "labelgap.table"


class Part(NamedTuple):
    """A file that rows of a table come from, in their order; ``sha256`` is of its bytes.

    ``separator`` is that of text, and ``notes`` say how the file was read where that was found out.
    """

    path: Path
    n_samples: int
    sha256: str | None = None
    separator: str | None = None
    notes: tuple[str, ...] = ()


class TableName(str):
    """The name of a table for messages, which knows the files that its rows come from.

    Rows of text have the number of their line, rows of other files are counted from 1, and those
    of a frame from 0, as its positions are.

    Examples
    --------
    >>> from labelgap.data import TableName
    >>> TableName("frame").words(3)
    'frame, row 3'
    """

    parts: tuple[Part, ...]

    def __new__(cls, name: str, parts: Sequence[Part] = ()) -> TableName:
        made = super().__new__(cls, name)
        made.parts = tuple(parts)
        return made

    @property
    def notes(self) -> list[str]:
        """How the files were read, where that was found out."""
        return list(dict.fromkeys(note for part in self.parts for note in part.notes))

    @property
    def is_annotation_export(self) -> bool:
        """Whether the table is an export of Label Studio or Argilla."""
        return any(note.startswith("read as an export of") for note in self.notes)

    def place(self, row: int) -> dict[str, Any]:
        """Return ``file`` and ``line`` or ``row`` of a DataFormatError, for a row from 0."""
        for part in self.parts:
            if row < part.n_samples:
                line = _line_of(part, row)
                counted = {"row": row + 1} if line is None else {"line": line}
                return {"file": str(part.path), **counted}
            row -= part.n_samples
        return {"file": str(self), "row": row}

    def place_of_names(self) -> dict[str, Any]:
        """Return the same for the names of the columns."""
        first_line = bool(self.parts) and _is_text(self.parts[0])
        return {"file": str(self), "line": 1} if first_line else {"file": str(self)}

    def words(self, row: int, beside: str | None = None) -> str:
        """Return the place as "line 7", with the file unless that is the one ``beside`` it."""
        place = self.place(row)
        counted = f"line {place['line']}" if "line" in place else f"row {place['row']}"
        return counted if place["file"] == beside else f"{place['file']}, {counted}"


def read_frame(
    source: Any, *, query: str | None = None, ids: Sequence[str] = ()
) -> tuple[Any, TableName]:
    """Read a table into a pandas frame, and return it with its name for messages.

    Rows are numbered from 0. A frame that this function read before keeps its name.

    Parameters
    ----------
    source : path, pandas or polars frame
        A file of separated text (its separator and encoding are found out), Parquet, Feather,
        Excel (.xlsx), JSON lines, or an export of Label Studio or Argilla (.json); a folder of
        files of one of these kinds with the same columns (read in the order of their names), or
        one that the package ``datasets`` saved; a DuckDB or SQLite file. Each file is opened once;
        databases are opened for reading only.
    query : str, default=None
        The SQL query of a database; without one it must hold a single table.
    ids : sequence of str, default=()
        Columns of text files that are read as they are written: 007 is not 7.

    Returns
    -------
    frame : pandas.DataFrame
    name : TableName

    Raises
    ------
    DataFormatError
        If there is nothing, or nothing readable; with the file, the line where known and the
        remedy.

    See Also
    --------
    read_table : Features and labels of a table.

    Examples
    --------
    >>> import pandas
    >>> from labelgap.data import read_frame
    >>> frame, name = read_frame(pandas.DataFrame({"id": ["a", "b"]}))
    >>> len(frame), name
    (2, 'frame')
    """
    pandas = require("pandas", extra="frames", purpose="read_table")
    if isinstance(source, pandas.DataFrame):
        name = source.attrs.get(_NAME, TableName("frame"))
        return _not_empty(source.reset_index(drop=True), name), name
    if hasattr(source, "to_pandas"):
        return _not_empty(source.to_pandas(), "frame"), TableName("frame")
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a table is a path or a frame, not {type(source).__name__}")
    path = Path(source)
    if path.suffix.lower() in DATABASES and path.is_file():
        frame = _from_database(pandas, path, query)
        parts = [Part(path, len(frame))]
    elif query is not None:
        raise ValueError(f"{path}: a query is for a DuckDB or SQLite file; leave it out")
    elif is_saved_dataset(path):
        frame, notes = read_saved_dataset(path)
        parts = [Part(path, len(frame), notes=notes)]
    elif path.is_dir():
        frame, parts = _from_folder(pandas, path, ids)
    else:
        frame, part = _from_file(pandas, path, ids)
        parts = [part]
    name = TableName(str(path), parts)
    frame.attrs[_NAME] = name
    return _not_empty(frame, name), name


def _not_empty(frame: Any, file: str) -> Any:
    if not len(frame):
        raise DataFormatError("the table has no rows", file=file, remedy="Give at least one row")
    return frame


def _from_file(pandas: Any, path: Path, ids: Sequence[str]) -> tuple[Any, Part]:
    try:
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            found = reader_of(path)(pandas, _plain_text(stream, path), path, ids)
    except (DataFormatError, FileNotFoundError):
        raise
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"is no text in an encoding that is known (byte 0x{error.object[error.start]:02x})",
            file=str(path),
            remedy="Save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 OLD > NEW",
        ) from error
    except pandas.errors.EmptyDataError as error:
        raise DataFormatError(
            "is empty", file=str(path), remedy="Give a table with a line of names and rows"
        ) from error
    except ImportError:
        raise
    # a damaged file fails anywhere in the libraries that read it
    except Exception as error:
        raise DataFormatError(
            f"cannot read the table ({' '.join(str(error).split())})",
            file=str(path),
            remedy="Check that it is separated text with a line of names, or what its name says",
        ) from error
    part = Part(path, len(found.frame), digest, found.separator, found.notes)
    return found.frame, part


def _plain_text(stream: IO[bytes], path: Path) -> IO[bytes]:
    plain = decompressing(stream, str(path))
    if plain is stream and path.suffix.lower() in _COMPRESSED:
        raise DataFormatError(
            f"is not compressed, although its name ends in {path.suffix}",
            file=str(path),
            remedy="Rename it, or download it again",
        )
    return plain


def _from_folder(pandas: Any, folder: Path, ids: Sequence[str]) -> tuple[Any, list[Part]]:
    """The files of a folder, one below the other."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    tables = [path for path in files if path.suffix.lower() in _PARQUET]
    if not tables:
        tables = [path for path in files if _is_table(path)]
    if not tables:
        raise DataFormatError(
            "the folder holds no table (CSV, Parquet, JSON lines, Feather, Excel)",
            file=str(folder),
            remedy="Give the folder with the tables, or a file",
        )
    parts = [_from_file(pandas, path, ids) for path in tables]
    first = parts[0][0].columns
    for frame, part in parts:
        strange = [name for name in frame.columns if name not in first]
        missing = [name for name in first if name not in frame.columns]
        if strange or missing:
            problem = f"has a column {strange[0]!r}" if strange else f"lacks {missing[0]!r}"
            raise DataFormatError(
                f"{problem}, other than {tables[0].name}",
                **TableName(str(part.path), [part]).place_of_names(),
                remedy="Files of one folder must have the same columns",
            )
    return pandas.concat([frame for frame, _ in parts], ignore_index=True), [p for _, p in parts]


def _is_table(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in TABLE_SUFFIXES


def _from_database(pandas: Any, path: Path, query: str | None) -> Any:
    if path.suffix.lower() in _DUCKDB:
        return _from_duckdb(path, query)
    connection = sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)
    try:
        if query is None:
            listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            query = _only_table(path, [row[0] for row in connection.execute(listing)])
        return pandas.read_sql_query(query, connection)
    except (sqlite3.Error, pandas.errors.DatabaseError, UnicodeError) as error:
        raise _refused(path, error) from error
    finally:
        connection.close()


def _from_duckdb(path: Path, query: str | None) -> Any:
    duckdb = require("duckdb", extra="tables", purpose=f"reading {path.name}")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            if query is None:
                names = connection.execute("SELECT table_name FROM information_schema.tables")
                query = _only_table(path, sorted(row[0] for row in names.fetchall()))
            return connection.execute(query).fetch_df()
    except (duckdb.Error, UnicodeError) as error:
        raise _refused(path, error) from error


def _only_table(path: Path, names: list[str]) -> str:
    if len(names) == 1:
        quoted = names[0].replace('"', '""')
        return f'SELECT * FROM "{quoted}"'
    shown = ", ".join(names[:_MOST_NAMED]) or "none"
    raise DataFormatError(
        f"which table is meant is not clear (it holds: {shown})",
        file=str(path),
        remedy=f"Give query= (--query), such as 'SELECT * FROM {names[0] if names else 'items'}'",
    )


def _refused(path: Path, error: Exception) -> DataFormatError:
    return DataFormatError(
        f"the database refuses ({' '.join(str(error).split())})",
        file=str(path),
        remedy="Check the file and the query",
    )


def _line_of(part: Part, row: int) -> int | None:
    """The line a row of separated text begins in; None for other files."""
    if not _is_text(part):
        return None
    opened = gzip.open if part.path.suffix.lower() == ".gz" else open
    with opened(part.path, "rt", encoding="utf-8", errors="replace", newline="") as stream:
        reader = csv.reader(stream, delimiter=part.separator or ",")
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


def _is_text(part: Part) -> bool:
    """Whether lines can be counted."""
    return part.separator is not None and part.path.suffix.lower() not in (".bz2", ".xz")
