"""``labelgap predict``: labels of new rows."""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.cli._models import load_model
from labelgap.cli._options import RowOptions, TableFileIfAny, ThresholdOfModel
from labelgap.cli._read_data import InputRows, read_rows
from labelgap.cli._table_files import (
    RawCsv,
    as_written,
    check_table_target,
    save_table,
    write_csv,
)
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.data import read_frame, read_label_table
from labelgap.labels import LabelWarning, labels_of_vector


class Give(StrEnum):
    PROBABILITIES = "probabilities"
    LABELS = "labels"
    NEXT = "next"


def predict(
    terminal: Terminal,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", show_default=False, help="From labelgap fit.")
    ],
    source: RowOptions,
    out: TableFileIfAny = None,
    give: Annotated[
        Give,
        typer.Option(
            help="probabilities: a column per label; labels: the same with 0 and 1; next: the label "
            "of each row whose answer would tell most about the others."
        ),
    ] = Give.PROBABILITIES,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of these rows that are known already: they change what is predicted of the "
            "others. A column per label with 1, 0, or empty for unknown; a column that lists labels; or "
            "a long table with the columns label and value.",
        ),
    ] = None,
    threshold: ThresholdOfModel = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="The most probable labels of each row; so many of them."),
    ] = None,
    raw_csv: RawCsv = False,
) -> None:
    """Predict the labels of rows with a saved model.

    The rows must have the features the model was fitted on, in any order; its labels and columns
    that it left out are ignored. With a data set that has an official split, the test rows are
    used. Without --out predictions are printed, as CSV.

    [bold]Examples[/bold]

    \b  labelgap predict tags.model new.csv --item id -o predictions.csv
      labelgap predict tags.model new.csv --top 3
      labelgap predict tags.model new.csv --item id --known half.csv -o others.csv
      labelgap predict yeast.model yeast --give labels -o yeast.parquet
    """
    if threshold is not None and give is not Give.LABELS:
        raise BadInputError(f"--threshold: {give} need none; add --give labels, or leave it out")
    if top is not None and give is not Give.PROBABILITIES:
        raise BadInputError(f"--top: lists labels with probabilities; leave out --give {give}")
    if out is not None:
        check_table_target(out)
    saved = load_model(model)
    rows = read_rows(source, terminal, part="test", hints=saved.hints)
    labels = saved.schema.labels
    stated = None if known is None else read_known(known, rows, labels)
    with terminal.progress(f"predicting {rows.n_samples} rows"):
        if give is Give.NEXT:
            columns = _next_labels(rows, labels, saved.most_telling(rows, stated))
        elif top is not None:
            columns = _top_columns(rows, *saved.predict_topk(rows, min(top, len(labels)), stated))
        else:
            probabilities, decided = saved.predict(rows, threshold, stated)
            values = decided if give is Give.LABELS else probabilities
            columns = _label_columns(rows, labels, values)
    given = str(give) if top is None else f"top {top}"
    payload = {
        "model": str(model),
        "source": rows.place,
        "part": rows.part,
        "give": given,
        "n_samples": rows.n_samples,
        "n_labels": len(labels),
        "n_known": None if stated is None else int(np.isfinite(stated).sum()),
        "out": None if out is None else str(out),
    }
    if out is None:
        _print(terminal, payload, columns, raw_csv)
        return
    save_table(columns, out, raw=raw_csv)
    terminal.result(
        payload,
        f"{given} of {len(labels)} labels for {rows.n_samples} rows of "
        f"{escape(rows.place)} written to [bold]{escape(str(out))}[/bold]",
    )


def read_known(path: Path, rows: InputRows, names: list[str]) -> np.ndarray:
    """What is known of the labels of rows, NaN where nothing is, in the order of the names."""
    with reading(path), warnings.catch_warnings():
        # that nobody knows some label of these rows is no news
        warnings.simplefilter("ignore", LabelWarning)
        frame = as_written(read_frame(path, ids=[rows.item, "label"])[0])
        if rows.item not in frame.columns:
            if len(frame) != rows.n_samples:
                raise BadInputError(
                    f"{path}: has no column {rows.item!r} that identifies the rows; add it, or give "
                    "the same rows"
                )
            frame = frame.assign(**{rows.item: rows.items})
        if "label" not in frame.columns or "label" in names:
            frame = _pairs(path, frame, rows.item, names)
        value = "value" if "value" in frame.columns else None
        pairs = read_label_table(
            frame,
            rows.items,
            item=rows.item,
            value=value,
            implicit="unknown",
            file=rows.place if rows.data.ids is None else rows.data.table,  # type: ignore[arg-type]
        )
        return pairs.with_columns(names).to_dense(unlabeled=np.nan)


def _pairs(path: Path, frame: Any, item: str, names: list[str]) -> Any:
    """One line per item and label, of a column per label or a column that lists them."""
    there = [name for name in names if name in frame.columns]
    if there:
        return frame.melt(item, there, var_name="label")
    for column in frame.columns.drop(item):
        listed = labels_of_vector(frame[column])
        if listed is not None and listed.names is not None and set(listed.names) <= set(names):
            at, labels, _ = listed.to_long()
            return type(frame)({item: frame[item].to_numpy()[at], "label": labels})
    raise BadInputError(
        f"{path}: has no column of a label of the model ({', '.join(names[:5])}), and none that "
        "lists them; add one"
    )


def _next_labels(rows: InputRows, labels: list[str], best: np.ndarray) -> dict[str, np.ndarray]:
    """The name of the label for each row, empty where all are known."""
    return {rows.item: rows.items, "label": np.array([*labels, ""], dtype=object)[best]}


def _label_columns(rows: InputRows, labels: list[str], values: np.ndarray) -> dict[str, np.ndarray]:
    if rows.item in labels:
        raise BadInputError(f"--item {rows.item}: is also the name of a label; rename one")
    return {rows.item: rows.items, **dict(zip(labels, values.T, strict=True))}


def _top_columns(
    rows: InputRows, labels: np.ndarray, probabilities: np.ndarray
) -> dict[str, np.ndarray]:
    n_shown = labels.shape[1]
    return {
        rows.item: np.repeat(rows.items, n_shown),
        "rank": np.tile(np.arange(1, n_shown + 1), rows.n_samples),
        "label": labels.ravel(),
        "probability": probabilities.ravel(),
    }


def _print(
    terminal: Terminal, payload: dict, columns: dict[str, np.ndarray], raw_csv: bool
) -> None:
    if not terminal.as_json:
        write_csv(columns, sys.stdout, raw=raw_csv)
        return
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    payload["predictions"] = [dict(zip(columns, line, strict=True)) for line in lines]
    terminal.result(payload)
