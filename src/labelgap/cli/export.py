"""``labelgap export``: a linear model as ONNX, for programs without Python."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from sklearn.pipeline import Pipeline

from labelgap.cli._models import SavedModel, load_model
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal
from labelgap.export import NotLinearError, to_onnx
from labelgap.extras import require
from labelgap.files import replacing
from labelgap.frames import FrameEncoder


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
    locale: Annotated[
        str | None,
        typer.Option(
            help="With which texts become small letters, where the default C.UTF-8 is unknown to "
            "the machine that runs the file; such as en_US.UTF-8."
        ),
    ] = None,
) -> None:
    """Write a linear model as an ONNX file, which other languages and programs run.

    The words of a text, scaling, filling of empty cells and the sigmoid are in the file, as are the
    names of features and labels. Models that are not linear in their features are refused: fit with
    --model binary-relevance.

    [bold]Examples[/bold]

    \b  labelgap fit items.csv --labels 'tag_*' --item id -m binary-relevance -o tags.model
      labelgap export tags.model -o tags.onnx
      labelgap fit notes.csv --text note -l urgent,legal -m binary-relevance -o notes.model
      labelgap export notes.model -o notes.onnx
    """
    check_target(out)
    if out.suffix.lower() != ".onnx":
        raise BadInputError(f"--out {out}: the name must end in .onnx")
    require("onnx", extra="onnx", purpose="labelgap export")
    saved = load_model(model)
    labels, features = saved.schema.labels, saved.schema.names
    try:
        made = to_onnx(
            _pipeline(model, saved),
            feature_names=features,
            label_names=labels,
            dtype=str(dtype),  # type: ignore[arg-type]
            locale=locale,
        )
    except NotLinearError as error:
        raise BadInputError(f"{model}: {error} (labelgap fit --model binary-relevance)") from error
    with replacing(out) as (partial,):
        partial.write_bytes(made.SerializeToString())
    payload = {
        "model": str(model),
        "estimator": saved.about["model"],
        "n_features": saved.schema.n_features,
        "text": saved.schema.text,
        "n_labels": len(labels),
        "dtype": str(dtype),
        "out": str(out),
    }
    words = None if saved.vectorizer is None else len(saved.vectorizer.vocabulary_)
    parts = {"features": saved.schema.n_features, "words": words, "labels": len(labels)}
    counted = ", ".join(f"{number:,} {what}" for what, number in parts.items() if number)
    terminal.result(
        payload,
        f"[bold]{payload['estimator']}[/bold] of {counted} written to [bold]{escape(str(out))}[/bold]",
    )


def _pipeline(path: Path, saved: SavedModel) -> Pipeline:
    """Everything from the cells of a row to its labels."""
    before: list[tuple[str, Any]] = []
    if isinstance(saved.filler, FrameEncoder):
        mixed = [str(name) for name in saved.filler.columns_ if name not in saved.filler.names_]
        raise BadInputError(
            f"{path}: reads columns that are not numbers, which the file cannot; fit it again with "
            + " ".join(f"--drop {name!r}" for name in mixed)
        )
    if saved.filler is not None:
        before.append(("fill", saved.filler))
    if saved.vectorizer is not None:
        before.append(("words", saved.vectorizer))
    return Pipeline([*before, *saved.estimator.steps])
