"""Items without any label: nothing applies to them, or nobody opened them.

Let g(x) be the probability that an item with the features x has a label, and pi the fraction of items
that somebody opened, whatever their features. An opened item has a label with g / pi <= 1, so no g is
larger than pi: among the items that most probably have a label, the fraction that has one levels off at
pi, as the fraction of recorded labels does at the label frequency. Then

    P(not opened | no label, x) = (1 - pi) / (1 - g(x)).

This says nothing of how labels depend on each other. Where some items surely have a label, pi is
about 1, and items without one were opened.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelgap.labels import Labels, State
from labelgap.mend._member import fold_of_rows
from labelgap.propensity import top_scored_fraction, unopened_probability

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
        Draws the folds: no item has a part in its own g.
    groups : int array of shape (n_samples,), default=None
        Groups of items, numbered from 0, that no fold divides.
    """
    empty = np.asarray(labels.n_observed(axis=1, unlabeled=False)) == 0
    n_empty, n_items = int(empty.sum()), empty.size
    if n_empty <= _FEWEST * n_items or n_items - n_empty < _FOLDS:
        return np.empty(0, dtype=np.intp)
    folds = fold_of_rows(n_items, _FOLDS, rng, groups)
    has_label = _probability_of_label(_standardised(X), ~empty, folds)
    return np.flatnonzero(unopened_posterior(has_label, empty) > 0.5)


def unopened_posterior(has_label: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Return the probability that each item was not opened, 0 for items with a label.

    Parameters
    ----------
    has_label : array of shape (n_samples,)
        The probability that each item has a label, from models of other items.
    empty : bool array of shape (n_samples,)
        Which items have none.
    """
    top = top_scored_fraction(has_label, ~empty)
    opened = 1.0 if top is None else top.value
    return np.where(empty, unopened_probability(has_label, opened), 0.0)


def with_unknown_rows(labels: Labels, rows: np.ndarray) -> Labels:
    """Return the labels with all entries of some rows unknown."""
    at = np.repeat(rows, labels.n_labels)
    columns = np.tile(np.arange(labels.n_labels), rows.size)
    return labels.with_entries(at, columns, State.UNKNOWN) if rows.size else labels


def _probability_of_label(X: Any, has_label: np.ndarray, folds: np.ndarray) -> np.ndarray:
    found = np.full(has_label.size, has_label.mean())
    for fold in range(_FOLDS):
        learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if has_label[learned].all() or not has_label[learned].any():
            continue
        model = LogisticRegression(max_iter=200).fit(X[learned], has_label[learned])
        found[held] = model.predict_proba(X[held])[:, 1]
    return found


def _standardised(X: Any) -> Any:
    """Dense features with mean 0 and deviation 1, and 0 where they are missing."""
    if sparse.issparse(X):
        return X
    X = np.asarray(X, dtype=np.float64)
    spread = np.nanstd(X, axis=0)
    centred = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.ascontiguousarray(np.nan_to_num(centred))
