"""Priors of GMFS: of the regression weights, and of the propensities theta.

Every prior of the weights gives the precisions of a Gaussian that lies below it and touches it at
the current weights, so that the weights are found by a ridge regression. The last row of the
weights, the intercept, has a small precision of its own.

Spike and slab: row f of W comes from N(0, sigma_0 I) or N(0, sigma_1 I), variances; with the
choice maximised over, a row is in the slab when its density there is at least as large, that is

    ||w_f||^2 >= c  2 sigma_0 sigma_1 / (sigma_1 - sigma_0)  log sqrt(sigma_1 / sigma_0)

for c factors. The paper prints the right side without c, which is right for c = 1 only.

theta_ij is the probability that entry (i, j) is recorded if it is relevant. Where it is learned it
has a beta prior, Beta(1 + m q, 1 + m (1 - q)) with the mode q and the weight of m entries. With
gamma the probability, given the record, that the entry was examined, the most probable theta of
label j is

    theta_j = (m q + sum_i gamma_ij) / (m + n_j)

over its n_j entries that are relevant or unlabeled; with neighbours N(i), each worth s entries,

    theta_ij = (m q + sum_u gamma_uj + (s - 1) sum_{e in N(i)} gamma_ej)
             / (m + n_j + (s - 1) sum_{e in N(i)} gamma_ej).
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.kernels.neighbors import APPROXIMATE_PACKAGE, given_graph, nearest_rows
from labelgap.labels import Labels
from labelgap.propensity import label_frequency_mode

INTERCEPT_PRECISION = 1e-3
_ROUNDING = 1e-4
_SMALLEST = 1e-4
# differences of gamma from its label's typical value that neighbours may ignore
NEGLIGIBLE = 1e-3
_MOST_ROWS_EXACT = 20_000


class WeightPrior(Protocol):
    """What the model asks of a prior."""

    def precisions(self, weights: np.ndarray) -> np.ndarray:
        """Of shape (n_features + 1, 1) or (n_features + 1, n_factors)."""

    def starting_precisions(self, n_features: int) -> np.ndarray:
        """Before there are any weights."""

    def log_density(self, weights: np.ndarray) -> float:
        """Of all the weights, up to a constant."""

    def selected(self, weights: np.ndarray) -> np.ndarray:
        """Return the features that the prior itself lets through, (n_features,)."""


@dataclass(frozen=True)
class SpikeSlab:
    """Two Gaussians of variances ``spike`` < ``slab``."""

    spike: float
    slab: float
    threshold: Literal["derived", "printed"] = "derived"

    def bound(self, n_factors: int) -> float:
        """Return smallest squared length of a row in the slab."""
        scale = 2 * self.spike * self.slab / (self.slab - self.spike)
        found = scale * 0.5 * np.log(self.slab / self.spike)
        return float(found if self.threshold == "printed" else n_factors * found)

    def selected(self, weights: np.ndarray) -> np.ndarray:
        return _squared_lengths(weights[:-1]) >= self.bound(weights.shape[1])

    def precisions(self, weights: np.ndarray) -> np.ndarray:
        rows = np.where(self.selected(weights), 1 / self.slab, 1 / self.spike)
        return np.append(rows, INTERCEPT_PRECISION)[:, None]

    def starting_precisions(self, n_features: int) -> np.ndarray:
        """Return all in the slab: weights that start in the spike stay there."""
        return np.append(np.full(n_features, 1 / self.slab), INTERCEPT_PRECISION)[:, None]

    def log_density(self, weights: np.ndarray) -> float:
        variance = np.where(self.selected(weights), self.slab, self.spike)
        lengths = _squared_lengths(weights[:-1])
        rows = -0.5 * (lengths / variance + weights.shape[1] * np.log(variance))
        return float(rows.sum()) + _intercept_density(weights)


@dataclass(frozen=True)
class Laplace:
    """exp(-rate |w|) for every weight, or exp(-rate ||w_f||) for every row (``by_row``).

    |w| is taken as sqrt(w^2 + 1e-8), which keeps the ridge of a zero weight finite.
    """

    rate: float
    by_row: bool = False

    def _sizes(self, weights: np.ndarray) -> np.ndarray:
        rows = weights[:-1].astype(np.float64)
        squares = _squared_lengths(rows)[:, None] if self.by_row else np.square(rows)
        return np.sqrt(squares + _ROUNDING**2)

    def precisions(self, weights: np.ndarray) -> np.ndarray:
        rows = self.rate / self._sizes(weights)
        return np.vstack([rows, np.full((1, rows.shape[1]), INTERCEPT_PRECISION)])

    def starting_precisions(self, n_features: int) -> np.ndarray:
        return np.append(np.full(n_features, self.rate), INTERCEPT_PRECISION)[:, None]

    def log_density(self, weights: np.ndarray) -> float:
        return -self.rate * float(self._sizes(weights).sum()) + _intercept_density(weights)

    def selected(self, weights: np.ndarray) -> np.ndarray:
        """Return rows that are not zero up to a hundred times the rounding of |w|."""
        return np.sqrt(_squared_lengths(weights[:-1])) > 100 * _ROUNDING


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.square(rows, dtype=np.float64).sum(axis=1)


def _intercept_density(weights: np.ndarray) -> float:
    return -0.5 * INTERCEPT_PRECISION * float(np.square(weights[-1], dtype=np.float64).sum())


class Propensities(Protocol):
    """theta, for some rows at a time."""

    def rows(self, part: slice) -> np.ndarray:
        """Of shape (1 or n_samples, 1 or n_labels)."""


class PlainPropensities(NamedTuple):
    """One theta for all, per label, per row or per entry: (1 or n, 1 or L)."""

    values: np.ndarray

    def rows(self, part: slice) -> np.ndarray:
        return self.values if self.values.shape[0] == 1 else self.values[part]


class NeighborPropensities(NamedTuple):
    """theta_ij from what is recorded around row i, without an array of rows x labels.

    Sums over neighbours are ``degree`` (n) times ``typical`` (L) plus ``excess`` (n x L, sparse).
    """

    examined: np.ndarray
    candidates: np.ndarray
    typical: np.ndarray
    degree: np.ndarray
    excess: sparse.csr_array
    weight: float

    def rows(self, part: slice) -> np.ndarray:
        around = np.outer(self.degree[part], self.typical)
        around += self.excess[part].toarray()
        around *= self.weight
        return clipped((self.examined + around) / (self.candidates + around))

    def without_neighbors(self) -> np.ndarray:
        """Return theta of a row that has none: (1, n_labels)."""
        return clipped(self.examined / self.candidates)[None, :]


class ExaminedStats(NamedTuple):
    """Sums per label: expected number of examined unlabeled zeros; relevant, unlabeled entries."""

    examined: np.ndarray
    relevant: np.ndarray
    unlabeled: np.ndarray


@dataclass(frozen=True, eq=False)
class PropensityModel:
    """What is learned about theta.

    learn : {"per_label", "global", "neighbors"}, default=None. None keeps theta as it is.
    label_frequency, weight : float. q and m of the prior; the weight is relative to the number of
        entries.
    graph : csr_array of shape (n_samples, n_samples), default=None. Ones at the neighbours of each
        row.
    neighbor_weight : float, default=5.0. s, at least 1.
    """

    learn: Literal["per_label", "global", "neighbors"] | None = None
    label_frequency: float = 0.7
    weight: float = 1.0
    graph: sparse.csr_array | None = None
    neighbor_weight: float = 5.0

    def mode(self, stats: ExaminedStats) -> np.ndarray:
        """Return theta of every label, or of all labels, without neighbours: (1, n_labels or 1)."""
        return clipped(label_frequency_mode(*self._totals(stats), (1.0, 1.0))[None, :])

    def log_prior(self, stats: ExaminedStats, values: np.ndarray) -> float:
        """Return m times q log theta + (1 - q) log(1 - theta), summed over what has its own theta."""
        if self.learn not in ("per_label", "global"):
            return 0.0
        q, strength = self.label_frequency, self._strength(stats)
        density = q * np.log(values[0]) + (1 - q) * np.log1p(-values[0])
        return float((strength * density).sum())

    def neighbor_propensities(
        self, stats: ExaminedStats, typical: np.ndarray, excess: Any
    ) -> NeighborPropensities:
        """Return theta from the summed gammas and their ``excess`` over typical ones, row by row."""
        assert self.graph is not None
        around = sparse.csr_array(self.graph @ excess)
        degree = np.diff(self.graph.indptr).astype(np.float64)
        weight = self.neighbor_weight - 1
        return NeighborPropensities(*self._totals(stats), typical, degree, around, weight)

    def _totals(self, stats: ExaminedStats) -> tuple[np.ndarray, np.ndarray]:
        strength = self._strength(stats)
        examined, candidates = stats.examined + stats.relevant, stats.relevant + stats.unlabeled
        if self.learn == "global":
            examined, candidates = examined.sum(keepdims=True), candidates.sum(keepdims=True)
        # a label without candidates has the prior's theta
        strength = np.maximum(strength, 1e-6)
        return examined + strength * self.label_frequency, candidates + strength

    def _strength(self, stats: ExaminedStats) -> np.ndarray:
        candidates = stats.relevant + stats.unlabeled
        if self.learn == "global":
            candidates = candidates.sum(keepdims=True)
        return self.weight * candidates


def clipped(theta: np.ndarray) -> np.ndarray:
    return np.clip(theta, _SMALLEST, 1 - _SMALLEST)


def excess_examined(kappa: np.ndarray, typical: np.ndarray) -> sparse.csr_array:
    """Return gamma, which is twice the size of kappa, minus its typical value where that matters."""
    off = 2 * np.abs(kappa) - typical.astype(kappa.dtype)
    off[np.abs(off) < NEGLIGIBLE] = 0
    return sparse.csr_array(off.astype(np.float32))


def given_propensities(label_frequency: Any, labels: Labels) -> PlainPropensities | None:
    """Return theta as it was given; None where every zero is a zero."""
    values = np.asarray(label_frequency, dtype=np.float64)
    n, n_labels = labels.shape
    shapes = {(): (1, 1), (n_labels,): (1, n_labels), (n, 1): (n, 1), (n, n_labels): (n, n_labels)}
    if values.shape not in shapes:
        raise ValueError(
            f"label_frequency has the shape {values.shape}: give a number, ({n_labels},) per "
            f"label, ({n}, 1) per row or ({n}, {n_labels}) per entry"
        )
    values = values.reshape(shapes[values.shape])
    bad = np.argwhere(~((values > 0) & (values <= 1)))
    if bad.size:
        place = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"label_frequency{list(place)} = {values[place]}: a probability of being recorded must "
            "be above 0 and at most 1; where nothing can be recorded, make the entry unknown in Y"
        )
    return None if (values == 1).all() else PlainPropensities(clipped(values))


def neighbor_graph(neighbors: Any, n_neighbors: int, X: Any) -> sparse.csr_array:
    """Return ones at the neighbours of every row."""
    n = X.shape[0]
    if not isinstance(neighbors, str):
        return given_graph(neighbors, n)
    if n_neighbors >= n:
        raise ValueError(
            f"n_neighbors={n_neighbors}: there are {n} rows, and a row is not its own neighbour; "
            f"take at most {n - 1}"
        )
    if neighbors == "auto":
        large = n > _MOST_ROWS_EXACT and importlib.util.find_spec(APPROXIMATE_PACKAGE) is not None
        neighbors = "approximate" if large else "exact"
    if neighbors == "approximate":
        require(APPROXIMATE_PACKAGE, extra="neighbors", purpose="neighbors='approximate'")
    return nearest_rows(X, n_neighbors, method=neighbors)
