"""Tables that commands write, and predictions in a table that was written before."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from labelgap.cli._options import TableFileIfAny
from labelgap.cli._terminal import BadInputError, reading
from labelgap.data import DataFormatError, read_frame, read_table
from labelgap.extras import require
from labelgap.files import replacing

_SUFFIXES = (".csv", ".parquet", ".pq")
# what spreadsheets take for the beginning of a formula
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

RawCsv = Annotated[
    bool,
    typer.Option(
        "--raw-csv",
        help="Write text that begins like a formula as it is; by default CSV files get an "
        "apostrophe before it, so that no spreadsheet runs it.",
    ),
]

LabelTextFile = Annotated[
    Path | None,
    typer.Option(
        "--label-text",
        metavar="FILE",
        help="A table (CSV, Parquet) with the columns label and text: label names, what they mean.",
    ),
]

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class TableOutput:
    """Where a table of results goes, if anywhere."""

    out: TableFileIfAny = None
    raw_csv: RawCsv = False

    def check(self) -> str | None:
        """Return the place as text, or refuse one that cannot be written to."""
        return None if self.out is None else str(check_table_target(self.out))

    def save(self, columns: Columns) -> None:
        """Write the columns where a place was given."""
        if self.out is not None:
            save_table(columns, self.out, raw=self.raw_csv)


def read_listed(path: Path, columns: Sequence[str], keys: Sequence[str]) -> Any:
    """A table with these columns, of which the keys are text and occur once."""
    with reading(path):
        frame, file = read_frame(path, ids=list(keys))
        for name in columns:
            if name not in frame.columns:
                raise DataFormatError(
                    f"there is no column {name!r}",
                    **file.place_of_names(),
                    remedy=f"Give the columns {', '.join(columns)}",
                )
        frame = frame.assign(**{key: frame[key].astype(str) for key in keys})
        twice = np.flatnonzero(frame.duplicated(list(keys)).to_numpy())
        if twice.size:
            first = ", ".join(repr(frame[key].iloc[twice[0]]) for key in keys)
            raise DataFormatError(
                f"{' and '.join(keys)} {first} {'is' if len(keys) == 1 else 'are'} there twice",
                **file.place(int(twice[0])),
                remedy="Keep one line of each",
            )
    return frame


def read_label_text(path: Path | None) -> dict[str, str] | None:
    """Return definitions by name of label; None without a file."""
    if path is None:
        return None
    table = read_listed(path, ("label", "text"), ["label"])
    return dict(zip(table["label"], table["text"].fillna("").astype(str), strict=True))


def check_target(path: Path, option: str = "--out") -> Path:
    """Return the path, or refuse a place that cannot be written to before any work is done.

    Parameters
    ----------
    path : Path
    option : str, default="--out"
        The option that names it, for the message.
    """
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


def write_table(columns: Columns, path: Path, suffix: str, *, raw: bool = False) -> None:
    """Write columns of equal length; ``suffix`` tells the format, ``raw`` is for text."""
    if suffix.lower() == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as stream:
            write_csv(columns, stream, raw=raw)
        return
    arrow = require("pyarrow", extra="frames", purpose="writing Parquet")
    parquet = require("pyarrow.parquet", extra="frames", purpose="writing Parquet")
    arrays = {name: arrow.array(column, from_pandas=True) for name, column in columns.items()}
    parquet.write_table(arrow.table(arrays), path)


def check_folder(out: Path) -> None:
    """Refuse a place that is no folder."""
    if out.exists() and not out.is_dir():
        raise BadInputError(f"--out {out}: is a file; give the name of a folder")


def save_table(columns: Columns, out: Path, *, raw: bool = False) -> None:
    """Write columns to a file that is replaced only when all is written."""
    with replacing(out) as (partial,):
        write_table(columns, partial, out.suffix, raw=raw)


def write_csv(columns: Columns, stream: TextIO, *, raw: bool = False) -> None:
    """Comma-separated text with a line of names; NaN is an empty cell.

    Unless ``raw``, text that a spreadsheet would run as a formula gets an apostrophe in front,
    which makes it text.
    """
    writer = csv.writer(_Lines(stream), lineterminator="\r\n")
    writer.writerow([name if raw else inert(name) for name in columns])
    cells = (_cells(column, raw) for column in columns.values())
    writer.writerows(zip(*cells, strict=True))


class _Lines:
    """Ends lines with a line feed; the csv module quotes the characters of its own ending alone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        return self._stream.write(line[:-2] + "\n")


