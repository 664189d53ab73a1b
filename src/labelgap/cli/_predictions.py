"""Predictions from a file, matched to the rows of the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._tables import column_names, read_column
from labelgap.data import read_table


@dataclass(frozen=True, eq=False)
class Predictions:
    """One value per row and label.

    Attributes
    ----------
    kind : {"labels", "probabilities", "scores"}
        0 and 1 only, numbers between 0 and 1, or any numbers.
    labels : list of str
    items : array, optional
        The rows by id; None when they are in the order of the truth.
    values : array of shape (n_rows, n_labels)
    """

    kind: str
    labels: list[str]
    items: np.ndarray | None
    values: np.ndarray

    def arguments(self, threshold: float) -> dict[str, Any]:
        """The arguments of :func:`labelgap.metrics.evaluate`."""
        if self.kind == "labels":
            return {"y_pred": self.values.astype(np.int8)}
        if self.kind == "scores":
            return {"y_score": self.values}
        decided = (self.values > threshold).astype(np.int8)
        return {"y_proba": self.values, "y_pred": decided}

    def for_items(self, wanted: np.ndarray, item: str, file: str, truth: str) -> Predictions:
        """The same in the order of the rows of the truth; every row must be there."""
        if self.items is None:
            if len(self.values) != len(wanted):
                raise BadInputError(
                    f"{file}: has {len(self.values)} rows and {truth} has {len(wanted)}; add a "
                    f"column {item!r} that identifies the rows, or give the same rows"
                )
            return self
        position = {key: row for row, key in enumerate(self.items.tolist())}
        if len(position) < len(self.items):
            raise BadInputError(f"{file}: a value of {item!r} occurs twice; keep one line of each")
        missing = [key for key in wanted.tolist() if key not in position]
        if missing:
            raise BadInputError(
                f"{file}: has no predictions for {item} {missing[0]!r} of {truth}"
                + (f" and {len(missing) - 1} others" if len(missing) > 1 else "")
                + "; predict the same rows"
            )
        order = [position[key] for key in wanted.tolist()]
        return replace(self, items=wanted, values=self.values[order])


def read_predictions(path: Path, item: str) -> Predictions:
    """A table with one column per label, or a long one with the columns label and probability."""
    with reading(path):
        columns = column_names(path)
        has_items = item in columns
        if {"label", "probability"} <= set(columns):
            return _long(path, item, has_items)
        labels = [name for name in columns if name != item]
        dataset = read_table(path, item=item if has_items else None, label_columns=[])
        values = np.asarray(dataset.X, dtype=np.float64)
        _refuse_gaps(path, values, labels)
        items = read_column(path, item, as_id=True) if has_items else None
    return Predictions(_kind_of(values), labels, items, values)


def _long(path: Path, item: str, has_items: bool) -> Predictions:
    if not has_items:
        raise BadInputError(f"{path}: has no column {item!r} that identifies the rows; give --item")
    items, rows = np.unique(read_column(path, item, as_id=True), return_inverse=True)
    named = read_column(path, "label", as_id=True).astype(str)
    labels, cols = np.unique(named, return_inverse=True)
    values = np.full((len(items), len(labels)), np.nan)
    values[rows, cols] = read_column(path, "probability")
    if np.isnan(values).any():
        row, col = np.argwhere(np.isnan(values))[0]
        raise BadInputError(
            f"{path}: has no probability for {item} {items[row]} and label {labels[col]!r}; "
            "metrics need all labels of a row: use predict --give probabilities"
        )
    return Predictions(_kind_of(values), labels.tolist(), items, values)


def _kind_of(values: np.ndarray) -> str:
    if np.isin(values, (0, 1)).all():
        return "labels"
    return "probabilities" if values.min() >= 0 and values.max() <= 1 else "scores"


def _refuse_gaps(path: Path, values: np.ndarray, labels: list[str]) -> None:
    if values.shape[1] == 0:
        raise BadInputError(f"{path}: has no column of predictions")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        raise BadInputError(
            f"{path}: column {labels[bad[0][1]]!r} is empty (or not finite) in row {bad[0][0]}; "
            "every row needs a prediction for every label"
        )
