"""Tables from wherever they are: CSV, Parquet, a folder of either, or a query of a database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labelgap._extras import require
from labelgap.data._errors import DataFormatError
from labelgap.data._places import Part, TableName, place_of_names

__all__ = ["DATABASES", "is_parquet", "read_csv", "read_frame"]

_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
DATABASES = (*_DUCKDB, *_SQLITE)
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_MOST_NAMED = 8
_NAME = "labelgap.table"
# whole numbers that an integer of 64 bits, or a floating-point number, holds exactly
_WHOLE, _WITH_POINT = r"-?(0|[1-9]\d{0,17})", r"-?(0|[1-9]\d{0,14})(\.0+)?"


def is_parquet(path: Path) -> bool:
    """Whether the name says so."""
    return path.suffix.lower() in _PARQUET


def read_frame(
    source: Any, *, query: str | None = None, ids: Sequence[str] = ()
) -> tuple[Any, TableName]:
    """A pandas frame with rows numbered from 0, and what to call it in messages.

    A frame that this function read before keeps its name.

    Parameters
    ----------
    source : path, pandas or polars frame
        A CSV or Parquet file, a folder of files of one of these kinds with the same columns (read
        in the order of their names), or a DuckDB or SQLite file. Databases are opened for reading.
    query : str, optional
        What to ask a database; without one it must hold a single table.
    ids : sequence of str
        Columns of text files that are read as they are written: 007 is not 7.

    Raises
    ------
    DataFormatError
        If there is nothing, or nothing readable; with the file, the line where known and the
        remedy.
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
        frame = _from_file(pandas, path, ids)
        parts = [Part(path, len(frame))]
    name = TableName(str(path), parts)
    frame.attrs[_NAME] = name
    return _not_empty(frame, name), name


def _not_empty(frame: Any, file: str) -> Any:
    if not len(frame):
        raise DataFormatError("the table has no rows", file=file, remedy="Give at least one row")
    return frame


def read_csv(path: Path, ids: Sequence[str] = (), only: Sequence[str] | None = None) -> Any:
    """A frame of comma- or tab-separated text; ``ids`` as in :func:`read_frame`.

    ``only`` are the columns that are wanted. A name that two columns have is refused.
    """
    pandas = require("pandas", extra="frames", purpose="reading CSV")
    separator = "\t" if ".tsv" in path.suffixes else ","
    names = pandas.read_csv(path, sep=separator, header=None, nrows=1, dtype=str).iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise DataFormatError(
            f"two columns are called {twice.iloc[0]!r}",
            file=str(path),
            line=1,
            remedy="Give every column a name of its own",
        )
    as_text = dict.fromkeys(ids, str)
    frame = pandas.read_csv(path, sep=separator, usecols=only, dtype=as_text, low_memory=False)
    for name in frame.columns.intersection(list(ids)):
        frame[name] = _number_if_nothing_is_lost(pandas, frame[name])
    return frame


def _number_if_nothing_is_lost(pandas: Any, column: Any) -> Any:
    """Ids that are whole numbers as such, with or without a point; all others as written."""
    text = column.str.strip()
    there = text.dropna()
    pattern = _WITH_POINT if there.str.contains(".", regex=False).any() else _WHOLE
    return pandas.to_numeric(text) if there.str.fullmatch(pattern).all() else text


def _from_file(pandas: Any, path: Path, ids: Sequence[str]) -> Any:
    try:
        return pandas.read_parquet(path) if is_parquet(path) else read_csv(path, ids)
    except DataFormatError:
        raise
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    except (ValueError, OSError) as error:
        raise DataFormatError(
            f"cannot read the table ({' '.join(str(error).split())})",
            file=str(path),
            remedy="Check that it is comma-separated text with a line of names, or Parquet",
        ) from error


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
    tables = [path for path in files if is_parquet(path)]
    if not tables:
        tables = [path for path in files if path.name.lower().endswith(_TEXT)]
    if not tables:
        raise DataFormatError(
            "the folder holds no CSV and no Parquet file",
            file=str(folder),
            remedy="Give the folder with the tables, or a file",
        )
    parts = [_from_file(pandas, path, ids) for path in tables]
    for path, part in zip(tables, parts, strict=True):
        strange = [name for name in part.columns if name not in parts[0].columns]
        missing = [name for name in parts[0].columns if name not in part.columns]
        if strange or missing:
            problem = f"has a column {strange[0]!r}" if strange else f"lacks {missing[0]!r}"
            raise DataFormatError(
                f"{problem}, other than {tables[0].name}",
                **place_of_names(TableName(str(path), [Part(path, len(part))])),
                remedy="Files of one folder must have the same columns",
            )
    found = [Part(path, len(part)) for path, part in zip(tables, parts, strict=True)]
    return pandas.concat(parts, ignore_index=True), found


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
