"""``labelgap compare``: which model suits this data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.cli._design_matrix import named_design
from labelgap.cli._models import ModelName, Scale, ScaleOption, make_model
from labelgap.cli._options import LearningOptions, RandomState
from labelgap.cli._read_data import learning_labels, read_labelled
from labelgap.cli._table_files import TableOutput
from labelgap.cli._terminal import BadInputError, Terminal, table
from labelgap.labels import Labels, LabelWarning
from labelgap.metrics import label_ranking_average_precision, log_loss

_USUAL = ("mend", "binary-relevance", "neighbors", "bmlpl", "prior")
_N_RESAMPLES = 500

AVERAGE_PRECISION = "label_ranking_average_precision"
AUC_OF_RECORDED = "auc_of_recorded"
_HEADINGS = {AVERAGE_PRECISION: "average precision", AUC_OF_RECORDED: "AUC of recorded"}


def compare(
    terminal: Terminal,
    source: LearningOptions,
    output: TableOutput,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model of labelgap fit; repeatable. Mend and the quick ones otherwise.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, help="Every row is predicted by models that did not see it.")
    ] = 3,
    scale: ScaleOption = Scale.AUTO,
    random_state: RandomState = 0,
) -> None:
    """Compare models by predictions of rows they did not see; unknown entries are skipped.

    The average precision is that of each row's labels in their predicted order, averaged over the
    rows with a relevant label; its interval, and that of the distance to the best, is over resampled
    rows.

    With zeros that may be missing labels (--zeros unlabeled) the best predictor of recorded zeros is
    not the best model. Models are then ranked by the AUC of recorded against unrecorded items of
    each label: it grows with the true AUC as long as how often a label is recorded depends on the
    label alone.

    [bold]Examples[/bold]

    \b  labelgap compare items.csv --labels 'tag_*' --item id --drop note
      labelgap compare emotions -m binary-relevance -m rmfl -m kernel-ridge --folds 5
    """
    names = list(dict.fromkeys(model or _USUAL))
    for name in names:
        if name not in list(ModelName):
            raise BadInputError(f"--model {name}: there is none; use {', '.join(ModelName)}")
    output.check()
    rows = read_labelled(source, terminal, part="all")
    X, _, _ = named_design(rows, source.empty)
    if folds > rows.n_samples:
        raise BadInputError(f"--folds {folds}: {rows.place} has {rows.n_samples} rows only")
    labels = learning_labels(rows, source.zeros)
    with terminal.progress(f"comparing {len(names)} models") as advance:
        measured = {}
        for k, name in enumerate(names):

            def told(fold: int, name: str = name, k: int = k) -> None:
                advance(f"comparing: {name}", k * folds + fold, len(names) * folds)

            measured[name] = _measure(name, X, labels, folds, scale, random_state, told)
    criterion = AUC_OF_RECORDED if labels.unlabeled else AVERAGE_PRECISION
    lines = _summarise(measured, criterion, random_state)
    output.save({key: np.array([line[key] for line in lines]) for key in lines[0]})
    payload = {
        "source": rows.place,
        "criterion": criterion,
        "n_samples": rows.n_samples,
        "folds": folds,
        "models": lines,
        "best": lines[0]["model"],
    }
    terminal.result(payload, _table(rows.place, lines, criterion))


def _measure(
    name: str, X: Any, labels: Labels, folds: int, scale: Scale, random_state: int, told: Callable
) -> dict[str, Any]:
    """Average precision of every row, and the log-loss of all, by models that saw other rows."""
    order = np.random.default_rng(random_state).permutation(labels.n_samples)
    probabilities = np.zeros(labels.shape)
    start = time.perf_counter()
    for k, held in enumerate(np.array_split(order, folds)):
        told(k)
        learn = np.setdiff1d(np.arange(labels.n_samples), held)
        with warnings.catch_warnings():
            # a label that no row of a part carries is nothing to warn of here
            warnings.simplefilter("ignore", LabelWarning)
            fitted = make_model(name, [], scale, X, random_state).fit(X[learn], labels[learn])
        probabilities[held] = fitted.predict_proba(X[held])
    measured: dict[str, Any] = {"seconds": time.perf_counter() - start}
    if labels.unlabeled:
        return measured | {"rows": auc_of_recorded(labels, probabilities)}
    return measured | {
        "rows": label_ranking_average_precision(labels, probabilities, reduce=False),
        "log_loss": float(log_loss(labels, probabilities)),
    }


def auc_of_recorded(labels: Labels, scores: np.ndarray) -> np.ndarray:
    """Return how many unrecorded items of the same label are below the recorded ones of each row.

    A mean over the recorded labels of the row, NaN without any; half of the ties are below. With c the
    part of relevant items that is recorded whatever their features, the unrecorded ones of a label are
    relevant with a probability a, and the mean over its recorded items is (1 - a) AUC + a / 2.
    """
    total, count = np.zeros(labels.n_samples), np.zeros(labels.n_samples)
    for label in range(labels.n_labels):
        rows, values = labels.column(label)
        recorded, others = rows[values == 1], rows[values == 0]
        if not others.size:
            continue
        below = np.sort(scores[others, label])
        mine = scores[recorded, label]
        places = np.searchsorted(below, mine, "left") + np.searchsorted(below, mine, "right")
        total[recorded] += places / (2 * others.size)
        count[recorded] += 1
    return np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)


def _summarise(
    measured: dict[str, dict[str, Any]], criterion: str, random_state: int
) -> list[dict[str, Any]]:
    """One line per model, the best first, with intervals over the same resampled rows."""
    rng = np.random.default_rng(random_state)
    names = sorted(measured, key=lambda name: -np.nanmean(measured[name]["rows"]))
    values = np.column_stack([measured[name]["rows"] for name in names])
    values = values[~np.isnan(values).any(axis=1)]
    draws = rng.integers(0, len(values), size=(_N_RESAMPLES, len(values)))
    means = np.array([values[draw].mean(axis=0) for draw in draws])
    lines = []
    for name, value, mean in zip(names, values.T, means.T, strict=True):
        low, high = np.quantile(mean, [0.025, 0.975]).tolist()
        behind_low, behind_high = np.quantile(means[:, 0] - mean, [0.025, 0.975]).tolist()
        line = {
            "model": name,
            criterion: float(value.mean()),
            "low": low,
            "high": high,
        }
        line |= {"behind_low": behind_low, "behind_high": behind_high}
        rest = {key: value for key, value in measured[name].items() if key != "rows"}
        lines.append({**line, **rest})
    return lines


def _table(place: str, lines: list[dict[str, Any]], criterion: str) -> Any:
    with_loss = "log_loss" in lines[0]
    shown = [
        (
            one["model"],
            f"{one[criterion]:.3f} ({one['low']:.3f} to {one['high']:.3f})",
            "" if k == 0 else f"{one['behind_low']:.3f} to {one['behind_high']:.3f}",
            *([f"{one['log_loss']:.4f}"] if with_loss else []),
            f"{one['seconds']:.1f}",
        )
        for k, one in enumerate(lines)
    ]
    headings = (_HEADINGS[criterion], "behind the best", *(["log-loss"] if with_loss else []))
    columns = {"model": "left", **dict.fromkeys((*headings, "seconds"), "right")}
    close = [one["model"] for one in lines[1:] if one["behind_low"] <= 0]
    captions = [f"not told apart from the best: {', '.join(close)}"] if close else []
    if not with_loss:
        captions.append(
            "zeros may be missing labels: ranked by the AUC of recorded against unrecorded items of "
            "each label, not by how well zeros are predicted"
        )
    caption = "; ".join(captions) or None
    return table(f"Models for {escape(place)}", columns, shown, caption)
