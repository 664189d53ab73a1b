"""How well labels are predicted: from counts by score, with intervals."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from labelgap.audit._chances import recorded_chance
from labelgap.audit._joint import Advance, JointModel, refit_joint
from labelgap.audit._result import CalibrationBin, Estimate, LearningPoint
from labelgap.audit._tally import N_BINS, Tally, bins_of
from labelgap.kernels.surest import wilson
from labelgap.labels import Labels, State

__all__ = ["auc_of", "average_precision_of", "calibration_curve", "learning_curve"]

_Z = 1.96
_SHARES = (0.125, 0.25, 0.5, 1.0)
_MOST_HELD, _N_GROUPS, _N_RESAMPLES = 2000, 20, 200
_CHANCE_EDGES = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def auc_of(ones: np.ndarray, zeros: np.ndarray) -> Estimate | None:
    """Area under the ROC curve from counts by rising score; ties within a bin count half.

    The interval is that of Hanley and McNeil (1982).
    """
    n1, n0 = float(ones.sum()), float(zeros.sum())
    if n1 == 0 or n0 == 0:
        return None
    below = np.cumsum(zeros) - zeros
    area = float((ones * (below + zeros / 2)).sum() / (n1 * n0))
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)) / (
        n1 * n0
    )
    half = _Z * float(np.sqrt(max(variance, 0.0)))
    return Estimate(area, max(0.0, area - half), min(1.0, area + half))


def average_precision_of(ones: np.ndarray, zeros: np.ndarray) -> Estimate | None:
    """Mean precision over recall from counts by rising score.

    The interval is normal on the scale of log-odds (Boyd, Eng and Page, 2013).
    """
    n1 = float(ones.sum())
    if n1 == 0:
        return None
    value = _area(ones, zeros)
    inside = float(np.clip(value, 1e-6, 1 - 1e-6))
    half = _Z / np.sqrt(n1 * inside * (1 - inside))
    low, high = expit(logit(inside) - half), expit(logit(inside) + half)
    return Estimate(value, float(min(low, value)), float(max(high, value)))


def calibration_curve(tally: Tally) -> tuple[CalibrationBin, ...]:
    """Chances that one half of the rows learned, against what the other half records."""
    predicted, seen, hits = [], [], []
    for half in (0, 1):
        zeros, ones = tally.halves[1 - half]
        if not (zeros.sum() and ones.sum()):
            return ()
        predicted.append(recorded_chance(zeros + ones, ones))
        seen.append(tally.halves[half].sum(axis=0))
        hits.append(tally.halves[half, 1])
    chance, n, found = (np.concatenate(one) for one in (predicted, seen, hits))
    at = np.clip(np.searchsorted(_CHANCE_EDGES, chance, side="right") - 1, 0, None)
    at = np.minimum(at, _CHANCE_EDGES.size - 2)
    bins = []
    for k in range(_CHANCE_EDGES.size - 1):
        here = at == k
        total, ones_here = float(n[here].sum()), float(found[here].sum())
        if total == 0:
            continue
        low, high = wilson(np.array([ones_here]), np.array([total]))
        observed = Estimate(ones_here / total, float(low[0]), float(high[0]))
        mean = float((chance[here] * n[here]).sum() / total)
        low_edge, high_edge = float(_CHANCE_EDGES[k]), float(_CHANCE_EDGES[k + 1])
        bins.append(CalibrationBin(low_edge, high_edge, int(total), mean, observed))
    return tuple(bins)


def learning_curve(
    model: JointModel, labels: Labels, rng: np.random.Generator, advance: Advance
) -> tuple[LearningPoint, ...]:
    """Average precision over all labels on rows set aside, learning from ever more of the others.

    Intervals are over 200 resamples of 20 groups of the rows set aside.
    """
    order = rng.permutation(labels.n_rows)
    n_held = min(_MOST_HELD, labels.n_rows // 5)
    if n_held < _N_GROUPS:
        return ()
    held, others = order[:n_held], order[n_held:]
    states, carried = labels.states(held), labels.n_positives(axis=1)
    draws = rng.integers(0, _N_GROUPS, size=(_N_RESAMPLES, _N_GROUPS))
    points = []
    for done, share in enumerate(_SHARES):
        advance("learning from fewer items", done, len(_SHARES))
        some = np.sort(others[: max(1, int(share * others.size))])
        ones, zeros = _grouped(refit_joint(model, some).new_scores(held), states)
        if not ones.sum():
            return ()
        values = [_area(ones[draw].sum(axis=0), zeros[draw].sum(axis=0)) for draw in draws]
        low, high = np.quantile(values, [0.025, 0.975])
        value = _area(ones.sum(axis=0), zeros.sum(axis=0))
        estimate = Estimate(value, float(min(low, value)), float(max(high, value)))
        n_labels = int(carried[some].sum())
        points.append(LearningPoint(share, int(some.size), estimate, n_labels))
    advance("learning from fewer items", len(_SHARES), len(_SHARES))
    return tuple(points)


def _area(ones: np.ndarray, zeros: np.ndarray) -> float:
    hits = np.cumsum(ones[::-1])
    total = hits + np.cumsum(zeros[::-1])
    share = np.divide(hits, total, out=np.zeros(ones.size), where=total > 0)
    return float((ones[::-1] * share).sum() / max(hits[-1], 1))


def _grouped(scores: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of ones and zeros by group of rows and bin of the score."""
    group = np.arange(scores.shape[0])[:, None] % _N_GROUPS
    places = bins_of(scores) + group * N_BINS
    is_one = states == State.RELEVANT
    is_zero = (states == State.IRRELEVANT) | (states == State.AMBIGUOUS)
    counts = [
        np.bincount(places[here], minlength=_N_GROUPS * N_BINS).reshape(_N_GROUPS, N_BINS)
        for here in (is_one, is_zero)
    ]
    return counts[0], counts[1]
