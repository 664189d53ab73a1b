"""What the audit says of single labels and of single items."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from labelgap.audit._chances import Chances, coarse_means
from labelgap.audit._quality import auc_of, average_precision_of
from labelgap.audit._result import Estimate, ItemAudit, ItemRate, LabelAudit
from labelgap.audit._tally import Tally
from labelgap.labels import Labels

__all__ = ["expected_missing", "item_audit", "label_audits"]

_SURE = 0.9
_STRENGTH = (2.0, 200.0)
_MOST_WORST = 25
_EDGES = np.round(np.linspace(0, 1, 11), 1)
_Z = 1.96


def expected_missing(tally: Tally, chances: Chances) -> np.ndarray:
    """Expected number of relevant entries that are not recorded, per modelled label."""
    return tally.zero @ chances.if_zero + tally.unknown @ chances.if_unknown


def label_audits(
    labels: Labels,
    names: list[str],
    modelled: np.ndarray,
    tally: Tally,
    chances: Chances,
    share: float,
) -> tuple[LabelAudit, ...]:
    """One entry per label; ``modelled`` are the positions of those in the tally."""
    n_positive = labels.n_positives(axis=0)
    observed = labels.n_observed(axis=0, ambiguous=True) / max(labels.n_rows, 1)
    position = {int(label): k for k, label in enumerate(modelled)}
    missing = expected_missing(tally, chances)
    recorded = _recorded(tally, chances, share, missing)
    made = []
    for j, name in enumerate(names):
        k = position.get(j)
        if k is None:
            made.append(
                LabelAudit(
                    name, int(n_positive[j]), float(observed[j]), None, None, True, None, None, None
                )
            )
            continue
        ones, zeros = tally.relevant[k], tally.zero[k]
        made.append(
            LabelAudit(
                name=name,
                n_positive=int(n_positive[j]),
                observed=float(observed[j]),
                recorded=recorded[k],
                expected_missing=float(missing[k]),
                too_rare=False,
                auc=auc_of(ones, zeros),
                average_precision=average_precision_of(ones, zeros),
                calibration_error=_calibration_error(ones, zeros, chances.recorded),
            )
        )
    return tuple(made)


def _recorded(tally: Tally, chances: Chances, share: float, missing: np.ndarray) -> list[Estimate]:
    """Share recorded of each label.

    Where zeros are in doubt: among the entries that are relevant with a chance of 0.9 or more, the
    share that is recorded, drawn towards that of all labels by how much labels differ (a beta
    prior fitted by moments). Where they are meant, known ones over known ones and those expected
    among the unknown.
    """
    if not chances.if_zero.any():
        return _recorded_of_unknown(tally, chances, missing)
    sure = chances.recorded >= _SURE * share
    hits = tally.relevant[:, sure].sum(axis=1).astype(float)
    n = hits + (tally.zero + tally.decided)[:, sure].sum(axis=1)
    mean = float(np.clip(hits.sum() / n.sum() if n.sum() else share, 0.02, 0.98))
    strength = _prior_strength(hits, n, mean)
    a, b = mean * strength + hits, (1 - mean) * strength + n - hits
    low, high = beta.ppf(0.025, a, b), beta.ppf(0.975, a, b)
    return [
        Estimate(float(v), float(lo), float(hi))
        for v, lo, hi in zip(a / (a + b), low, high, strict=True)
    ]


def _prior_strength(hits: np.ndarray, n: np.ndarray, mean: float) -> float:
    """a + b of the beta distribution whose variance is that between labels beyond noise."""
    used = n >= 5
    if used.sum() < 3:
        return _STRENGTH[0]
    shares = hits[used] / n[used]
    between = np.average((shares - mean) ** 2 - mean * (1 - mean) / n[used], weights=n[used])
    if between <= 0:
        return _STRENGTH[1]
    return float(np.clip(mean * (1 - mean) / between - 1, *_STRENGTH))


def _recorded_of_unknown(tally: Tally, chances: Chances, missing: np.ndarray) -> list[Estimate]:
    known = tally.relevant.sum(axis=1)
    p = chances.if_unknown
    half = _Z * np.sqrt(tally.unknown @ (p * (1 - p)))
    made = []
    for ones, middle, width in zip(known, missing, half, strict=True):
        low, high = ones / (ones + middle + width), ones / (ones + max(middle - width, 0))
        made.append(Estimate(float(ones / (ones + middle)), float(low), float(high)))
    return made


def _calibration_error(ones: np.ndarray, zeros: np.ndarray, chance: np.ndarray) -> float:
    """Mean distance between chance and share over ten bins of the chance."""
    at = np.minimum((chance * 10).astype(int), 9)
    n, hits = np.bincount(at, ones + zeros, 10), np.bincount(at, ones, 10)
    said = np.bincount(at, (ones + zeros) * chance, 10)
    return float(np.abs(said - hits).sum() / max(n.sum(), 1))


def item_audit(labels: Labels, items: np.ndarray, tally: Tally, chances: Chances) -> ItemAudit:
    """How completely items are labelled: expected gaps of each, and the worst of them."""
    n_positive = labels.n_positives(axis=1)
    observed = labels.n_observed(axis=1, ambiguous=True) / max(labels.n_labels, 1)
    zero, zero_spread = coarse_means(chances.if_zero, tally.zero.sum(axis=0))
    unknown, unknown_spread = coarse_means(chances.if_unknown, tally.unknown.sum(axis=0))
    missing = tally.row_zero @ zero + tally.row_unknown @ unknown
    half = _Z * np.sqrt(tally.row_zero @ zero_spread + tally.row_unknown @ unknown_spread)
    recorded = _ratio(n_positive, missing)
    counts, _ = np.histogram(recorded, bins=_EDGES)
    worst = np.lexsort((np.arange(missing.size), -missing))[:_MOST_WORST]
    low, high = (
        _ratio(n_positive, missing + half),
        _ratio(n_positive, np.maximum(missing - half, 0)),
    )
    return ItemAudit(
        edges=tuple(_EDGES.tolist()),
        counts=tuple(counts.tolist()),
        n_without_labels=int((n_positive == 0).sum()),
        worst=tuple(
            ItemRate(
                item=str(items[i]),
                n_positive=int(n_positive[i]),
                observed=float(observed[i]),
                expected_missing=float(missing[i]),
                recorded=Estimate(float(recorded[i]), float(low[i]), float(high[i])),
            )
            for i in worst
        ),
    )


def _ratio(there: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """there / (there + missing); 1 where neither is."""
    total = there + missing
    return np.divide(there, total, out=np.ones(total.shape), where=total > 0)
