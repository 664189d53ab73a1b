"""``labelgap fit``: a model from a table with gaps."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from labelgap.auditing import apply_decisions
from labelgap.cli._design_matrix import Schema, design_matrix, fit_words, learn_fill
from labelgap.cli._models import (
    DEFAULT_MODEL,
    ModelName,
    SavedModel,
    Scale,
    ScaleOption,
    keep_best_features,
    make_model,
    row_digests,
    watched,
)
from labelgap.cli._options import DecisionsFile, Empty, LearningOptions, RandomState
from labelgap.cli._read_data import InputRows, learning_labels, read_labelled
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal, ToCopy, reading
from labelgap.cli.audit import decisions_of
from labelgap.extras import require
from labelgap.labels import Labels

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the model, such as estimator__C=0.1; repeatable.",
    ),
]
# so many at most are recognised when the model is evaluated
_ROWS_REMEMBERED = 5000
_ZEROS = {
    "unlabeled": "zeros are taken as unlabeled: they may be missing labels (--zeros negative: none is)",
    "negative": "zeros are taken as negative: the label is irrelevant (--zeros unlabeled: it may be "
    "missing)",
}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What is fitted, and how."""

    model: Annotated[ModelName, typer.Option("--model", "-m", help="What to fit.")] = DEFAULT_MODEL
    settings: Settings = None
    scale: ScaleOption = Scale.AUTO
    features: Annotated[
        int | None,
        typer.Option(
            "--features",
            "-k",
            min=1,
            help="Keep only so many, the best ones (GMFS); all otherwise.",
        ),
    ] = None
    random_state: RandomState = 0

    def as_dict(self) -> dict[str, Any]:
        """The options as a model file keeps them."""
        settings = self.settings or []
        return {
            **vars(self),
            "model": str(self.model),
            "settings": settings,
            "scale": str(self.scale),
        }


def fit(
    terminal: Terminal,
    source: LearningOptions,
    options: ModelOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")
    ],
    decisions: DecisionsFile = None,
) -> None:
    """Fit a model to rows whose labels have gaps, and save it.

    An empty label cell is unknown; a 0 is what --zeros says. What was accepted in a review is
    relevant, and what was rejected is not, whatever the table says. With a data set that has an
    official split, the training rows are used.

    [bold]Examples[/bold]

    \b  labelgap fit items.csv --labels 'tag_*' --item id -o tags.model
      labelgap fit items.csv --label-table tags.csv --item id -o tags.model
      labelgap fit notes.csv --text note --labels urgent,legal -o notes.model
      labelgap fit items.csv --labels 'tag_*' --item id --decisions decisions.sqlite -o tags.model
      labelgap fit yeast --model kernel-ridge --set alpha=0.5 -o yeast.model
      labelgap fit items.csv --labels 'tag_*' --item id --empty mean --features 20 -o tags.model
    """
    check_target(out)
    require("skops.io", extra="cli", purpose="labelgap fit")
    rows = read_labelled(source, terminal, part="train")
    filler = learn_fill(rows, source.empty, may_keep=True)
    vectorizer = fit_words(rows)
    numbers = rows.data.X if filler is None else filler.transform(rows.data.X)
    X = design_matrix(rows, numbers, vectorizer)
    labels = learning_labels(rows, source.zeros)
    decided = decisions_of(decisions)
    if decided is not None:
        labels = apply_decisions(labels, decided, rows.items)
    start = time.perf_counter()
    estimator = _fitted(terminal, rows, source, options, X, labels)
    seconds = time.perf_counter() - start
    about = {
        **options.as_dict(),
        "empty": str(source.empty),
        "zeros": "unlabeled" if labels.unlabeled else "negative",
        "n_decisions": 0 if decided is None else len(decided.last()),
        "source": rows.place,
        "part": rows.part,
        "n_samples": rows.n_samples,
        "item": None if rows.data.ids is None else rows.item,
    }
    learned = row_digests(rows.data.X, rows.data.texts, _ROWS_REMEMBERED)
    schema = _schema(rows, source)
    unused = [name for name in rows.unused if name not in schema.labels]
    kept = {**about, "learned_rows": learned, "unused": unused}
    SavedModel(estimator, vectorizer, filler, schema, kept).save(out)
    leaderboard = [row._asdict() for row in getattr(estimator[-1], "leaderboard_", ())]
    n_known = labels.n_observed()
    payload = {
        **about,
        "n_features": X.shape[1],
        "seconds": seconds,
        "n_labels": labels.n_labels,
        "n_positives": labels.n_positives(),
        "fraction_known": n_known / max(labels.n_samples * labels.n_labels, 1),
        "leaderboard": [{k: _finite(v) for k, v in row.items()} for row in leaderboard],
        "out": str(out),
    }
    terminal.result(payload, *_shown(rows, payload, out))


