"""``labelgap topics``: which labels come together, and what predicts them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.auditing import AuditTopic, feature_rows, find_topics
from labelgap.cli._design_matrix import named_design
from labelgap.cli._options import LearningOptions, RandomState
from labelgap.cli._read_data import learning_labels, read_labelled
from labelgap.cli._table_files import TableOutput
from labelgap.cli._terminal import Terminal, reading, table

_N_SHOWN = 5


def topics(
    terminal: Terminal,
    source: LearningOptions,
    output: TableOutput,
    number: Annotated[
        int, typer.Option("--topics", "-k", min=1, help="How many topics to find.")
    ] = 10,
    random_state: RandomState = 0,
) -> None:
    """Find topics: labels that come together, and the features that predict them (BMLPL).

    [bold]Examples[/bold]

    \b  labelgap topics items.csv --labels 'tag_*' --item id -k 8
      labelgap topics bibtex -k 20 -o topics.csv
    """
    out = output.check()
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with terminal.progress(f"finding {number} topics") as advance, reading(rows.place):
        advance(f"finding {number} topics", 0, None)
        prepared = feature_rows(X, names, scale=not scaled, random_state=random_state)
        found, trace = find_topics(
            prepared,
            learning_labels(rows, source.zeros),
            number,
            random_state=random_state,
            progress=advance,
        )
    output.save(_weights(found))
    payload = {
        "source": rows.place,
        "topics": [
            {"fraction": one.fraction, "labels": dict(one.labels), "features": dict(one.features)}
            for one in found
        ],
        "objective": trace.values[-1],
        "converged": trace.converged,
        "out": out,
    }
    shown = [(f"{one.fraction:.1%}", _first(one.labels), _first(one.features)) for one in found]
    columns = {"fraction": "right", "labels": "left", "features": "left"}
    terminal.result(payload, table(f"Topics of {escape(rows.place)}", columns, shown))


def _first(weights: tuple[tuple[str, float], ...]) -> str:
    return escape(", ".join(name for name, _ in weights[:_N_SHOWN]))


def _weights(found: tuple[AuditTopic, ...]) -> dict[str, np.ndarray]:
    lines = [
        (number, kind, name, weight)
        for number, topic in enumerate(found, start=1)
        for kind, weights in (("label", topic.labels), ("feature", topic.features))
        for name, weight in weights
    ]
    numbers, kinds, names, weights = zip(*lines, strict=True)
    return {
        "topic": np.array(numbers),
        "kind": np.array(kinds, dtype=object),
        "name": np.array(names, dtype=object),
        "weight": np.array(weights, dtype=float),
    }
