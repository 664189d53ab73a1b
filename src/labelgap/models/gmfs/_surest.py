"""The rate of looks read off the entries that are most surely relevant, and calibration.

Every entry is made unknown once, a fifth of them at a time, and scored by a short fit without it.
No entry is recorded with a larger chance than that of a look: among the entries with the largest
scores the share of recorded ones levels off at the rate. Reading it there needs the order of the
scores alone; a likelihood would need the shape of all of them to be right.

Given the rate q, the same scores psi say how steep they should be: s of

    P(recorded) = q sigmoid(t + s psi)

with the largest likelihood. A zero is a forgotten positive with the log odds psi + log(1 - theta);
calibrated ones are s times that plus a shift with which (1 - q) / q forgotten positives are
expected for every recorded one. The order of the zeros stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from labelgap.kernels.surest import Share, surest_share
from labelgap.labels import Labels, State
from labelgap.models.gmfs._missing import KnownRows
from labelgap.models.gmfs._search import held_out_relevance, some_rows

if TYPE_CHECKING:
    from labelgap.models.gmfs._estimator import GMFS

_PARTS = 5
# of the short fits; the order of their scores hardly depends on it
_RATE = 0.7
_BINS = 1024
_SMALLEST, _LARGEST = 0.02, 0.99
_NEVER = 1e-12
_FARTHEST = 100.0


class SurestRate(NamedTuple):
    """The rate, the share that it was read as, and the slope that scores should have."""

    rate: float
    share: Share
    slope: float


class Calibration(NamedTuple):
    """Log odds of forgotten positives: slope times the model's, plus shift."""

    shift: float = 0.0
    slope: float = 1.0

    def __call__(self, chance: np.ndarray) -> np.ndarray:
        if self == (0.0, 1.0):
            return chance
        return expit(self.shift + self.slope * logit(np.clip(chance, _NEVER, 1 - _NEVER)))


def read_rate(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> SurestRate | None:
    """The rate from held-out records of at most 2000 rows; None if there are too few of them."""
    if not labels.ambiguous:
        return None
    X, labels = some_rows(X, labels, rng)
    psi, states = held_out_scores(estimator, X, labels, rng)
    told = ~np.isnan(psi)
    psi, hits = psi[told], states[told] == State.RELEVANT
    share = surest_share(psi, hits)
    if share is None or not hits.any():
        return None
    rate = float(np.clip(share.value, _SMALLEST, _LARGEST))
    return SurestRate(rate, share, best_slope(psi, hits, rate))


def held_out_scores(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Log odds of every relevant or ambiguous entry by fits without it, NaN elsewhere; states."""
    states = labels.states()
    told = (states == State.RELEVANT) | (states == State.AMBIGUOUS)
    part = rng.integers(_PARTS, size=states.shape, dtype=np.int8)
    psi = np.full(states.shape, np.nan)
    for number in range(_PARTS):
        rows, columns = np.nonzero(told & (part == number))
        chance = held_out_relevance(estimator, X, labels, (rows, columns), _RATE)
        psi[rows, columns] = logit(np.clip(chance, _NEVER, 1 - _NEVER))
    return psi, states


def best_slope(psi: np.ndarray, hits: np.ndarray, rate: float) -> float:
    """s of rate * sigmoid(t + s psi) with the largest likelihood, from counts by bin of psi."""
    edges = np.linspace(psi.min(), psi.max() + 1e-9, _BINS + 1)
    n = np.histogram(psi, edges)[0].astype(float)
    ones = np.histogram(psi[hits], edges)[0].astype(float)
    centre, zeros = (edges[1:] + edges[:-1]) / 2, n - ones

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        shift, slope = parameters[0], np.exp(parameters[1])
        relevant = expit(shift + slope * centre)
        g = np.clip(rate * relevant, _NEVER, 1 - _NEVER)
        value = -(ones @ np.log(g) + zeros @ np.log1p(-g)) / n.sum()
        change = -(ones - zeros * g / (1 - g)) * (1 - relevant) / n.sum()
        return value, np.array([change.sum(), slope * (change @ centre)])

    bounds = [(-_FARTHEST, _FARTHEST), (-5.0, 5.0)]
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(np.exp(found.x[1]))


def calibration(rows: KnownRows, surest: SurestRate) -> Calibration:
    """The shift with which as many forgotten positives are expected as the rate says.

    The zeros' log odds are counted by bins, some rows at a time.
    """
    edges = np.linspace(logit(_NEVER), logit(1 - _NEVER), _BINS + 1)
    n, total = np.zeros(_BINS), np.zeros(_BINS)
    for part in rows.parts():
        chance = rows.forgotten(part)
        odds = logit(np.clip(chance[~np.isnan(chance)], _NEVER, 1 - _NEVER))
        n += np.histogram(odds, edges)[0]
        total += np.histogram(odds, edges, weights=odds)[0]
    centre, n = total[n > 0] / n[n > 0], n[n > 0]
    rate, slope = surest.rate, surest.slope
    wanted = (1 - rate) / rate * float(rows.labels.n_positives())
    if not 0 < wanted < n.sum():
        return Calibration(slope=slope)

    def excess(shift: float) -> float:
        return float(n @ expit(shift + slope * centre)) - wanted

    widest = _FARTHEST * (1 + slope)
    return Calibration(brentq(excess, -widest, widest), slope)
