"""Shares with their intervals, and the share recorded among the entries with the largest scores.

Where every relevant entry is recorded with the chance c, no entry is recorded with a larger one:
among the entries that are most surely relevant the share of recorded ones levels off at c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Share", "surest_of_bins", "surest_share", "wilson"]

_Z = 1.96


class Share(NamedTuple):
    """A share with its 95% interval, and the number of entries that it was read from."""

    value: float
    low: float
    high: float
    n: int


def surest_share(scores: np.ndarray, hits: np.ndarray, *, fewest: int = 50) -> Share | None:
    """Share of ``hits`` among the entries with the largest scores.

    Of all sets of at least ``fewest`` such entries, the one whose interval has the largest lower
    end; None where there are fewer entries. The scores must not have been learned from the hits.
    """
    falling = np.argsort(-scores, kind="stable")
    return surest_of_bins(np.ones(scores.size), hits[falling], fewest=fewest)


def surest_of_bins(n: np.ndarray, hits: np.ndarray, *, fewest: int = 50) -> Share | None:
    """The same from counts of entries and of hits, by bins of falling score."""
    total, found = (np.cumsum(one, dtype=np.float64) for one in (n, hits))
    enough = total >= fewest
    if not enough.any():
        return None
    total, found = total[enough], found[enough]
    low, high = wilson(found, total)
    best = int(np.argmax(low))
    return Share(found[best] / total[best], float(low[best]), float(high[best]), int(total[best]))


def wilson(hits: np.ndarray, n: np.ndarray, z: float = _Z) -> tuple[np.ndarray, np.ndarray]:
    """Score interval of the share hits / n, by default of 95%."""
    share = hits / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
