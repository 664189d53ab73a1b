"""``labelgap extend``: labels that no row carries yet, from how often they meet known ones."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.audit import feature_rows
from labelgap.baselines import COSTA
from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._features import named_design
from labelgap.cli._loaded import Loaded
from labelgap.cli._models import watched
from labelgap.cli._options import LearningOptions, Seed, TableFile
from labelgap.cli._outputs import check_table_target, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.data import DataFormatError
from labelgap.data._frames import read_frame
from labelgap.data._places import place_of, place_of_names
from labelgap.labels import Labels
from labelgap.models.mllcs import MLLCS
from labelgap.report._files import replacing
from labelgap.yardsticks import CooccurrenceVote

_COLUMNS = ("seen", "label", "count")
ZERO_SHOT: dict[str, Callable[[int], Any]] = {
    "mllcs": lambda seed: MLLCS(random_state=seed),
    "costa": lambda seed: COSTA(),
    "vote": lambda seed: CooccurrenceVote(),
}
ZeroShotName = StrEnum("ZeroShotName", {name: name for name in ZERO_SHOT})  # type: ignore[misc]
_DEFAULT = ZeroShotName("mllcs")


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
    model: Annotated[
        ZeroShotName, typer.Option("--model", "-m", help="What predicts them.")
    ] = _DEFAULT,
    seed: Seed = 0,
) -> None:
    """Predict new labels for the rows of DATA: labels that none carries (ML-LCS by default).

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
    title = f"learning from {rows.n_rows} rows"
    with terminal.progress(title) as advance, reading(rows.place):
        inputs = feature_rows(X, names, scale=not scaled, random_state=seed).inputs
        estimator = ZERO_SHOT[model](seed)
        with watched(estimator, advance, title):
            estimator.fit(inputs, _known(rows.labels, table), cooccurrence=table)
        chances = estimator.predict_proba(inputs)
    new = [j for j, seen in enumerate(estimator.seen_) if not seen]
    fresh = [str(estimator.classes_[j]) for j in new]
    columns = {rows.item: rows.items}
    columns |= {name: chances[:, j] for name, j in zip(fresh, new, strict=True)}
    with replacing(out) as (partial,):
        write_table(columns, partial, out.suffix)
    payload = {
        "source": rows.place,
        "n_rows": rows.n_rows,
        "new_labels": fresh,
        "out": str(out),
        "command": command_words(
            "extend",
            source,
            counts=counts,
            model=None if model is _DEFAULT else model,
            out=out,
            seed=seed or None,
        ),
    }
    terminal.result(
        payload,
        f"{len(new)} new labels for {rows.n_rows:,} rows of {escape(rows.place)} written to "
        f"[bold]{escape(str(out))}[/bold]",
    )


def _known(labels: Labels, table: Any) -> Labels:
    """The labels that are counted with others."""
    assert labels.names is not None
    known = set(table.index) & set(table.columns)
    return labels[:, [j for j, name in enumerate(labels.names) if name in known]]


def read_counts(path: Path, rows: Loaded) -> Any:
    """A frame of counts, labels of DATA as rows and all labels as columns."""
    listed, file = read_frame(path, ids=["seen", "label"])
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
