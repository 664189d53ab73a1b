"""Priors of the regression weights: spike and slab, Laplace.

Every prior gives the precisions of a Gaussian that lies below it and touches it at the current
weights, so that the weights are found by a ridge regression. The last row of the weights, the
intercept, has a small precision of its own.

Spike and slab: row f of W comes from N(0, sigma_0 I) or N(0, sigma_1 I), variances; with the
choice maximised over, a row is in the slab when its density there is at least as large, that is

    ||w_f||^2 >= c  2 sigma_0 sigma_1 / (sigma_1 - sigma_0)  log sqrt(sigma_1 / sigma_0)

for c factors. The paper prints the right side without c, which is right for c = 1 only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

INTERCEPT_PRECISION = 1e-3
_ROUNDING = 1e-4


class WeightPrior(Protocol):
    """What the model asks of a prior."""

    def precisions(self, weights: np.ndarray) -> np.ndarray:
        """Of shape (n_features + 1, 1) or (n_features + 1, n_factors)."""

    def starting_precisions(self, n_features: int) -> np.ndarray:
        """Before there are any weights."""

    def log_density(self, weights: np.ndarray) -> float:
        """Of all the weights, up to a constant."""

    def selected(self, weights: np.ndarray) -> np.ndarray:
        """The features that the prior itself lets through, (n_features,)."""


@dataclass(frozen=True)
class SpikeSlab:
    """Two Gaussians of variances ``spike`` < ``slab``."""

    spike: float
    slab: float
    threshold: Literal["derived", "printed"] = "derived"

    def bound(self, n_factors: int) -> float:
        """Smallest squared length of a row in the slab."""
        scale = 2 * self.spike * self.slab / (self.slab - self.spike)
        found = scale * 0.5 * np.log(self.slab / self.spike)
        return float(found if self.threshold == "printed" else n_factors * found)

    def selected(self, weights: np.ndarray) -> np.ndarray:
        return _squared_lengths(weights[:-1]) >= self.bound(weights.shape[1])

    def precisions(self, weights: np.ndarray) -> np.ndarray:
        rows = np.where(self.selected(weights), 1 / self.slab, 1 / self.spike)
        return np.append(rows, INTERCEPT_PRECISION)[:, None]

    def starting_precisions(self, n_features: int) -> np.ndarray:
        """All in the slab: weights that start in the spike stay there."""
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
        """Rows that are not zero up to a hundred times the rounding of |w|."""
        return np.sqrt(_squared_lengths(weights[:-1])) > 100 * _ROUNDING


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.square(rows, dtype=np.float64).sum(axis=1)


def _intercept_density(weights: np.ndarray) -> float:
    return -0.5 * INTERCEPT_PRECISION * float(np.square(weights[-1], dtype=np.float64).sum())
