"""Metrics of the k best-ranked known labels of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.metrics._metric_inputs import (
    check_choice,
    check_k,
    check_truth,
    documented,
    ratio,
    summarise,
    undefined,
)
from labelgap.metrics._ranked_entries import TIES, RankedEntries, compare
from labelgap.metrics._ranking_metrics import settle_rows


@documented
def precision_at_k(
    y_true: Any,
    y_score: Any,
    k: int = 5,
    *,
    ties: str = "half",
    empty: str | float = "keep",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Return the fraction of relevant labels among the k best-ranked *known* labels of a row.

    A label whose truth is unknown is passed over: the next known one takes its place. A row with
    fewer than k known labels is scored on those it has (their number is the denominator), and a
    row without any does not count.

    Parameters
    ----------
    ties : {"half", "error", "correct", "first", "last"}, default="half"
        Labels tied across the cut: the mean over their orders ("half"), irrelevant first
        ("error"), relevant first ("correct"), or by column, lower first or higher ("last") first.
    empty, full : "keep", "drop" or a number, default="keep"
        What rows without a relevant, or without an irrelevant, known label contribute; "keep": 0
        and 1.

    See Also
    --------
    propensity_scored_precision_at_k : rare labels count more.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import precision_at_k
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(precision_at_k(Y, scores, k=2), 3)
    0.5
    """
    k = check_k(k)
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    depth = _depth(k, ranking)
    hits = ranking.total(ranking.gain_within(depth, np.ones(depth), ties))
    values = ratio(hits, np.minimum(ranking.n_known, k))
    values = settle_rows(values, ranking, empty, full, empty_defined=True, full_defined=True)
    return summarise(values, metric="precision_at_k", reduce=reduce, unit="row")


