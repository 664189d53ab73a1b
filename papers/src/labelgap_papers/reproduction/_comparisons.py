"""Methods of one experiment against each other: wins and losses, mean ranks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from labelgap_papers.bench import MethodPlan
from labelgap_papers.bench.statistics import (
    PairedComparison,
    Ranking,
    holm,
    paired_comparison,
    rank_methods,
)
from labelgap_papers.reproduction._results import Results, varying
from labelgap_papers.reproduction._statuses import ALPHA, Measured

Block = tuple[str, dict[str, Any]]
"""A set under a setting."""


@dataclass(frozen=True)
class WinLoss:
    """The paper's method against another one, block by block.

    opponent : str
    wins, ties, losses : int. Blocks that the paired t test decides for the paper's method, leaves
        open, or decides against it, with Holm's correction over all blocks and opponents of the
        metric.
    untested : int. Blocks with a single run in common.
    advantage : float. Mean over blocks; positive where the paper's method is better.
    effect : float. Median over blocks of Cohen's d of the differences; NaN where no block can be
        tested.
    wilcoxon_p : float. Wilcoxon's test over the means of blocks, corrected for the number of
        opponents; NaN for fewer than five blocks.
    published : tuple of int, optional. In how many blocks the paper prints a better, the same and a
        worse mean.
    """

    opponent: str
    wins: int
    ties: int
    losses: int
    untested: int
    advantage: float
    effect: float
    wilcoxon_p: float
    published: tuple[int, int, int] | None

    @property
    def tested(self) -> int:
        """Blocks with more than one run in common."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class Ranked:
    """Mean ranks of methods over sets under so many settings, and what they leave out."""

    metric: str
    ranking: Ranking
    settings: int
    left_out: tuple[str, ...]


def main_method(results: Results) -> MethodPlan | None:
    """The method that the paper proposes: called like the paper there, or here."""
    experiment = results.experiment
    return next(
        (one for one in experiment.methods if experiment.paper in (one.published, one.name)), None
    )


def blocks(results: Results) -> list[Block]:
    """Sets under the settings of the printed table, or under all where nothing is printed."""
    experiment = results.experiment
    printed = [one for one in experiment.settings if one.published]
    return [
        (dataset.name, setting.values)
        for setting in printed or experiment.settings
        for dataset in experiment.datasets
    ]


def win_loss(results: Results, metric: str) -> list[WinLoss]:
    """The paper's method against all others that share blocks with it.

    results : Results
    metric : str
    Returns list of WinLoss. Empty where the experiment has no method of the paper's own, or no rows
        of it.
    """
    main = main_method(results)
    if main is None:
        return []
    found = {}
    for other in results.experiment.methods:
        if other.name != main.name:
            pairs = [
                _paired(results, block, metric, main.name, other.name) for block in blocks(results)
            ]
            found[other.name] = [one for one in pairs if one is not None and one.n]
    found = {name: pairs for name, pairs in found.items() if pairs}
    corrected = iter(holm([pair.t_p for pairs in found.values() for pair in pairs]))
    over_blocks = holm([_over_blocks(pairs) for pairs in found.values()])
    return [
        _counted(results, metric, name, pairs, [next(corrected) for _ in pairs], float(p))
        for (name, pairs), p in zip(found.items(), over_blocks, strict=True)
    ]


def _counted(
    results: Results,
    metric: str,
    name: str,
    pairs: list[PairedComparison],
    p_values: list[float],
    over_blocks: float,
) -> WinLoss:
    decided = [pair.difference for pair, p in zip(pairs, p_values, strict=True) if p < ALPHA]
    untested = sum(pair.n < 2 for pair in pairs)
    effects = [pair.effect for pair in pairs if not math.isnan(pair.effect)]
    return WinLoss(
        opponent=name,
        wins=sum(one > 0 for one in decided),
        ties=len(pairs) - len(decided) - untested,
        losses=sum(one < 0 for one in decided),
        untested=untested,
        advantage=statistics.fmean(pair.difference for pair in pairs),
        effect=statistics.median(effects) if effects else math.nan,
        wilcoxon_p=over_blocks,
        published=_published(results, metric, name),
    )


