"""Tables of the ledger: for each setting and metric, methods by sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelgap.bench import DatasetPlan, MethodPlan, MetricPlan
from labelgap.report._ledger import Entry, Ledger, Results
from labelgap.report._verdicts import Measured


@dataclass(frozen=True)
class GridCell:
    """What one method reached on one set: ours, and the published figure with its verdict."""

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

    Attributes
    ----------
    setting : dict
    metric : MetricPlan
    datasets : tuple of DatasetPlan
    lines : tuple of GridLine
        Methods of the paper first, then what a user would pick instead.
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


def grids(ledger: Ledger, results: Results) -> list[Grid]:
    """The tables of an experiment, in the order of its settings and metrics.

    Parameters
    ----------
    ledger : Ledger
    results : Results
        One of those in the ledger.

    Returns
    -------
    list of Grid
    """
    experiment = results.experiment
    entries = {entry.figure: entry for entry in ledger.entries}
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
    """Place of the best mean; None where fewer than two were measured."""
    measured = [(place, one) for place, one in enumerate(ours) if one is not None]
    if len(measured) < 2:
        return None
    sign = 1 if measured[0][1].higher_is_better else -1
    return max(measured, key=lambda item: sign * item[1].mean)[0]
