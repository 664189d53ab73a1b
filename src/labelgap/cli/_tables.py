"""CSV and Parquet tables: which columns are labels, and long label tables."""

from __future__ import annotations

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
from labelgap.labels import Labels, State

_MOST_SHOWN = 12


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table, without reading its rows."""
    if _is_parquet(path):
        parquet = require("pyarrow.parquet", extra="frames", purpose="reading Parquet")
        return list(parquet.read_schema(path).names)
    pandas = require("pandas", extra="frames", purpose="reading CSV")
    return [str(name) for name in pandas.read_csv(path, nrows=0).columns]


def read_column(path: Path, name: str) -> np.ndarray:
    """One column of a table."""
    pandas = require("pandas", extra="frames", purpose="reading a table")
    if _is_parquet(path):
        return pandas.read_parquet(path, columns=[name])[name].to_numpy()
    return pandas.read_csv(path, usecols=[name])[name].to_numpy()


def read_table_file(path: Path, options: RowOptions, hints: Hints, *, labelled: bool) -> Loaded:
    """Features, ids, text and labels of a table."""
    columns = column_names(path)
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
    dataset = read_table(path, item=item, drop=drop, **how)
    loaded = Loaded(
        str(path),
        dataset.X,
        [str(name) for name in dataset.feature_names],  # type: ignore[union-attr]
        np.arange(dataset.Y.n_rows) if item is None else read_column(path, item),
        item or "row",
        texts=None if text is None else _texts(read_column(path, text)),
    )
    if not labelled:
        return loaded
    if options.label_table is None:  # type: ignore[attr-defined]
        return replace(loaded, Y=dataset.Y)
    Y = long_labels(options, loaded) if item is None else dataset.Y
    return replace(loaded, Y=align(Y, labels) if labels else Y, lists_labels=True)


def long_labels(options: Any, rows: Loaded) -> Labels:
    """Labels of rows without a column of ids: the long table refers to them by number."""
    pandas = require("pandas", extra="frames", purpose="reading a label table")
    frame = pandas.DataFrame({rows.item: rows.items})
    with reading(options.label_table):
        try:
            return read_table(frame, item=rows.item, **_long_arguments(options)).Y
        except DataFormatError as error:
            problem = error.problem.replace("is not in frame", f"is not a row of {rows.place}")
            raise DataFormatError(
                problem, file=error.file, line=error.line, remedy=error.remedy
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
    if not names and options.label_table is None:
        wanted = f" (looked for {', '.join(hints.labels[:5])})" if hints.labels else ""
        raise BadInputError(
            f"{path}: nothing says which columns are labels{wanted}; give --labels 'a,b' or a "
            "pattern such as 'tag_*', or --label-table"
        )
    return names


def _label_arguments(options: Any, labels: list[str], item: str | None) -> dict[str, Any]:
    if options.label_table is None:
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
    assert path is not None
    if not path.is_file():
        raise BadInputError(f"--label-table {path}: there is no such file; check the path")
    value = options.value_column
    if value is None and "value" in column_names(path):
        value = "value"
    return {
        "label_table": path,
        "label": options.label_column,
        "value": value,
        "unstated": str(options.unstated),
    }


def _require(path: Path, columns: list[str], option: str, names: Any) -> None:
    for name in names:
        if name is not None and name not in columns:
            more = ", ..." if len(columns) > _MOST_SHOWN else ""
            shown = ", ".join(columns[:_MOST_SHOWN]) + more
            raise BadInputError(
                f"{option} {name}: {path} has no such column; its columns are {shown}"
            )


def _texts(column: np.ndarray) -> np.ndarray:
    return np.array(["" if one is None or one != one else str(one) for one in column], dtype=object)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")
