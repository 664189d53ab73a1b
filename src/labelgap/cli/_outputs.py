"""Tables that commands write: CSV or Parquet by the name of the file, complete or not at all."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from labelgap._extras import require
from labelgap.cli._failures import BadInputError

_SUFFIXES = (".csv", ".parquet", ".pq")

Columns = Mapping[str, np.ndarray]


def check_target(path: Path, option: str = "--out") -> Path:
    """Refuse a place that cannot be written to before any work is done."""
    if path.is_dir():
        raise BadInputError(f"{option} {path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise BadInputError(f"{option} {path}: there is no folder {path.parent}; create it first")
    return path


def check_table_target(path: Path, option: str = "--out") -> Path:
    """The same for tables, whose names tell the format."""
    if path.suffix.lower() not in _SUFFIXES:
        raise BadInputError(f"{option} {path}: the name must end in .csv or .parquet")
    return check_target(path, option)


def write_table(columns: Columns, path: Path, suffix: str) -> None:
    """Write columns of equal length; ``suffix`` tells the format."""
    if suffix.lower() == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as stream:
            write_csv(columns, stream)
        return
    arrow = require("pyarrow", extra="frames", purpose="writing Parquet")
    parquet = require("pyarrow.parquet", extra="frames", purpose="writing Parquet")
    arrays = {name: arrow.array(column, from_pandas=True) for name, column in columns.items()}
    parquet.write_table(arrow.table(arrays), path)


def write_csv(columns: Columns, stream: TextIO) -> None:
    """Comma-separated text with a line of names; NaN is an empty cell."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(column) for column in columns.values()), strict=True))


def _cells(column: np.ndarray) -> list[Any]:
    cells = np.asarray(column).tolist()
    if np.asarray(column).dtype.kind != "f":
        return cells
    return ["" if cell != cell else f"{cell:.6g}" for cell in cells]
