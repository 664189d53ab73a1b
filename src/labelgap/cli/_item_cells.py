"""What people see of an item beside its id: its text, or its most unusual cells, and its labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from labelgap.auditing import Audit
from labelgap.cli._read_data import InputRows

_MOST_CELLS, _MOST_UNUSUAL = 12, 5
_MOST_CHARACTERS = 400


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
        here = self._positives.indices[slice(*self._positives.indptr[row : row + 2])]
        names = [str(self._labels.names[k]) for k in here]  # type: ignore[index]
        return {**self._cells(row), "recorded labels": ", ".join(names) or "none"}

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
        first = np.argsort(-far, kind="stable")[:_MOST_UNUSUAL]
        return {features[k]: f"{values[k]:.4g}" for k in first if far[k] > 0}


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
