"""``labelgap fit``: a model from a table with gaps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from labelgap._extras import require
from labelgap.cli._empty import learn_fill
from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._features import Schema, design_matrix, fit_text
from labelgap.cli._loaded import Loaded
from labelgap.cli._model_file import SavedModel
from labelgap.cli._models import (
    DEFAULT_MODEL,
    ModelName,
    Scale,
    ScaleOption,
    keep_best_features,
    make_model,
    watched,
    without_training_rows,
)
from labelgap.cli._options import Empty, LearningOptions, Seed
from labelgap.cli._outputs import check_target
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.labels import Labels

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the model, such as estimator__C=0.1; repeatable.",
    ),
]


def fit(
    terminal: Terminal,
    source: LearningOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")
    ],
    model: Annotated[ModelName, typer.Option("--model", "-m", help="What to fit.")] = DEFAULT_MODEL,
    settings: Settings = None,
    scale: ScaleOption = Scale.AUTO,
    features: Annotated[
        int | None,
        typer.Option(
            "--features",
            "-k",
            min=1,
            help="Keep only so many, the best ones (GMFS); all otherwise.",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Fit a model to rows whose labels have gaps, and save it.

    An empty label cell means that nobody looked; such entries are never read. With a data set that
    has an official split, the training rows are used.

    [bold]Examples[/bold]

    \b  labelgap fit items.csv --labels 'tag_*' --item id -o tags.model
      labelgap fit items.csv --label-table tags.csv --item id -o tags.model
      labelgap fit notes.csv --text note --labels urgent,legal -o notes.model
      labelgap fit yeast --model kernel-ridge --set alpha=0.5 -o yeast.model
      labelgap fit items.csv --labels 'tag_*' --item id --empty mean --features 20 -o tags.model
    """
    check_target(out)
    require("skops.io", extra="cli", purpose="labelgap fit")
    rows = read_labelled(source, terminal, part="train")
    filler = learn_fill(rows, source.empty, may_keep=True)
    vectorizer = fit_text(rows)
    X = design_matrix(rows, rows.X if filler is None else filler.transform(rows.X), vectorizer)
    estimator = make_model(str(model), settings or [], scale, X, seed)
    _check_absent_views(source, estimator)
    start = time.perf_counter()
    estimator = _fitted(estimator, X, rows, model, features, seed, terminal)
    seconds = time.perf_counter() - start
    about = {
        "model": str(model),
        "settings": settings or [],
        "scale": str(scale),
        "features": features,
        "empty": str(source.empty),
        "seed": seed,
        "source": rows.place,
        "part": rows.part,
        "n_rows": rows.n_rows,
        "item": source.item,
    }
    SavedModel(estimator, vectorizer, filler, _schema(rows, source), about).save(out)
    command = command_words(
        "fit",
        source,
        model=None if model is DEFAULT_MODEL else model,
        set=settings,
        scale=None if scale is Scale.AUTO else scale,
        features=features,
        out=out,
        seed=seed or None,
    )
    measured = {"n_features": X.shape[1], "seconds": seconds, **_counts(rows.labels)}
    payload = {**about, **measured, "out": str(out), "command": command}
    terminal.result(payload, *_shown(rows, payload, out))


def _fitted(
    estimator: Pipeline,
    X: Any,
    rows: Loaded,
    model: ModelName,
    features: int | None,
    seed: int,
    terminal: Terminal,
) -> Pipeline:
    """The model after the fit, without what it keeps of the training rows."""
    labels = rows.labels
    title = f"fitting {model} to {rows.n_rows} rows x {labels.n_labels} labels"
    with terminal.progress(title) as advance, reading(rows.place):
        if features is not None:
            estimator = keep_best_features(estimator, X, labels, features, seed)
        with watched(estimator[-1], advance, title):
            estimator.fit(X, labels)
    return without_training_rows(estimator)


def _schema(rows: Loaded, source: LearningOptions) -> Schema:
    assert rows.labels.names is not None
    names = rows.labels.names.tolist()
    return Schema(rows.features, rows.X.shape[1], source.text, source.zero_based, names)


def _counts(labels: Labels) -> dict:
    known = labels.n_observed(ambiguous=True) / max(labels.n_rows * labels.n_labels, 1)
    return {"n_labels": labels.n_labels, "share_known": known}


def _check_absent_views(source: LearningOptions, estimator: Pipeline) -> None:
    if source.empty is Empty.KEEP and not get_tags(estimator[-1]).input_tags.allow_nan:
        raise BadInputError(
            "--empty keep: the model does not take absent features; use --model imvwl with "
            "--set \"groups={'first': 10, 'second': 5}\" (columns of each view), or --empty mean"
        )


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
