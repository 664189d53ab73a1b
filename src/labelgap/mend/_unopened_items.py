"""Items that nobody opened, among those to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, State
from labelgap.mend._member import fold_of_rows
from labelgap.propensity import carrying_probability, find_unopened

_FOLDS = 5
_FEWEST = 0.01


def find_unopened_items(
    X: Any, labels: Labels, rng: np.random.Generator, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return the items that are more probably unopened than opened, as sorted positions.

    Only items whose entries are all unlabeled or unknown can be unopened.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    labels : Labels
    rng : Generator
        Draws the folds: no item has a part in its own probability of carrying a label.
    groups : int array of shape (n_samples,), default=None
        Groups of items, numbered from 0, that no fold divides.
    """
    stated = np.asarray(labels.n_observed(axis=1, unlabeled=False))
    n_empty, n_items = int((stated == 0).sum()), stated.size
    if n_empty <= _FEWEST * n_items or n_items - n_empty < _FOLDS:
        return np.empty(0, dtype=np.intp)
    folds = fold_of_rows(n_items, _FOLDS, rng, groups)
    any_label = carrying_probability(_standardised(X), stated > 0, folds)
    n_labels = np.maximum(np.asarray(labels.n_positives(axis=1)), stated > 0)
    return np.flatnonzero(find_unopened(any_label, n_labels).probability > 0.5)


def with_unknown_rows(labels: Labels, rows: np.ndarray) -> Labels:
    """Return the labels with all entries of some rows unknown."""
    at = np.repeat(rows, labels.n_labels)
    columns = np.tile(np.arange(labels.n_labels), rows.size)
    return labels.with_entries(at, columns, State.UNKNOWN) if rows.size else labels


def _standardised(X: Any) -> Any:
    """Dense features with mean 0 and deviation 1, and 0 where they are missing."""
    if sparse.issparse(X):
        return X
    X = np.asarray(X, dtype=np.float64)
    spread = np.nanstd(X, axis=0)
    centred = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.ascontiguousarray(np.nan_to_num(centred))
