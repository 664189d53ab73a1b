"""``labelgap fit``: a model from a table with gaps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from labelgap._extras import require
from labelgap.cli._features import Schema, design_matrix, fit_text
from labelgap.cli._loaded import Loaded
from labelgap.cli._model_file import SavedModel
from labelgap.cli._models import DEFAULT_MODEL, ModelName, Scale, make_model
from labelgap.cli._options import LabelledOptions
from labelgap.cli._outputs import check_target
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal


def fit(
    terminal: Terminal,
    source: LabelledOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")
    ],
    model: Annotated[ModelName, typer.Option("--model", "-m", help="What to fit.")] = DEFAULT_MODEL,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the model, such as estimator__C=0.1; repeatable.",
        ),
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="How features are scaled; auto: standard unless sparse.")
    ] = Scale.AUTO,
) -> None:
    """Fit a model to rows whose labels have gaps, and save it.

    An empty label cell means that nobody looked; such entries are never read. With a data set that
    has an official split, the training rows are used.

    [bold]Examples[/bold]

    \b  labelgap fit items.csv --labels 'tag_*' --item id -o tags.model
      labelgap fit items.csv --label-table tags.csv --item id -o tags.model
      labelgap fit notes.csv --text note --labels urgent,legal -o notes.model
      labelgap fit yeast --model kernel-ridge --set alpha=0.5 -o yeast.model
    """
    check_target(out)
    require("skops.io", extra="cli", purpose="labelgap fit")
    rows = read_labelled(source, terminal, part="train")
    vectorizer = fit_text(rows)
    X = design_matrix(rows, rows.X, vectorizer)
    labels = rows.labels
    estimator = make_model(str(model), settings or [], scale, X)
    start = time.perf_counter()
    with terminal.progress(f"fitting {model} to {rows.n_rows} rows x {labels.n_labels} labels"):
        estimator.fit(X, labels)
    seconds = time.perf_counter() - start
    about = {
        "model": str(model),
        "settings": settings or [],
        "scale": str(scale),
        "source": rows.place,
        "part": rows.part,
        "n_rows": rows.n_rows,
        "item": source.item,
    }
    assert labels.names is not None
    schema = Schema(
        rows.features, rows.X.shape[1], source.text, source.zero_based, labels.names.tolist()
    )
    SavedModel(estimator, vectorizer, schema, about).save(out)
    known = labels.n_observed(ambiguous=True) / max(labels.n_rows * labels.n_labels, 1)
    payload = {
        **about,
        "n_features": X.shape[1],
        "n_labels": labels.n_labels,
        "share_known": known,
        "seconds": seconds,
        "out": str(out),
    }
    terminal.result(payload, *_shown(rows, payload, out))


def _shown(rows: Loaded, payload: dict, out: Path) -> tuple[str, ...]:
    part = "" if rows.part == "all" else f" ({rows.part} part)"
    return (
        f"[bold]{payload['model']}[/bold] fitted to {payload['n_rows']} rows{part} x "
        f"{payload['n_features']} features x {payload['n_labels']} labels of "
        f"{escape(rows.place)} in {payload['seconds']:.1f} s; "
        f"{payload['share_known']:.1%} of the labels are known",
        f"saved to [bold]{escape(str(out))}[/bold]; next: "
        f"labelgap predict {escape(str(out))} NEW_ROWS -o predictions.csv",
    )
