"""Metrics of a whole ranking: one-error, ranking loss, coverage, average precision, ROC area."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.metrics._metric_inputs import (
    check_average,
    check_choice,
    documented,
    ratio,
    refuse_values,
    settle,
    summarise,
    undefined,
)
from labelgap.metrics._ranked_entries import TIES, RankedEntries, compare


@documented
def one_error(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "half",
    empty: str | float = "keep",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Return the fraction of rows whose top-ranked known label is not relevant.

    It is 1 minus `precision_at_k` with ``k=1`` under the same parameters.

    Parameters
    ----------
    ties : {"half", "error", "correct", "first", "last"}, default="half"
        When several labels share the top score: the fraction of them that is irrelevant ("half"), an
        error unless all are relevant ("error"), an error only if none is ("correct"), or what the
        one with the lowest ("first") or highest ("last") column says.
    empty, full : "keep", "drop" or a number, default="keep"
        What rows without a relevant, or without an irrelevant, known label contribute. "keep":
        an error and no error.

    See Also
    --------
    precision_at_k : its complement, for k labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import one_error
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(one_error(Y, scores), 3)
    0.0
    """
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    on_top = ranking.gain_within(1, np.ones(1), ties)
    values = np.where(ranking.n_known > 0, 1.0 - ranking.total(on_top), np.nan)
    values = settle_rows(values, ranking, empty, full, empty_defined=True, full_defined=True)
    return summarise(values, metric="one_error", reduce=reduce, unit="row")


