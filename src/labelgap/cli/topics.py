"""``labelgap topics``: which labels come together, and what tells them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import Topic, feature_rows, find_topics
from labelgap.cli._failures import reading
from labelgap.cli._features import named_design
from labelgap.cli._options import LearningOptions, Seed, TableFileIfAny
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal, table
from labelgap.report._files import replacing

_N_SHOWN = 5


def topics(
    terminal: Terminal,
    source: LearningOptions,
    number: Annotated[
        int, typer.Option("--topics", "-k", min=1, help="How many topics to find.")
    ] = 10,
    out: TableFileIfAny = None,
    seed: Seed = 0,
) -> None:
    """Find topics: labels that come together, and the features that tell them (BMLPL).

    [bold]Examples[/bold]

    \b  labelgap topics items.csv --labels 'tag_*' --item id -k 8
      labelgap topics bibtex -k 20 -o topics.csv
    """
    if out is not None:
        check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with terminal.progress(f"finding {number} topics") as advance, reading(rows.place):
        advance(f"finding {number} topics", 0, None)
        prepared = feature_rows(X, names, scale=not scaled, random_state=seed)
        found, trace = find_topics(
            prepared, rows.labels, number, random_state=seed, progress=advance
        )
    if out is not None:
        with replacing(out) as (partial,):
            write_table(_weights(found), partial, out.suffix)
    payload = {
        "source": rows.place,
        "topics": [
            {"share": one.share, "labels": dict(one.labels), "features": dict(one.features)}
            for one in found
        ],
        "objective": trace.values[-1],
        "settled": trace.converged,
        "out": None if out is None else str(out),
        "command": command_words("topics", source, topics=number, out=out, seed=seed or None),
    }
    shown = [(f"{one.share:.1%}", _first(one.labels), _first(one.features)) for one in found]
    columns = {"share": "right", "labels": "left", "features": "left"}
    terminal.result(payload, table(f"Topics of {escape(rows.place)}", columns, shown))


def _first(weights: tuple[tuple[str, float], ...]) -> str:
    return escape(", ".join(name for name, _ in weights[:_N_SHOWN]))


def _weights(found: tuple[Topic, ...]) -> dict[str, np.ndarray]:
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
