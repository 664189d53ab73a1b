"""``labelgap evaluate``: how good predictions are, as far as the truth is known."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from sklearn.exceptions import UndefinedMetricWarning

from labelgap import metrics
from labelgap.cli._models import load_model
from labelgap.cli._options import LabelledOptions, ThresholdOfModel
from labelgap.cli._read_data import Hints, InputRows, read_labelled
from labelgap.cli._table_files import Predictions, TableOutput, read_predictions
from labelgap.cli._terminal import BadInputError, Terminal, table
from labelgap.labels import Labels, LabelWarning


def evaluate(
    terminal: Terminal,
    source: LabelledOptions,
    output: TableOutput,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FILE", help="From labelgap fit.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-p",
            metavar="FILE",
            help="Instead of a model: a table as labelgap predict writes it, with a column per "
            "label, or with the columns label and probability.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC", help="Only this metric; repeatable. All that apply otherwise."
        ),
    ] = None,
    threshold: ThresholdOfModel = None,
) -> None:
    """Compare predictions with what is known of the truth; unknown entries are skipped.

    DATA holds the truth: label columns, or --label-table. With --model its features are predicted
    first. With a data set that has an official split, the test rows are used. Without --labels the
    labels of the model, or of the predictions, are looked for.

    [bold]Examples[/bold]

    \b  labelgap evaluate checked.csv --model tags.model --item id
      labelgap evaluate checked.csv --predictions predictions.csv --item id
      labelgap evaluate yeast --model yeast.model --metric label_ranking_average_precision --json
    """
    if (model is None) == (predictions is None):
        raise BadInputError("give either --model or --predictions, and not both")
    out = output.check()
    for name in metric or ():
        if name not in metrics.METRICS:
            known = ", ".join(sorted(metrics.METRICS))
            raise BadInputError(f"--metric {name}: there is no such metric; use one of {known}")
    rows, predicted, n_learned = _predicted(model, predictions, source, terminal, threshold)
    truth = _shared_labels(rows, predicted)
    values = _evaluate(truth, predicted, metric, 0.5 if threshold is None else threshold)
    payload = {
        "source": rows.place,
        "part": rows.part,
        "n_samples": truth.n_samples,
        "n_labels": truth.n_labels,
        "n_known": truth.n_observed(unlabeled=True),
        "n_learned": n_learned,
        "kind": predicted.kind,
        "metrics": values,
        "out": out,
    }
    output.save({"metric": np.array(list(values)), "value": np.array(list(values.values()))})
    terminal.result(payload, _table(payload), *_remarks(payload))


def _remarks(payload: dict[str, Any]) -> list[str]:
    if not payload["n_learned"]:
        return []
    return [
        f"[bold]in-sample[/bold]: the model learned from {payload['n_learned']} of these "
        f"{payload['n_samples']} rows at least, and does worse on rows that it did not see; evaluate "
        "it on others, or use labelgap compare, which leaves rows out"
    ]


def _predicted(
    model: Path | None,
    predictions: Path | None,
    source: LabelledOptions,
    terminal: Terminal,
    threshold: float | None,
) -> tuple[InputRows, Predictions, int]:
    """The truth, what is predicted, and how many rows the model learned from."""
    with warnings.catch_warnings():
        # a label of which nothing is known does not count, which is no reason to warn
        warnings.simplefilter("ignore", LabelWarning)
        if predictions is not None:
            predicted = read_predictions(predictions, source.item or "row")
            hints = Hints(labels=predicted.labels, only_labels=True)
            rows = read_labelled(source, terminal, part="test", hints=hints)
            file = str(predictions)
            return rows, predicted.for_items(rows.items, rows.item, file, rows.place), 0
        assert model is not None
        saved = load_model(model)
        if source.text is not None:
            raise BadInputError(
                f"--text {source.text}: the model knows its column of text; leave it out"
            )
        rows = read_labelled(source, terminal, part="test", hints=saved.hints)
    with terminal.progress(f"predicting {rows.n_samples} rows"):
        values, decided = saved.predict(rows, threshold)
    predicted = Predictions("probabilities", saved.schema.labels, rows.items, values, decided)
    return rows, predicted, saved.n_learned(rows)


def _shared_labels(rows: InputRows, predicted: Predictions) -> Labels:
    """The truth in the order of the predictions; what the truth does not have is unknown."""
    names = [str(name) for name in rows.labels.names]  # type: ignore[union-attr]
    if not set(names) & set(predicted.labels):
        raise BadInputError(
            f"{rows.place}: no label of the truth ({names[0]!r}, ...) is among the predicted ones "
            f"({predicted.labels[0]!r}, ...); name them alike"
        )
    absent = "drop" if rows.lists_labels else "unseen"
    return rows.labels.with_columns(predicted.labels, absent=absent)


def _evaluate(
    truth: Labels, predicted: Predictions, wanted: list[str] | None, threshold: float
) -> dict[str, float]:
    given = predicted.arguments(threshold)
    needs = {"y_score": "scores", "y_proba": "probabilities", "y_pred": "labels"}
    there = {needs[name] for name in given}
    if "y_proba" in given:
        there.add("scores")
    for name in wanted or ():
        if metrics.METRICS[name].needs not in there:
            raise BadInputError(
                f"--metric {name}: needs {metrics.METRICS[name].needs}, and the predictions are "
                f"{predicted.kind}"
            )
    chosen = wanted or [
        name
        for name, one in metrics.METRICS.items()
        if one.needs in there and _complete(name) and not _has_variants(name)
    ]
    with warnings.catch_warnings():
        # an undefined metric is shown as such in the table
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metrics.evaluate(truth, metrics=chosen, **given)


def _has_variants(name: str) -> bool:
    """Whether it is listed with several numbers of labels, one of which is the default."""
    return name.endswith("_at_k") and name.replace("_at_k", "_at_5") in metrics.METRICS


def _complete(name: str) -> bool:
    """Whether a metric can be computed without further parameters."""
    try:
        metrics.METRICS[name].check_params(name, {})
    except TypeError:
        return False
    return True


def _table(payload: dict[str, Any]) -> Any:
    rows = []
    for name, value in payload["metrics"].items():
        about = metrics.METRICS[name]
        shown = "undefined" if np.isnan(value) else f"{value:.4f}"
        better = "higher" if about.greater_is_better else "lower"
        rows.append((name, shown, better, escape(about.description)))
    cells = payload["n_samples"] * payload["n_labels"]
    caption = (
        f"{payload['n_samples']} rows x {payload['n_labels']} labels; {payload['n_known']} of {cells} "
        "entries are known, the others are skipped"
    )
    columns = {"metric": "left", "value": "right", "better": "left", "meaning": "left"}
    return table(f"Predictions for {escape(payload['source'])}", columns, rows, caption)
