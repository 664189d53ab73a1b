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
from labelgap.extras import require

__all__ = ["DATABASES", "Part", "TableName", "read_frame"]

_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
DATABASES = (*_DUCKDB, *_SQLITE)
"""Endings of the names of database files."""
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_COMPRESSED = (".gz", ".bz2", ".xz")
_MOST_NAMED = 8
_NAME = "labelgap.table"
# whole numbers that an integer of 64 bits, or a floating-point number, holds exactly
_WHOLE, _WITH_POINT = r"-?(0|[1-9]\d{0,17})", r"-?(0|[1-9]\d{0,14})(\.0+)?"


class Part(NamedTuple):
    """A file that rows of a table come from, in their order; ``sha256`` is of its bytes."""

    path: Path
    n_samples: int
    sha256: str | None = None


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

    def place(self, row: int) -> dict[str, Any]:
        """Return ``file`` and ``line`` or ``row`` of a DataFormatError, for a row from 0."""
        for part in self.parts:
            if row < part.n_samples:
                line = _line_of(part.path, row)
                counted = {"row": row + 1} if line is None else {"line": line}
                return {"file": str(part.path), **counted}
            row -= part.n_samples
        return {"file": str(self), "row": row}

    def place_of_names(self) -> dict[str, Any]:
        """Return the same for the names of the columns."""
        first_line = bool(self.parts) and _is_text(self.parts[0].path)
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
        A CSV or Parquet file, a folder of files of one of these kinds with the same columns (read
        in the order of their names), or a DuckDB or SQLite file. Each file is opened once;
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
            if path.suffix.lower() in _PARQUET:
                frame = _read_parquet(pandas, stream, path)
            else:
                frame = _read_text(pandas, _plain_text(stream, path), path, ids)
    except (DataFormatError, FileNotFoundError):
        raise
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    except pandas.errors.EmptyDataError as error:
        raise DataFormatError(
            "is empty", file=str(path), remedy="Give a table with a line of names and rows"
        ) from error
    except (ValueError, OSError) as error:
        raise DataFormatError(
            f"cannot read the table ({' '.join(str(error).split())})",
            file=str(path),
            remedy="Check that it is comma-separated text with a line of names, or Parquet",
        ) from error
    return frame, Part(path, len(frame), digest)


def _plain_text(stream: IO[bytes], path: Path) -> IO[bytes]:
    plain = decompressing(stream, str(path))
    if plain is stream and path.suffix.lower() in _COMPRESSED:
        raise DataFormatError(
            f"is not compressed, although its name ends in {path.suffix}",
            file=str(path),
            remedy="Rename it, or download it again",
        )
    return plain


def _read_parquet(pandas: Any, stream: IO[bytes], path: Path) -> Any:
    try:
        return pandas.read_parquet(stream)
    except (ValueError, OSError) as error:
        raise DataFormatError(
            f"is no Parquet file, or is damaged ({' '.join(str(error).split()).rstrip('.')})",
            file=str(path),
            remedy="To get one, write it again, or rename it to .csv if it is text",
        ) from error


def _read_text(pandas: Any, stream: Any, path: Path, ids: Sequence[str]) -> Any:
    """A frame of comma- or tab-separated text. A name that two columns have is refused."""
    separator = "\t" if ".tsv" in path.suffixes else ","
    names = pandas.read_csv(stream, sep=separator, header=None, nrows=1, dtype=str)
    names = names.iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise DataFormatError(
            f"two columns are called {twice.iloc[0]!r}",
            file=str(path),
            line=1,
            remedy="Give every column a name of its own",
        )
    stream.seek(0)
    as_text = dict.fromkeys(ids, str)
    frame = pandas.read_csv(stream, sep=separator, dtype=as_text, low_memory=False)
    for name in frame.columns.intersection(list(ids)):
        frame[name] = _number_if_nothing_is_lost(pandas, frame[name])
    return frame


def _number_if_nothing_is_lost(pandas: Any, column: Any) -> Any:
    """Ids that are whole numbers as such, with or without a point; all others as written."""
    text = column.str.strip()
    there = text.dropna()
    pattern = _WITH_POINT if there.str.contains(".", regex=False).any() else _WHOLE
    return pandas.to_numeric(text) if there.str.fullmatch(pattern).all() else text


def _not_utf8(path: Path, error: UnicodeDecodeError) -> DataFormatError:
    is_utf16 = error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
    return DataFormatError(
        f"is not UTF-8 text (byte 0x{error.object[error.start]:02x})",
        file=str(path),
        line=_first_bad_line(path),
        remedy="Save it as UTF-8, for example: "
        f"iconv -f {'UTF-16' if is_utf16 else 'LATIN1'} -t UTF-8 OLD > NEW",
    )


def _first_bad_line(path: Path) -> int | None:
    if path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip"):
        return None
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def _from_folder(pandas: Any, folder: Path, ids: Sequence[str]) -> tuple[Any, list[Part]]:
    """The files of a folder, one below the other."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    tables = [path for path in files if path.suffix.lower() in _PARQUET]
    if not tables:
        tables = [path for path in files if path.name.lower().endswith(_TEXT)]
    if not tables:
        raise DataFormatError(
            "the folder holds no CSV and no Parquet file",
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


def _from_database(pandas: Any, path: Path, query: str | None) -> Any:
    if path.suffix.lower() in _DUCKDB:
        return _from_duckdb(path, query)
    connection = sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)
    try:
        if query is None:
            listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            query = _only_table(path, [row[0] for row in connection.execute(listing)])
        return pandas.read_sql_query(query, connection)
    except (sqlite3.Error, pandas.errors.DatabaseError) as error:
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
    except duckdb.Error as error:
        raise _refused(path, error) from error


def _only_table(path: Path, names: list[str]) -> str:
    if len(names) == 1:
        quoted = names[0].replace('"', '""')
        return f'SELECT * FROM "{quoted}"'
    shown = ", ".join(names[:_MOST_NAMED]) or "none"
    raise DataFormatError(
        f"which table is meant is not clear (it holds: {shown})",
        file=str(path),
        remedy="Give a query, such as SELECT * FROM items",
    )


def _refused(path: Path, error: Exception) -> DataFormatError:
    return DataFormatError(
        f"the database refuses ({' '.join(str(error).split())})",
        file=str(path),
        remedy="Check the file and the query",
    )


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


_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
DATABASES = (*_DUCKDB, *_SQLITE)
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_MOST_NAMED = 8
_NAME = "labelgap.table"
# whole numbers that an integer of 64 bits, or a floating-point number, holds exactly
_WHOLE, _WITH_POINT = r"-?(0|[1-9]\d{0,17})", r"-?(0|[1-9]\d{0,14})(\.0+)?"
