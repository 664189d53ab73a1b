"""Tables of the reproduction results, and curves of an experiment."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labelgap_papers.bench import DatasetPlan, MethodPlan, MetricPlan, Row, Status
from labelgap_papers.reproduction._pictures import Curve, Panel
from labelgap_papers.reproduction._results import Entry, Reproduction, Results, value_of, varying
from labelgap_papers.reproduction._statuses import Measured
from labelgap_papers.reproduction.number_words import (
    foremost,
    metric_short,
    metric_words,
    setting_words,
)


@dataclass(frozen=True)
class GridCell:
    """What one method reached on one set: ours, and the published figure with its status."""

    ours: Measured | None
    entry: Entry | None
    best: bool = False

    @property
    def empty(self) -> bool:
        return self.ours is None and self.entry is None


@dataclass(frozen=True)
class GridLine:
    method: MethodPlan
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class Grid:
    """One metric under one setting.

    setting : dict
    metric : MetricPlan
    datasets : tuple of DatasetPlan
    lines : tuple of GridLine. Methods of the paper first, then what a user would pick instead.
    """

    setting: Mapping[str, Any]
    metric: MetricPlan
    datasets: tuple[DatasetPlan, ...]
    lines: tuple[GridLine, ...]

    @property
    def notes(self) -> list[str]:
        """Of all its figures, each once, in the order they come."""
        said = [
            note for line in self.lines for c in line.cells if c.entry for note in c.entry.notes
        ]
        return list(dict.fromkeys(said))


def grids(reproduction: Reproduction, results: Results) -> list[Grid]:
    """The tables of an experiment, in the order of its settings and metrics.

    reproduction : Reproduction
    results : Results. One of those in the reproduction results.
    Returns list of Grid
    """
    experiment = results.experiment
    entries = {entry.figure: entry for entry in reproduction.entries}
    judged = {
        (place.dataset, str(place.setting), place.metric, place.method): entries[figure]
        for figure, place in experiment.figures()
    }
    found = []
    for setting in experiment.settings:
        for metric in experiment.metrics:
            lines = []
            for method in experiment.methods:
                cells = tuple(
                    GridCell(
                        results.summary(dataset.name, setting.values, method.name, metric.name),
                        judged.get((dataset.name, str(setting.values), metric.name, method.name)),
                    )
                    for dataset in experiment.datasets
                )
                lines.append(GridLine(method, cells))
            found.append(Grid(setting.values, metric, *_shown(experiment.datasets, lines)))
    return [grid for grid in found if grid.lines]


def _shown(
    datasets: tuple[DatasetPlan, ...], lines: list[GridLine]
) -> tuple[tuple[DatasetPlan, ...], tuple[GridLine, ...]]:
    """Without the methods and sets that have neither a published figure nor rows here."""
    filled = [line for line in lines if not all(cell.empty for cell in line.cells)]
    kept = [
        place
        for place in range(len(datasets))
        if not all(line.cells[place].empty for line in filled)
    ]
    leading = [_leader([line.cells[place].ours for line in filled]) for place in kept]
    shown = tuple(
        GridLine(
            line.method,
            tuple(
                GridCell(line.cells[place].ours, line.cells[place].entry, best=number == first)
                for place, first in zip(kept, leading, strict=True)
            ),
        )
        for number, line in enumerate(filled)
    )
    return tuple(datasets[place] for place in kept), shown


def _leader(ours: list[Measured | None]) -> int | None:
    """FigurePlace of the best mean; None where fewer than two were measured."""
    measured = [(place, one) for place, one in enumerate(ours) if one is not None]
    if len(measured) < 2:
        return None
    sign = 1 if measured[0][1].higher_is_better else -1
    return max(measured, key=lambda item: sign * item[1].mean)[0]


_MOST_PANELS = 9

Values = dict[str, dict[Any, list[float]]]
"""For each method, what was measured at each place of the horizontal axis."""


@dataclass(frozen=True)
class CurveTable:
    """Panels that are drawn side by side."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def curve_tables(results: Results) -> list[CurveTable]:
    """What was measured along the horizontal axis of an experiment.

    results : Results. Of an experiment with an ``x_axis``: the name of a setting, or anything else
        for the curves that rows hold themselves.
    Returns list of CurveTable. One for everything, or one for each metric where that would be too
        many panels.
    """
    rows = [row for row in results.rows if row.status is Status.MEASURED]
    names = _names(results, rows)
    panels = {name: tuple(_panels(results, rows, name)) for name in names}
    panels = {name: some for name, some in panels.items() if some}
    if sum(map(len, panels.values())) <= _MOST_PANELS:
        every = tuple(panel for some in panels.values() for panel in some)
        return [CurveTable("curves", results.experiment.title, every)] if every else []
    return [CurveTable(name, metric_words(name), some) for name, some in panels.items()]


def _names(results: Results, rows: list[Row]) -> list[str]:
    if _along_setting(results):
        return foremost(metric.name for metric in results.experiment.metrics)
    axis = results.experiment.x_axis
    return list(dict.fromkeys(name for row in rows for name in row.curve if name != axis))


def _along_setting(results: Results) -> bool:
    experiment = results.experiment
    return any(experiment.x_axis in setting.values for setting in experiment.settings)


def _panels(results: Results, rows: list[Row], metric: str) -> Iterator[Panel]:
    experiment = results.experiment
    shown = varying(experiment) - {experiment.x_axis, "varied"}
    found: dict[tuple[str, str], Values] = {}
    for row in rows:
        for place, value in _points(row, experiment.x_axis, metric, _along_setting(results)):
            rest = {key: one for key, one in row.setting.items() if key in shown}
            where = [row.dataset] if len(experiment.datasets) > 1 else []
            title = ", ".join([*where, *([setting_words(rest)] if rest else [])])
            across = str(row.setting.get("varied", experiment.x_axis))
            curve = found.setdefault((title, across), {}).setdefault(row.method, {})
            curve.setdefault(place, []).append(value)
    for (title, across), curves in found.items():
        summaries = {method: _summary(curve) for method, curve in curves.items()}
        if any(len(curve) > 1 for curve in summaries.values()):
            yield Panel(title, across.replace("_", " "), metric_short(metric), summaries)


def _points(row: Row, axis: str, metric: str, along_setting: bool) -> Iterator[tuple[Any, float]]:
    if along_setting:
        value = value_of(row, metric)
        if axis in row.setting and value == value:
            yield row.setting[axis], value
    elif metric in row.curve:
        values = row.curve[metric]
        yield from zip(row.curve.get(axis, range(1, len(values) + 1)), values, strict=True)


def _summary(curve: Mapping[Any, list[float]]) -> Curve:
    named = [place for place in curve if isinstance(place, str)]
    ordered = [*sorted(place for place in curve if not isinstance(place, str)), *sorted(named)]
    return {
        place: (statistics.fmean(curve[place]), min(curve[place]), max(curve[place]))
        for place in ordered
    }
