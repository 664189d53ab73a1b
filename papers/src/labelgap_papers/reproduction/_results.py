"""Every published figure with its status, from stored rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from labelgap_papers.bench import (
    BUDGETS,
    Cell,
    Experiment,
    FigurePlace,
    PublishedFigure,
    Row,
    RowStore,
    Status,
    published_figures,
)
from labelgap_papers.bench.statistics import holm
from labelgap_papers.reproduction._explanations import Paper, Reason
from labelgap_papers.reproduction._statuses import (
    MEASURED,
    Measured,
    ReproductionStatus,
    p_no_better,
    status_of,
)


@dataclass(frozen=True)
class Entry:
    """A line of the reproduction results.

    figure : PublishedFigure
    status : ReproductionStatus
    experiment : str. The experiment that measures it; empty where there is none.
    ours : Measured, optional
    p : float. That we are no better than the figure, corrected for the figures of the experiment.
    reason : str. Why there is no measurement, or why the figure is refuted.
    evidence : str. The page that shows the reason.
    notes : tuple of str. What a reader must know to compare the two.
    """

    figure: PublishedFigure
    status: ReproductionStatus
    experiment: str = ""
    ours: Measured | None = None
    p: float = math.nan
    reason: str = ""
    evidence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """Ours minus published; NaN without a measurement."""
        return math.nan if self.ours is None else self.ours.mean - self.figure.mean


@dataclass(frozen=True)
class Results:
    """The measured rows of an experiment, by place.

    experiment : Experiment
    rows : tuple of Row. One for each cell, whatever its status.
    """

    experiment: Experiment
    rows: tuple[Row, ...]

    def measured(self, dataset: str, setting: Mapping[str, Any], method: str) -> list[Row]:
        return [row for row in self.at(dataset, setting, method) if row.status is Status.MEASURED]

    def at(self, dataset: str, setting: Mapping[str, Any], method: str) -> list[Row]:
        """Rows of all runs at one place of the table."""
        return self._places.get(_place_key(dataset, setting, method), [])

    def summary(
        self, dataset: str, setting: Mapping[str, Any], method: str, metric: str
    ) -> Measured | None:
        """Values of one metric over runs; None where nothing was measured."""
        rows = self.measured(dataset, setting, method)
        values = {row.run: value_of(row, metric) for row in rows}
        values = {run: value for run, value in values.items() if math.isfinite(value)}
        if not values:
            return None
        return Measured(
            values=values,
            planned=self.experiment.dataset(dataset).runs,
            higher_is_better=self.experiment.metric(metric).higher_is_better,
            budget=min((row.budget for row in rows), key=BUDGETS.index),
            sought=all(map(self._was_sought, rows)),
        )

    def _was_sought(self, row: Row) -> bool:
        """Whether the settings of a row were chosen among as many as under the full budget.

        How many another experiment grants, of which rows are borrowed, is not known here.
        """
        if row.budget == "full":
            return True
        own = row.experiment == self.experiment.name
        return own and self.experiment.serves(row.dataset, row.budget, "full")

    def n_measured(self, budget: str) -> int:
        """How many cells of a budget have a measured row."""
        there = {_cell_key(row) for row in self.rows if row.status is Status.MEASURED}
        return sum(_cell_key(cell) in there for cell in self.experiment.cells(budget))

    @cached_property
    def _places(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            found[_place_key(row.dataset, row.setting, row.method)].append(row)
        return dict(found)


@dataclass(frozen=True)
class Reproduction:
    """All published figures, the experiments that measure them, and what was measured."""

    entries: tuple[Entry, ...]
    results: tuple[Results, ...]
    papers: tuple[Paper, ...]

    def counts(
        self, paper: str | None = None, table: str | None = None
    ) -> dict[ReproductionStatus, int]:
        """How many figures have each status; all statuses are there, in their order."""
        found = Counter(
            entry.status
            for entry in self.entries
            if paper in (None, entry.figure.paper) and table in (None, entry.figure.table)
        )
        return {status: found[status] for status in ReproductionStatus}

    def of(self, paper: str) -> list[Results]:
        """Experiments of a paper."""
        return [one for one in self.results if one.experiment.paper == paper]

    @property
    def n_samples(self) -> int:
        return sum(len(one.rows) for one in self.results)

    @property
    def n_measured(self) -> int:
        """Figures whose status stands on rows of ours."""
        return sum(entry.status in MEASURED for entry in self.entries)


def build_reproduction(
    experiments: Sequence[Experiment],
    store: RowStore,
    papers: Sequence[Paper],
    reasons: Sequence[Reason] = (),
) -> Reproduction:
    """Compare every published figure by the rows of a folder.

    experiments : sequence of Experiment. A figure that belongs to none of them was not measured.
    store : RowStore
    papers : sequence of Paper
    reasons : sequence of Reason, default=()
    Returns Reproduction. With one entry for each published figure, in the order of the papers'
        tables.
    """
    results = tuple(Results(one, _results(one, store)) for one in experiments)
    runs = {paper.name: paper.runs for paper in papers}
    found: dict[PublishedFigure, Entry] = {}
    for one in results:
        for entry in _entries(one, runs.get(one.experiment.paper), reasons):
            found.setdefault(entry.figure, entry)
    entries = [
        found.get(figure)
        or Entry(
            figure, ReproductionStatus.NOT_MEASURED, reason="there is no experiment for this table"
        )
        for figure in published_figures()
    ]
    return Reproduction(tuple(entries), results, tuple(papers))


def value_of(row: Row, metric: str) -> float:
    """A metric, or one of the times; NaN where the row has neither."""
    value = row.metrics.get(metric, getattr(row, metric, None))
    return math.nan if value is None else float(value)


def varying(experiment: Experiment) -> set[str]:
    """The settings that are not the same everywhere in an experiment."""
    values: dict[str, set[str]] = defaultdict(set)
    for setting in experiment.settings:
        for key, value in setting.values.items():
            values[key].add(str(value))
    return {key for key, some in values.items() if len(some) > 1}


def _results(experiment: Experiment, store: RowStore) -> tuple[Row, ...]:
    """Rows of an experiment, and rows of others for the same cells where it has none."""
    rows = {_cell_key(row): row for row in store.results(experiment.name)}
    if experiment.borrows:
        wanted = {
            _cell_key(cell) for budget in experiment.budgets for cell in experiment.cells(budget)
        }
        for name in experiment.borrows:
            for row in store.results(name):
                if _cell_key(row) in wanted:
                    rows.setdefault(_cell_key(row), row)
    return tuple(rows.values())


def _entries(
    results: Results, published_runs: int | None, reasons: Iterable[Reason]
) -> list[Entry]:
    placed = results.experiment.figures()
    ours = [results.summary(p.dataset, p.setting, p.method, p.metric) for _, p in placed]
    p_values = [
        math.nan if one is None else p_no_better(figure, one, published_runs)
        for one, (figure, _) in zip(ours, placed, strict=True)
    ]
    reasons = list(reasons)
    return [
        _entry(figure, place, one, float(p), results, reasons)
        for (figure, place), one, p in zip(placed, ours, holm(p_values), strict=True)
    ]


def _entry(
    figure: PublishedFigure,
    place: FigurePlace,
    ours: Measured | None,
    p: float,
    results: Results,
    reasons: list[Reason],
) -> Entry:
    name = results.experiment.name
    notes = tuple(one.text for one in reasons if not one.refutes and one.applies(figure))
    if ours is None:
        status, reason = _without_rows(place, results)
        return Entry(figure, status, name, reason=reason, notes=notes)
    status = status_of(figure, ours, p)
    against = next((one for one in reasons if one.refutes and one.applies(figure)), None)
    if status is ReproductionStatus.BELOW and against is not None:
        return Entry(
            figure, ReproductionStatus.REFUTED, name, ours, p, against.text, against.evidence, notes
        )
    return Entry(figure, status, name, ours, p, notes=notes)


def _without_rows(place: FigurePlace, results: Results) -> tuple[ReproductionStatus, str]:
    experiment = results.experiment
    absent = experiment.dataset(place.dataset).not_public
    if absent:
        return ReproductionStatus.DATA_NOT_PUBLIC, absent
    unbuilt = experiment.method(place.method).not_built
    if unbuilt:
        return ReproductionStatus.NOT_BUILT, unbuilt
    tried = results.at(place.dataset, place.setting, place.method)
    told = {
        f"{row.status.value.replace('_', ' ')}: {row.reason}"
        for row in tried
        if row.status is not Status.MEASURED
    }
    return ReproductionStatus.NOT_MEASURED, "; ".join(sorted(told)) or "not run yet"


def _place_key(dataset: str, setting: Mapping[str, Any], method: str) -> str:
    return Cell("", dataset, dict(setting), 0, method).key


def _cell_key(cell: Cell | Row) -> str:
    """The same for a cell of any experiment."""
    return Cell("", cell.dataset, cell.setting, cell.run, cell.method).key
