"""How probable it is that somebody looked: given, learned per label, or from neighbours.

theta_ij is the probability that entry (i, j) was looked at before anything is recorded. What is
learned has a beta prior, Beta(1 + m q, 1 + m (1 - q)) with the mode q and the weight of m entries.
With gamma the probability of a look given the record, the most probable theta of label j is

    theta_j = (m q + sum_i gamma_ij) / (m + n_j)

over its n_j entries that are relevant or ambiguous; with neighbours N(i), each worth s entries,

    theta_ij = (m q + sum_u gamma_uj + (s - 1) sum_{e in N(i)} gamma_ej)
             / (m + n_j + (s - 1) sum_{e in N(i)} gamma_ej).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy import sparse

SMALLEST = 1e-4
# differences of gamma from its label's typical value that neighbours may ignore
NEGLIGIBLE = 1e-3


class Rates(Protocol):
    """theta, for some rows at a time."""

    def rows(self, part: slice) -> np.ndarray:
        """Of shape (1 or n_rows, 1 or n_labels)."""


class PlainRates(NamedTuple):
    """One theta for all, per label, per row or per entry: (1 or n, 1 or L)."""

    values: np.ndarray

    def rows(self, part: slice) -> np.ndarray:
        return self.values if self.values.shape[0] == 1 else self.values[part]


class NeighborRates(NamedTuple):
    """theta_ij from what is recorded around row i, without an array of rows x labels.

    Sums over neighbours are ``degree`` (n) times ``typical`` (L) plus ``excess`` (n x L, sparse).
    """

    looks: np.ndarray
    candidates: np.ndarray
    typical: np.ndarray
    degree: np.ndarray
    excess: sparse.csr_array
    weight: float

    def rows(self, part: slice) -> np.ndarray:
        around = np.outer(self.degree[part], self.typical)
        around += self.excess[part].toarray()
        around *= self.weight
        return clipped((self.looks + around) / (self.candidates + around))

    def without_neighbors(self) -> np.ndarray:
        """theta of a row that has none: (1, n_labels)."""
        return clipped(self.looks / self.candidates)[None, :]


class LookStats(NamedTuple):
    """Sums over rows, per label: expected looks at ambiguous zeros, relevant, ambiguous entries."""

    looked_at: np.ndarray
    relevant: np.ndarray
    ambiguous: np.ndarray


@dataclass(frozen=True, eq=False)
class LookModel:
    """What is learned about theta.

    Parameters
    ----------
    learn : {"labels", "global", "neighbors"} or None
        None keeps theta as it is.
    rate, weight : float
        q and m of the prior; the weight is relative to the number of entries.
    graph : csr_array of shape (n_rows, n_rows), optional
        Ones at the neighbours of each row.
    neighbor_weight : float
        s, at least 1.
    """

    learn: Literal["labels", "global", "neighbors"] | None = None
    rate: float = 0.7
    weight: float = 1.0
    graph: sparse.csr_array | None = None
    neighbor_weight: float = 5.0

    def mode(self, stats: LookStats) -> np.ndarray:
        """theta of every label, or of all labels, without neighbours: (1, n_labels or 1)."""
        looks, candidates = self._totals(stats)
        return clipped((looks / np.maximum(candidates, 1e-12))[None, :])

    def log_prior(self, stats: LookStats, values: np.ndarray) -> float:
        """m times q log theta + (1 - q) log(1 - theta), summed over what has its own theta."""
        if self.learn not in ("labels", "global"):
            return 0.0
        strength = self._strength(stats)
        density = self.rate * np.log(values[0]) + (1 - self.rate) * np.log1p(-values[0])
        return float((strength * density).sum())

    def neighbor_rates(self, stats: LookStats, typical: np.ndarray, excess: Any) -> NeighborRates:
        """theta from the summed gammas and their ``excess`` over typical ones, row by row."""
        assert self.graph is not None
        looks, candidates = self._totals(stats)
        around = sparse.csr_array(self.graph @ excess)
        degree = np.diff(self.graph.indptr).astype(np.float64)
        weight = self.neighbor_weight - 1
        return NeighborRates(looks, candidates, typical, degree, around, weight)

    def _totals(self, stats: LookStats) -> tuple[np.ndarray, np.ndarray]:
        strength = self._strength(stats)
        looks, candidates = stats.looked_at + stats.relevant, stats.relevant + stats.ambiguous
        if self.learn == "global":
            looks, candidates = looks.sum(keepdims=True), candidates.sum(keepdims=True)
        # a label without candidates has the prior's theta
        strength = np.maximum(strength, 1e-6)
        return looks + strength * self.rate, candidates + strength

    def _strength(self, stats: LookStats) -> np.ndarray:
        candidates = stats.relevant + stats.ambiguous
        if self.learn == "global":
            candidates = candidates.sum(keepdims=True)
        return self.weight * candidates


def clipped(theta: np.ndarray) -> np.ndarray:
    return np.clip(theta, SMALLEST, 1 - SMALLEST)


def excess_looks(kappa: np.ndarray, typical: np.ndarray) -> sparse.csr_array:
    """gamma, which is twice the size of kappa, minus its typical value where that matters."""
    off = 2 * np.abs(kappa) - typical.astype(kappa.dtype)
    off[np.abs(off) < NEGLIGIBLE] = 0
    return sparse.csr_array(off.astype(np.float32))
