"""``labelgap export``: a linear model as ONNX, for programs without Python."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from sklearn.pipeline import Pipeline

from labelgap.cli._models import load_model
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal
from labelgap.export import NotLinearError, to_onnx
from labelgap.extras import require
from labelgap.files import replacing


class Precision(StrEnum):
    DOUBLE = "float64"
    SINGLE = "float32"


def export(
    terminal: Terminal,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", show_default=False, help="From labelgap fit.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The .onnx file to write.")
    ],
    dtype: Annotated[
        Precision, typer.Option(help="Of the features and of the arithmetic.")
    ] = Precision.DOUBLE,
) -> None:
    """Write a linear model as an ONNX file, which other languages and programs run.

    Scaling, filling of empty cells and the sigmoid are in the file, as are the names of features
    and labels. Models that are not linear in their features, and models of text, are refused.

    [bold]Examples[/bold]

    \b  labelgap fit items.csv --labels 'tag_*' --item id -o tags.model
      labelgap export tags.model -o tags.onnx
    """
    check_target(out)
    if out.suffix.lower() != ".onnx":
        raise BadInputError(f"--out {out}: the name must end in .onnx")
    require("onnx", extra="onnx", purpose="labelgap export")
    saved = load_model(model)
    if saved.vectorizer is not None:
        raise BadInputError(
            f"{model}: reads the column of text {saved.schema.text!r}, and words are not exported; "
            "fit a model of numbers, without --text"
        )
    pipeline = saved.estimator
    if saved.filler is not None:
        pipeline = Pipeline([("fill", saved.filler), *pipeline.steps])
    labels, features = saved.schema.labels, saved.schema.names
    try:
        made = to_onnx(pipeline, feature_names=features, label_names=labels, dtype=str(dtype))  # type: ignore[arg-type]
    except NotLinearError as error:
        raise BadInputError(f"{model}: {error}") from error
    with replacing(out) as (partial,):
        partial.write_bytes(made.SerializeToString())
    payload = {
        "model": str(model),
        "estimator": saved.about["model"],
        "n_features": saved.schema.n_features,
        "n_labels": len(labels),
        "dtype": str(dtype),
        "out": str(out),
    }
    terminal.result(
        payload,
        f"[bold]{payload['estimator']}[/bold] with {saved.schema.n_features} features and "
        f"{len(labels)} labels written to [bold]{escape(str(out))}[/bold]",
    )
