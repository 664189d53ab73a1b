"""How complete labels and items are, and how well labels are predicted: from counts by score."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit, logit

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._audit_result import (
    CalibrationBin,
    ClaimBin,
    Estimate,
    ItemAudit,
    ItemRate,
    LabelAudit,
    LearningPoint,
    UnopenedItem,
)
from labelgap.auditing._entry_probabilities import EntryProbabilities, TopEntries
from labelgap.auditing._loss_model import LossModel
from labelgap.auditing._score_counts import (
    N_BINS,
    Advance,
    ScoreCounts,
    bins_of,
    rising_fraction,
)
from labelgap.labels import Labels, State
from labelgap.propensity import wilson_interval

_Z = 1.96
_LEVEL = 0.95
# of the variance of label frequencies, the part that is between labels, and its least deviation
_TOLD_APART, _WORTH_TELLING = 0.6, 0.08
_LEAST_UNOPENED = 0.05
_N_WORST_ITEMS = 25
_ITEM_EDGES = np.round(np.linspace(0, 1, 11), 1)
_FRACTIONS = (0.125, 0.25, 0.5, 1.0)
_MOST_HELD_OUT, _N_GROUPS, _N_RESAMPLES = 2000, 20, 200
_FEWEST_HELD_OUT, _MOST_SCORES = 200, 20_000_000
_CALIBRATION_EDGES = np.array(
    [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
)
_CLAIM_EDGES = np.round(np.linspace(0, 1, 11), 1)
_LEARNING = "learning from fewer items"


def label_audits(
    checked: AuditInput, counts: ScoreCounts, loss: LossModel, missing: np.ndarray
) -> tuple[LabelAudit, ...]:
    """Return one record per label; those that cannot be learned were not counted."""
    labels = checked.labels
    n_positive = labels.n_positives(axis=0)
    observed = labels.n_observed(axis=0, unlabeled=True) / max(labels.n_samples, 1)
    seen = (counts.relevant + counts.zero + counts.decided).sum(axis=0)
    recorded = rising_fraction(seen, counts.relevant.sum(axis=0))
    frequencies = _label_frequencies(checked.part, loss, missing)
    records = []
    for label, k in enumerate(checked.places):
        known = (checked.names[label], int(n_positive[label]), float(observed[label]))
        if k < 0:
            records.append(LabelAudit(*known, None, None, True, None, None, None))
            continue
        ones, zeros = counts.relevant[k].astype(np.int64), counts.zero[k].astype(np.int64)
        records.append(
            LabelAudit(
                *known,
                label_frequency=frequencies[k],
                expected_missing=float(missing[k]),
                too_rare=False,
                auc=auc_of(ones, zeros),
                average_precision=average_precision_of(ones, zeros),
                calibration_error=_calibration_error(ones, zeros, recorded),
            )
        )
    return tuple(records)


def _label_frequencies(
    part: Labels, loss: LossModel, missing: np.ndarray
) -> Sequence[Estimate | None]:
    """Return the label frequency of each label: the recorded ones of those and the missing ones.

    With unlabeled zeros a table mostly shows how often labels are recorded, not which are recorded less
    often than others: then there are none.
    """
    ones = part.n_positives(axis=0)
    value = ones / np.maximum(ones + missing, 1e-9)
    if part.unlabeled:
        if loss.rates.told_apart() < _TOLD_APART or value.std() < _WORTH_TELLING:
            return [None] * ones.size
        low, high = (loss.rates.quantile(q) for q in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
        return _estimates(value, np.minimum(loss.opened * low, value), np.maximum(high, value))
    half = _Z * np.sqrt(missing)
    low, high = ones / (ones + missing + half), ones / (ones + np.maximum(missing - half, 0))
    return _estimates(value, low, high)


def _estimates(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Estimate]:
    return [Estimate(*row) for row in np.column_stack([value, low, high]).tolist()]


def _calibration_error(ones: np.ndarray, zeros: np.ndarray, probability: np.ndarray) -> float:
    """Return the mean distance between probability and fraction over ten bins."""
    at = np.minimum((probability * 10).astype(int), 9)
    n, hits = np.bincount(at, ones + zeros, 10), np.bincount(at, ones, 10)
    predicted = np.bincount(at, (ones + zeros) * probability, 10)
    return float(np.abs(predicted - hits).sum() / max(n.sum(), 1))


def item_audit(labels: Labels, items: np.ndarray, entries: EntryProbabilities) -> ItemAudit:
    """Return how completely items are labelled, and the items with most expected gaps."""
    n_positive = labels.n_positives(axis=1)
    observed = labels.n_observed(axis=1, unlabeled=True) / max(labels.n_labels, 1)
    missing = entries.by_item
    half = _Z * np.sqrt(entries.item_variance)
    recorded = _ratio(n_positive, missing)
    low = _ratio(n_positive, missing + half)
    high = _ratio(n_positive, np.maximum(missing - half, 0))
    histogram, _ = np.histogram(recorded, bins=_ITEM_EDGES)
    estimates = _estimates(recorded, low, high)
    worst = np.lexsort((np.arange(missing.size), -missing))[:_N_WORST_ITEMS].tolist()
    return ItemAudit(
        edges=tuple(_ITEM_EDGES.tolist()),
        counts=tuple(histogram.tolist()),
        n_without_labels=int((n_positive == 0).sum()),
        worst=tuple(
            ItemRate(
                item=str(items[row]),
                n_positive=int(n_positive[row]),
                observed=float(observed[row]),
                expected_missing=float(missing[row]),
                label_frequency=estimates[row],
            )
            for row in worst
        ),
    )


def unopened_items(checked: AuditInput, entries: EntryProbabilities) -> tuple[UnopenedItem, ...]:
    """Return the items that perhaps nobody opened, the most probable first."""
    order = np.lexsort((-entries.by_item, -entries.unopened))
    order = order[entries.unopened[order] >= _LEAST_UNOPENED]
    return tuple(
        UnopenedItem(
            str(checked.items[row]), float(entries.unopened[row]), float(entries.by_item[row])
        )
        for row in order
    )


def claim_bins(top: TopEntries) -> tuple[ClaimBin, ...]:
    """Return what the suggestions claim, by their probability."""
    at = np.clip(np.searchsorted(_CLAIM_EDGES, top.probabilities, side="right") - 1, 0, 9)
    return tuple(
        ClaimBin(
            float(_CLAIM_EDGES[k]),
            float(_CLAIM_EDGES[k + 1]),
            int((at == k).sum()),
            float(top.probabilities[at == k].mean()),
            float(top.obvious_first[at == k].mean()),
        )
        for k in np.unique(at)
    )


def _ratio(there: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return there / (there + missing), 1 where both are 0."""
    total = there + missing
    return np.divide(there, total, out=np.ones(total.shape), where=total > 0)


