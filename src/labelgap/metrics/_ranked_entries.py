"""Truth and scores side by side, sorted once for all ranking metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labelgap.kernels import ranking as kernels
from labelgap.labels import Labels, State
from labelgap.metrics._metric_inputs import check_scores, check_truth, in_order_of, row_default

TIES = ("error", "half", "correct", "first", "last")


@dataclass(frozen=True)
class RankedEntries:
    """Where each relevant entry stands among the known entries of its segment (row, label or all).

    The relevant entries ("slots") are grouped by segment and sorted by decreasing score, equal
    scores by position. Unknown entries are nowhere in it.

    starts : (n_segments + 1,) first slot of each segment
    positions : (n_slots,) column of a slot by row, row by label, flat index when pooled
    above, tied, tied_before : (n_slots,) irrelevant entries with a higher score, with the same.
        score, and those of the latter at a smaller position
    group_begin, group_end : (n_slots,) the run of slots with the same score in the segment
    n_irrelevant : (n_segments,)
    """

    starts: np.ndarray
    positions: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    tied_before: np.ndarray
    group_begin: np.ndarray
    group_end: np.ndarray
    n_irrelevant: np.ndarray

    @cached_property
    def n_relevant(self) -> np.ndarray:
        return np.diff(self.starts)

    @cached_property
    def n_known(self) -> np.ndarray:
        return self.n_relevant + self.n_irrelevant

    @cached_property
    def segments(self) -> np.ndarray:
        """The segment of each slot."""
        return np.repeat(np.arange(self.n_relevant.size), self.n_relevant)

    @cached_property
    def _offsets(self) -> np.ndarray:
        return self.starts[:-1][self.segments]

    @cached_property
    def relevant_above(self) -> np.ndarray:
        """Relevant entries with a higher score."""
        return self.group_begin - self._offsets

    @cached_property
    def n_before(self) -> np.ndarray:
        """All known entries with a higher score."""
        return self.relevant_above + self.above

    @cached_property
    def n_group(self) -> np.ndarray:
        """All known entries with this score, the slot itself included."""
        return self.group_end - self.group_begin + self.tied

    def total(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the slots of each segment."""
        return np.bincount(self.segments, weights=weights, minlength=self.n_relevant.size)

    def irrelevant_above(self, ties: str) -> np.ndarray:
        """Irrelevant entries ranked above each relevant one."""
        match ties:
            case "error":
                return self.above + self.tied
            case "half":
                return self.above + self.tied / 2
            case "first":
                return self.above + self.tied_before
            case "last":
                return self.above + self.tied - self.tied_before
        return self.above

    def hits(self, ties: str) -> np.ndarray:
        """Relevant entries down to and including each one."""
        slots = np.arange(self.positions.size)
        if ties == "threshold":
            return self.group_end - self._offsets
        if ties == "last":
            slots = self.group_begin + self.group_end - 1 - slots
        return slots - self._offsets + 1

    def ranks(self, ties: str) -> np.ndarray:
        """Rank from 1 of each relevant entry among the known entries of its segment."""
        irrelevant = self.irrelevant_above("error" if ties == "threshold" else ties)
        return self.hits(ties) + irrelevant

    def gain_within(self, k: int, gains: np.ndarray, ties: str) -> np.ndarray:
        """Gain of each relevant entry when rank r brings ``gains[r - 1]`` and nothing beyond k.

        With ``ties="half"`` it is the mean over all orders of the tied entries.
        """
        if ties != "half":
            ranks = self.ranks(ties)
            return np.where(ranks <= k, gains[np.minimum(ranks, k) - 1], 0.0)
        cumulative = np.concatenate([[0.0], np.cumsum(gains[:k])])
        first = np.minimum(self.n_before, k)
        last = np.minimum(self.n_before + self.n_group, k)
        return (cumulative[last] - cumulative[first]) / self.n_group


class CheckedScores:
    """Checked truth and scores; each of the three rankings is computed at most once."""

    def __init__(self, y_true: Any, y_score: Any) -> None:
        self.labels: Labels = check_truth(y_true)
        self.scores: np.ndarray = check_scores(in_order_of(y_true, y_score, "y_score"), self.labels)

    @cached_property
    def by_row(self) -> RankedEntries:
        return self._rank(kernels.BY_ROW)

    @cached_property
    def by_label(self) -> RankedEntries:
        return self._rank(kernels.BY_LABEL)

    @cached_property
    def pooled(self) -> RankedEntries:
        return self._rank(kernels.POOLED)

    def _slots(self, mode: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Segment starts, rows and columns of the relevant entries, by segment and position."""
        n_samples, n_labels = self.labels.shape
        relevant = self.labels.entries.data == State.RELEVANT
        per_row = np.diff(self.labels.entries.indptr)
        rows = np.repeat(np.arange(n_samples), per_row)[relevant]
        columns = self.labels.entries.indices[relevant].astype(np.int64)
        if mode == kernels.POOLED:
            return np.array([0, rows.size]), rows, columns
        if mode == kernels.BY_ROW:
            counts = np.bincount(rows, minlength=n_samples)
        else:
            counts = np.bincount(columns, minlength=n_labels)
            order = np.argsort(columns, kind="stable")
            rows, columns = rows[order], columns[order]
        return np.concatenate([[0], np.cumsum(counts)]), rows, columns

    def _rank(self, mode: int) -> RankedEntries:
        starts, rows, columns = self._slots(mode)
        positions = {
            kernels.BY_ROW: columns,
            kernels.BY_LABEL: rows,
            kernels.POOLED: rows * self.labels.n_labels + columns,
        }[mode]
        order = kernels.descending_order(starts, self.scores[rows, columns])
        positions, scores = positions[order], self.scores[rows[order], columns[order]]
        begin, end = kernels.tie_groups(starts, scores)
        entries = self.labels.entries
        above, tied, tied_before, n_irrelevant = kernels.count_irrelevant(
            self.scores,
            entries.indptr,
            entries.indices,
            entries.data,
            row_default(self.labels),
            mode,
            starts,
            scores,
            positions,
            begin,
            end,
        )
        return RankedEntries(starts, positions, above, tied, tied_before, begin, end, n_irrelevant)


def compare(y_true: Any, y_score: Any) -> CheckedScores:
    """A new comparison, or the one that is given in place of ``y_true`` to share its rankings."""
    return y_true if isinstance(y_true, CheckedScores) else CheckedScores(y_true, y_score)
