"""What the pages of the reproduction results show, section by section."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labelgap.data import dataset_info
from labelgap_papers.bench import MetricPlan, Status
from labelgap_papers.reproduction._comparisons import Ranked, WinLoss, main_method, ranked, win_loss
from labelgap_papers.reproduction._explanations import Paper
from labelgap_papers.reproduction._pictures import (
    Picture,
    cost_picture,
    critical_difference_picture,
    curves_picture,
)
from labelgap_papers.reproduction._results import Reproduction, Results, value_of
from labelgap_papers.reproduction._statuses import ReproductionStatus
from labelgap_papers.reproduction._tables_and_curves import CurveTable, Grid, curve_tables, grids
from labelgap_papers.reproduction.number_words import counted, foremost, metric_words, sentence

_ACCIDENTS = (Status.FAILED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)
_COSTS = {"fit_seconds": "seconds to fit", "peak_gigabytes": "peak memory (GB)"}


@dataclass(frozen=True)
class Contest:
    """Methods against each other by one metric."""

    metric: MetricPlan
    main: str
    lines: tuple[WinLoss, ...]
    ranked: Ranked | None
    picture: Picture | None


@dataclass(frozen=True)
class Curves:
    """A picture and the numbers behind it."""

    picture: Picture
    table: CurveTable


@dataclass(frozen=True)
class ExperimentView:
    """One published table or figure.

    results : Results
    counts : dict from status to number of figures
    grids, contests, curves. What is shown.
    topics : tuple of dict. Labels, weights, share and coherence each.
    facts : tuple of str. How much was measured, with which budget, by what.
    left_out : tuple of str. What is not run at all, and what smaller budgets among the rows do not
        run; sentences.
    """

    results: Results
    counts: Mapping[ReproductionStatus, int]
    grids: tuple[Grid, ...]
    contests: tuple[Contest, ...]
    curves: tuple[Curves, ...]
    topics: tuple[dict[str, Any], ...]
    facts: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def heading(self) -> str:
        table = self.results.experiment.table
        kind = "Figure" if table.startswith("fig") else "Table"
        return f"{kind} {table.removeprefix('fig')}"


@dataclass(frozen=True)
class PaperView:
    paper: Paper
    counts: Mapping[ReproductionStatus, int]
    experiments: tuple[ExperimentView, ...]
    costs: tuple[Picture, ...]


@dataclass(frozen=True)
class PageContents:
    reproduction: Reproduction
    counts: Mapping[ReproductionStatus, int]
    papers: tuple[PaperView, ...]

    def pictures(self) -> list[Picture]:
        """All of them, in the order of the page."""
        found: list[Picture] = []
        for paper in self.papers:
            for shown in paper.experiments:
                found += [one.picture for one in shown.contests if one.picture]
                found += [one.picture for one in shown.curves]
            found += paper.costs
        return found


def page_contents(reproduction: Reproduction) -> PageContents:
    """Everything that a page shows; pictures are drawn when they are first asked for.

    reproduction : Reproduction
    Returns PageContents
    """
    papers = tuple(
        PaperView(
            paper,
            reproduction.counts(paper.name),
            tuple(_experiment(reproduction, one) for one in reproduction.of(paper.name)),
            tuple(_costs(reproduction, paper)),
        )
        for paper in reproduction.papers
    )
    return PageContents(reproduction, reproduction.counts(), papers)


def _experiment(reproduction: Reproduction, results: Results) -> ExperimentView:
    experiment = results.experiment
    is_curve = bool(experiment.x_axis)
    # a figure without an axis shows the ranks of tables that are shown elsewhere
    is_table = not is_curve and not (experiment.table.startswith("fig") and experiment.borrows)
    ranked_elsewhere = any(
        experiment.name in other.experiment.borrows and not other.experiment.x_axis
        for other in reproduction.results
        if other.experiment.table.startswith("fig")
    )
    return ExperimentView(
        results=results,
        counts=reproduction.counts(experiment.paper, experiment.table),
        grids=tuple(grids(reproduction, results)) if is_table else (),
        contests=() if is_curve else tuple(_contests(results, not ranked_elsewhere)),
        curves=tuple(_curves(results)) if is_curve else (),
        topics=tuple(_topics(results)),
        facts=tuple(measured_facts(results)),
        left_out=tuple(_left_out(results)),
    )


def _contests(results: Results, with_ranks: bool) -> list[Contest]:
    main = main_method(results)
    metrics = {one.name: one for one in results.experiment.metrics if one.published}
    metrics = metrics or {one.name: one for one in results.experiment.metrics}
    found = []
    for metric in (metrics[name] for name in foremost(metrics)):
        lines = tuple(win_loss(results, metric.name))
        lines = lines if any(line.tested for line in lines) else ()
        ranks = ranked(results, metric.name) if with_ranks else None
        picture = None
        if ranks is not None:
            picture = critical_difference_picture(
                f"{results.experiment.name}-cd-{metric.name.replace('_', '-')}",
                f"Mean ranks by {metric_words(metric.name).lower()}",
                ranks.ranking,
                main.name if main else "",
            )
        if lines or picture:
            found.append(Contest(metric, main.name if main else "", lines, ranks, picture))
    return found


def _curves(results: Results) -> list[Curves]:
    return [
        Curves(
            curves_picture(
                f"{results.experiment.name}-{table.name.replace('_', '-')}",
                table.title,
                table.panels,
            ),
            table,
        )
        for table in curve_tables(results)
    ]


def _topics(results: Results) -> list[dict[str, Any]]:
    """Topics of the first measured row that lists any."""
    return next((row.details["topics"] for row in results.rows if row.details.get("topics")), [])


def measured_facts(results: Results) -> list[str]:
    """Return how much was measured, with which budget, by what."""
    wanted = len(results.experiment.cells("full"))
    measured = [row for row in results.rows if row.status is Status.MEASURED]
    found = [f"{results.n_measured('full'):,} of {counted(wanted, 'cell')} measured"]
    for status, n in Counter(row.status for row in results.rows).items():
        if status in _ACCIDENTS:
            found.append(f"{counted(n, 'cell')} {status.value.replace('_', ' ')}")
    budgets = Counter(row.budget for row in measured)
    found += [f"{counted(n, 'row')} of the budget {b}" for b, n in budgets.items() if b != "full"]
    sources = sorted({row.source for row in measured if row.source})
    return [*found, f"rows from {', '.join(sources)}"] if sources else found


def _left_out(results: Results) -> Iterator[str]:
    experiment = results.experiment
    absent: dict[str, list[str]] = defaultdict(list)
    gaps = [(one.name, one.not_public) for one in experiment.datasets]
    gaps += [(one.name, one.not_built) for one in experiment.methods]
    for name, reason in gaps:
        if reason:
            absent[reason].append(name)
    for reason, names in absent.items():
        yield sentence(f"without {', '.join(names)}: {reason}")
    budgets = {row.budget for row in results.rows if row.status is Status.MEASURED}
    for budget in sorted(budgets - {"full"}):
        beyond = [
            one for one in experiment.left_out(budget) if one not in experiment.left_out("full")
        ]
        if beyond:
            yield sentence(f"the budget {budget} leaves out {'; '.join(beyond)}")


def _costs(reproduction: Reproduction, paper: Paper) -> list[Picture]:
    found = []
    for metric, words in _COSTS.items():
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for results in reproduction.of(paper.name):
            if results.experiment.x_axis:
                continue
            plans = {one.name: one for one in results.experiment.methods}
            for row in results.rows:
                value = value_of(row, metric)
                known = plans[row.method].published or plans[row.method].baseline
                if known and row.status is Status.MEASURED and not row.device and value > 0:
                    values[row.method][row.dataset].append(value)
        points = _sized(values)
        if len({name for places in points.values() for name in places}) > 1:
            name = f"{paper.slug}-{metric.replace('_', '-')}"
            title = f"{sentence(words)[:-1]} against the size of the set, on a processor"
            found.append(cost_picture(name, title, words, points))
    return found


def _sized(
    values: Mapping[str, Mapping[str, list[float]]],
) -> dict[str, dict[str, tuple[int, float]]]:
    found: dict[str, dict[str, tuple[int, float]]] = {}
    for method, sets in values.items():
        for name, some in sets.items():
            try:
                n_samples = dataset_info(name).shape[0]
            except KeyError:
                continue
            found.setdefault(method, {})[name] = (n_samples, statistics.median(some))
    return found
