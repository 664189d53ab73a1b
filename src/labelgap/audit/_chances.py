"""From scores to chances: of being recorded, and of being relevant though not recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit
from sklearn.isotonic import isotonic_regression

from labelgap.audit._recording import Recorded
from labelgap.audit._tally import N_BINS, N_COARSE, Tally, bin_centres
from labelgap.kernels.exposure import forgotten_probability

__all__ = ["Chances", "chances_from", "chances_of", "coarse_means", "recorded_chance"]

# nothing is certain: a bin of the largest scores holds few entries
_NEVER, _SUREST, _FARTHEST = 1e-9, 0.99, 30.0


@dataclass(frozen=True, eq=False)
class Chances:
    """Chances by bin of the score, arrays of shape (N_BINS,).

    ``recorded`` is that of a known entry to be recorded as relevant; ``if_zero`` and
    ``if_unknown`` those of a zero and of an unknown entry to be relevant.
    """

    recorded: np.ndarray
    if_zero: np.ndarray
    if_unknown: np.ndarray

    def of_zeros(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, bin_centres(), self.if_zero)

    def of_unknown(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, bin_centres(), self.if_unknown)


def chances_from(tally: Tally, recorded: Recorded | None, share: float | None = None) -> Chances:
    """Chances under the share read, or another; without one zeros are meant."""
    if recorded is None:
        return chances_of(tally, 1.0, zeros_meant=True)
    return chances_of(tally, recorded.share.value if share is None else share, zeros_meant=False)


def recorded_chance(n: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Share of recorded entries by bin of rising score, made to rise (isotonic regression)."""
    seen = n > 0
    rising = isotonic_regression(hits[seen] / n[seen], sample_weight=n[seen], y_min=0, y_max=1)
    return np.interp(np.arange(N_BINS), np.flatnonzero(seen), rising)


def chances_of(tally: Tally, share_recorded: float, *, zeros_meant: bool) -> Chances:
    """Chances of all entries, when a relevant one is recorded with the chance given.

    With g that of being recorded, c the share and g / c the chance of relevance,
    P(relevant | zero) = (1 - c) (g / c) / (1 - g); the log-odds of g / c are shifted until
    (1 - c) / c unrecorded relevant entries are expected for each recorded one. ``zeros_meant``:
    every zero is irrelevant, and c is 1.
    """
    hits, zeros = tally.relevant.sum(axis=0), (tally.zero + tally.decided).sum(axis=0)
    g = recorded_chance(hits + zeros, hits)
    if zeros_meant:
        return Chances(g, np.zeros(N_BINS), np.minimum(g, _SUREST))
    c = min(share_recorded, 1 - 1e-6)
    log_odds = logit(np.clip(g / c, _NEVER, _SUREST))
    wanted = min((1 - c) / c * hits.sum(), 0.999 * zeros.sum())

    def excess(shift: float) -> float:
        return float(zeros @ forgotten_probability(log_odds + shift, c)) - wanted

    shift = 0.0
    if excess(-_FARTHEST) < 0 < excess(_FARTHEST):
        shift = brentq(excess, -_FARTHEST, _FARTHEST)
    log_odds = np.minimum(log_odds + shift, logit(_SUREST))
    return Chances(g, forgotten_probability(log_odds, c), np.minimum(g / c, _SUREST))


def coarse_means(chances: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of p and of p (1 - p) over the entries of each coarse bin."""
    p, weight = chances.reshape(N_COARSE, -1), n.reshape(N_COARSE, -1) + 1e-9
    total = weight.sum(axis=1)
    return (p * weight).sum(axis=1) / total, (p * (1 - p) * weight).sum(axis=1) / total
