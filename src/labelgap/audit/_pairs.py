"""What pairs of labels say: synonyms used in turn, near-duplicates, and the map of the frequent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from scipy.stats import false_discovery_control, poisson

from labelgap.audit._joint import Advance
from labelgap.audit._result import (
    CooccurrenceMap,
    Estimate,
    NearDuplicate,
    PairAudit,
    SeldomPair,
)
from labelgap.audit._rows import FeatureRows
from labelgap.kernels.joint_ridge import penalised_inverse
from labelgap.kernels.surest import wilson
from labelgap.labels import Labels, State

__all__ = ["MOST_EXTREME", "cooccurrence_map", "damped_log_lift", "pair_audit"]

_MOST_COMPARED, _FEWEST_POSITIVE = 300, 10
_MOST_SHOWN, _MOST_MAPPED = 20, 30
_SMALL_P, _LEAST_SIMILAR, _LEAST_EXPECTED, _SELDOM = 0.01, 0.3, 3.0, 0.5
_SAME, _CONTAINED, _FEWEST_BOTH = 0.5, 0.8, 5
_BLOCK = 4096
_STAGE = "comparing pairs of labels"
_ADDED = 2.0
MOST_EXTREME = 3


def pair_audit(
    rows: FeatureRows,
    labels: Labels,
    names: list[str],
    feature_penalty: float,
    advance: Advance,
) -> PairAudit:
    """All three parts; ``labels`` are those named, in the same order."""
    advance(_STAGE, 0, labels.n_rows)
    ones = labels.positives().astype(np.float64)
    together = sparse.csr_array(ones.T @ ones)
    counts = labels.n_positives(axis=0)
    found = PairAudit(
        seldom=_seldom(rows, labels, names, feature_penalty, advance),
        duplicates=_duplicates(together, counts, names),
        map=cooccurrence_map(together, names, labels.n_rows, _MOST_MAPPED),
    )
    advance(_STAGE, labels.n_rows, labels.n_rows)
    return found


def _seldom(
    rows: FeatureRows, labels: Labels, names: list[str], penalty: float, advance: Advance
) -> tuple[SeldomPair, ...]:
    """Pairs with fewer common items than their chances given the features alone promise.

    With g_ia the chance of label a by the features of item i, sum_i g_ia g_ib items would carry
    both if one did not keep the other away; the number is compared with a Poisson distribution of
    that mean.
    """
    counts = labels.n_positives(axis=0)
    frequent = np.argsort(-counts, kind="stable")[:_MOST_COMPARED]
    frequent = np.sort(frequent[counts[frequent] >= _FEWEST_POSITIVE])
    if frequent.size < 2 or not rows.inputs.shape[1]:
        return ()
    expected, observed, similarity = _pair_sums(rows, labels[:, frequent], penalty, advance)
    a, b = np.triu_indices(frequent.size, 1)
    tail = poisson.cdf(observed[a, b], np.maximum(expected[a, b], 1e-12))
    p = false_discovery_control(tail, method="by")
    kept = np.flatnonzero(
        (p < _SMALL_P)
        & (similarity[a, b] >= _LEAST_SIMILAR)
        & (expected[a, b] >= _LEAST_EXPECTED)
        & (observed[a, b] < _SELDOM * expected[a, b])
    )
    kept = kept[np.lexsort((kept, p[kept]))][:_MOST_SHOWN]
    return tuple(
        SeldomPair(
            names[frequent[a[k]]],
            names[frequent[b[k]]],
            float(observed[a[k], b[k]]),
            float(expected[a[k], b[k]]),
            float(p[k]),
            float(similarity[a[k], b[k]]),
        )
        for k in kept
    )


def _pair_sums(
    rows: FeatureRows, labels: Labels, penalty: float, advance: Advance
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected and observed common items, and the correlation of the chances, pair by pair."""
    inputs = rows.inputs
    inverse = penalised_inverse(_dense(inputs.T @ inputs), np.full(inputs.shape[1], penalty))
    codes = labels.positives().astype(np.float64)
    frequency = labels.n_positives(axis=0) / np.maximum(
        labels.n_observed(axis=0, ambiguous=True), 1
    )
    centre = np.asarray(inputs.mean(axis=0)).ravel()
    cross = _dense(inputs.T @ codes) - np.outer(inputs.shape[0] * centre, frequency)
    weights = inverse @ cross
    n = labels.n_labels
    expected, observed = np.zeros((n, n)), np.zeros((n, n))
    square, total = np.zeros((n, n)), np.zeros(n)
    for start in range(0, labels.n_rows, _BLOCK):
        advance(_STAGE, start, labels.n_rows)
        part = slice(start, start + _BLOCK)
        block, states = inputs[part], labels.states(part)
        relevant, known = states == State.RELEVANT, states != State.UNKNOWN
        leverage = _row_dots(block, block @ inverse)[:, None]
        fitted = frequency + block @ weights
        # the item itself must not speak for its own label
        g = np.clip(relevant - (relevant - fitted) / (1 - np.minimum(leverage, 0.99)), 0, 1)
        total += g.sum(axis=0)
        square += g.T @ g
        g *= known
        expected += g.T @ g
        observed += relevant.T.astype(float) @ relevant
    mean = total / labels.n_rows
    covariance = square / labels.n_rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-15))
    # clipping moves the means: the expected counts are brought back to the recorded ones
    ratio = np.diag(observed) / np.maximum(total, 1e-12)
    return expected * np.outer(ratio, ratio), observed, covariance / np.outer(spread, spread)


