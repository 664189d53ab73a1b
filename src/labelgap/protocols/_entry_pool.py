"""How many entries to hide, and drawing them without ever listing all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.labels import Labels, State

KNOWN = (State.RELEVANT, State.NEGATIVE, State.UNLABELED)
ZEROS = (State.NEGATIVE, State.UNLABELED)

_MOST_ENTRIES = 10**9


class EntryPool:
    """The entries in some states, line by line (rows or labels), from which to draw.

    Each line keeps a sorted list of positions: its candidates, or, where the entries that are not
    stored are candidates, the positions that are not. Unseen labels are never candidates.

    labels : Labels
    states : tuple of State. What an entry must be to be drawn.
    lines : {"rows", "labels"}. Whether draws are made row by row or label by label.
    """

    def __init__(self, labels: Labels, states: tuple[State, ...], lines: str) -> None:
        self._seen = np.flatnonzero(~labels.unseen)
        entries = labels.entries[:, self._seen] if labels.unseen.any() else labels.entries
        self._by_row = lines == "rows"
        if not self._by_row:
            entries = entries.T.tocsr()
        self._inverted = labels.implicit in states
        keep = np.isin(entries.data, states) != self._inverted
        self._indptr = np.concatenate([[0], np.cumsum(keep)])[entries.indptr]
        self._listed = entries.indices[keep].astype(np.int64)
        listed_sizes = np.diff(self._indptr)
        self.sizes = entries.shape[1] - listed_sizes if self._inverted else listed_sizes

    @property
    def lines(self) -> np.ndarray:
        """The row or label each line stands for."""
        return np.arange(self.sizes.size) if self._by_row else self._seen

    def draw(self, counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw ``counts[line]`` entries of each line without replacement.

        Returns rows, columns : int arrays
        """
        total = int(counts.sum())
        if total > _MOST_ENTRIES:
            raise ValueError(
                f"{total} entries would be hidden and each must be listed: use fewer rows or "
                "labels, a smaller fraction, or a protocol that hides positives or whole labels only"
            )
        drawn = np.empty(total, dtype=np.int64)
        end = 0
        for line in np.flatnonzero(counts):
            start, end = end, end + counts[line]
            ranks = rng.choice(self.sizes[line], counts[line], replace=False, shuffle=False)
            ranks.sort()
            drawn[start:end] = self._positions(line, ranks)
        at = np.repeat(self.lines, counts)
        return (at, self._seen[drawn]) if self._by_row else (drawn, at)

    def _positions(self, line: np.intp, ranks: np.ndarray) -> np.ndarray:
        listed = self._listed[self._indptr[line] : self._indptr[line + 1]]
        if not self._inverted:
            return listed[ranks]
        if listed.size == 0:
            return ranks
        # the r-th position that is not listed lies beyond every listed one with fewer than r gaps
        gaps_before = listed - np.arange(listed.size)
        return ranks + np.searchsorted(gaps_before, ranks, side="right")


def check_fraction(fraction: Any, argument: str = "fraction") -> float:
    """A number between 0 and 1."""
    is_number = isinstance(fraction, (int, float, np.integer, np.floating))
    if isinstance(fraction, bool) or not is_number or not 0 <= fraction <= 1:
        raise ValueError(
            f"{argument}={fraction!r} must be a fraction between 0 and 1, such as 0.4 for 40%"
        )
    return float(fraction)


def check_rates(rates: Any, argument: str, length: int) -> np.ndarray:
    """One number between 0 and 1 per row or label; ones when not given."""
    if rates is None:
        return np.ones(length)
    rates = np.asarray(rates, dtype=np.float64)
    if rates.shape != (length,):
        raise ValueError(f"{argument} has shape {rates.shape}: give one rate for each of {length}")
    bad = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if bad.size:
        raise ValueError(
            f"{argument}[{bad[0]}] = {rates[bad[0]]} must be a probability between 0 and 1"
        )
    return rates


def fraction_of(fraction: float, sizes: Any) -> np.ndarray:
    """floor(fraction * size), safe against products such as 0.29 * 100 = 28.999999999999996."""
    return np.floor(fraction * np.asarray(sizes) + 1e-9).astype(np.int64)
