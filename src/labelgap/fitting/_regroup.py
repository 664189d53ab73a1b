"""Parts of rows of any size, cut and joined into blocks of one size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.fitting._sources import RowPair, Zeros, block_labels
from labelgap.labels import Labels


def regroup(rows: Any, block_rows: int, zeros: Zeros = "irrelevant") -> Iterator[RowPair]:
    """Blocks of ``block_rows`` rows (the last may be shorter) from parts of any size.

    All parts must have the same features (dense or sparse alike, of one type) and labels.
    """
    if block_rows < 1:
        raise ValueError(f"block_rows={block_rows}: a block needs at least one row")
    held: list[RowPair] = []
    n_held = 0
    for X, labels in _uniform(_parts(rows), zeros):
        start = 0
        while start < X.shape[0]:
            stop = min(X.shape[0], start + block_rows - n_held)
            held.append((X[start:stop], labels[start:stop]))
            n_held += stop - start
            start = stop
            if n_held == block_rows:
                yield _joined(held)
                held, n_held = [], 0
    if held:
        yield _joined(held)


def _parts(rows: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(rows, tuple) and len(rows) == 2 and not isinstance(rows[0], tuple):
        return [rows]
    if hasattr(rows, "reader"):
        return (rows[index] for index in range(len(rows)))
    return rows


def _uniform(parts: Iterable[tuple[Any, Any]], zeros: Zeros) -> Iterator[RowPair]:
    first: RowPair | None = None
    for position, (X, y) in enumerate(parts):
        X, labels = _features(X), block_labels(y, zeros)
        if labels.n_rows != X.shape[0]:
            raise ValueError(
                f"rows[{position}]: {X.shape[0]} rows of features, {labels.n_rows} of labels"
            )
        first = (X[:0], labels[:0]) if first is None else first
        if X.shape[1] != first[0].shape[1] or sparse.issparse(X) != sparse.issparse(first[0]):
            raise ValueError(
                f"rows[{position}] has other features than rows[0]: every part needs the same "
                f"{first[0].shape[1]} columns, all dense or all sparse"
            )
        if labels.n_labels != first[1].n_labels:
            raise ValueError(
                f"rows[{position}] has {labels.n_labels} labels, rows[0] {first[1].n_labels}"
            )
        yield X.astype(first[0].dtype, copy=False), labels.with_unstated(first[1].unstated)


def _features(X: Any) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"features with {X.ndim} dimensions: give rows x features")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _joined(parts: list[RowPair]) -> RowPair:
    if len(parts) == 1:
        return parts[0]
    features = [X for X, _ in parts]
    if sparse.issparse(features[0]):
        return sparse.vstack(features, format="csr"), Labels.concatenate([y for _, y in parts])
    return np.concatenate(features), Labels.concatenate([y for _, y in parts])
