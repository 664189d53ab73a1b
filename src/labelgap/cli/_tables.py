"""CSV and Parquet tables: which columns are labels, and long label tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from labelgap._extras import require
from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._loaded import Hints, Loaded
from labelgap.cli._options import LabelledOptions, RowOptions
from labelgap.data import DataFormatError, read_table
from labelgap.data._frames import DATABASES, is_parquet, read_csv, read_frame
from labelgap.data._places import Part, TableName
from labelgap.labels import Labels, State

_MOST_SHOWN = 12


def open_table(path: Path, query: str | None = None, ids: Sequence[str] = ()) -> Any:
    """What :func:`column_names`, :func:`read_column` and ``read_table`` take.

    A file is read by those when they need it; a folder, a database and tab-separated text are
    read here, once, and ``ids`` of text files as they are written.
    """
    read_now = path.is_dir() or path.suffix.lower() in DATABASES or ".tsv" in path.suffixes
    if query is None and not read_now:
        return path
    return read_frame(path, query=query, ids=ids)[0]


def _name_of(table: Any, n_rows: int) -> TableName:
    """Which files the rows are in."""
    if isinstance(table, Path):
        return TableName(str(table), [Part(table, n_rows)])
    return read_frame(table)[1]


def column_names(table: Any) -> list[str]:
    """The names of the columns of a table, without reading the rows of a file."""
    if not isinstance(table, Path):
        return [str(name) for name in table.columns]
    if is_parquet(table):
        parquet = require("pyarrow.parquet", extra="frames", purpose="reading Parquet")
        try:
            return list(parquet.read_schema(table).names)
        except (ValueError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise BadInputError(
                f"{table}: is no Parquet file, or is damaged ({_one_line(error)}); write it again, "
                "or rename it to .csv if it is text"
            ) from error
    pandas = require("pandas", extra="frames", purpose="reading CSV")
    try:
        return [str(name) for name in pandas.read_csv(table, nrows=0).columns]
    except pandas.errors.EmptyDataError as error:
        raise BadInputError(
            f"{table}: is empty; give a table with a line of names and at least one row"
        ) from error
    except UnicodeDecodeError:
        # said with its line when the rows are read
        return [str(name) for name in read_frame(table)[0].columns]


def read_column(table: Any, name: str, *, as_id: bool = False) -> np.ndarray:
    """One column of a table; ids of text files as they are written."""
    if not isinstance(table, Path):
        return table[name].to_numpy()
    pandas = require("pandas", extra="frames", purpose="reading a table")
    if is_parquet(table):
        return pandas.read_parquet(table, columns=[name])[name].to_numpy()
    return read_csv(table, [name] if as_id else [], [name])[name].to_numpy()


def read_table_file(path: Path, options: RowOptions, hints: Hints, *, labelled: bool) -> Loaded:
    """Features, ids, text and labels of a table."""
    table = open_table(path, options.query, [options.item or hints.item or ""])
    columns = column_names(table)
    item = options.item or (hints.item if hints.item in columns else None)
    text = hints.text or getattr(options, "text", None)
    for option, name in (("--item", item), ("--text", text)):
        _require(path, columns, option, [name])
    labels: list[str] = []
    if isinstance(options, LabelledOptions):
        labels = _label_columns(path, options, hints, columns)
    unused = {*_match(path, columns, "--drop", options.drop), *hints.labels, *labels, text, item}
    unused = set(columns) if hints.only_labels else unused
    how = _label_arguments(options, labels, item) if labelled else {"label_columns": []}
    drop = [name for name in columns if name in unused - {*how.get("label_columns", []), item}]
    dataset = read_table(table, item=item, drop=drop, **how)
    loaded = Loaded(
        str(path),
        dataset.X,
        [str(name) for name in dataset.feature_names],  # type: ignore[union-attr]
        np.arange(dataset.Y.n_rows) if item is None else read_column(table, item, as_id=True),
        item or "row",
        text=text,
        texts=None if text is None else _texts(read_column(table, text)),
        table=_name_of(table, dataset.Y.n_rows),
    )
    if not labelled:
        return loaded
    if not has_long_table(options):
        return replace(loaded, Y=dataset.Y)
    Y = long_labels(options, loaded) if item is None else dataset.Y
    return replace(loaded, Y=align(Y, labels) if labels else Y, lists_labels=True)


def has_long_table(options: Any) -> bool:
    """Whether the labels are listed in a table of their own."""
    return options.label_table is not None or options.label_query is not None


def long_labels(options: Any, rows: Loaded) -> Labels:
    """Labels of rows without a column of ids: the long table refers to them by number."""
    pandas = require("pandas", extra="frames", purpose="reading a label table")
    frame = pandas.DataFrame({rows.item: rows.items})
    with reading(options.label_table or options.data):
        try:
            return read_table(frame, item=rows.item, **_long_arguments(options)).Y
        except DataFormatError as error:
            problem = error.problem.replace("is not in frame", f"is not a row of {rows.place}")
            raise DataFormatError(
                problem, file=error.file, line=error.line, row=error.row, remedy=error.remedy
            ) from None


def align(labels: Labels, names: list[str], *, absent: State | None = None) -> Labels:
    """The labels in the order of ``names``; those not among ``names`` are left out.

    Columns that no label fills are unseen with ``absent=State.UNKNOWN``, and otherwise hold what
    unstated entries mean.
    """
    assert labels.names is not None
    target = {name: j for j, name in enumerate(names)}
    columns = np.array([target.get(str(name), -1) for name in labels.names], dtype=np.int64)
    stored = labels.entries.tocoo()
    moved = columns[stored.col] if stored.nnz else np.zeros(0, dtype=np.int64)
    keep = moved >= 0
    entries = type(stored)(
        (stored.data[keep], (stored.row[keep], moved[keep])), shape=(labels.n_rows, len(names))
    )
    unseen = np.full(len(names), absent is State.UNKNOWN)
    unseen[columns[columns >= 0]] = labels.unseen[columns >= 0]
    return Labels(entries.tocsr(), labels.unstated, names=names, unseen=unseen)


def _label_columns(
    path: Path, options: LabelledOptions, hints: Hints, columns: list[str]
) -> list[str]:
    """The columns that hold labels, whether they are read or replaced by a long table."""
    names = _match(path, columns, "--labels", options.labels)
    if not options.labels:
        names = [name for name in columns if name in hints.labels]
    if not names and not has_long_table(options):
        wanted = f" (looked for {', '.join(hints.labels[:5])})" if hints.labels else ""
        raise BadInputError(
            f"{path}: nothing says which columns are labels{wanted}; give --labels 'a,b' or a "
            "pattern such as 'tag_*', or --label-table"
        )
    return names


def _label_arguments(options: Any, labels: list[str], item: str | None) -> dict[str, Any]:
    if not has_long_table(options):
        return {"label_columns": labels, "unstated": str(options.unstated)}
    # rows without ids are joined by number afterwards
    return {"label_columns": []} if item is None else _long_arguments(options)


def _match(path: Path, columns: list[str], option: str, wanted: list[str]) -> list[str]:
    """The columns that names and patterns stand for, in the order of the table."""
    chosen: set[str] = set()
    for value in wanted:
        for one in [value] if value in columns else value.split(","):
            found = [one] if one in columns else [c for c in columns if fnmatchcase(c, one)]
            _require(path, columns, option, found or [one])
            chosen.update(found)
    return [name for name in columns if name in chosen]


def _long_arguments(options: LabelledOptions) -> dict[str, Any]:
    path = options.label_table
    if path is not None and not path.exists():
        raise BadInputError(f"--label-table {path}: there is no such file; check the path")
    ids = [options.item or "", options.label_column]
    table = open_table(path or Path(options.data), options.label_query, ids)
    value = options.value_column
    if value is None and "value" in column_names(table):
        value = "value"
    return {
        "label_table": table,
        "label": options.label_column,
        "value": value,
        "unstated": str(options.unstated),
    }


def _require(path: Path, columns: list[str], option: str, names: Any) -> None:
    for name in names:
        if name is not None and name not in columns:
            more = ", ..." if len(columns) > _MOST_SHOWN else ""
            shown = ", ".join(columns[:_MOST_SHOWN]) + more
            remedy = ""
            if len(columns) == 1 and (found := [mark for mark in ";\t|" if mark in columns[0]]):
                remedy = f". Is it separated by {found[0]!r}? Save it with commas"
            raise BadInputError(
                f"{option} {name}: {path} has no such column; its columns are {shown}{remedy}"
            )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _texts(column: np.ndarray) -> np.ndarray:
    return np.array(["" if one is None or one != one else str(one) for one in column], dtype=object)
