"""What is filled in: which labels have gaps, and what a label looks like with them completed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.mending._recording import Rate, rate_of, relevant_though_unrecorded, with_sum
from labelgap.mending._soft_label import SoftLabel
from labelgap.mending._trust import Plan
from labelgap.yardsticks._per_label import known_entries

__all__ = [
    "Completed",
    "measurable",
    "mended_label",
    "mended_labels",
    "only_completed",
    "stacked",
    "told_on",
    "with_gaps",
]

_WORTH_KEEPING = 0.01
_FEWEST_OF_EACH = 3


class Completed(NamedTuple):
    """What was filled in: chances (rows x labels, sparse) of entries that were not known.

    Chances below 0.01 are not stored. Those of ambiguous zeros are what the share recorded, read or
    given, stands for, whatever the classifier was taught with. ``weights`` says how much a
    completed entry of each label counted, beside 1 for a known one, and ``completer`` what said it,
    in the words that would make it again; empty where nothing was completed.
    """

    chances: sparse.csr_array
    weights: np.ndarray
    completer: str = ""


def with_gaps(labels: Labels) -> np.ndarray:
    """Labels with something to complete and something to complete it from."""
    n_known = labels.n_observed(axis=0, ambiguous=False)
    return np.flatnonzero((n_known < labels.n_rows) & (labels.n_positives(axis=0) > 0))


def measurable(learn: Labels, aside: Labels, wanted: np.ndarray) -> np.ndarray:
    """Labels with a few ones and zeros on both sides."""
    enough = np.ones(wanted.size, dtype=bool)
    for part in (learn, aside):
        ones = part.n_positives(axis=0)[wanted]
        zeros = part.n_observed(axis=0, ambiguous=True)[wanted] - ones
        enough &= (ones >= _FEWEST_OF_EACH) & (zeros >= _FEWEST_OF_EACH)
    return wanted[enough]


def mended_label(labels: Labels, label: int, chances: np.ndarray, plan: Plan) -> SoftLabel:
    """A label with the entries that are not known filled in, after those that are."""
    if plan.weight == 0:
        return SoftLabel(*known_entries(labels, label))
    known, values = labels.column(label, ambiguous=False)
    answered, _ = labels.column(label)
    unsure = unsure_rows(labels, label)
    asked = np.ones(labels.n_rows, dtype=bool)
    asked[answered] = False
    unknown = np.flatnonzero(asked)
    c = rate_of(plan.recorded, label)
    forgotten = relevant_though_unrecorded(chances[unsure], c, int(values.sum()))
    filled = np.concatenate([np.minimum(chances[unknown] / c, 1.0), forgotten])
    weights = np.concatenate(
        [np.ones(known.size), np.full(unknown.size, plan.weight), np.ones(unsure.size)]
    )
    rows = np.concatenate([known, unknown, unsure])
    return SoftLabel(rows, np.concatenate([values.astype(float), filled]), weights)


def mended_labels(
    labels: Labels, some: np.ndarray, columns: Iterable[np.ndarray], plan: Plan
) -> Iterator[SoftLabel]:
    """The same of some labels, one after the other, from the chances of each in all rows."""
    for label, column in zip(some.tolist(), columns, strict=True):
        yield mended_label(labels, label, column, plan)


def unsure_rows(labels: Labels, label: int) -> np.ndarray:
    """Rows in which the label is an ambiguous zero."""
    known, _ = labels.column(label, ambiguous=False)
    return np.setdiff1d(labels.column(label)[0], known, assume_unique=True)


def told_on(one: SoftLabel, labels: Labels, label: int, taught: Rate, rate: Rate) -> SoftLabel:
    """What was completed with one rate c as it is with another.

    Of ambiguous zeros (1 - c) / c for each recorded label are expected to be relevant, of unknown
    entries 1 / c times those that would be recorded.
    """
    before, c = rate_of(taught, label), rate_of(rate, label)
    if before == c:
        return one
    _, values = labels.column(label, ambiguous=False)
    there = np.isin(one.rows, unsure_rows(labels, label))
    chances = np.minimum(before / c * one.chances, 1.0)
    chances[there] = with_sum(one.chances[there], (1 - c) / c * float(values.sum()))
    return one._replace(chances=chances)


def only_completed(one: SoftLabel, labels: Labels, label: int) -> SoftLabel:
    """The filled-in entries that are worth keeping."""
    known = np.zeros(labels.n_rows, dtype=bool)
    known[labels.column(label, ambiguous=False)[0]] = True
    kept = ~known[one.rows] & (one.chances >= _WORTH_KEEPING)
    return SoftLabel(one.rows[kept], one.chances[kept], one.weights[kept])


def stacked(pieces: list[tuple[int, SoftLabel]], shape: tuple[int, int]) -> sparse.csr_array:
    if not pieces:
        return sparse.csr_array(shape)
    rows = np.concatenate([one.rows for _, one in pieces])
    columns = np.concatenate([np.full(one.rows.size, label) for label, one in pieces])
    values = np.concatenate([one.chances for _, one in pieces])
    return sparse.csr_array((values, (rows, columns)), shape=shape)
