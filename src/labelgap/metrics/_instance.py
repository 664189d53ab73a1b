"""Ranking metrics of single rows: one-error, ranking loss, coverage, average precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.metrics._averaging import (
    check_average,
    ratio,
    refuse_values,
    settle,
    summarise,
    undefined,
)
from labelgap.metrics._inputs import check_choice
from labelgap.metrics._ranking import TIES, Ranking, compare


def one_error(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "half",
    empty: str | float = "keep",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Share of rows whose top-ranked known label is not relevant.

    It is 1 minus `precision_at_k` with ``k=1`` under the same parameters.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels)
    ties : {"half", "error", "correct", "first", "last"}
        When several labels share the top score: the share of them that is irrelevant ("half"), an
        error unless all are relevant ("error"), an error only if none is ("correct"), or what the
        one with the lowest ("first") or highest ("last") column says.
    empty, full : "keep", "drop" or a number
        What rows without a relevant, or without an irrelevant, known label contribute. "keep":
        an error and no error.
    reduce : bool
        False returns the value of every row (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_rows,)
    """
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    on_top = ranking.gain_within(1, np.ones(1), ties)
    values = np.where(ranking.n_known > 0, 1.0 - ranking.total(on_top), np.nan)
    values = settle_rows(values, ranking, empty, full, empty_defined=True, full_defined=True)
    return summarise(values, metric="one_error", reduce=reduce, unit="row")


def ranking_loss(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "error",
    empty: str | float = "drop",
    full: str | float = "drop",
    reduce: bool = True,
) -> Any:
    """Mean over rows of the share of (relevant, irrelevant) pairs in the wrong order.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries form no pair, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels)
    ties : {"error", "half", "correct", "first", "last"}
        A pair with equal scores is an error, half an error, none, or ordered by column: the lower
        ("first") or the higher ("last") column ranks higher.
    empty, full : "drop" or a number
        What rows without a relevant, or without an irrelevant, known label contribute: they have
        no pair. scikit-learn's ``label_ranking_loss`` counts them as 0, which flatters more the
        more labels are unknown.
    reduce : bool
        False returns the value of every row (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_rows,)
    """
    check_choice("ties", ties, TIES)
    ranking = compare(y_true, y_score).by_row
    values = disordered_pairs(ranking, ties)
    values = settle_rows(values, ranking, empty, full, empty_defined=False, full_defined=False)
    return summarise(values, metric="ranking_loss", reduce=reduce, unit="row")


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
    """Mean over rows of how far down the ranking the last relevant label is.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries have no rank, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels)
    ties : {"error", "correct", "first", "last"}
        Irrelevant labels that tie with the last relevant one rank above it, below it, or by
        column: the lower ("first") or the higher ("last") column ranks higher.
    zero_based : bool
        True counts the labels above the last relevant one (Zhang and Zhou: depth - 1); False
        counts it too, as scikit-learn's ``coverage_error`` does.
    normalize : bool
        Divide by the number of known labels of the row, L when none is unknown.
    empty : "drop" or a number
        Depth of a row without a known relevant label, before division. Under ``zero_based`` -1
        stands for "depth 0", what much of the published code gives.
    reduce : bool
        False returns the value of every row (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_rows,)
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


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    average: str = "instance",
    ties: str = "threshold",
    empty: str | float = "drop",
    full: str | float = "keep",
    reduce: bool = True,
) -> Any:
    """Mean, over relevant entries, of the precision of the ranking cut at that entry.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries have no rank, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels)
    average : {"instance", "label", "micro"}
        Rank the labels of each row and average over rows (label ranking average precision); rank
        the rows of each label and average over labels ("macro" is a synonym); or rank all entries.
    ties : {"threshold", "error", "correct", "first", "last"}
        Entries with equal scores are cut off together, as in scikit-learn; rank against the
        prediction; in its favour; or by column (by row under "label"): the lower ("first") or the
        higher ("last") one ranks higher.
    empty, full : "drop", "keep" (``full`` only) or a number
        What rows (or labels) without a relevant, or without an irrelevant, known entry contribute.
        The former have no precision, that of the latter is 1.
    reduce : bool
        False returns the value of every row or label (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_rows,) or (n_labels,)
    """
    average = check_average(average, ("instance", "macro", "micro"))
    check_choice("ties", ties, ("threshold", "error", "correct", "first", "last"))
    comparison = compare(y_true, y_score)
    if average == "micro":
        refuse_values(average, reduce)
        ranking = comparison.pooled
    else:
        ranking = comparison.by_row if average == "instance" else comparison.by_label
    precision = ranking.total(ranking.hits(ties) / ranking.ranks(ties))
    values = ratio(precision, ranking.n_relevant)
    values = settle_rows(values, ranking, empty, full, empty_defined=False, full_defined=True)
    if average == "micro" and np.isnan(values[0]):
        return undefined("average_precision", "no known entry is relevant")
    unit = "row" if average == "instance" else "label"
    return summarise(values, metric="average_precision", reduce=reduce, unit=unit)


def disordered_pairs(ranking: Ranking, ties: str) -> np.ndarray:
    """Share of (relevant, irrelevant) pairs in the wrong order, per segment."""
    wrong = ranking.total(ranking.irrelevant_above(ties))
    return ratio(wrong, ranking.n_relevant * ranking.n_irrelevant)


def settle_rows(
    values: np.ndarray,
    ranking: Ranking,
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
