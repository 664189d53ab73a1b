"""``labelgap complete``: fill the gaps of a table of labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import Completed, Decisions, apply_decisions
from labelgap.audit import complete as complete_labels
from labelgap.cli._failures import reading
from labelgap.cli._features import named_design
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import (
    DecisionsFile,
    LearningOptions,
    Seed,
    TableFile,
    Threshold,
    Zeros,
    ZerosMean,
)
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.cli.audit import decisions_of
from labelgap.labels import Labels
from labelgap.report._files import replacing


class Completer(StrEnum):
    JOINT = "joint"
    MEND = "mend"


def complete(
    terminal: Terminal,
    source: LearningOptions,
    out: TableFile,
    model: Annotated[
        Completer,
        typer.Option(
            "--model",
            "-m",
            help="joint: that of labelgap audit; mend: a classifier per label, completed unless "
            "trials say that it hurts.",
        ),
    ] = Completer.JOINT,
    threshold: Threshold = 0.5,
    zeros: ZerosMean = Zeros.AUTO,
    decisions: DecisionsFile = None,
    seed: Seed = 0,
) -> None:
    """Add the labels that are probably missing, and write them all as a long table.

    One line per item and label that is recorded (probability 1) or probably missing: what
    --label-table takes. The model is that of labelgap audit, which shows the evidence too. What
    was accepted in a review counts as recorded, and what was rejected stays out.

    [bold]Examples[/bold]

    \b  labelgap complete items.csv --labels 'tag_*' --item id -o completed.csv
      labelgap complete items.csv --labels 'tag_*' --item id --threshold 0.8 -o sure.parquet
      labelgap complete items.csv --labels 'tag_*' --item id --decisions decisions.json -o all.csv
    """
    check_table_target(out)
    decided = decisions_of(decisions)
    rows = read_labelled(source, terminal, part="all")
    X, _, scaled = named_design(rows, source.empty)
    with terminal.progress(f"completing {rows.n_rows} items") as advance, reading(rows.place):
        recorded = _recorded(rows, decided)
        added = complete_labels(
            X,
            rows.labels,
            threshold=threshold,
            model=str(model),  # type: ignore[arg-type]
            zeros=str(zeros),  # type: ignore[arg-type]
            scale=not scaled,
            item_ids=rows.items,
            decisions=decided,
            random_state=seed,
            progress=advance,
        )
    with replacing(out) as (partial,):
        write_table(_all_labels(rows, recorded, added), partial, out.suffix)
    n_recorded = recorded.n_positives()
    extra = {
        "model": None if model is Completer.JOINT else model,
        "threshold": threshold,
        "zeros": None if zeros is Zeros.AUTO else zeros,
        "decisions": decisions,
        "seed": seed or None,
    }
    payload = {
        "source": rows.place,
        "n_rows": rows.n_rows,
        "n_recorded": n_recorded,
        "n_added": added.rows.size,
        "out": str(out),
        "command": command_words("complete", source, out=out, **extra),
    }
    terminal.result(
        payload,
        f"{added.rows.size:,} labels added to {n_recorded:,} recorded ones of "
        f"{escape(rows.place)}, written to [bold]{escape(str(out))}[/bold]",
    )


def _recorded(rows: Loaded, decided: Decisions | None) -> Labels:
    if decided is None:
        return rows.labels
    return apply_decisions(rows.labels, decided, rows.items.astype(str))


def _all_labels(rows: Loaded, recorded: Labels, added: Completed) -> dict[str, np.ndarray]:
    """One line per label that is recorded or was added, by item."""
    assert recorded.names is not None
    known = recorded.positives().tocoo()
    at = np.concatenate([known.row, added.rows])
    columns = np.concatenate([known.col, added.labels])
    chances = np.concatenate([np.ones(known.nnz), added.probabilities])
    order = np.lexsort((columns, at))
    return {
        rows.item: rows.items[at[order]],
        "label": recorded.names.astype(str)[columns[order]],
        "probability": chances[order],
        "source": np.where(order < known.nnz, "recorded", "completed"),
    }
