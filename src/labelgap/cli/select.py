"""``labelgap select``: the features worth keeping."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.auditing import feature_rows, select_features
from labelgap.cli._design_matrix import named_design
from labelgap.cli._models import command_names
from labelgap.cli._options import LearningOptions, RandomState
from labelgap.cli._read_data import learning_labels, read_labelled
from labelgap.cli._table_files import TableOutput
from labelgap.cli._terminal import Terminal, reading, table
from labelgap.registry import find_estimator

SelectorName = StrEnum("SelectorName", command_names("feature_selection"))  # type: ignore[misc]
_DEFAULT = SelectorName("gmfs")
_N_SHOWN = 20


def select(
    terminal: Terminal,
    source: LearningOptions,
    output: TableOutput,
    number: Annotated[
        int, typer.Option("--features", "-k", min=1, help="How many features to keep.")
    ] = 20,
    repeats: Annotated[
        int, typer.Option(min=2, help="Repetitions on half of the rows, for the stability.")
    ] = 20,
    model: Annotated[
        SelectorName, typer.Option("--model", "-m", help="What chooses them.")
    ] = _DEFAULT,
    random_state: RandomState = 0,
) -> None:
    """Choose features that predict the labels, when labels may be missing.

    Beside the weight of each feature stands its stability: the fraction of repetitions, on other
    halves of the rows with further gaps, that chose it as well.

    [bold]Examples[/bold]

    \b  labelgap select items.csv --labels 'tag_*' --item id -k 10
      labelgap select emotions -k 15 -o features.csv
    """
    out = output.check()
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with terminal.progress(f"choosing {number} features") as advance, reading(rows.place):
        prepared = feature_rows(X, names, scale=not scaled, random_state=random_state)
        found = select_features(
            prepared,
            learning_labels(rows, source.zeros),
            number,
            n_repeats=repeats,
            selector=find_estimator(model).load()(),
            random_state=random_state,
            progress=advance,
        )
    output.save(
        {
            "feature": np.array([one.name for one in found], dtype=object),
            "weight": np.array([one.weight for one in found]),
            "stability": np.array([one.stability for one in found]),
        }
    )
    payload = {
        "source": rows.place,
        "features": [
            {"name": one.name, "weight": one.weight, "stability": one.stability} for one in found
        ],
        "out": out,
    }
    shown = [
        (escape(one.name), f"{one.weight:.3g}", f"{one.stability:.0%}") for one in found[:_N_SHOWN]
    ]
    headings = {"feature": "left", "weight": "right", "chosen again": "right"}
    more = len(found) - len(shown)
    caption = f"and {more} more" if more else None
    terminal.result(payload, table(f"Features of {escape(rows.place)}", headings, shown, caption))
