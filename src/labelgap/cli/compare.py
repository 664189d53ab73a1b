"""``labelgap compare``: which model suits this data."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.cli._failures import BadInputError
from labelgap.cli._features import named_design
from labelgap.cli._models import MODELS, Scale, ScaleOption, make_model
from labelgap.cli._options import LearningOptions, Seed, TableFileIfAny
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Advance, Terminal, table
from labelgap.labels import Labels, LabelWarning, State
from labelgap.metrics import log_loss
from labelgap.report._files import replacing

_USUAL = ("binary-relevance", "neighbors", "bmlpl", "prior")
_N_RESAMPLES = 500


def compare(
    terminal: Terminal,
    source: LearningOptions,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="A model of labelgap fit; repeatable. The quick ones otherwise."
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, help="Every row is predicted by models that did not see it.")
    ] = 3,
    out: TableFileIfAny = None,
    scale: ScaleOption = Scale.AUTO,
    seed: Seed = 0,
) -> None:
    """Compare models by predictions of rows they did not see; unknown entries are skipped.

    The average precision is that of each row's labels in their predicted order, averaged over the
    rows with a known yes; its interval, and that of the distance to the best, is over resampled
    rows.

    [bold]Examples[/bold]

    \b  labelgap compare items.csv --labels 'tag_*' --item id --drop note
      labelgap compare emotions -m binary-relevance -m rmfl -m kernel-ridge --folds 5
    """
    names = list(dict.fromkeys(model or _USUAL))
    for name in names:
        if name not in MODELS:
            raise BadInputError(f"--model {name}: there is none; use {', '.join(MODELS)}")
    if out is not None:
        check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, _, _ = named_design(rows, source.empty)
    if folds > rows.n_rows:
        raise BadInputError(f"--folds {folds}: {rows.place} has {rows.n_rows} rows only")
    with terminal.progress(f"comparing {len(names)} models") as advance:
        measured = {
            name: _measure(name, X, rows.labels, folds, (scale, seed), advance, (k, len(names)))
            for k, name in enumerate(names)
        }
    lines = _summarise(measured, seed)
    if out is not None:
        keys = list(lines[0])
        with replacing(out) as (partial,):
            write_table(
                {key: np.array([one[key] for one in lines]) for key in keys}, partial, out.suffix
            )
    extra = {
        "model": model,
        "folds": folds,
        "scale": None if scale is Scale.AUTO else scale,
        "out": out,
        "seed": seed or None,
    }
    payload = {
        "source": rows.place,
        "n_rows": rows.n_rows,
        "folds": folds,
        "models": lines,
        "best": lines[0]["model"],
        "command": command_words("compare", source, **extra),
    }
    terminal.result(payload, _table(rows.place, lines))


def _measure(
    name: str,
    X: Any,
    labels: Labels,
    folds: int,
    settings: tuple[Scale, int],
    advance: Advance,
    place: tuple[int, int],
) -> dict[str, Any]:
    """Average precision of every row, and the log-loss of all, by models that saw other rows."""
    scale, seed = settings
    order = np.random.default_rng(seed).permutation(labels.n_rows)
    chances = np.zeros(labels.shape)
    start = time.perf_counter()
    for k, held in enumerate(np.array_split(order, folds)):
        advance(f"comparing: {name}", place[0] * folds + k, place[1] * folds)
        learn = np.setdiff1d(np.arange(labels.n_rows), held)
        with warnings.catch_warnings():
            # a label that no row of a part carries is nothing to warn of here
            warnings.simplefilter("ignore", LabelWarning)
            fitted = make_model(name, [], scale, X, seed).fit(X[learn], labels[learn])
        chances[held] = fitted.predict_proba(X[held])
    return {
        "rows": _row_precision(labels, chances),
        "log_loss": float(log_loss(labels, chances)),
        "seconds": time.perf_counter() - start,
    }


def _row_precision(labels: Labels, chances: np.ndarray) -> np.ndarray:
    """Average precision of each row over its known entries; NaN without a known yes."""
    states = labels.states()
    found = np.full(labels.n_rows, np.nan)
    for row in range(labels.n_rows):
        known = np.flatnonzero(states[row] != State.UNKNOWN)
        known = known[np.argsort(-chances[row, known], kind="stable")]
        right = states[row, known] == State.RELEVANT
        if right.any():
            share = np.cumsum(right) / np.arange(1, right.size + 1)
            found[row] = share[right].mean()
    return found


def _summarise(measured: dict[str, dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """One line per model, the best first, with intervals over the same resampled rows."""
    rng = np.random.default_rng(seed)
    names = sorted(measured, key=lambda name: -np.nanmean(measured[name]["rows"]))
    values = np.column_stack([measured[name]["rows"] for name in names])
    values = values[~np.isnan(values).any(axis=1)]
    draws = rng.integers(0, len(values), size=(_N_RESAMPLES, len(values)))
    means = np.array([values[draw].mean(axis=0) for draw in draws])
    lines = []
    for k, name in enumerate(names):
        low, high = np.quantile(means[:, k], [0.025, 0.975])
        behind = np.quantile(means[:, 0] - means[:, k], [0.025, 0.975])
        lines.append(
            {
                "model": name,
                "average_precision": float(values[:, k].mean()),
                "low": float(low),
                "high": float(high),
                "behind_low": float(behind[0]),
                "behind_high": float(behind[1]),
                "log_loss": measured[name]["log_loss"],
                "seconds": measured[name]["seconds"],
            }
        )
    return lines


def _table(place: str, lines: list[dict[str, Any]]) -> Any:
    shown = [
        (
            one["model"],
            f"{one['average_precision']:.3f} ({one['low']:.3f} to {one['high']:.3f})",
            "" if k == 0 else f"{one['behind_low']:.3f} to {one['behind_high']:.3f}",
            f"{one['log_loss']:.4f}",
            f"{one['seconds']:.1f}",
        )
        for k, one in enumerate(lines)
    ]
    columns = {
        "model": "left",
        "average precision": "right",
        "behind the best": "right",
        "log-loss": "right",
        "seconds": "right",
    }
    close = [one["model"] for one in lines[1:] if one["behind_low"] <= 0]
    caption = f"not told apart from the best: {', '.join(close)}" if close else None
    return table(f"Models for {escape(place)}", columns, shown, caption)