def auc_of(ones: np.ndarray, zeros: np.ndarray) -> Estimate | None:
    """Return the area under the ROC curve from counts by rising score; ties in a bin count half.

    The interval is that of Hanley and McNeil (1982).
    """
    n1, n0 = float(ones.sum()), float(zeros.sum())
    if n1 == 0 or n0 == 0:
        return None
    below = np.cumsum(zeros) - zeros
    area = float((ones * (below + zeros / 2)).sum() / (n1 * n0))
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)
    half = _Z * float(np.sqrt(max(spread / (n1 * n0), 0.0)))
    return Estimate(area, max(0.0, area - half), min(1.0, area + half))


def average_precision_of(ones: np.ndarray, zeros: np.ndarray) -> Estimate | None:
    """Return the average precision from counts by rising score.

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


def calibration_curve(counts: ScoreCounts) -> tuple[CalibrationBin, ...]:
    """Return probabilities learned from one half of the rows beside what the other half records."""
    predicted, seen, hits = [], [], []
    for half in (0, 1):
        zeros, ones = counts.halves[1 - half]
        if not (zeros.sum() and ones.sum()):
            return ()
        predicted.append(rising_fraction(zeros + ones, ones))
        seen.append(counts.halves[half].sum(axis=0))
        hits.append(counts.halves[half, 1])
    probability, n, n_ones = (np.concatenate(parts) for parts in (predicted, seen, hits))
    edges = _CALIBRATION_EDGES
    at = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, edges.size - 2)
    bins = []
    for k in range(edges.size - 1):
        here = at == k
        total, ones_here = float(n[here].sum()), float(n_ones[here].sum())
        if total == 0:
            continue
        low, high = wilson_interval(np.array([ones_here]), np.array([total]))
        observed = Estimate(ones_here / total, float(low[0]), float(high[0]))
        mean = float((probability[here] * n[here]).sum() / total)
        bins.append(
            CalibrationBin(float(edges[k]), float(edges[k + 1]), int(total), mean, observed)
        )
    return tuple(bins)


def learning_curve(
    held_out_scores: Callable[[np.ndarray, np.ndarray], np.ndarray],
    labels: Labels,
    rng: np.random.Generator,
    advance: Advance,
) -> tuple[LearningPoint, ...]:
    """Return average precision on held-out rows after learning from ever more of the others.

    ``held_out_scores`` gives the scores of the second rows after learning from the first alone.
    Intervals are over 200 resamples of 20 groups of the held-out rows.
    """
    order = rng.permutation(labels.n_samples)
    most = max(_FEWEST_HELD_OUT, min(_MOST_HELD_OUT, _MOST_SCORES // labels.n_labels))
    n_held_out = min(most, labels.n_samples // 5)
    if n_held_out < _N_GROUPS:
        return ()
    held_out, others = order[:n_held_out], order[n_held_out:]
    states, carried = labels.states(held_out), labels.n_positives(axis=1)
    draws = rng.integers(0, _N_GROUPS, size=(_N_RESAMPLES, _N_GROUPS))
    points = []
    for done, fraction in enumerate(_FRACTIONS):
        advance(_LEARNING, done, len(_FRACTIONS))
        learned = np.sort(others[: max(1, int(fraction * others.size))])
        ones, zeros = _grouped(held_out_scores(learned, held_out), states)
        if not ones.sum():
            return ()
        values = [_area(ones[draw].sum(axis=0), zeros[draw].sum(axis=0)) for draw in draws]
        low, high = np.quantile(values, [0.025, 0.975])
        value = _area(ones.sum(axis=0), zeros.sum(axis=0))
        estimate = Estimate(value, float(min(low, value)), float(max(high, value)))
        points.append(
            LearningPoint(fraction, int(learned.size), estimate, int(carried[learned].sum()))
        )
    advance(_LEARNING, len(_FRACTIONS), len(_FRACTIONS))
    return tuple(points)


def _area(ones: np.ndarray, zeros: np.ndarray) -> float:
    hits = np.cumsum(ones[::-1])
    total = hits + np.cumsum(zeros[::-1])
    fraction = np.divide(hits, total, out=np.zeros(ones.size), where=total > 0)
    return float((ones[::-1] * fraction).sum() / max(hits[-1], 1))


def _grouped(scores: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of ones and zeros by group of rows and bin of the score."""
    group = np.arange(scores.shape[0])[:, None] % _N_GROUPS
    places = bins_of(scores) + group * N_BINS
    is_one = states == State.RELEVANT
    is_zero = (states == State.NEGATIVE) | (states == State.UNLABELED)
    ones, zeros = (
        np.bincount(places[here], minlength=_N_GROUPS * N_BINS).reshape(_N_GROUPS, N_BINS)
        for here in (is_one, is_zero)
    )
    return ones, zeros