@documented
def ranking_loss(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "error",
    empty: str | float = "drop",
    full: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Return the fraction of (relevant, irrelevant) pairs in the wrong order, mean over rows.

    Parameters
    ----------
    ties : {"error", "half", "correct", "first", "last"}, default="error"
        A pair with equal scores is an error, half an error, none, or ordered by column: the lower
        ("first") or the higher ("last") column ranks higher.
    empty, full : "drop" or a number, default="drop"
        What rows without a relevant, or without an irrelevant, known label contribute: they have
        no pair. scikit-learn's ``label_ranking_loss`` counts them as 0, which flatters more the
        more labels are unknown.

    See Also
    --------
    auc : the same pairs within labels, or all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import ranking_loss
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(ranking_loss(Y, scores), 3)
    0.25
    """
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    values = disordered_pairs(ranking, ties)
    values = settle_rows(values, ranking, empty, full, empty_defined=False, full_defined=False)
    return summarise(values, metric="ranking_loss", reduce=reduce, unit="row")


@documented
def coverage(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "error",
    zero_based: bool = True,
    normalize: bool = False,
    empty: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Return how far down the ranking the last relevant label is, mean over rows.

    Parameters
    ----------
    ties : {"error", "correct", "first", "last"}, default="error"
        Irrelevant labels that tie with the last relevant one rank above it, below it, or by
        column: the lower ("first") or the higher ("last") column ranks higher.
    zero_based : bool, default=True
        True counts the labels above the last relevant one (Zhang and Zhou: depth - 1); False
        counts it too, as scikit-learn's ``coverage_error`` does.
    normalize : bool, default=False
        Divide by the number of known labels of the row, L when none is unknown.
    empty : "drop" or a number, default="drop"
        Depth of a row without a known relevant label, before division. Under ``zero_based`` -1
        stands for "depth 0", what much of the published code gives.

    See Also
    --------
    ranking_loss : all pairs, not the last label alone.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import coverage
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(coverage(Y, scores), 3)
    1.0
    """
    check_choice("ties", ties, ("error", "correct", "first", "last"))
    ranking = compare(y_true, y_score).by_row
    values = np.full(ranking.n_relevant.size, np.nan)
    filled = ranking.n_relevant > 0
    if filled.any():
        values[filled] = np.maximum.reduceat(ranking.ranks(ties), ranking.starts[:-1][filled])
    values -= bool(zero_based)
    is_empty = ~filled & (ranking.n_known > 0)
    values = settle(values, is_empty, empty, argument="empty", defined=False)
    if normalize:
        values = ratio(values, ranking.n_known)
    return summarise(values, metric="coverage", reduce=reduce, unit="row")


@documented
def label_ranking_average_precision(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "threshold",
    empty: str | float = "drop",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Return the precision of each row's ranking at its relevant labels, mean over rows.

    What multi-label papers call average precision, and scikit-learn
    ``label_ranking_average_precision_score``.

    Parameters
    ----------
    ties : {"threshold", "error", "correct", "first", "last"}, default="threshold"
        Labels with equal scores are cut off together, as in scikit-learn; rank against the
        prediction; in its favour; or by column: the lower ("first") or the higher ("last") one
        ranks higher.
    empty : "drop" or a number, default="drop"
        What rows without a relevant known label contribute: they have no precision.
    full : "keep", "drop" or a number, default="keep"
        What those without an irrelevant known label contribute; their precision is 1.

    See Also
    --------
    average_precision : of the ranking of rows by each label.
    ndcg_at_k : a discounted gain of the first k labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import label_ranking_average_precision
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(label_ranking_average_precision(Y, scores), 3)
    0.917
    """
    options: dict[str, Any] = {"ties": ties, "empty": empty, "full": full, "reduce": reduce}
    ranking = compare(y_true, y_score).by_row
    return _precision_of(ranking, "label_ranking_average_precision", "row", **options)


@documented
def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    average: str = "macro",
    ties: str = "threshold",
    empty: str | float = "drop",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Return the precision of the ranking of rows at each relevant row, mean over labels.

    The area under the curve of precision and recall, as scikit-learn's ``average_precision_score``
    computes it.

    Parameters
    ----------
    average : {"macro", "micro"}, default="macro"
        Rank the rows of each label and average over labels ("label" is a synonym); or rank all
        entries.
    ties : {"threshold", "error", "correct", "first", "last"}, default="threshold"
        Entries with equal scores are cut off together, as in scikit-learn; rank against the
        prediction; in its favour; or by row: the lower ("first") or the higher ("last") one ranks
        higher.
    empty : "drop" or a number, default="drop"
        What labels without a relevant known entry contribute: they have no precision.
    full : "keep", "drop" or a number, default="keep"
        What those without an irrelevant known entry contribute; their precision is 1.

    See Also
    --------
    label_ranking_average_precision : of the ranking of the labels of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import average_precision
    >>> Y = np.array([[1, 0], [0, 1], [1, np.nan]])
    >>> scores = np.array([[0.9, 0.2], [0.7, 0.8], [0.6, 0.3]])
    >>> round(average_precision(Y, scores), 3)
    0.917
    """
    average = check_average(average, ("macro", "micro"))
    comparison = compare(y_true, y_score)
    if average == "micro":
        refuse_values(average, reduce)
    ranking = comparison.pooled if average == "micro" else comparison.by_label
    options: dict[str, Any] = {"ties": ties, "empty": empty, "full": full, "reduce": reduce}
    unit = "" if average == "micro" else "label"
    return _precision_of(ranking, "average_precision", unit, **options)


def _precision_of(
    ranking: RankedEntries,
    metric: str,
    unit: str,
    *,
    ties: str,
    empty: Any,
    full: Any,
    reduce: bool,
) -> Any:
    """Mean precision at relevant entries, of each segment; without a unit there is one segment."""
    check_choice("ties", ties, ("threshold", "error", "correct", "first", "last"))
    precision = ranking.total(ranking.hits(ties) / ranking.ranks(ties))
    values = ratio(precision, ranking.n_relevant)
    values = settle_rows(values, ranking, empty, full, empty_defined=False, full_defined=True)
    if not unit and np.isnan(values[0]):
        return undefined(metric, "no known entry is relevant")
    return summarise(values, metric=metric, reduce=reduce, unit=unit or "row")


def disordered_pairs(ranking: RankedEntries, ties: str) -> np.ndarray:
    """Return the fraction of (relevant, irrelevant) pairs in the wrong order, per segment."""
    wrong = ranking.total(ranking.irrelevant_above(ties))
    return ratio(wrong, ranking.n_relevant * ranking.n_irrelevant)


def settle_rows(
    values: np.ndarray,
    ranking: RankedEntries,
    empty: Any,
    full: Any,
    *,
    empty_defined: bool,
    full_defined: bool,
) -> np.ndarray:
    """Apply ``empty`` and ``full`` to the segments of a ranking that know only one class."""
    is_empty = (ranking.n_relevant == 0) & (ranking.n_irrelevant > 0)
    is_full = (ranking.n_relevant > 0) & (ranking.n_irrelevant == 0)
    values = settle(values, is_empty, empty, argument="empty", defined=empty_defined)
    return settle(values, is_full, full, argument="full", defined=full_defined)


@documented
def auc(
    y_true: Any,
    y_score: Any,
    *,
    average: str = "macro",
    ties: str = "half",
    empty: str | float | None = None,
    full: str | float | None = None,
    normalize: bool | None = None,
    reduce: bool = True,
) -> Any:
    """Return the area under the ROC curve: the fraction of pairs in the right order.

    Parameters
    ----------
    average : {"macro", "micro", "instance", "top_t"}, default="macro"
        Pairs of one label and the mean over labels ("label" is a synonym); pairs of all entries;
        pairs of one row and the mean over rows ("example" and "samples" are synonyms); or the curve
        through the pooled rates when every row predicts its T best-ranked known labels, T = 1, 2,
        ..., L (Bucak et al. 2011, reported for iMVWL). "micro" visits the labels as they are
        stored and keeps one number per relevant entry, so it is exact for large sparse labels too.
    ties : {"half", "error", "correct", "first", "last"}, default="half"
        A pair with equal scores is half right, wrong, right, or ordered by position: the lower
        ("first") or the higher ("last") column, row or flat index ranks higher.
    empty, full : "drop", a number,, default=None
        What rows or labels without a relevant, or without an irrelevant, known entry contribute.
        None means "drop". Under "micro" they apply when all entries together are like that. Under
        "top_t" rows are not averaged: ``empty`` may be "keep" (None: they count as any row),
        "drop", or "true_negative" (their entries count as rejected at every T), and ``full`` may
        be "keep" (None) or "drop".
    normalize : bool, default=None
        Only for "top_t", whose curve starts at T = 1 rather than at (0, 0): divide the area by the
        width of the curve (None: True).

    References
    ----------
    Bucak, Jin, Jain: Multi-label learning with incomplete class assignments. CVPR 2011.

    See Also
    --------
    ranking_loss : the pairs of one row.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import auc
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> round(auc(Y, scores), 3)
    1.0
    """
    average = check_average(average, ("macro", "micro", "instance", "top_t"))
    check_choice("ties", ties, TIES)
    if average in ("micro", "top_t"):
        refuse_values(average, reduce)
    comparison = compare(y_true, y_score)
    if average == "top_t":
        return _top_t(
            comparison.by_row,
            ties,
            "keep" if empty is None else empty,
            "keep" if full is None else full,
            normalize is None or normalize,
        )
    if normalize is not None:
        raise ValueError(f"normalize={normalize!r} applies to average='top_t' only")
    ranking = {
        "macro": lambda: comparison.by_label,
        "micro": lambda: comparison.pooled,
        "instance": lambda: comparison.by_row,
    }[average]()
    values = settle_rows(
        1.0 - disordered_pairs(ranking, ties),
        ranking,
        "drop" if empty is None else empty,
        "drop" if full is None else full,
        empty_defined=False,
        full_defined=False,
    )
    if average == "micro" and np.isnan(values[0]):
        return undefined("auc", "the known entries are not of both classes")
    unit = "label with both classes" if average == "macro" else "row with both classes"
    return summarise(values, metric="auc", reduce=reduce, unit=unit)


def _top_t(ranking: RankedEntries, ties: str, empty: Any, full: Any, normalize: bool) -> float:
    check_choice("empty", empty, ("keep", "drop", "true_negative"))
    check_choice("full", full, ("keep", "drop"))
    counted = np.ones(ranking.n_known.size, dtype=bool)
    if empty != "keep":
        counted &= ranking.n_relevant > 0
    if full == "drop":
        counted &= ranking.n_irrelevant > 0
    n_relevant = int(ranking.n_relevant[counted].sum())
    n_irrelevant = int(ranking.n_irrelevant[counted].sum())
    if empty == "true_negative":
        n_irrelevant += int(ranking.n_irrelevant[ranking.n_relevant == 0].sum())
    if n_relevant == 0 or n_irrelevant == 0:
        return undefined("auc", "the known entries are not of both classes")
    found, predicted = _top_t_counts(ranking, ties, counted)
    true_rate = found / n_relevant
    false_rate = (predicted - found) / n_irrelevant
    area = float(np.trapezoid(true_rate, false_rate))
    if not normalize:
        return area
    width = false_rate[-1] - false_rate[0]
    # counts are whole or fractions of whole numbers: less is the rounding of their sums
    if width * n_irrelevant < 1e-9:
        return undefined("auc", "the top-T curve has no width, all irrelevant labels are at T = 1")
    return area / float(width)


def _top_t_counts(
    ranking: RankedEntries, ties: str, counted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Relevant, and all, entries among the T best-ranked of the counted rows, for each T."""
    n_known = ranking.n_known[counted]
    depth = int(n_known.max())
    slots = counted[ranking.segments]
    if ties == "half":
        # a tied entry is spread evenly over the ranks of its group: differences, then two sums
        first, size = ranking.n_before[slots], ranking.n_group[slots]
        density = np.bincount(first, weights=1 / size, minlength=depth + 1)
        density -= np.bincount(first + size, weights=1 / size, minlength=depth + 1)
        at_rank = np.cumsum(density)[:depth]
    else:
        at_rank = np.bincount(ranking.ranks(ties)[slots] - 1, minlength=depth).astype(float)
    rows_of_length = np.bincount(n_known, minlength=depth + 1)
    reaching = n_known.size - np.cumsum(rows_of_length)[:depth]
    return np.cumsum(at_rank), np.cumsum(reaching).astype(float)
