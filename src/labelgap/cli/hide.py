"""``labelgap hide``: take labels away, and keep the truth."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

import labelgap
from labelgap.cli._failures import BadInputError
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import Folder, LabelledOptions, Seed
from labelgap.cli._outputs import Columns, write_table
from labelgap.cli._reproduce import command_words
from labelgap.cli._sources import read_labelled
from labelgap.cli._terminal import Terminal
from labelgap.labels import Labels, State
from labelgap.protocols import LABEL_PROTOCOLS, HiddenLabels
from labelgap.report._files import replacing

Protocol = StrEnum("Protocol", {name: name for name in LABEL_PROTOCOLS})  # type: ignore[misc]
DEFAULT_PROTOCOL = Protocol("entries")


class TableFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


def hide(
    terminal: Terminal,
    source: LabelledOptions,
    out: Folder,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="entries: at random; per-row, per-label: the same share of each; positives: ones "
            "become zeros without a trace; reveal: --share is what stays; labels: whole labels."
        ),
    ] = DEFAULT_PROTOCOL,
    share: Annotated[float, typer.Option(min=0, max=1, help="How much is hidden.")] = 0.4,
    seed: Seed = 0,
    table_format: Annotated[
        TableFormat, typer.Option("--table-format", help="The format of the tables.")
    ] = TableFormat.CSV,
) -> None:
    """Hide labels on purpose, to see how well they can be recovered.

    Writes three files into the folder: [bold]labels[/bold], what a learner may see;
    [bold]truth[/bold], what was hidden (all zeros as well for --protocol positives, since the
    hidden ones must be found among them); and [bold]about.json[/bold], how it was done and what
    pairs that are not listed mean. Tables are long: one item-label pair per line, with the value
    1, 0, or empty for unknown. --protocol labels adds the co-occurrence counts.

    [bold]Examples[/bold]

    \b  labelgap hide yeast --share 0.4 --seed 1 --out hidden
      labelgap hide items.csv --labels 'tag_*' --item id --protocol positives -o hidden
    """
    if out.exists() and not out.is_dir():
        raise BadInputError(f"--out {out}: is a file; give the name of a folder")
    rows = read_labelled(source, terminal, part="all")
    with terminal.progress(f"hiding labels of {rows.n_rows} rows"):
        hidden = LABEL_PROTOCOLS[str(protocol)](rows.labels, share, random_state=seed)
    shown, truth = hidden.labels.compact(), hidden.truth.compact()
    tables = {"labels": _long(shown, rows), "truth": _long(truth, rows)}
    if isinstance(hidden, HiddenLabels):
        tables["cooccurrence"] = _counts(hidden, rows)
    about = {
        "protocol": str(protocol),
        "share": share,
        "seed": seed,
        "source": rows.place,
        "part": rows.part,
        "n_rows": shown.n_rows,
        "n_labels": shown.n_labels,
        "n_hidden": hidden.n_hidden,
        "unstated": {"labels": shown.unstated.name.lower(), "truth": truth.unstated.name.lower()},
        "unseen": [str(name) for name in shown.names[shown.unseen]],  # type: ignore[index]
        "labelgap": labelgap.__version__,
    }
    files = _write(out, tables, about, str(table_format))
    extra = {"protocol": protocol, "share": share, "seed": seed or None, "out": out}
    if table_format is not TableFormat.CSV:
        extra["table_format"] = table_format
    payload = {**about, "files": files, "command": command_words("hide", source, **extra)}
    terminal.result(payload, *_shown(about, source, files))


def _long(labels: Labels, rows: Loaded) -> dict[str, np.ndarray]:
    if (labels.entries.data == State.AMBIGUOUS).any():
        labels = labels.with_unstated(State.AMBIGUOUS)
    at, names, values = labels.to_long()
    if rows.item in ("label", "value"):
        raise BadInputError(f"--item {rows.item}: is a column of the tables to write; rename it")
    # empty cells need a type that has them
    return {rows.item: rows.items[at], "label": names.astype(str), "value": values}


def _counts(hidden: HiddenLabels, rows: Loaded) -> dict[str, np.ndarray]:
    names = rows.labels.names.astype(str)  # type: ignore[union-attr]
    counts = hidden.cooccurrence.tocoo()
    return {
        "seen": names[hidden.seen[counts.row]],
        "label": names[counts.col],
        "count": counts.data,
    }


def _write(out: Path, tables: Mapping[str, Columns], about: dict, suffix: str) -> list[str]:
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    targets = [*(out / f"{name}.{suffix}" for name in tables), out / "about.json"]
    try:
        with replacing(*targets) as partial:
            for columns, path in zip(tables.values(), partial[:-1], strict=True):
                write_table(columns, path, f".{suffix}")
            partial[-1].write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    except BaseException:
        if made:
            out.rmdir()
        raise
    return [str(path) for path in targets]


def _shown(about: dict[str, Any], source: LabelledOptions, files: list[str]) -> tuple[str, ...]:
    cells = about["n_rows"] * about["n_labels"]
    command = ["labelgap", "fit", source.data, "--rows", about["part"]]
    command += ["--item", source.item] if source.item else []
    command += [part for value in source.labels for part in ("--labels", value)]
    command += [part for value in source.drop for part in ("--drop", value)]
    command += ["--label-table", files[0], "--unstated", about["unstated"]["labels"]]
    return (
        f"hid {about['n_hidden']} of {cells} entries of {escape(about['source'])} "
        f"({about['n_rows']} rows x {about['n_labels']} labels; protocol {about['protocol']}, "
        f"seed {about['seed']})",
        *(f"  [bold]{escape(file)}[/bold]" for file in files),
        f"next: {escape(shlex.join(command))} -o gaps.model",
    )
