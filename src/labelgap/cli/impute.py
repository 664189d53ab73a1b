"""``labelgap impute``: fill the gaps of a table of labels."""

from __future__ import annotations

import numpy as np
from rich.markup import escape

from labelgap.auditing import ImputedEntries, ReviewDecisions, apply_decisions
from labelgap.auditing import impute as impute_labels
from labelgap.cli._design_matrix import named_design
from labelgap.cli._options import DecisionsFile, LearningOptions, RandomState, TableFile, Threshold
from labelgap.cli._read_data import InputRows, read_labelled, zeros_of_audit
from labelgap.cli._table_files import RawCsv, check_table_target, save_table
from labelgap.cli._terminal import Terminal, reading
from labelgap.cli.audit import decisions_of
from labelgap.labels import Labels

_ZEROS_STAY = (
    "zeros stay zeros: they become labels only where the table itself shows that labels are "
    "missing, or where you say so with --zeros unlabeled"
)


def impute(
    terminal: Terminal,
    source: LearningOptions,
    out: TableFile,
    threshold: Threshold = 0.5,
    decisions: DecisionsFile = None,
    random_state: RandomState = 0,
    raw_csv: RawCsv = False,
) -> None:
    """Add the labels that are probably missing, and write them all as a long table.

    One line per item and label that is recorded (probability 1) or probably missing: what
    --label-table takes. The model is that of labelgap audit, which shows the evidence too. What
    was accepted in a review counts as recorded, and what was rejected stays out. Zeros become
    labels where the table itself shows that labels are missing, or with --zeros unlabeled.

    [bold]Examples[/bold]

    \b  labelgap impute items.csv --labels 'tag_*' --item id -o imputed.csv
      labelgap impute items.csv --labels 'tag_*' --item id --threshold 0.8 -o sure.parquet
      labelgap impute items.csv --labels 'tag_*' --item id --decisions decisions.json -o all.csv
    """
    check_table_target(out)
    decided = decisions_of(decisions)
    rows = read_labelled(source, terminal, part="all")
    X, _, scaled = named_design(rows, source.empty)
    with (
        terminal.progress(f"imputing labels of {rows.n_samples} items") as advance,
        reading(rows.place),
    ):
        known = _known_labels(rows, decided)
        zeros = zeros_of_audit(rows, source.zeros)
        added = impute_labels(
            X,
            rows.labels,
            threshold=threshold,
            zeros=zeros,
            scale=not scaled,
            item_ids=rows.items,
            decisions=decided,
            random_state=random_state,
            progress=advance,
        )
    save_table(_all_labels(rows, known, added), out, raw=raw_csv)
    n_recorded = known.n_positives()
    payload = {
        "source": rows.place,
        "n_samples": rows.n_samples,
        "n_recorded": n_recorded,
        "n_added": added.rows.size,
        "out": str(out),
    }
    done = (
        f"{added.rows.size:,} labels added to {n_recorded:,} recorded ones of "
        f"{escape(rows.place)}, written to [bold]{escape(str(out))}[/bold]"
    )
    if zeros == "auto" and not rows.labels.has_gaps and not added.rows.size:
        done = f"{done}\n{_ZEROS_STAY}"
    terminal.result(payload, done)


def _known_labels(rows: InputRows, decided: ReviewDecisions | None) -> Labels:
    if decided is None:
        return rows.labels
    return apply_decisions(rows.labels, decided, rows.items.astype(str))


def _all_labels(rows: InputRows, labels: Labels, added: ImputedEntries) -> dict[str, np.ndarray]:
    """One line per label that is recorded or was added, by item."""
    assert labels.names is not None
    known = labels.positives().tocoo()
    at = np.concatenate([known.row, added.rows])
    columns = np.concatenate([known.col, added.labels])
    probabilities = np.concatenate([np.ones(known.nnz), added.probabilities])
    order = np.lexsort((columns, at))
    return {
        rows.item: rows.items[at[order]],
        "label": labels.names.astype(str)[columns[order]],
        "probability": probabilities[order],
        "source": np.where(order < known.nnz, "recorded", "imputed"),
    }
