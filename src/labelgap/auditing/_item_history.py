"""What a table says of how its items were labelled: when, by whom, and whether all labels are recorded.

A label that was first used on some date was not recorded before: entries of earlier items are unknown.
People differ in how many labels they record: how much less often than others, with the same features, is
their effort. Zeros of items that are marked as complete are negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgap.labels import Labels, State

# a label is late where it would be so rarely absent from all earlier items by chance
_CHANCE = 1e-3
# as if each person had recorded so many labels as often as all others
_PRIOR_LABELS = 20.0
_YES = {"1", "true", "yes", "y", "done", "x"}
_NO = {"0", "false", "no", "n", ""}


@dataclass(frozen=True, eq=False)
class ItemHistory:
    """``dates``, positions of ``annotators`` and ``complete`` items, each None where nothing is known."""

    dates: np.ndarray | None = None
    annotators: np.ndarray | None = None
    complete: np.ndarray | None = None

    def late_entries(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and labels of unlabeled zeros from before the first use of the label.

        Labels of which the first use may be late by chance count as old.
        """
        none = np.empty(0, dtype=np.intp)
        if self.dates is None:
            return none, none
        positives = labels.positives().tocsc()
        rows, columns = [none], [none]
        for label in range(labels.n_labels):
            used = positives.indices[slice(*positives.indptr[label : label + 2])]
            if not used.size:
                continue
            earlier = np.flatnonzero(self.dates < self.dates[used].min())
            by_chance = used.size * np.log1p(-earlier.size / labels.n_samples)
            if by_chance < np.log(_CHANCE / labels.n_labels):
                rows.append(earlier)
                columns.append(np.full(earlier.size, label))
        return np.concatenate(rows), np.concatenate(columns)

    def efforts(self, n_positive: np.ndarray, n_expected: np.ndarray) -> np.ndarray:
        """Return how often each item's annotator records labels, 1 for the mean of all.

        Parameters
        ----------
        n_positive, n_expected : arrays of shape (n_items,)
            Recorded labels, and those that the features predict.
        """
        if self.annotators is None:
            return np.ones(n_positive.size)
        recorded, expected = (
            np.bincount(self.annotators, values) + _PRIOR_LABELS
            for values in (n_positive, n_expected * n_positive.sum() / n_expected.sum())
        )
        return np.asarray((recorded / expected)[self.annotators])


def check_history(
    n_items: int, dates: Any = None, annotators: Any = None, complete: Any = None
) -> ItemHistory:
    """Check what is known of how items were labelled."""
    _check_lengths(n_items, dates=dates, annotators=annotators, complete=complete)
    return ItemHistory(
        None if dates is None else _dates_of(dates),
        None if annotators is None else _positions_of(annotators),
        None if complete is None else _flags_of(complete),
    )


def with_history(labels: Labels, history: ItemHistory) -> Labels:
    """Return labels with unlabeled zeros of complete items negative, and late entries unknown."""
    if not labels.unlabeled:
        return labels
    rows, columns = history.late_entries(labels)
    if history.complete is not None:
        done = np.flatnonzero(history.complete)
        kept = ~history.complete[rows]
        at, zero = np.nonzero(labels[done].states() == State.UNLABELED)
        labels = labels.with_entries(done[at], zero, State.NEGATIVE)
        rows, columns = rows[kept], columns[kept]
    return labels.with_entries(rows, columns, State.UNKNOWN) if rows.size else labels


def _check_lengths(n_items: int, **given: Sequence[Any] | None) -> None:
    for name, values in given.items():
        if values is not None and len(values) != n_items:
            raise ValueError(f"{name} has {len(values)} values for {n_items} items: give one each")


def _dates_of(values: Any) -> np.ndarray:
    """Return dates as numbers that rise with time."""
    values = np.asarray(values)
    if values.dtype.kind in "iuf":
        found = values.astype(float)
        missing = np.isnan(found)
    else:
        try:
            dates = values.astype("datetime64[s]")
        except ValueError:
            dates = np.array([_date(row, value) for row, value in enumerate(values)])
        missing = np.isnat(dates)
        found = dates.astype(np.int64).astype(float)
    for row in np.flatnonzero(missing):
        raise ValueError(f"dates[{row}] is empty: give a date or a number for every item")
    return found


def _date(row: int, value: Any) -> np.datetime64:
    try:
        return np.datetime64(str(value).strip().replace(" ", "T"), "s")
    except ValueError:
        raise ValueError(
            f"dates[{row}] is {str(value)!r}: give numbers, or dates such as 2024-05-31"
        ) from None


def _positions_of(values: Any) -> np.ndarray:
    return np.unique(np.array([str(value) for value in values], dtype=object), return_inverse=True)[
        1
    ]


def _flags_of(values: Any) -> np.ndarray:
    found = np.zeros(len(values), dtype=bool)
    for row, value in enumerate(values):
        word = str(value).strip().lower().removesuffix(".0")
        if word not in _YES | _NO | {"nan", "none", "nat", "<na>"}:
            raise ValueError(f"complete[{row}] is {str(value)!r}: give 1 or 0, yes or no")
        found[row] = word in _YES
    return found
