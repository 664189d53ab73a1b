"""Is a difference significant: two methods on the same runs, many methods on many sets.

Distributions and tests are scipy's. What is here is how they are used: which runs are paired, what
happens with one run or with no difference, and corrections for many comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class PairedComparison:
    """First minus second over the runs that both have; tests are made when they are asked for."""

    gaps: tuple[float, ...]

    @property
    def n(self) -> int:
        """Runs that both have."""
        return len(self.gaps)

    @property
    def difference(self) -> float:
        """Mean of first minus second."""
        return float(np.mean(self.gaps)) if self.gaps else math.nan

    @cached_property
    def t_p(self) -> float:
        """Of the paired t test, two-sided; NaN for fewer than two runs, 1 where none differs."""
        if self.n < 2:
            return math.nan
        if not any(self.gaps):
            return 1.0
        return 0.0 if self._same else float(stats.ttest_1samp(self.gaps, 0.0).pvalue)

    @cached_property
    def wilcoxon_p(self) -> float:
        """Of Wilcoxon's signed-rank test, two-sided; NaN and 1 as in the t test."""
        if self.n < 2:
            return math.nan
        return _wilcoxon_p(np.asarray(self.gaps)) if any(self.gaps) else 1.0

    @cached_property
    def effect(self) -> float:
        """Cohen's d of the differences: their mean in units of their standard deviation."""
        if self.n < 2:
            return math.nan
        if not any(self.gaps):
            return 0.0
        if self._same:
            return math.copysign(math.inf, self.difference)
        return self.difference / float(np.std(self.gaps, ddof=1))

    @property
    def _same(self) -> bool:
        """Whether all runs differ by the same amount, but for rounding."""
        return float(np.std(self.gaps)) <= 1e-12 * abs(self.difference)


def paired_comparison(first: Sequence[float], second: Sequence[float]) -> PairedComparison:
    """Compare two methods run by run.

    first, second : sequences of the same length. One value per run, in the same order of runs.
    Returns PairedComparison
    """
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} and {len(second)} values: both need one for each of the runs"
        )
    return PairedComparison(tuple(float(a) - float(b) for a, b in zip(first, second, strict=True)))


def _wilcoxon_p(gaps: np.ndarray) -> float:
    """Exact where there are neither ties nor zeros; runs without a difference are left out."""
    moved = gaps[gaps != 0]
    ties = np.unique(np.abs(moved)).size < moved.size
    how = "approx" if ties and moved.size > 13 else "auto"
    return float(stats.wilcoxon(moved, method=how).pvalue)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P values corrected for their number by Holm's step-down method.

    The corrected values keep the order, and rejecting those below alpha keeps the probability of a
    single false rejection below alpha. NaN takes no part.

    Parameters
    ----------
    p_values : sequence of float

    Returns
    -------
    array
        In the order given.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics 6, 65-70.
    """
    given = np.asarray(p_values, dtype=float)
    corrected = np.full(given.shape, np.nan)
    place = np.flatnonzero(~np.isnan(given))
    order = place[np.argsort(given[place], kind="stable")]
    left = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * left))
    return corrected


def better_than_published(
    values: Sequence[float], mean: float, std: float | None = None, n_runs: int | None = None
) -> float:
    """P value of the hypothesis that our runs are no larger than a published mean.

    Welch's test where the paper prints a spread and the number of its runs, otherwise a t test
    that takes the published mean as exact. Runs share rows, so that the p value is too small
    rather than too large: read it as a screen and not as a proof.

    values : sequence of float. One per run; negate values of which less is better, and the mean.
    mean : float
    std : float, default=None
    n_runs : int, default=None
    Returns float. NaN for fewer than two runs.
    """
    ours = np.asarray(values, dtype=float)
    if ours.size < 2:
        return math.nan
    spread = float(ours.std(ddof=1))
    if spread <= 1e-12 * max(abs(float(ours.mean())), 1e-300) and not std:
        return 0.0 if ours.mean() > mean else 1.0
    if std is None or n_runs is None or n_runs < 2:
        return float(stats.ttest_1samp(ours, mean, alternative="greater").pvalue)
    test = stats.ttest_ind_from_stats(
        ours.mean(), spread, ours.size, mean, std, n_runs, equal_var=False, alternative="greater"
    )
    return float(test.pvalue)


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean ranks over blocks, each block being a set under a setting.

    Attributes
    ----------
    methods : tuple of str
        Best first.
    mean_ranks : tuple of float
        1 would be best everywhere.
    n_blocks : int
    friedman_p : float
        Of the hypothesis that all methods are the same, in the F form of Iman and Davenport.
    critical_difference : float
        Two mean ranks that are further apart differ, at ``alpha``, by Nemenyi's test.
    alpha : float
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    n_blocks: int
    friedman_p: float
    critical_difference: float
    alpha: float

    def cliques(self) -> list[tuple[str, ...]]:
        """Largest groups of neighbours in the ranking that Nemenyi's test does not tell apart."""
        groups: list[tuple[int, int]] = []
        for start, rank in enumerate(self.mean_ranks):
            end = max(
                place
                for place, other in enumerate(self.mean_ranks)
                if other - rank <= self.critical_difference
            )
            if end > start and not any(end <= last for _, last in groups):
                groups.append((start, end))
        return [self.methods[start : end + 1] for start, end in groups]


