"""Pairs of labels: used in turn, near-duplicates, and the map of the most frequent ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from scipy.stats import false_discovery_control, poisson

from labelgap.auditing._audit_input import FeatureRows
from labelgap.auditing._audit_result import (
    CooccurrenceMap,
    Estimate,
    NearDuplicate,
    PairAudit,
    RarePair,
)
from labelgap.auditing._feature_scores import label_sums
from labelgap.auditing._score_counts import Advance
from labelgap.fitting import sum_rows
from labelgap.kernels.joint_ridge import penalised_inverse, row_dots
from labelgap.labels import Labels, State
from labelgap.propensity import wilson_interval

_MOST_COMPARED, _FEWEST_POSITIVE = 300, 10
_MOST_SHOWN, _MOST_MAPPED = 20, 30
_SMALL_P, _LEAST_SIMILAR, _LEAST_EXPECTED, _RARE = 0.01, 0.3, 3.0, 0.5
_SAME, _CONTAINED, _FEWEST_BOTH = 0.5, 0.8, 5
_BLOCK = 4096
_STAGE = "comparing pairs of labels"
_ADDED = 2.0
MOST_EXTREME = 3
"""The largest distance from 0 that :func:`damped_log_lift` gives."""


def pair_audit(
    rows: FeatureRows,
    labels: Labels,
    names: list[str],
    feature_penalty: float,
    advance: Advance,
) -> PairAudit:
    """Return all three parts; ``labels`` are those named, in the same order."""
    advance(_STAGE, 0, labels.n_samples)
    ones = labels.positives().astype(np.float64)
    together = sparse.csr_array(ones.T @ ones)
    counts = labels.n_positives(axis=0)
    pairs = PairAudit(
        rare=_rare(rows, labels, names, feature_penalty, advance),
        duplicates=_duplicates(together, counts, names),
        map=cooccurrence_map(together, names, labels.n_samples, _MOST_MAPPED),
    )
    advance(_STAGE, labels.n_samples, labels.n_samples)
    return pairs


def _rare(
    rows: FeatureRows, labels: Labels, names: list[str], penalty: float, advance: Advance
) -> tuple[RarePair, ...]:
    """Return pairs with fewer common items than their features alone would give.

    With g_ia the probability of label a given the features of item i, sum_i g_ia g_ib items would
    carry both if they were independent given the features; the number is compared with a Poisson
    distribution of that mean.
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
        & (observed[a, b] < _RARE * expected[a, b])
    )
    kept = kept[np.lexsort((kept, p[kept]))][:_MOST_SHOWN]
    return tuple(
        RarePair(
            names[frequent[first]],
            names[frequent[second]],
            float(observed[first, second]),
            float(expected[first, second]),
            float(p_value),
            float(similarity[first, second]),
        )
        for first, second, p_value in zip(a[kept], b[kept], p[kept], strict=True)
    )


