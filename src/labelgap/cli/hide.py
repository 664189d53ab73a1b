"""``labelgap hide``: take labels away, and keep the truth."""

from __future__ import annotations

import json
import shlex
import warnings
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

import labelgap
from labelgap.cli._design_matrix import named_design
from labelgap.cli._models import Scale, make_model
from labelgap.cli._options import Empty, Folder, Format, LabelledOptions, RandomState, Zeros
from labelgap.cli._read_data import InputRows, read_labelled
from labelgap.cli._table_files import RawCsv, check_folder, write_table
from labelgap.cli._terminal import BadInputError, Terminal, ToCopy
from labelgap.files import replacing_folder
from labelgap.imputers import draw_folds
from labelgap.labels import Labels, LabelWarning, State
from labelgap.protocols import (
    LABEL_PROTOCOLS,
    PROBABILITY_PROTOCOLS,
    HiddenByPeople,
    HiddenEntries,
    HiddenLabels,
)

Protocol = StrEnum(  # type: ignore[misc]
    "Protocol", {name: name for name in (*LABEL_PROTOCOLS, *PROBABILITY_PROTOCOLS)}
)
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
            help="entries: at random; per-row, per-label: the same fraction of each; positives: ones "
            "become zeros without a trace; reveal: --fraction is what stays; labels: whole labels. "
            "As people lose positives: unopened-items, brief-items, label-rates, annotators, "
            "late-labels; and by how probable logistic regressions find them: improbable, "
            "off-boundary, power."
        ),
    ] = DEFAULT_PROTOCOL,
    fraction: Annotated[float, typer.Option(min=0, max=1, help="How much is hidden.")] = 0.4,
    random_state: RandomState = 0,
    table_format: Annotated[
        TableFormat, typer.Option("--table-format", help="The format of the tables.")
    ] = TableFormat.CSV,
    raw_csv: RawCsv = False,
) -> None:
    """Hide labels on purpose, to see how well they can be recovered.

    Writes three files into the folder: [bold]labels[/bold], what a learner may see;
    [bold]truth[/bold], what was hidden (all zeros as well where positives become zeros, since the
    hidden ones must be found among them); and [bold]about.json[/bold], how it was done and what
    pairs that are not listed mean. Tables are long: one item-label pair per line, with the value
    1, 0, or empty for unknown. --protocol labels adds the co-occurrence counts.

    [bold]Examples[/bold]

    \b  labelgap hide yeast --fraction 0.4 --random-state 1 --out hidden
      labelgap hide items.csv --labels 'tag_*' --item id --protocol positives -o hidden
    """
    check_folder(out)
    rows = read_labelled(source, terminal, part="all")
    labels = rows.labels
    if source.zeros is Zeros.UNLABELED and not labels.unlabeled:
        labels = labels.with_zeros("unlabeled")
    with terminal.progress(f"hiding labels of {rows.n_samples} rows"):
        hidden = _hide(rows, labels, str(protocol), fraction, random_state)
    shown, truth = hidden.labels.compact(), hidden.truth.compact()
    tables = {"labels": _long(shown, rows), "truth": _long(truth, rows)}
    if isinstance(hidden, HiddenLabels):
        tables["cooccurrence"] = _counts(hidden, rows)
    if isinstance(hidden, HiddenByPeople):
        tables["propensity"] = _propensities(hidden, rows)
    about = {
        "protocol": str(protocol),
        "fraction": fraction,
        "random_state": random_state,
        "source": rows.place,
        "part": rows.part,
        "n_samples": shown.n_samples,
        "n_labels": shown.n_labels,
        "n_hidden": hidden.n_hidden,
        "zeros": {"labels": shown.implicit.name.lower(), "truth": truth.implicit.name.lower()},
        "unseen": [str(name) for name in shown.names[shown.unseen]],  # type: ignore[index]
        "labelgap": labelgap.__version__,
    }
    names = [*(f"{name}.{table_format}" for name in tables), "about.json"]
    with replacing_folder(out, names) as partial:
        for columns, path in zip(tables.values(), partial[:-1], strict=True):
            write_table(columns, path, f".{table_format}", raw=raw_csv)
        partial[-1].write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    files = [str(out / name) for name in names]
    terminal.result({**about, "files": files}, *_shown(about, source, files))


