"""What a report shows of an item beside its id: its text, or its most unusual cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from labelgap.auditing import Audit
from labelgap.cli._read_data import InputRows

_MOST_CELLS = 5
_MOST_CHARACTERS = 400


def with_item_cells(audit: Audit, rows: InputRows) -> Audit:
    """Return the audit with text or cells of each suggested item, and the labels it carries."""
    row_of = {str(item): row for row, item in enumerate(rows.items)}
    centre, spread = _centre_and_spread(rows)
    positives, names = rows.labels.positives(), rows.labels.names
    suggestions = []
    for one in audit.suggestions:
        row = row_of[one.item]
        carried = positives.indices[positives.indptr[row] : positives.indptr[row + 1]]
        recorded = ", ".join(str(names[k]) for k in carried) if names is not None else ""
        cells = _cells(rows, row, centre, spread)
        suggestions.append(replace(one, cells=(*cells, ("recorded", recorded or "no label"))))
    return replace(audit, suggestions=tuple(suggestions))


def _cells(
    rows: InputRows, row: int, centre: np.ndarray, spread: np.ndarray
) -> list[tuple[str, str]]:
    if rows.data.texts is not None:
        return [(rows.text or "text", _shortened(rows.data.texts[row]))]
    if rows.features is None:
        return []
    if hasattr(rows.data.X, "columns"):
        there = rows.data.X.iloc[row].dropna().iloc[:_MOST_CELLS]
        return [(str(name), _shortened(cell)) for name, cell in there.items()]
    values = rows.data.X[[row]]
    values = np.ravel(values.toarray() if sparse.issparse(values) else values).astype(float)
    far = np.nan_to_num(np.abs(values - centre) / spread)
    most = np.argsort(-far, kind="stable")[:_MOST_CELLS]
    return [(rows.features[k], f"{values[k]:.4g}") for k in most if far[k] > 0]


def _shortened(cell: object) -> str:
    text = " ".join(str(cell).split())
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _centre_and_spread(rows: InputRows) -> tuple[np.ndarray, np.ndarray]:
    X = rows.data.X
    if hasattr(X, "columns"):
        return np.empty(0), np.empty(0)
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(sparse.csr_matrix(X, dtype=float), axis=0)
        return mean, np.sqrt(variance) + 1e-12
    numbers = np.asarray(X, dtype=float)
    if not numbers.shape[1]:
        return np.empty(0), np.empty(0)
    return np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0) + 1e-12