def inert(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def as_written(frame: Any) -> Any:
    """Return a table that :func:`write_csv` wrote without the apostrophes."""
    made = frame.rename(columns=_without_apostrophe)
    for name in made.columns:
        if made[name].dtype.kind not in "biufM":
            made[name] = made[name].map(_without_apostrophe)
    return made


def _without_apostrophe(cell: Any) -> Any:
    is_quoted = isinstance(cell, str) and cell[:1] == "'" and cell[1:].startswith(_FORMULA)
    return cell[1:] if is_quoted else cell


def _cells(column: np.ndarray, raw: bool) -> list[Any]:
    cells = np.asarray(column).tolist()
    kind = np.asarray(column).dtype.kind
    if kind == "f":
        return ["" if cell != cell else f"{cell:.6g}" for cell in cells]
    return cells if raw or kind in "biu" else list(map(inert, cells))


@dataclass(frozen=True, eq=False)
class Predictions:
    """One value per row and label.

    Attributes
    ----------
    kind : {"labels", "probabilities", "scores"}
        0 and 1 only, numbers between 0 and 1, or any numbers.
    labels : list of str
    items : array, optional
        The rows by id; None when they are in the order of the truth.
    values : array of shape (n_samples, n_labels)
    decided : array of shape (n_samples, n_labels), optional
        Where the model decides itself: 0 and 1.
    """

    kind: str
    labels: list[str]
    items: np.ndarray | None
    values: np.ndarray
    decided: np.ndarray | None = None

    def arguments(self, threshold: float) -> dict[str, Any]:
        """The arguments of :func:`labelgap.metrics.evaluate`."""
        if self.kind == "labels":
            return {"y_pred": self.values.astype(np.int8)}
        if self.kind == "scores":
            return {"y_score": self.values}
        decided = self.decided
        if decided is None:
            decided = (self.values > threshold).astype(np.int8)
        return {"y_proba": self.values, "y_pred": decided}

    def for_items(self, wanted: np.ndarray, item: str, file: str, truth: str) -> Predictions:
        """The same in the order of the rows of the truth; every row must be there."""
        if self.items is None:
            if len(self.values) != len(wanted):
                raise BadInputError(
                    f"{file}: has {len(self.values)} rows and {truth} has {len(wanted)}; add a "
                    f"column {item!r} that identifies the rows, or give the same rows"
                )
            return self
        position = {key: row for row, key in enumerate(self.items.tolist())}
        if len(position) < len(self.items):
            raise BadInputError(f"{file}: a value of {item!r} occurs twice; keep one line of each")
        missing = [key for key in wanted.tolist() if key not in position]
        if missing:
            raise BadInputError(
                f"{file}: has no predictions for {item} {missing[0]!r} of {truth}"
                + (f" and {len(missing) - 1} others" if len(missing) > 1 else "")
                + "; predict the same rows"
            )
        order = [position[key] for key in wanted.tolist()]
        return replace(self, items=wanted, values=self.values[order])


def read_predictions(path: Path, item: str) -> Predictions:
    """A table with one column per label, or a long one with the columns label and probability."""
    with reading(path):
        frame, _ = read_frame(path, ids=[item, "label"])
        frame = as_written(frame)
        if {"label", "probability"} <= set(frame.columns):
            return _long(path, frame, item)
        has_items = item in frame.columns
        data = read_table(frame, item=item if has_items else None, label_columns=[])
        labels = [str(name) for name in data.feature_names]  # type: ignore[union-attr]
        values = np.asarray(data.X, dtype=np.float64)
        _refuse_gaps(path, values, labels)
    return Predictions(_kind_of(values), labels, data.ids, values)


def _long(path: Path, frame: Any, item: str) -> Predictions:
    if item not in frame.columns:
        raise BadInputError(f"{path}: has no column {item!r} that identifies the rows; give --item")
    items, rows = np.unique(frame[item].to_numpy(), return_inverse=True)
    labels, cols = np.unique(frame["label"].to_numpy().astype(str), return_inverse=True)
    values = np.full((len(items), len(labels)), np.nan)
    values[rows, cols] = frame["probability"]
    if np.isnan(values).any():
        row, col = np.argwhere(np.isnan(values))[0]
        raise BadInputError(
            f"{path}: has no probability for {item} {items[row]} and label {labels[col]!r}; "
            "metrics need all labels of a row: use predict --give probabilities"
        )
    return Predictions(_kind_of(values), labels.tolist(), items, values)


def _kind_of(values: np.ndarray) -> str:
    if np.isin(values, (0, 1)).all():
        return "labels"
    return "probabilities" if values.min() >= 0 and values.max() <= 1 else "scores"


def _refuse_gaps(path: Path, values: np.ndarray, labels: list[str]) -> None:
    if values.shape[1] == 0:
        raise BadInputError(f"{path}: has no column of predictions")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        raise BadInputError(
            f"{path}: column {labels[bad[0][1]]!r} is empty (or not finite) in row {bad[0][0]}; "
            "every row needs a prediction for every label"
        )