def _duplicates(
    together: sparse.csr_array, counts: np.ndarray, names: list[str]
) -> tuple[NearDuplicate, ...]:
    upper = sparse.triu(together, 1).tocoo()
    enough = upper.data >= _FEWEST_BOTH
    a, b, both = upper.row[enough], upper.col[enough], upper.data[enough]
    either, rarer = counts[a] + counts[b] - both, np.minimum(counts[a], counts[b])
    jaccard, containment = wilson(both, either), wilson(both, rarer)
    same = jaccard[0] >= _SAME
    contained = ~same & (containment[0] >= _CONTAINED)
    strength = np.where(same, 1 + both / either, both / rarer)
    kept = np.flatnonzero(same | contained)
    kept = kept[np.lexsort((kept, -strength[kept]))][:_MOST_SHOWN]
    return tuple(
        NearDuplicate(
            first=names[a[k]],
            second=names[b[k]],
            n_first=int(counts[a[k]]),
            n_second=int(counts[b[k]]),
            n_both=int(both[k]),
            jaccard=_estimate(both[k] / either[k], jaccard, int(k)),
            containment=_estimate(both[k] / rarer[k], containment, int(k)),
            kind="same" if same[k] else "contained",
        )
        for k in kept
    )


def cooccurrence_map(
    together: Any, names: list[str], n_rows: int, n_labels: int
) -> CooccurrenceMap:
    """The map of the most frequent labels; ``together`` counts the rows that carry both of two."""
    counts = np.asarray(together.diagonal())
    top = np.argsort(-counts, kind="stable")[:n_labels]
    top = top[counts[top] > 0]
    both = _dense(together[top][:, top])
    order = _similar_together(both, counts[top])
    top, both = top[order], both[np.ix_(order, order)]
    independent = np.outer(counts[top], counts[top]) / max(n_rows, 1)
    lift = both / np.maximum(independent, 1e-12)
    np.fill_diagonal(lift, 1.0)
    return CooccurrenceMap(
        labels=tuple(names[j] for j in top),
        counts=tuple(tuple(int(one) for one in row) for row in both),
        lift=tuple(tuple(float(one) for one in row) for row in lift),
    )


def damped_log_lift(counts: np.ndarray, n_rows: int) -> np.ndarray:
    """log2 of how much more often labels come together than by chance, pairs by chance near 0.

    Two rows are added to what was counted and to what independent labels would give, and nothing
    is farther from 0 than `MOST_EXTREME`.
    """
    counts = np.asarray(counts, dtype=float)
    alone = np.diag(counts)
    expected = np.outer(alone, alone) / max(1, n_rows)
    lift = np.log2((counts + _ADDED) / (expected + _ADDED))
    return np.clip(lift, -MOST_EXTREME, MOST_EXTREME)


def _similar_together(both: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """An order in which labels with many common items are neighbours."""
    if counts.size < 3:
        return np.arange(counts.size)
    distance = 1 - both / np.maximum(counts[:, None] + counts[None, :] - both, 1)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    return leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))


def _estimate(value: float, interval: tuple[np.ndarray, np.ndarray], k: int) -> Estimate:
    return Estimate(float(value), float(interval[0][k]), float(interval[1][k]))


def _dense(product: Any) -> np.ndarray:
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def _row_dots(left: Any, right: np.ndarray) -> np.ndarray:
    if sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)
