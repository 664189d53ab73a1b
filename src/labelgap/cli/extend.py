"""``labelgap extend``: labels that no row carries yet, from how often they meet known ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import feature_rows
from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._features import named_design
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import LearningOptions, Seed, TableFile
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.data import DataFormatError
from labelgap.data._frames import read_frame
from labelgap.data._places import place_of, place_of_names
from labelgap.models.mllcs import MLLCS
from labelgap.report._files import replacing

_COLUMNS = ("seen", "label", "count")


def extend(
    terminal: Terminal,
    source: LearningOptions,
    counts: Annotated[
        Path,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="A table (CSV, Parquet) with the columns seen, label and count: how many items, "
            "anywhere, carry a label of DATA and another one. Pairs not listed never meet.",
        ),
    ],
    out: TableFile,
    seed: Seed = 0,
) -> None:
    """Predict new labels for the rows of DATA: labels that none of them carries (ML-LCS).

    Nothing is known of a new label but how often it comes with known ones, from a catalogue, a
    thesaurus or older records. Writes a column of probabilities per new label.

    [bold]Examples[/bold]

    \b  labelgap extend items.csv --labels 'tag_*' --item id --counts counts.csv -o new.csv
      labelgap hide yeast --protocol labels -o hidden   # makes such a table, to try it
    """
    check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with reading(counts):
        table = read_counts(counts, rows)
    with terminal.progress(f"learning from {rows.n_rows} rows"), reading(rows.place):
        inputs = feature_rows(X, names, scale=not scaled, random_state=seed).inputs
        known = [name for name in table.index if name in set(table.columns)]
        labels = rows.labels
        assert labels.names is not None
        kept = [j for j, name in enumerate(labels.names) if name in set(known)]
        model = MLLCS(random_state=seed).fit(inputs, labels[:, kept], cooccurrence=table)
        chances = model.predict_proba(inputs)
    new = np.flatnonzero(~model.seen_)
    columns = {rows.item: rows.items}
    columns |= {str(model.classes_[j]): chances[:, j] for j in new}
    with replacing(out) as (partial,):
        write_table(columns, partial, out.suffix)
    payload = {
        "source": rows.place,
        "n_rows": rows.n_rows,
        "new_labels": [str(model.classes_[j]) for j in new],
        "out": str(out),
        "command": command_words("extend", source, counts=counts, out=out, seed=seed or None),
    }
    terminal.result(
        payload,
        f"{new.size} new labels for {rows.n_rows:,} rows of {escape(rows.place)} written to "
        f"[bold]{escape(str(out))}[/bold]",
    )


def read_counts(path: Path, rows: Loaded) -> Any:
    """A frame of counts, labels of DATA as rows and all labels as columns."""
    listed, file = read_frame(path)
    for name in _COLUMNS:
        if name not in listed.columns:
            raise DataFormatError(
                f"there is no column {name!r}",
                **place_of_names(file),
                remedy=f"Give the columns {', '.join(_COLUMNS)}",
            )
    listed = listed.assign(seen=listed["seen"].astype(str), label=listed["label"].astype(str))
    twice = np.flatnonzero(listed.duplicated(["seen", "label"]).to_numpy())
    if twice.size:
        raise DataFormatError(
            f"the pair {listed['seen'][twice[0]]!r}, {listed['label'][twice[0]]!r} occurs twice",
            **place_of(file, int(twice[0])),
            remedy="Keep one line of each pair",
        )
    names = set(rows.labels.names.astype(str))  # type: ignore[union-attr]
    listed = listed[listed["seen"].isin(names)]
    new = sorted(set(listed["label"]) - names)
    if not new:
        raise BadInputError(
            f"{path}: lists no label beside those of {rows.place}; add pairs with new labels"
        )
    known = [str(name) for name in rows.labels.names if str(name) in set(listed["seen"])]  # type: ignore[union-attr]
    table = listed.pivot(index="seen", columns="label", values="count")
    table = table.reindex(index=known, columns=[*known, *new])
    counted = table.columns.isin(listed["label"])
    table.loc[:, counted] = table.loc[:, counted].fillna(0)
    return table
