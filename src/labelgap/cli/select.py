"""``labelgap select``: the features worth keeping."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import feature_rows, select_features
from labelgap.baselines import CMFS, FSNM, MIFS, MLMLFS, SFUS
from labelgap.cli._failures import reading
from labelgap.cli._features import named_design
from labelgap.cli._options import LearningOptions, Seed, TableFileIfAny
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal, table
from labelgap.models.gmfs import GMFS
from labelgap.report._files import replacing

SELECTORS: dict[str, Callable[[], Any]] = {
    "gmfs": GMFS,
    "cmfs": CMFS,
    "mlmlfs": MLMLFS,
    "mifs": MIFS,
    "sfus": SFUS,
    "fsnm": FSNM,
}
SelectorName = StrEnum("SelectorName", {name: name for name in SELECTORS})  # type: ignore[misc]
_DEFAULT = SelectorName("gmfs")
_N_SHOWN = 20


def select(
    terminal: Terminal,
    source: LearningOptions,
    number: Annotated[
        int, typer.Option("--features", "-k", min=1, help="How many features to keep.")
    ] = 20,
    repeats: Annotated[
        int, typer.Option(min=2, help="Repetitions on half of the rows, for the stability.")
    ] = 20,
    model: Annotated[
        SelectorName, typer.Option("--model", "-m", help="What chooses them.")
    ] = _DEFAULT,
    out: TableFileIfAny = None,
    seed: Seed = 0,
) -> None:
    """Choose features that tell the labels, when labels may be forgotten (GMFS by default).

    Beside the weight of each feature stands its stability: the share of repetitions, on other
    halves of the rows with further gaps, that chose it as well.

    [bold]Examples[/bold]

    \b  labelgap select items.csv --labels 'tag_*' --item id -k 10
      labelgap select emotions -k 15 -o features.csv
    """
    if out is not None:
        check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with terminal.progress(f"choosing {number} features") as advance, reading(rows.place):
        prepared = feature_rows(X, names, scale=not scaled, random_state=seed)
        found = select_features(
            prepared,
            rows.labels,
            number,
            n_repeats=repeats,
            selector=SELECTORS[model](),
            random_state=seed,
            progress=advance,
        )
    columns = {
        "feature": np.array([one.name for one in found], dtype=object),
        "weight": np.array([one.weight for one in found]),
        "stability": np.array([one.stability for one in found]),
    }
    if out is not None:
        with replacing(out) as (partial,):
            write_table(columns, partial, out.suffix)
    other = None if model is _DEFAULT else model
    extra = {"features": number, "repeats": repeats, "model": other, "out": out}
    payload = {
        "source": rows.place,
        "features": [
            {"name": one.name, "weight": one.weight, "stability": one.stability} for one in found
        ],
        "out": None if out is None else str(out),
        "command": command_words("select", source, **extra, seed=seed or None),
    }
    shown = [
        (escape(one.name), f"{one.weight:.3g}", f"{one.stability:.0%}") for one in found[:_N_SHOWN]
    ]
    headings = {"feature": "left", "weight": "right", "chosen again": "right"}
    more = len(found) - len(shown)
    caption = f"and {more} more" if more else None
    terminal.result(payload, table(f"Features of {escape(rows.place)}", headings, shown, caption))
