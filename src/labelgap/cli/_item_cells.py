"""What people see of items and labels: texts or unusual cells, definitions, examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from labelgap.auditing import Audit
from labelgap.cli._read_data import InputRows

_MOST_CELLS, _MOST_UNUSUAL = 12, 5
_MOST_CHARACTERS = 400
_N_EXAMPLES = 3


class ItemCells:
    """Texts or cells of items by their ids, and the labels that they carry.

    Called with an id it returns the contents by name. Of a table of numbers they are the cells
    farthest from the mean of their column.
    """

    def __init__(self, rows: InputRows) -> None:
        self._rows, self._labels = rows, rows.labels
        self._row_of = {str(item): row for row, item in enumerate(rows.items)}
        self._positives = self._labels.positives()
        self._mean, self._spread = _mean_and_spread(rows.data.X)

    def __call__(self, item: str) -> dict[str, str]:
        row = self._row_of[item]
        names = [str(self._labels.names[k]) for k in self._positive(row)]  # type: ignore[index]
        return {**self._cells(row), "recorded labels": ", ".join(names) or "none"}

    def labels_of(self, item: str) -> dict[str, bool]:
        """Whether an item carries each label."""
        here = set(self._positive(self._row_of[item]).tolist())
        return {str(name): k in here for k, name in enumerate(self._labels.names)}  # type: ignore[arg-type]

    def _positive(self, row: int) -> np.ndarray:
        return self._positives.indices[slice(*self._positives.indptr[row : row + 2])]

    def _cells(self, row: int) -> dict[str, str]:
        data, features = self._rows.data, self._rows.features
        if data.texts is not None:
            return {self._rows.text or "text": str(data.texts[row])}
        if hasattr(data.X, "columns"):
            cells = data.X.iloc[row].dropna().iloc[:_MOST_CELLS]
            return {str(name): str(cell) for name, cell in cells.items()}
        if features is None:
            return {}
        values = data.X[[row]]
        is_sparse = sparse.issparse(values)
        values = np.ravel(values.toarray() if is_sparse else values).astype(float)
        far = np.nan_to_num(np.abs(values - self._mean) / self._spread)
        if is_sparse:
            # the words of a text, and not those that it lacks
            far[values == 0] = 0
        first = [k for k in np.argsort(-far, kind="stable")[:_MOST_UNUSUAL] if far[k] > 0]
        if is_sparse and (values[first] == 1).all():
            return {"most unusual features": ", ".join(features[k] for k in first) or "none"}
        return {features[k]: f"{values[k]:.4g}" for k in first}


def with_item_cells(audit: Audit, rows: InputRows) -> Audit:
    """Return the audit with the cells of each suggested item, and the labels it carries."""
    cells_of = ItemCells(rows)
    suggestions = [
        replace(
            one,
            cells=tuple((name, shortened(cell)) for name, cell in cells_of(one.item).items()),
        )
        for one in audit.suggestions
    ]
    return replace(audit, suggestions=tuple(suggestions))


def explain_labels(
    rows: InputRows, meanings: Mapping[str, str]
) -> Callable[[str], Mapping[str, str]]:
    """What a reviewer is told of a label: its definition, and some items that carry it."""
    labels = rows.labels
    positives = labels.positives().tocsc()
    assert labels.names is not None
    column_of = {str(name): column for column, name in enumerate(labels.names)}

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


def shortened(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _mean_and_spread(X: object) -> tuple[np.ndarray, np.ndarray]:
    """Of each column of numbers; nothing differs from the mean of one that is constant."""
    if hasattr(X, "columns") or not X.shape[1]:  # type: ignore[attr-defined]
        return np.empty(0), np.empty(0)
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(sparse.csr_matrix(X, dtype=float), axis=0)
        spread = np.sqrt(variance)
    else:
        filled = np.ma.masked_invalid(np.asarray(X, dtype=float))
        mean, spread = np.ma.filled(filled.mean(axis=0), 0.0), np.ma.filled(filled.std(axis=0), 0.0)
    return mean, np.where(spread > 0, spread, np.inf)
