"""What a review shows of items and labels, and the entries of a table that it can ask about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.auditing import impute
from labelgap.cli._read_data import InputRows
from labelgap.cli._table_files import as_written
from labelgap.cli._terminal import BadInputError, reading
from labelgap.data import read_frame
from labelgap.labels import State
from labelgap.review import Population

_MOST_FEATURES, _MOST_CELLS, _N_EXAMPLES = 5, 12, 3
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


def describe_items(rows: InputRows) -> Callable[[str], Mapping[str, str]]:
    """What a reviewer sees of an item: its text or its most unusual features, and its labels."""
    features = rows.features
    row_of = {str(item): row for row, item in enumerate(rows.items)}
    labels = rows.labels
    positives = labels.positives()

    def describe(item: str) -> dict[str, str]:
        row = row_of[item]
        here = positives.indices[positives.indptr[row] : positives.indptr[row + 1]]
        names = [str(labels.names[column]) for column in here] if labels.names is not None else []
        about = {"recorded labels": ", ".join(names) or "none"}
        if rows.data.texts is not None:
            about[rows.text or "text"] = str(rows.data.texts[row])
        elif hasattr(rows.data.X, "columns"):
            cells = rows.data.X.iloc[row].dropna().iloc[:_MOST_CELLS]
            about |= {str(name): str(value) for name, value in cells.items()}
        elif features is not None:
            about["most unusual features"] = _unusual(rows.data.X[[row]], features, centre, spread)
        return about

    centre, spread = _centre_and_spread(rows.data.X)
    return describe


def explain_labels(rows: InputRows, definitions: Path | None) -> Callable[[str], Mapping[str, str]]:
    """What a reviewer is told of a label: its definition, and some items that carry it."""
    texts = {} if definitions is None else read_definitions(definitions)
    labels = rows.labels
    positives = labels.positives().tocsc()
    column_of = {name: column for column, name in enumerate(label_names(rows))}

    def explain(label: str) -> dict[str, str]:
        about = {"definition": texts[label]} if label in texts else {}
        column = column_of.get(label)
        if column is None:
            return about
        carriers = positives.indices[positives.indptr[column] : positives.indptr[column + 1]]
        about["recorded"] = f"for {carriers.size:,} of {rows.n_samples:,} items"
        shown = np.random.default_rng(column).permutation(carriers)[:_N_EXAMPLES]
        for number, row in enumerate(shown, start=1):
            about[f"example {number}"] = _shortened(rows, int(row))
        return about

    return explain


def read_definitions(path: Path) -> dict[str, str]:
    """The definitions of labels, from a table with a column "label" and one of texts."""
    with reading(path):
        frame = as_written(read_frame(path)[0])
    names = [str(name) for name in frame.columns]
    if len(names) < 2:
        raise BadInputError(
            f"--definitions {path}: has one column; give the label and its definition"
        )
    key = "label" if "label" in names else names[0]
    text = "definition" if "definition" in names else next(n for n in names if n != key)
    return dict(zip(map(str, frame[key]), map(str, frame[text]), strict=True))


def _shortened(rows: InputRows, row: int, most: int = 120) -> str:
    if rows.data.texts is None:
        return str(rows.items[row])
    text = " ".join(str(rows.data.texts[row]).split())
    return f"{rows.items[row]}: {text if len(text) <= most else text[:most] + '…'}"


def _centre_and_spread(X: Any) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X) or hasattr(X, "columns") or not X.size:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    filled = np.ma.masked_invalid(X)
    spread = np.ma.filled(filled.std(axis=0), 0.0)
    return np.ma.filled(filled.mean(axis=0), 0.0), np.where(spread > 0, spread, 1.0)


def _unusual(values: Any, features: list[str], centre: np.ndarray, spread: np.ndarray) -> str:
    """The features that a row has and that are farthest from the mean, in standard deviations."""
    values = values.toarray()[0] if sparse.issparse(values) else np.asarray(values)[0]
    far = np.abs((values - centre) / spread)
    far[(values == 0) | np.isnan(far)] = 0
    first = [k for k in np.argsort(-far, kind="stable")[:_MOST_FEATURES] if far[k] > 0]
    return ", ".join(f"{features[k]} {values[k]:.4g}" for k in first) or "none"
