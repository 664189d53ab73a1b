"""``labelgap extend``: labels that no row carries yet, from how often they meet known ones, or texts."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelgap.auditing import feature_rows
from labelgap.cli._design_matrix import named_design
from labelgap.cli._models import command_names, watched, with_random_state
from labelgap.cli._options import LearningOptions, RandomState, TableFile
from labelgap.cli._read_data import InputRows, learning_labels, read_labelled
from labelgap.cli._table_files import (
    LabelTextFile,
    RawCsv,
    check_table_target,
    read_label_text,
    read_listed,
    save_table,
)
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.labels import Labels
from labelgap.registry import find_estimator
from labelgap.text import TextFeatures

ZeroShotName = StrEnum("ZeroShotName", command_names("unseen_labels"))  # type: ignore[misc]
_DEFAULT = ZeroShotName("mllcs")


def extend(
    terminal: Terminal,
    source: LearningOptions,
    out: TableFile,
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="A table (CSV, Parquet) with the columns seen, label and count: how many items, "
            "anywhere, carry a label of DATA and another one. Pairs that are not listed count 0.",
        ),
    ] = None,
    label_text: LabelTextFile = None,
    model: Annotated[
        ZeroShotName, typer.Option("--model", "-m", help="What predicts them.")
    ] = _DEFAULT,
    random_state: RandomState = 0,
    raw_csv: RawCsv = False,
) -> None:
    """Predict new labels for the rows of DATA: labels that no row carries.

    You know how often a new label occurs together with known ones, from a catalogue, a thesaurus or
    older records (--counts), or what it means (--label-text), or both. Writes a column of
    probabilities per new label.

    [bold]Examples[/bold]

    \b  labelgap extend items.csv --labels 'tag_*' --item id --counts counts.csv -o new.csv
      labelgap hide yeast --protocol labels -o hidden   # makes such counts, to try it:
      labelgap extend yeast --label-table hidden/labels.csv --counts hidden/cooccurrence.csv -o new.csv
    """
    check_table_target(out)
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    texts = read_label_text(label_text)
    if counts is None and texts is None:
        raise BadInputError("give --counts, --label-text, or both: what new labels are known by")
    table = None
    if counts is not None:
        table = read_counts(counts, rows, texts or ())
    labels = learning_labels(rows, source.zeros)
    if table is not None:
        labels = _known(labels, table)
    elif not set(texts or ()) - set(map(str, rows.labels.names)):  # type: ignore[arg-type]
        raise BadInputError(f"{label_text}: has no label beside those of {rows.place}")
    title = f"learning from {rows.n_samples} rows"
    with terminal.progress(title) as advance, reading(rows.place):
        inputs = feature_rows(X, names, scale=not scaled, random_state=random_state).inputs
        estimator = with_random_state(find_estimator(model).load()(), random_state)
        with watched(estimator, advance, title):
            inputs, given = _with_item_texts(inputs, rows, texts)
            estimator.set_params(**given).fit(
                inputs,
                labels,
                cooccurrence=table,
                label_text=_wanted(texts, labels, table, rows.labels.names),
            )
        probabilities = estimator.predict_proba(inputs)
    new = [j for j, seen in enumerate(estimator.seen_) if not seen]
    fresh = [str(estimator.classes_[j]) for j in new]
    columns = {rows.item: rows.items}
    columns |= {name: probabilities[:, j] for name, j in zip(fresh, new, strict=True)}
    save_table(columns, out, raw=raw_csv)
    payload = {
        "source": rows.place,
        "n_samples": rows.n_samples,
        "new_labels": fresh,
        "out": str(out),
    }
    terminal.result(
        payload,
        f"{len(new)} new labels for {rows.n_samples:,} rows of {escape(rows.place)} written to "
        f"[bold]{escape(str(out))}[/bold]",
    )


def _known(labels: Labels, table: Any) -> Labels:
    """The labels that are counted with others."""
    assert labels.names is not None
    known = set(table.index) & set(table.columns)
    return labels[:, [j for j, name in enumerate(labels.names) if name in known]]


def _with_item_texts(inputs: Any, rows: InputRows, texts: Any) -> tuple[Any, dict[str, Any]]:
    """Features, and what an estimator needs to compare texts of items and labels directly."""
    items = rows.data.texts
    if texts is None or items is None or rows.data.X.shape[1] > 0:
        return inputs, {}
    features = TextFeatures().fit(list(items))
    return features.transform(list(items)), {"text_encoder": features}


def _wanted(
    texts: dict[str, str] | None, labels: Labels, table: Any, all_names: Any
) -> dict[str, str] | None:
    """The texts of labels that take part: all but those of DATA that were not counted."""
    if texts is None or labels.names is None:
        return None
    known = set(map(str, labels.names)) | set(() if table is None else map(str, table.columns))
    left_out = set(map(str, all_names)) - known
    return {name: text for name, text in texts.items() if name not in left_out}


def read_counts(path: Path, rows: InputRows, known: Collection[str] = ()) -> Any:
    """A frame of counts, labels that rows of DATA carry as rows and all labels as columns."""
    listed = read_listed(path, ("seen", "label", "count"), ["seen", "label"])
    carried = rows.labels.n_positives(axis=0) > 0
    names = set(rows.labels.names[carried].astype(str))  # type: ignore[index]
    listed = listed[listed["seen"].isin(names)]
    new = sorted(set(listed["label"]) - names)
    if not new and not set(known) - names:
        raise BadInputError(
            f"{path}: rows of {rows.place} carry every label that it lists, and none is left to "
            "predict; add pairs with labels that no row carries (after labelgap hide --protocol "
            "labels: give the labels that are left, --label-table labels.csv)"
        )
    seen = set(listed["seen"])
    known = [str(name) for name in rows.labels.names if str(name) in seen]  # type: ignore[union-attr]
    table = listed.pivot(index="seen", columns="label", values="count")
    table = table.reindex(index=known, columns=[*known, *new])
    counted = table.columns.isin(listed["label"])
    table.loc[:, counted] = table.loc[:, counted].fillna(0)
    return table
