"""What share of the relevant labels is recorded, read from where the chances stop rising.

If every relevant entry is recorded with the chance c, no entry is recorded with a larger one: among
the entries that are most surely relevant the share of recorded ones levels off at c. Where nothing
is missing it goes on to 1. The level is read in two ways: as the largest share among the entries
with the largest scores, and as the maximum-likelihood c of

    P(recorded | score s) = c sigmoid(a + b s + d log(max(s, 0) + 0.01)),    b, d > 0,

once with the same a, b, d for all labels and once with those of each label. Labels differ in how
surely they can be told: a curve over all of them levels off too early where the scores of hard
labels are as large as those of easy ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from labelgap.audit._result import Estimate
from labelgap.audit._tally import Tally, bin_centres
from labelgap.kernels.surest import surest_of_bins

__all__ = ["Recorded", "read_ceiling", "read_recorded"]

_FEWEST = 30
_STEP, _COARSE = 0.02, 5
_GRID = np.round(np.arange(1.0, 0.04, -_STEP), 2)
_HALF_DEVIANCE = 1.92  # 95% of a chi-square with one degree of freedom, halved
_COMPLETE = 0.9
_LEAST = 0.02
_MOST_LABELS = 30


class Recorded(NamedTuple):
    """The share, its interval over all readings, and whether zeros can all be meant.

    The value is the mean of two readings. The first is between the share recorded among the surest
    entries and its lower end, since that set was picked for its large share: it is too small where
    nothing is sure. The second is that of the curves per label, which lean to the other side; it is
    no smaller than that lower end and no larger than the curve of all labels allows. Without labels
    apart there is the first alone.
    ``verdict`` is "ambiguous" when a ceiling below 1 fits significantly better, "complete" when the
    interval lies above 0.9, and otherwise "open".
    """

    share: Estimate
    verdict: str


def read_recorded(tally: Tally) -> Recorded:
    """The share of relevant entries that is recorded, over all labels."""
    n = tally.relevant + tally.zero + tally.decided
    per_label = (n, tally.relevant)
    return read_ceiling(bin_centres(), n.sum(axis=0), tally.relevant.sum(axis=0), per_label)


def read_ceiling(
    scores: np.ndarray,
    n: np.ndarray,
    hits: np.ndarray,
    per_label: tuple[np.ndarray, np.ndarray] | None = None,
) -> Recorded:
    """From counts of entries and of recorded ones, by bins of rising score.

    ``per_label`` has the same counts label by label, (n_labels, n_bins) each.
    """
    surest = _surest(n[n > 0], hits[n > 0])
    losses = _losses(scores, n, hits)
    inside = _GRID[losses - losses.min() < _HALF_DEVIANCE]
    low, high, gain = float(inside.min()), float(inside.max()), losses[0] - losses.min()
    value = (surest.low + surest.value) / 2
    if per_label is not None:
        level = min(_level_of_labels(scores, *per_label), high)
        value = (value + max(level, surest.low)) / 2
    share = Estimate(
        value=max(value, _LEAST),
        low=max(min(low, surest.low), _LEAST),
        high=max(high, surest.high, value, _LEAST),
    )
    if share.low > _COMPLETE:
        # then 1 is as good a guess as what was read
        return Recorded(replace(share, value=(share.value + share.high) / 2), "complete")
    return Recorded(share, "ambiguous" if gain > _HALF_DEVIANCE and high < 1.0 else "open")


def _level_of_labels(scores: np.ndarray, n: np.ndarray, hits: np.ndarray) -> float:
    """The most likely c that the most frequent labels share, each with a curve of its own."""
    frequent = np.argsort(-hits.sum(axis=1), kind="stable")[:_MOST_LABELS]

    def best_of(grid: np.ndarray) -> float:
        losses = sum(_losses(scores, n[label], hits[label], grid) for label in frequent)
        return float(grid[np.argmin(losses)])

    about = best_of(_GRID[::_COARSE])
    return best_of(_GRID[np.abs(_GRID - about) < _COARSE * _STEP - _STEP / 2])


def _surest(n: np.ndarray, hits: np.ndarray) -> Estimate:
    """Share recorded among the entries with the largest scores; anything where they are few."""
    found = surest_of_bins(n[::-1], hits[::-1], fewest=_FEWEST)
    return Estimate(1.0, 0.0, 1.0) if found is None else Estimate(*map(float, found[:3]))


def _losses(
    scores: np.ndarray, n: np.ndarray, hits: np.ndarray, grid: np.ndarray = _GRID
) -> np.ndarray:
    """Negative log-likelihood of the best curve, for every c of the grid."""
    seen = n > 0
    scores, n, hits = scores[seen], n[seen].astype(float), hits[seen].astype(float)
    design = np.column_stack([np.ones_like(scores), scores, np.log(np.maximum(scores, 0) + 0.01)])

    def loss(parameters: np.ndarray, c: float) -> tuple[float, np.ndarray]:
        slopes = np.exp(parameters[1:])
        rate = expit(design @ np.concatenate([parameters[:1], slopes]))
        g = np.clip(c * rate, 1e-12, 1 - 1e-9)
        value = -(hits * np.log(g) + (n - hits) * np.log1p(-g)).sum()
        slope = -(hits - (n - hits) * g / (1 - g)) * (1 - rate)
        gradient = design.T @ slope
        gradient[1:] *= slopes
        return float(value), gradient

    start, losses = np.array([-3.0, 1.0, 0.0]), []
    bounds = [(-60.0, 60.0), (-12.0, 5.0), (-12.0, 5.0)]
    for c in grid:
        done = minimize(loss, start, args=(c,), jac=True, method="L-BFGS-B", bounds=bounds)
        start = done.x
        losses.append(done.fun)
    return np.array(losses)
