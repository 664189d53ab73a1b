"""``labelgap complete``: fill the gaps of a table of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import Completed
from labelgap.audit import complete as complete_labels
from labelgap.cli._failures import reading
from labelgap.cli._features import named_design
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import LabelledOptions
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.cli.audit import Zeros
from labelgap.report._files import replacing


def complete(
    terminal: Terminal,
    source: LabelledOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .csv or .parquet file.")
    ],
    threshold: Annotated[
        float,
        typer.Option(min=0, max=0.999, help="Entries that are more probable than this are added."),
    ] = 0.5,
    zeros: Annotated[
        Zeros,
        typer.Option(
            help="Whether a zero may be a forgotten label. auto: it may, unless the table also has "
            "empty cells for what nobody looked at."
        ),
    ] = Zeros.AUTO,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same table.")] = 0,
) -> None:
    """Add the labels that are probably missing, and write them all as a long table.

    One line per item and label that is recorded (probability 1) or probably missing: what
    --label-table takes. The model is that of labelgap audit, which shows the evidence too.

    [bold]Examples[/bold]

    \b  labelgap complete items.csv --labels 'tag_*' --item id -o completed.csv
      labelgap complete items.csv --labels 'tag_*' --item id --threshold 0.8 -o sure.parquet
    """
    check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, _, scaled = named_design(rows)
    with terminal.progress(f"completing {rows.n_rows} items") as advance, reading(rows.place):
        added = complete_labels(
            X,
            rows.labels,
            threshold=threshold,
            zeros=str(zeros),  # type: ignore[arg-type]
            scale=not scaled,
            random_state=seed,
            progress=advance,
        )
    with replacing(out) as (partial,):
        write_table(_all_labels(rows, added), partial, out.suffix)
    n_recorded = rows.labels.n_positives()
    chosen = None if zeros is Zeros.AUTO else str(zeros)
    extra = {"threshold": threshold, "zeros": chosen, "seed": seed or None}
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


def _all_labels(rows: Loaded, added: Completed) -> dict[str, np.ndarray]:
    """One line per label that is recorded or was added, by item."""
    assert rows.labels.names is not None
    known = rows.labels.positives().tocoo()
    at = np.concatenate([known.row, added.rows])
    columns = np.concatenate([known.col, added.labels])
    chances = np.concatenate([np.ones(known.nnz), added.probabilities])
    order = np.lexsort((columns, at))
    return {
        rows.item: rows.items[at[order]],
        "label": rows.labels.names.astype(str)[columns[order]],
        "probability": chances[order],
        "source": np.where(order < known.nnz, "recorded", "completed"),
    }
