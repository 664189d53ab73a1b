"""Area under the ROC curve, over rows, labels, all entries, or cuts at the top T."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.metrics._averaging import check_average, refuse_values, summarise, undefined
from labelgap.metrics._inputs import check_choice
from labelgap.metrics._instance import disordered_pairs, settle_rows
from labelgap.metrics._ranking import TIES, Ranking, compare


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
    """Area under the ROC curve: the share of (relevant, irrelevant) pairs in the right order.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries form no pair, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels)
    average : {"macro", "micro", "instance", "top_t"}
        Pairs of one label and the mean over labels ("label" is a synonym); pairs of all entries;
        pairs of one row and the mean over rows ("example" and "samples" are synonyms); or the curve
        through the pooled rates when every row predicts its T best-ranked known labels, T = 1, 2,
        ..., L (Bucak et al. 2011, reported for iMVWL). "micro" visits the labels as they are
        stored and keeps one number per relevant entry, so it is exact for large sparse labels too.
    ties : {"half", "error", "correct", "first", "last"}
        A pair with equal scores is half right, wrong, right, or ordered by position: the lower
        ("first") or the higher ("last") column, row or flat index ranks higher.
    empty, full : "drop", a number, or None
        What rows or labels without a relevant, or without an irrelevant, known entry contribute.
        None means "drop". Under "micro" they apply when all entries together are like that. Under
        "top_t" rows are not averaged: ``empty`` may be "keep" (None: they count as any row),
        "drop", or "true_negative" (their entries count as rejected at every T), and ``full`` may
        be "keep" (None) or "drop".
    normalize : bool, optional
        Only for "top_t", whose curve starts at T = 1 rather than at (0, 0): divide the area by the
        width of the curve (None: True).
    reduce : bool
        False returns the value of every row or label (NaN where it does not count).

    Returns
    -------
    float, or array of shape (n_rows,) or (n_labels,)

    References
    ----------
    Bucak, Jin, Jain: Multi-label learning with incomplete class assignments. CVPR 2011.
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


def _top_t(ranking: Ranking, ties: str, empty: Any, full: Any, normalize: bool) -> float:
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
    ranking: Ranking, ties: str, counted: np.ndarray
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
