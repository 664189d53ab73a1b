"""One pass over all entries: counts by score, and the entries with the largest scores.

Nothing of the size rows x labels is kept; all that the audit says of labels, of items and of the
whole follows from counts in narrow bins of the score.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from labelgap.audit._joint import Advance, JointModel
from labelgap.labels import Labels, State

__all__ = ["N_BINS", "Found", "Tally", "bin_centres", "take_tally"]

N_BINS = 700
_LOWEST, _HIGHEST = -0.2, 1.2
_FINE_PER_COARSE = 10
N_COARSE = N_BINS // _FINE_PER_COARSE


def bin_centres() -> np.ndarray:
    """The scores in the middle of the bins."""
    return _LOWEST + (np.arange(N_BINS) + 0.5) * (_HIGHEST - _LOWEST) / N_BINS


def bins_of(scores: np.ndarray) -> np.ndarray:
    """The bin of each score; what lies outside is in the first or last."""
    scaled = (scores - _LOWEST) * (N_BINS / (_HIGHEST - _LOWEST))
    return np.clip(scaled, 0, N_BINS - 1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Found:
    """Entries that are not recorded as relevant, with the largest scores first."""

    rows: np.ndarray
    labels: np.ndarray
    scores: np.ndarray

    def first(self, n: int) -> Found:
        """The n with the largest scores."""
        return Found(self.rows[:n], self.labels[:n], self.scores[:n])


@dataclass(eq=False)
class Tally:
    """Counts of entries by score.

    Attributes
    ----------
    relevant, zero, unknown : int arrays of shape (n_labels, N_BINS)
        Entries in each state.
    decided : int array of shape (n_labels, N_BINS)
        Ambiguous zeros that a person decided. The share recorded is read as if nobody had: they
        were picked for their scores, and without them the surest entries would all be recorded.
    halves : int array of shape (2, 2, N_BINS)
        Zeros and relevant entries ([half, value]) of every other row, to check one half by the
        other.
    row_zero, row_unknown : int arrays of shape (n_rows, N_COARSE)
    best_zero, best_unknown : Found
    """

    relevant: np.ndarray
    zero: np.ndarray
    unknown: np.ndarray
    decided: np.ndarray
    halves: np.ndarray
    row_zero: np.ndarray
    row_unknown: np.ndarray
    best_zero: Found
    best_unknown: Found


@dataclass(eq=False)
class _Best:
    """The largest scores seen so far; those surely not among them are never stored."""

    wanted: int
    least: float = -np.inf
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def offer(self, start: int, scores: np.ndarray, eligible: np.ndarray) -> None:
        rows, labels = np.nonzero(eligible & (scores > self.least))
        self.parts.append((rows + start, labels, scores[rows, labels]))
        if sum(part[0].size for part in self.parts) > 4 * self.wanted:
            self._shorten()

    def found(self) -> Found:
        self._shorten()
        rows, labels, scores = self.parts[0]
        return Found(rows, labels, scores)

    def _shorten(self) -> None:
        rows, labels, scores = (np.concatenate(one) for one in zip(*self.parts, strict=True))
        order = np.lexsort((labels, rows, -scores))[: self.wanted]
        self.parts = [(rows[order], labels[order], scores[order])]
        if order.size == self.wanted:
            self.least = float(scores[order[-1]])


def take_tally(
    model: JointModel,
    labels: Labels,
    n_wanted: int,
    advance: Advance,
    decided: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> Tally:
    """Score every entry, each with its row left out, and count.

    ``n_wanted`` zeros and unknown entries with the largest scores are kept. Where some zeros are
    ambiguous, those known to be irrelevant are not counted. Entries that a person ``decided``
    (rows, columns, was_zero) are apart: those that were ambiguous zeros are counted as decided, and
    none of them is found again.
    """
    looked_at = sparse.csr_array(labels.shape, dtype=np.int8)
    if decided is not None:
        rows, columns, was_zero = decided
        looked_at = sparse.csr_array((1 + was_zero.astype(np.int8), (rows, columns)), labels.shape)
    zero = State.AMBIGUOUS if labels.ambiguous else State.IRRELEVANT
    n_rows, n_labels = labels.shape
    by_label = np.zeros((4, n_labels * N_BINS), dtype=np.int64)
    by_row = np.zeros((2, n_rows, N_COARSE), dtype=np.int32)
    halves = np.zeros((2, 2, N_BINS), dtype=np.int64)
    best = (_Best(n_wanted), _Best(n_wanted))
    offsets = np.arange(n_labels, dtype=np.int32) * N_BINS
    for part, scores in model.blocks():
        advance("scoring every item and label", part.start, n_rows)
        states = labels.states(part)
        seen = looked_at[part].toarray()
        states[seen > 0] = 0
        was_zero = seen == _WAS_ZERO
        is_state = (states == State.RELEVANT, states == zero, states == State.UNKNOWN, was_zero)
        bins = bins_of(scores)
        places = bins + offsets
        for k, here in enumerate(is_state):
            if here.any():
                by_label[k] += np.bincount(places[here], minlength=by_label.shape[1])
        for k, here in enumerate(is_state[1:3]):
            if here.any():
                by_row[k, part] = _per_row(bins // _FINE_PER_COARSE, here)
                best[k].offer(part.start, scores, here)
        _add_halves(halves, part.start, bins, is_state)
    advance("scoring every item and label", n_rows, n_rows)
    relevant, zeros, unknown, looked = by_label.reshape(4, n_labels, N_BINS)
    found = [one.found() if one.parts else _NOTHING for one in best]
    return Tally(relevant, zeros, unknown, looked, halves, by_row[0], by_row[1], *found)


_WAS_ZERO = 2
_NOTHING = Found(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


def _per_row(coarse: np.ndarray, here: np.ndarray) -> np.ndarray:
    n = coarse.shape[0]
    places = coarse + (np.arange(n, dtype=np.int32) * N_COARSE)[:, None]
    return np.bincount(places[here], minlength=n * N_COARSE).reshape(n, N_COARSE)


def _add_halves(halves: np.ndarray, start: int, bins: np.ndarray, is_state: tuple) -> None:
    for half in (0, 1):
        own = slice((half - start) % 2, None, 2)
        for value, here in ((1, is_state[0]), (0, is_state[1] | is_state[3])):
            halves[half, value] += np.bincount(bins[own][here[own]], minlength=N_BINS)
