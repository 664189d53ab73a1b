"""Chances of all rows from a completer, as Mend asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from labelgap.labels import Labels
from labelgap.mending._completers import Completer, cross_fitted, given_guesses
from labelgap.mending._labelwise import LabelwiseCompleter

__all__ = ["chances_of_rows"]

# with few rows, what is said of one hangs much on which others it was learned from
_FEWEST_FOLDS, _MOST_FOLDS, _ROWS_FITTED = 2, 5, 10_000


def chances_of_rows(
    completer: Completer,
    X: Any,
    labels: Labels,
    wanted: np.ndarray,
    rng: np.random.Generator,
    *,
    start: list | None = None,
    guesses: sparse.csr_array | None = None,
) -> Iterator[np.ndarray]:
    """Columns of the wanted labels. An ambiguous zero teaches, so that its row must be left out.

    Guesses at labels that are not known go to completers that take them.
    """
    completer = clone(completer)
    codes = given_guesses(completer, guesses)
    if not labels.ambiguous:
        begun = {"start": start} if isinstance(completer, LabelwiseCompleter) else {}
        return completer.fit(X, labels, wanted, **begun, **codes).columns(X, labels, **codes)
    order = rng.permutation(labels.n_rows)
    n_folds = np.clip(_ROWS_FITTED // labels.n_rows, _FEWEST_FOLDS, _MOST_FOLDS)
    folds = [np.sort(part) for part in np.array_split(order, min(n_folds, labels.n_rows))]
    if isinstance(completer, LabelwiseCompleter) and completer.is_of_forests:
        return completer.held_out_columns(X, labels, wanted, folds, **codes)
    # a start that was learned from all rows would tell of those that are left out
    return cross_fitted(completer, X, labels, wanted, folds, **codes)