def rank_methods(
    methods: Sequence[str], scores: np.ndarray, higher_is_better: bool, alpha: float = 0.05
) -> Ranking:
    """Friedman's test over blocks, with Nemenyi's critical difference.

    Parameters
    ----------
    methods : sequence of str
        At least two.
    scores : array of shape (n_blocks, n_methods)
        Without gaps; a block is a set under a setting, and its scores are means over runs.
    higher_is_better : bool
    alpha : float, default=0.05

    Returns
    -------
    Ranking

    References
    ----------
    .. [1] Demšar (2006). Statistical comparisons of classifiers over multiple data sets. Journal
       of Machine Learning Research 7, 1-30.
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(methods) or table.shape[1] < 2:
        raise ValueError(
            f"scores of shape {table.shape} for {len(methods)} methods: "
            "rows are blocks and columns are methods, of which there are at least two"
        )
    if not len(table) or not np.isfinite(table).all():
        raise ValueError("every method needs a finite score in every block, and there must be one")
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1)
    mean_ranks = ranks.mean(axis=0)
    order = np.argsort(mean_ranks, kind="stable")
    return Ranking(
        methods=tuple(methods[place] for place in order),
        mean_ranks=tuple(float(mean_ranks[place]) for place in order),
        n_blocks=len(table),
        friedman_p=_iman_davenport(ranks),
        critical_difference=critical_difference(len(methods), len(table), alpha),
        alpha=alpha,
    )


def critical_difference(n_methods: int, n_blocks: int, alpha: float = 0.05) -> float:
    r"""Nemenyi's :math:`q_\alpha \sqrt{k (k + 1) / 6 N}`, q of the studentised range over √2."""
    quantile = stats.studentized_range.isf(alpha, n_methods, np.inf) / math.sqrt(2)
    return float(quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks)))


def _iman_davenport(ranks: np.ndarray) -> float:
    """P value of Friedman's statistic, with ties accounted for, as an F statistic."""
    n_blocks, n_methods = ranks.shape
    between = n_blocks * np.square(ranks.mean(axis=0) - (n_methods + 1) / 2).sum()
    within = np.square(ranks - (n_methods + 1) / 2).sum() / (n_methods - 1)
    if n_blocks < 2:
        return math.nan
    if within == 0:
        return 1.0
    chi_squared = between / (within / n_blocks)
    most = n_blocks * (n_methods - 1)
    if chi_squared >= most * (1 - 1e-12):
        return 0.0
    f = (n_blocks - 1) * chi_squared / (most - chi_squared)
    return float(stats.f.sf(f, n_methods - 1, (n_methods - 1) * (n_blocks - 1)))