def _hide(
    rows: InputRows, labels: Labels, protocol: str, fraction: float, random_state: int
) -> HiddenEntries:
    if protocol in LABEL_PROTOCOLS:
        return LABEL_PROTOCOLS[protocol](labels, fraction, random_state=random_state)
    X, _, _ = named_design(rows, Empty.MEAN)
    return PROBABILITY_PROTOCOLS[protocol](
        labels, fraction, probabilities=_probabilities(X, labels), random_state=random_state
    )


def _probabilities(X: Any, labels: Labels) -> np.ndarray:
    """Of each entry, by logistic regressions of other rows."""
    found = np.empty(labels.shape)
    for held in draw_folds(labels.n_samples, np.random.default_rng(0)):
        learned = np.setdiff1d(np.arange(labels.n_samples), held)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelWarning)
            model = make_model("binary-relevance", [], Scale.AUTO, X, 0)
            model.fit(X[learned], labels[learned])
        found[held] = model.predict_proba(X[held])
    return found


def _long(labels: Labels, rows: InputRows) -> dict[str, np.ndarray]:
    if (labels.entries.data == State.UNLABELED).any():
        labels = labels.with_implicit(State.UNLABELED)
    at, names, values = labels.to_long()
    if rows.item in ("label", "value"):
        raise BadInputError(f"--item {rows.item}: is a column of the tables to write; rename it")
    # empty cells need a type that has them
    return {rows.item: rows.items[at], "label": names.astype(str), "value": values}


def _propensities(hidden: HiddenByPeople, rows: InputRows) -> dict[str, np.ndarray]:
    names = rows.labels.names.astype(str)  # type: ignore[union-attr]
    kept = hidden.propensity.tocoo()
    at, columns = kept.coords
    return {rows.item: rows.items[at], "label": names[columns], "propensity": kept.data}


def _counts(hidden: HiddenLabels, rows: InputRows) -> dict[str, np.ndarray]:
    names = rows.labels.names.astype(str)  # type: ignore[union-attr]
    counts = hidden.cooccurrence.tocoo()
    return {
        "seen": names[hidden.seen[counts.row]],
        "label": names[counts.col],
        "count": counts.data,
    }


def _shown(about: dict[str, Any], source: LabelledOptions, files: list[str]) -> tuple[str, ...]:
    cells = about["n_samples"] * about["n_labels"]
    extends = about["protocol"] == "labels"
    command = ["labelgap", "extend" if extends else "fit", source.data, "--rows", about["part"]]
    given = {"--query": source.query, "--item": source.item, "--text": source.text}
    command += [part for name, value in given.items() if value for part in (name, value)]
    command += ["--format", str(source.format)] if source.format is not Format.AUTO else []
    command += ["--zero-based"] if source.zero_based else []
    command += [part for value in source.labels for part in ("--labels", value)]
    command += [part for value in source.drop for part in ("--drop", value)]
    command += ["--label-table", files[0], "--zeros", about["zeros"]["labels"]]
    command += ["--counts", files[2], "-o", "new.csv"] if extends else ["-o", "gaps.model"]
    return (
        f"hid {about['n_hidden']} of {cells} entries of {escape(about['source'])} "
        f"({about['n_samples']} rows x {about['n_labels']} labels; protocol {about['protocol']}, "
        f"random state {about['random_state']})",
        *(f"  [bold]{escape(file)}[/bold]" for file in files),
        ToCopy(f"next: {escape(shlex.join(command))}"),
    )