def _paired(
    results: Results, block: Block, metric: str, first: str, second: str
) -> PairedComparison | None:
    """Differences in the direction of better, over the runs that both have."""
    one, two = (results.summary(*block, method, metric) for method in (first, second))
    if one is None or two is None:
        return None
    runs = sorted(one.values.keys() & two.values.keys())
    sign = 1.0 if one.higher_is_better else -1.0
    values = [[sign * some.values[run] for run in runs] for some in (one, two)]
    return paired_comparison(*values)


def _over_blocks(pairs: Sequence[PairedComparison]) -> float:
    gaps = np.array([pair.difference for pair in pairs])
    gaps = gaps[gaps != 0]
    return float(stats.wilcoxon(gaps).pvalue) if gaps.size >= 5 else math.nan


def _published(results: Results, metric: str, opponent: str) -> tuple[int, int, int] | None:
    """Better, same and worse means of the paper's method in the printed table."""
    main = main_method(results)
    sign = 1 if results.experiment.metric(metric).higher_is_better else -1
    means: dict[str, dict[tuple[str, str], float]] = {}
    for figure, place in results.experiment.figures():
        if place.metric == metric:
            means.setdefault(place.method, {})[figure.dataset, figure.setting] = figure.mean
    ours, theirs = means.get(main.name if main else "", {}), means.get(opponent, {})
    gaps = [sign * (ours[place] - theirs[place]) for place in ours.keys() & theirs.keys()]
    if not gaps:
        return None
    return sum(g > 0 for g in gaps), sum(g == 0 for g in gaps), sum(g < 0 for g in gaps)


def ranked(results: Results, metric: str) -> Ranked | None:
    """Mean ranks over blocks that all ranked methods have.

    Rows need not be complete: methods that would cost more blocks than they are worth are left
    out, and so are blocks that one of the others lacks. Means are over runs that all have.

    results : Results
    metric : str
    Returns Ranked or None. None where fewer than three methods share three blocks.
    """
    table = _table(results, metric)
    main = main_method(results)
    methods = sorted(table, key=lambda name: (main is None or name != main.name, -len(table[name])))
    best: tuple[float, list[str], list[int]] = (0.0, [], [])
    for size in range(3, len(methods) + 1):
        shared = set.intersection(*(set(table[name]) for name in methods[:size]))
        shared = {place for place in shared if _common_runs(table, methods[:size], place)}
        worth = (size - 1) * len(shared)
        if len(shared) >= 3 and worth >= best[0]:
            best = (worth, methods[:size], sorted(shared))
    _, chosen, places = best
    if not chosen:
        return None
    scores = [[_mean(table, chosen, name, place) for name in chosen] for place in places]
    higher = results.experiment.metric(metric).higher_is_better
    every = blocks(results)
    absent = [name for name in methods if name not in chosen]
    shown = varying(results.experiment)
    lacking = sorted(set.union(*map(set, table.values())) - set(places))
    absent += [_words(every[place], shown) for place in lacking]
    settings = len({str(every[place][1]) for place in places})
    ranking = rank_methods(chosen, np.array(scores), higher)
    return Ranked(metric, ranking, settings, tuple(absent))


def _table(results: Results, metric: str) -> dict[str, dict[int, Measured]]:
    """What was measured by method and number of the block; methods without rows are left out."""
    table: dict[str, dict[int, Measured]] = {}
    for method in results.experiment.methods:
        for number, (dataset, setting) in enumerate(blocks(results)):
            found = results.summary(dataset, setting, method.name, metric)
            if found is not None:
                table.setdefault(method.name, {})[number] = found
    return table


def _common_runs(
    table: dict[str, dict[int, Measured]], methods: Sequence[str], place: int
) -> list[int]:
    runs = [set(table[name][place].values) for name in methods if place in table[name]]
    return sorted(set.intersection(*runs))


def _mean(
    table: dict[str, dict[int, Measured]], methods: Sequence[str], name: str, place: int
) -> float:
    runs = _common_runs(table, methods, place)
    return statistics.fmean(table[name][place].values[run] for run in runs)


def _words(block: Block, shown: set[str]) -> str:
    dataset, setting = block
    return " ".join(
        [dataset, *(f"{key} {value}" for key, value in setting.items() if key in shown)]
    )