def _fitted(
    terminal: Terminal,
    rows: InputRows,
    source: LearningOptions,
    options: ModelOptions,
    X: Any,
    labels: Labels,
) -> Pipeline:
    """The pipeline of scaling and model, fitted, without what only training needs."""
    name, random_state = str(options.model), options.random_state
    estimator = make_model(name, options.settings or [], options.scale, X, random_state)
    _check_absent_views(source, estimator)
    title = f"fitting {name} to {rows.n_samples} rows x {labels.n_labels} labels"
    with terminal.progress(title) as advance, reading(rows.place):
        if options.features is not None:
            estimator = keep_best_features(estimator, X, labels, options.features, random_state)
        with watched(estimator[-1], advance, title):
            estimator.fit(X, labels)
    forget = getattr(estimator[-1], "_forget_training_rows", None)
    if forget is not None:
        forget()
    return estimator


def _finite(value: Any) -> Any:
    """None for NaN, which JSON does not have."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _leaderboard_lines(leaderboard: list[dict[str, Any]]) -> list[str]:
    """The weight of each kind of model that counts, and why others were left out."""
    used = sorted((row for row in leaderboard if row["weight"]), key=lambda row: -row["weight"])
    skipped: dict[str, list[str]] = {}
    for row in leaderboard:
        if row["skipped"]:
            skipped.setdefault(row["skipped"], []).append(row["name"])
    parts = [
        f"{row['name']} {row['weight']:.0%} (log-loss {row['log_loss']:.3f}, {row['seconds']:.1f} s)"
        for row in used
        if row["weight"] >= 0.005
    ]
    what = "a weighted mean of" if len(parts) > 1 else "one kind of model:"
    lines = [f"{what} {', '.join(parts)}"] if parts else []
    return lines + [
        escape(f"not fitted: {', '.join(names)} ({reason})") for reason, names in skipped.items()
    ]


def _schema(rows: InputRows, source: LearningOptions) -> Schema:
    assert rows.labels.names is not None
    names = rows.labels.names.tolist()
    return Schema(rows.features, rows.data.X.shape[1], source.text, source.zero_based, names)


def _check_absent_views(source: LearningOptions, estimator: Pipeline) -> None:
    if source.empty is Empty.KEEP and not get_tags(estimator[-1]).input_tags.allow_nan:
        raise BadInputError(
            "--empty keep: the model does not take absent features; use --model imvwl with "
            "--set \"views={'first': 10, 'second': 5}\" (columns of each view), or --empty mean"
        )


def _known(payload: dict[str, Any]) -> str:
    """What is known of the labels; of unlabeled zeros nothing is."""
    if payload["zeros"] == "unlabeled":
        return f"{payload['n_positives']:,} labels are recorded"
    return f"{payload['fraction_known']:.1%} of the labels are known"


def _decided(number: int) -> list[str]:
    return [f"{number:,} entries as they were decided in a review"] if number else []


def _shown(rows: InputRows, payload: dict, out: Path) -> tuple[str, ...]:
    part = "" if rows.part == "all" else f" ({rows.part} part)"
    return (
        f"[bold]{payload['model']}[/bold] fitted to {payload['n_samples']} rows{part} x "
        f"{payload['n_features']} features x {payload['n_labels']} labels of "
        f"{escape(rows.place)} in {payload['seconds']:.1f} s; "
        f"{_known(payload)}",
        *_leaderboard_lines(payload["leaderboard"]),
        _ZEROS[payload["zeros"]],
        *_decided(payload["n_decisions"]),
        f"saved to [bold]{escape(str(out))}[/bold]",
        ToCopy(f"next: labelgap predict {escape(str(out))} NEW_ROWS -o predictions.csv"),
    )