def _pair_sums(
    rows: FeatureRows, labels: Labels, penalty: float, advance: Advance
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return expected and observed common items and the correlation of probabilities, by pair."""
    inputs = rows.inputs
    sums = sum_rows(label_sums, inputs, [labels], False)
    inverse = penalised_inverse(sums.gram, np.full(inputs.shape[1], penalty))
    n_known = labels.n_observed(axis=0, unlabeled=True)
    prevalence = labels.n_positives(axis=0) / np.maximum(n_known, 1)
    weights = inverse @ (sums.relevant - np.outer(sums.total, prevalence))
    n = labels.n_labels
    expected, observed = np.zeros((n, n)), np.zeros((n, n))
    square, total = np.zeros((n, n)), np.zeros(n)
    for start in range(0, labels.n_samples, _BLOCK):
        advance(_STAGE, start, labels.n_samples)
        part = slice(start, start + _BLOCK)
        block, states = inputs[part], labels.states(part)
        relevant, known = states == State.RELEVANT, states != State.UNKNOWN
        leverage = row_dots(block, block @ inverse)[:, None]
        fitted = prevalence + block @ weights
        # leave-one-out: the item has no part in its own probability
        g = np.clip(relevant - (relevant - fitted) / (1 - np.minimum(leverage, 0.99)), 0, 1)
        total += g.sum(axis=0)
        square += g.T @ g
        g *= known
        expected += g.T @ g
        observed += relevant.T.astype(float) @ relevant
    mean = total / labels.n_samples
    covariance = square / labels.n_samples - np.outer(mean, mean)
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
    jaccard, containment = wilson_interval(both, either), wilson_interval(both, rarer)
    same = jaccard[0] >= _SAME
    contained = ~same & (containment[0] >= _CONTAINED)
    strength = np.where(same, 1 + both / either, both / rarer)
    kept = np.flatnonzero(same | contained)
    kept = kept[np.lexsort((kept, -strength[kept]))][:_MOST_SHOWN]
    fractions = np.array([both / either, *jaccard, both / rarer, *containment]).T
    return tuple(
        NearDuplicate(
            first=names[a[k]],
            second=names[b[k]],
            n_first=int(counts[a[k]]),
            n_second=int(counts[b[k]]),
            n_both=int(both[k]),
            jaccard=Estimate(*fractions[k, :3].tolist()),
            containment=Estimate(*fractions[k, 3:].tolist()),
            kind="same" if same[k] else "contained",
        )
        for k in kept
    )


def cooccurrence_map(
    together: Any, names: list[str], n_samples: int, n_labels: int
) -> CooccurrenceMap:
    """Return the map of the most frequent labels.

    Parameters
    ----------
    together : array or sparse matrix of shape (n_labels, n_labels)
        Rows that carry both of two labels.
    names : list of str
    n_samples : int
    n_labels : int
        How many of the labels to show.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.auditing import cooccurrence_map
    >>> cooccurrence_map(np.array([[4, 1], [1, 2]]), ["a", "b"], 8, 2).lift
    ((1.0, 1.0), (1.0, 1.0))
    """
    counts = np.asarray(together.diagonal())
    top = np.argsort(-counts, kind="stable")[:n_labels]
    top = top[counts[top] > 0]
    both = sparse.csr_array(together)[top][:, top].toarray()
    order = _similar_together(both, counts[top])
    top, both = top[order], both[np.ix_(order, order)]
    independent = np.outer(counts[top], counts[top]) / max(n_samples, 1)
    lift = both / np.maximum(independent, 1e-12)
    np.fill_diagonal(lift, 1.0)
    return CooccurrenceMap(
        labels=tuple(names[j] for j in top),
        counts=tuple(tuple(row) for row in both.astype(int).tolist()),
        lift=tuple(tuple(row) for row in lift.tolist()),
    )


def damped_log_lift(counts: np.ndarray, n_samples: int) -> np.ndarray:
    """Return log2 of the lift of each pair of labels, near 0 where there are few rows.

    Two rows are added to the counted rows and to what independent labels would give, and the result
    is clipped to `MOST_EXTREME` on both sides.

    Parameters
    ----------
    counts : array of shape (n_labels, n_labels)
        Rows that carry both of two labels.
    n_samples : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.auditing import damped_log_lift
    >>> damped_log_lift(np.array([[50, 0], [0, 50]]), 100).round(1).tolist()
    [[0.9, -3.0], [-3.0, 0.9]]
    """
    counts = np.asarray(counts, dtype=float)
    alone = np.diag(counts)
    expected = np.outer(alone, alone) / max(1, n_samples)
    lift = np.log2((counts + _ADDED) / (expected + _ADDED))
    return np.clip(lift, -MOST_EXTREME, MOST_EXTREME)


def _similar_together(both: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return an order in which labels with many common items are neighbours."""
    if counts.size < 3:
        return np.arange(counts.size)
    distance = 1 - both / np.maximum(counts[:, None] + counts[None, :] - both, 1)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    return leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))