@documented
def ndcg_at_k(
    y_true: Any,
    y_score: Any,
    k: int = 5,
    *,
    ties: str = "half",
    empty: str | float = "drop",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Return the normalised discounted cumulative gain of the k best-ranked known labels.

    A relevant label at rank r brings 1 / log2(r + 1); the sum is divided by that of the best order
    of the row's known labels. Unknown labels have no rank.

    Parameters
    ----------
    ties : {"half", "error", "correct", "first", "last"}, default="half"
        As in `precision_at_k`; "half" is what scikit-learn's ``ndcg_score`` does.
    empty : "drop" or a number, default="drop"
        What rows without a relevant known label contribute: they have no best order (scikit-learn
        says 0).
    full : "keep", "drop" or a number, default="keep"
        What rows without an irrelevant known label contribute; they are always 1.

    See Also
    --------
    precision_at_k : the same without discount.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import ndcg_at_k
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(ndcg_at_k(Y, scores, k=2), 3)
    0.807
    """
    k = check_k(k)
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    depth = _depth(k, ranking)
    gains = 1.0 / np.log2(np.arange(2, depth + 2))
    best = np.concatenate([[0.0], np.cumsum(gains)])[np.minimum(ranking.n_relevant, depth)]
    values = ratio(ranking.total(ranking.gain_within(depth, gains, ties)), best)
    values = settle_rows(values, ranking, empty, full, empty_defined=False, full_defined=True)
    return summarise(values, metric="ndcg_at_k", reduce=reduce, unit="row")


def propensities(y_train: Any, a: float = 0.55, b: float = 1.5) -> np.ndarray:
    """Return the probability, per label, that a relevant label is recorded at all.

    The sigmoidal model of Jain et al. (2016) for N training rows and N_l observed positives::

        p_l = 1 / (1 + C (N_l + b)^-a),   C = (log N - 1) (b + 1)^a

    Parameters
    ----------
    y_train : Labels or anything `labelgap.as_labels` accepts
        Training labels; an unknown entry is one more label that was not observed.
    a : float, default=0.55
        Exponent of the counts; the authors give 0.5 for Wikipedia, 0.6 for Amazon.
    b : float, default=1.5
        Added to the counts; the authors give 0.4 for Wikipedia, 2.6 for Amazon.

    Returns
    -------
    array of shape (n_labels,), in (0, 1]

    References
    ----------
    Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking
    and other missing label applications. KDD 2016.

    See Also
    --------
    propensity_scored_precision_at_k : the metric that uses them.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import propensities
    >>> propensities(np.array([[1, 0], [1, 0], [1, 1], [1, 0]])).round(2)
    array([0.8 , 0.72])
    """
    labels = check_truth(y_train)
    if b < 0 or a < 0:
        raise ValueError(f"a={a}, b={b}: both must be at least 0")
    if labels.n_samples < 3:
        raise ValueError(
            f"y_train has {labels.n_samples} rows: the model needs log N > 1, at least 3 rows"
        )
    scale = (np.log(labels.n_samples) - 1.0) * (b + 1.0) ** a
    counts = labels.n_positives(axis=0) + b
    return counts**a / (counts**a + scale)


@documented
def propensity_scored_precision_at_k(
    y_true: Any,
    y_score: Any,
    k: int = 5,
    *,
    propensities: Any,
    ties: str = "half",
    normalize: bool = True,
    reduce: bool = True,
) -> Any:
    """Return precision@k in which finding a label is worth 1 / its propensity.

    Parameters
    ----------
    propensities : array of shape (n_labels,)
        From `propensities` on the training labels.
    ties : {"half", "error", "correct", "first", "last"}, default="half"
        As in `precision_at_k`. Under "error" and "correct" the relevant labels of a tie come in
        column order among themselves.
    normalize : bool, default=True
        Divide the sum over rows by the largest sum any ranking could reach, so that the best is 1;
        False leaves the plain mean, which can exceed 1.
    reduce : bool, default=True
        False returns the plain value of every row (NaN without a known label) and needs
        ``normalize=False``, since the normaliser belongs to the whole.

    References
    ----------
    Jain, Prabhu, Varma (2016), see `propensities`.

    See Also
    --------
    propensities : the weights, from training labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import propensity_scored_precision_at_k
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(propensity_scored_precision_at_k(Y, scores, k=1, propensities=[0.9, 0.5, 0.2]), 3)
    0.509
    """
    k = check_k(k)
    check_choice("ties", ties, TIES)
    if normalize and not reduce:
        raise ValueError("reduce=False needs normalize=False: rows are not normalised one by one")
    comparison = compare(y_true, y_score)
    worth = 1.0 / _check_propensities(propensities, comparison.labels.n_labels)
    ranking = comparison.by_row
    depth = _depth(k, ranking)
    gains = ranking.gain_within(depth, np.ones(depth), ties) * worth[ranking.positions]
    denominator = np.minimum(ranking.n_known, k)
    values = ratio(ranking.total(gains), denominator)
    if not normalize:
        metric = "propensity_scored_precision_at_k"
        return summarise(values, metric=metric, reduce=reduce, unit="row")
    best = np.nansum(ratio(_best_worth(ranking, worth, k), denominator))
    if best == 0:
        return undefined("propensity_scored_precision_at_k", "no known entry is relevant")
    return float(np.nansum(values) / best)


def _depth(k: int, ranking: RankedEntries) -> int:
    """No row has ranks beyond its known labels, so a huge k needs no huge table of gains."""
    return min(k, int(ranking.n_known.max(initial=1)) or 1)


def _check_propensities(values: Any, n_labels: int) -> np.ndarray:
    checked = np.asarray(values, dtype=np.float64)
    if checked.shape != (n_labels,):
        raise ValueError(
            f"propensities has shape {checked.shape}: give one per label {(n_labels,)}"
        )
    wrong = ~((checked > 0) & (checked <= 1))
    if wrong.any():
        label = int(np.argmax(wrong))
        raise ValueError(f"propensities[{label}] is {checked[label]}: they lie in (0, 1]")
    return checked


def _best_worth(ranking: RankedEntries, worth: np.ndarray, k: int) -> np.ndarray:
    """Sum of the k most worthy relevant labels of each row."""
    values = worth[ranking.positions]
    order = np.lexsort((-values, ranking.segments))
    rank = np.arange(values.size) - ranking.starts[:-1][ranking.segments]
    return ranking.total(np.where(rank < k, values[order], 0.0))
