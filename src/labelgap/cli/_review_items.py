"""What a review shows of items and labels, and the entries of a table that it can ask about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labelgap.auditing import impute
from labelgap.cli._item_cells import shortened
from labelgap.cli._read_data import InputRows
from labelgap.cli._terminal import BadInputError
from labelgap.labels import State
from labelgap.review import Population

_N_EXAMPLES = 3
_MOST_ENTRIES = 20_000_000


def table_population(rows: InputRows, X: Any, how: Mapping[str, Any]) -> Population:
    """All entries of a table that are not recorded, with the probabilities of the audit's model."""
    labels = rows.labels
    n_entries = rows.n_samples * labels.n_labels
    if n_entries > _MOST_ENTRIES:
        raise BadInputError(
            f"--estimate, --certify: draw from all entries of the table, and {n_entries:,} are "
            f"more than {_MOST_ENTRIES:,}; give a part of the rows, or an audit.json, whose "
            "suggestions are then drawn from"
        )
    if how["zeros"] == "auto" and not labels.has_gaps:
        # people decide: that labels are missing may be assumed
        how = {**how, "zeros": "unlabeled"}
    at, columns, p = impute(X, labels, threshold=0.0, max_entries=n_entries, **how)
    probabilities = np.zeros((rows.n_samples, labels.n_labels))
    probabilities[at, columns] = p
    states = labels.states()
    is_open = (states == State.UNKNOWN) | (states == State.UNLABELED)
    if not is_open.any():
        # a table that leaves nothing open may still lack what it says is irrelevant
        is_open = states != State.RELEVANT
    items, names = [str(item) for item in rows.items], label_names(rows)
    for decision in how["decisions"].last().values() if how["decisions"] is not None else ():
        is_open[items.index(decision.item), names.index(decision.label)] = False
    entry_rows, entry_columns = np.nonzero(is_open)
    return Population(
        entry_rows,
        entry_columns,
        probabilities[is_open],
        items,
        names,
        whole_table=True,
    )


def label_names(rows: InputRows) -> list[str]:
    """The names of the labels, which :attr:`InputRows.labels` always has."""
    names = rows.labels.names
    assert names is not None
    return [str(name) for name in names]


def explain_labels(
    rows: InputRows, meanings: Mapping[str, str]
) -> Callable[[str], Mapping[str, str]]:
    """What a reviewer is told of a label: its definition, and some items that carry it."""
    labels = rows.labels
    positives = labels.positives().tocsc()
    column_of = {name: column for column, name in enumerate(label_names(rows))}

    def explain(label: str) -> dict[str, str]:
        about = {"definition": meanings[label]} if label in meanings else {}
        column = column_of.get(label)
        if column is None:
            return about
        carriers = positives.indices[positives.indptr[column] : positives.indptr[column + 1]]
        about["recorded"] = f"for {carriers.size:,} of {rows.n_samples:,} items"
        shown = np.random.default_rng(column).permutation(carriers)[:_N_EXAMPLES]
        for number, row in enumerate(shown, start=1):
            item = str(rows.items[row])
            text = "" if rows.data.texts is None else shortened(str(rows.data.texts[row]), 120)
            about[f"example {number}"] = f"{item}: {text}" if text else item
        return about

    return explain
