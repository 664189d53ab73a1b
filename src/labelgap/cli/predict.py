"""``labelgap predict``: labels of new rows."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.cli._models import load_model
from labelgap.cli._options import RowOptions, TableFileIfAny, ThresholdOfModel
from labelgap.cli._read_data import InputRows, read_rows
from labelgap.cli._table_files import RawCsv, check_table_target, save_table, write_csv
from labelgap.cli._terminal import BadInputError, Terminal


class Give(StrEnum):
    PROBABILITIES = "probabilities"
    LABELS = "labels"
    TOP = "top"


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
            help="A column per label with probabilities, or with 0 and 1; or the most probable "
            "labels of each row, one per line."
        ),
    ] = Give.PROBABILITIES,
    threshold: ThresholdOfModel = None,
    top: Annotated[int, typer.Option(min=1, help="How many labels per row, with --give top.")] = 5,
    raw_csv: RawCsv = False,
) -> None:
    """Predict the labels of rows with a saved model.

    The rows must have the features the model was fitted on, in any order; columns that are its
    labels are ignored. With a data set that has an official split, the test rows are used. Without
    --out predictions are printed, as CSV.

    [bold]Examples[/bold]

    \b  labelgap predict tags.model new.csv --item id -o predictions.csv
      labelgap predict tags.model new.csv --give top --top 3
      labelgap predict yeast.model yeast --give labels -o yeast.parquet
    """
    if threshold is not None and give is not Give.LABELS:
        raise BadInputError(f"--threshold: {give} need none; add --give labels, or leave it out")
    if top != 5 and give is not Give.TOP:
        raise BadInputError("--top: is for --give top; add that, or leave it out")
    if out is not None:
        check_table_target(out)
    saved = load_model(model)
    rows = read_rows(source, terminal, part="test", hints=saved.hints)
    with terminal.progress(f"predicting {rows.n_samples} rows"):
        probabilities, decided = saved.predict(rows, threshold)
    values = decided if give is Give.LABELS else probabilities
    columns = _columns(rows, saved.schema.labels, values, give, top)
    payload = {
        "model": str(model),
        "source": rows.place,
        "part": rows.part,
        "give": str(give),
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
        f"{give} of {len(saved.schema.labels)} labels for {rows.n_samples} rows of "
        f"{escape(rows.place)} written to [bold]{escape(str(out))}[/bold]",
    )


def _columns(
    rows: InputRows,
    labels: list[str],
    values: np.ndarray,
    give: Give,
    top: int,
) -> dict[str, np.ndarray]:
    if give is not Give.TOP:
        if rows.item in labels:
            raise BadInputError(f"--item {rows.item}: is also the name of a label; rename one")
        return {rows.item: rows.items, **dict(zip(labels, values.T, strict=True))}
    n_shown = min(top, len(labels))
    best = np.argsort(-values, axis=1, kind="stable")[:, :n_shown]
    return {
        rows.item: np.repeat(rows.items, n_shown),
        "rank": np.tile(np.arange(1, n_shown + 1), rows.n_samples),
        "label": np.array(labels, dtype=object)[best.ravel()],
        "probability": np.take_along_axis(values, best, axis=1).ravel(),
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
