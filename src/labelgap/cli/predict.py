"""``labelgap predict``: labels of new rows."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.cli._models import SavedModel, load_model
from labelgap.cli._options import RowOptions, TableFileIfAny, ThresholdOfModel
from labelgap.cli._read_data import InputRows, read_rows
from labelgap.cli._table_files import RawCsv, check_table_target, save_table, write_csv
from labelgap.cli._terminal import BadInputError, Terminal


class Give(StrEnum):
    PROBABILITIES = "probabilities"
    LABELS = "labels"


def predict(
    terminal: Terminal,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", show_default=False, help="From labelgap fit.")
    ],
    source: RowOptions,
    out: TableFileIfAny = None,
    give: Annotated[
        Give,
        typer.Option(help="A column per label with probabilities, or with 0 and 1."),
    ] = Give.PROBABILITIES,
    threshold: ThresholdOfModel = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="The most probable labels of each row; so many of them."),
    ] = None,
    raw_csv: RawCsv = False,
) -> None:
    """Predict the labels of rows with a saved model.

    The rows must have the features the model was fitted on, in any order; columns that are its
    labels are ignored. With a data set that has an official split, the test rows are used. Without
    --out predictions are printed, as CSV.

    [bold]Examples[/bold]

    \b  labelgap predict tags.model new.csv --item id -o predictions.csv
      labelgap predict tags.model new.csv --top 3
      labelgap predict yeast.model yeast --give labels -o yeast.parquet
    """
    if threshold is not None and give is not Give.LABELS:
        raise BadInputError(f"--threshold: {give} need none; add --give labels, or leave it out")
    if top is not None and give is Give.LABELS:
        raise BadInputError("--top: lists labels with probabilities; leave out --give labels")
    if out is not None:
        check_table_target(out)
    saved = load_model(model)
    rows = read_rows(source, terminal, part="test", hints=saved.hints)
    with terminal.progress(f"predicting {rows.n_samples} rows"):
        if top is None:
            probabilities, decided = saved.predict(rows, threshold)
            values = decided if give is Give.LABELS else probabilities
            columns = _label_columns(rows, saved.schema.labels, values)
        else:
            columns = _top_columns(rows, saved, top)
    given = str(give) if top is None else f"top {top}"
    payload = {
        "model": str(model),
        "source": rows.place,
        "part": rows.part,
        "give": given,
        "n_samples": rows.n_samples,
        "n_labels": len(saved.schema.labels),
        "out": None if out is None else str(out),
    }
    if out is None:
        _print(terminal, payload, columns, raw_csv)
        return
    save_table(columns, out, raw=raw_csv)
    terminal.result(
        payload,
        f"{given} of {len(saved.schema.labels)} labels for {rows.n_samples} rows of "
        f"{escape(rows.place)} written to [bold]{escape(str(out))}[/bold]",
    )


def _label_columns(rows: InputRows, labels: list[str], values: np.ndarray) -> dict[str, np.ndarray]:
    if rows.item in labels:
        raise BadInputError(f"--item {rows.item}: is also the name of a label; rename one")
    return {rows.item: rows.items, **dict(zip(labels, values.T, strict=True))}


def _top_columns(rows: InputRows, saved: SavedModel, top: int) -> dict[str, np.ndarray]:
    n_shown = min(top, len(saved.schema.labels))
    labels, probabilities = saved.predict_topk(rows, n_shown)
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
