"""What an experiment is: sets, settings, methods, metrics, budgets, and its place in a paper."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

BUDGETS = ("smoke", "small", "full")
"""From the smallest to the largest."""


@dataclass(frozen=True)
class DatasetPlan:
    """A set and the runs on it.

    Attributes
    ----------
    name : str
    runs : int
    published : str
        What the paper calls it; empty where the paper's table does not have it.
    not_public : str
        Why its data is not at hand; then no method runs on it.
    candidates : int or None
        Settings that each method tries, where it is another number than the experiment's.
    tuning_rows : int or None
        At most so many training rows are used to choose settings.
    """

    name: str
    runs: int = 1
    published: str = ""
    not_public: str = ""
    candidates: int | None = None
    tuning_rows: int | None = None


@dataclass(frozen=True)
class SettingPlan:
    """What the experiment varies, as the protocol and the methods see it.

    ``published`` is how the paper's figures call it; ``datasets`` and ``methods`` limit it to some
    of them. Values that the protocol does not read are parameters of the methods; ``varied`` and
    ``value`` together are one such parameter.
    """

    values: dict[str, Any]
    published: str = ""
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def is_for(self, dataset: DatasetPlan) -> bool:
        return not self.datasets or dataset.name in self.datasets


@dataclass(frozen=True)
class MetricPlan:
    """A metric, whether more of it is better, and what the paper calls it.

    Names are those in the rows' ``metrics``, or ``fit_seconds``, ``fit_cpu_seconds``,
    ``predict_seconds`` and ``peak_gigabytes`` of the row itself.
    """

    name: str
    higher_is_better: bool
    published: str = ""


@dataclass(frozen=True)
class MethodPlan:
    """A column of the table.

    Attributes
    ----------
    name : str
        As rows and reports call it.
    uses : str
        A registered method, or ``"package.module:factory"``.
    params : dict
        Settings that stay as they are.
    grid : dict from setting to list of values, or None
        What is tried instead of the registered candidates.
    settings_of : str
        Another method, of this experiment or of one it borrows from, whose chosen settings are
        taken instead of own ones.
    published : str
        The paper's name; empty where the paper has no such column.
    not_built : str
        Why there is no such method here; then it is listed and never run.
    datasets : tuple of str
        Only these sets; empty for all.
    baseline : bool
        Whether it is what a user would pick without the paper.
    """

    name: str
    uses: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] | None = None
    settings_of: str = ""
    published: str = ""
    not_built: str = ""
    datasets: tuple[str, ...] = ()
    baseline: bool = False

    def is_for(self, dataset: DatasetPlan, setting: SettingPlan) -> bool:
        """Whether the table has the method there."""
        if setting.methods and self.name not in setting.methods:
            return False
        return not self.datasets or dataset.name in self.datasets

    def runs_on(self, dataset: DatasetPlan, setting: SettingPlan) -> bool:
        """Whether it can be measured there: both the method and the set are at hand."""
        return not self.not_built and not dataset.not_public and self.is_for(dataset, setting)


@dataclass(frozen=True)
class BudgetPlan:
    """What one budget runs.

    Attributes
    ----------
    name : str
    datasets : tuple of str
    runs : int or None
        At most so many of the runs of a set.
    candidates : int or None
        At most so many settings tried per method.
    seconds : float
        A cell that takes longer is stopped, and says so.
    settings : dict from setting to list of values
        Only cells with these values.
    """

    name: str
    datasets: tuple[str, ...]
    runs: int | None = None
    candidates: int | None = None
    seconds: float = 4 * 3600.0
    settings: dict[str, list[Any]] = field(default_factory=dict)

    def has_setting(self, values: dict[str, Any]) -> bool:
        return all(values[name] in some for name, some in self.settings.items() if name in values)


@dataclass(frozen=True)
class PublishedFigure:
    """One number of a published table, in the names that the paper gives to things.

    Attributes
    ----------
    paper, table : str
        ``("RMFL", "IV")``.
    dataset, setting, metric, method : str
        Where in the table; ``setting`` is written ``"missing=0.4"``.
    mean : float
    std : float or None
        None where the paper prints no spread.
    printed : str
        The mean with as many digits as in the paper.
    """

    paper: str
    table: str
    dataset: str
    setting: str
    metric: str
    method: str
    mean: float
    std: float | None
    printed: str

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit."""
        digits = len(self.printed.partition(".")[2])
        return 0.5 * 10.0**-digits


@cache
def published_figures() -> tuple[PublishedFigure, ...]:
    """All published figures of the five papers, in the order of their tables.

    Returns tuple of PublishedFigure
    """
    text = (
        resources.files("labelgap_papers.bench")
        .joinpath("published.csv")
        .read_text(encoding="utf-8")
    )
    return tuple(_figure(line) for line in csv.DictReader(text.splitlines()))


def _figure(line: dict[str, str]) -> PublishedFigure:
    printed, spread = line.pop("mean"), line.pop("std")
    std = float(spread) if spread else None
    return PublishedFigure(**line, mean=float(printed), std=std, printed=printed)


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a method on one drawing of one set under one setting."""

    experiment: str
    dataset: str
    setting: dict[str, Any]
    run: int
    method: str

    @property
    def key(self) -> str:
        """The same for equal cells, whatever the order of their settings."""
        setting = {name: _plain(value) for name, value in self.setting.items()}
        whole = [self.experiment, self.dataset, setting, self.run, self.method]
        return json.dumps(whole, sort_keys=True)


def _plain(value: Any) -> Any:
    """0 and 0.0 are one setting."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class FigurePlace:
    """Where a published figure stands among our rows, in our names."""

    experiment: str
    dataset: str
    setting: dict[str, Any]
    metric: str
    method: str


@dataclass(frozen=True)
class Experiment:
    """A published table or figure, or a comparison of ours, as something that can be run.

    Attributes
    ----------
    name : str
        Of its folder, such as ``"rmfl-4"``.
    title, about : str
    paper, table : str
        As in the published figures; ``table`` of a picture is ``"fig3"``. A picture has no
        published figures. Both are empty for a comparison of ours.
    protocol : str
    protocol_options : dict
    candidates : int
        Settings that each method tries; 1 where none is tuned.
    x_axis : str
        What a picture has on its horizontal axis: a setting, or a name in the rows' curves; empty
        for tables.
    first_run : int
        The first seed of splits and masks.
    borrows : tuple of str
        Experiments that measure some of the same cells. Such a cell is measured there and counts
        here too.
    datasets, settings, metrics, methods, budgets
        See their classes.
    """

    name: str
    title: str
    about: str
    protocol: str
    datasets: tuple[DatasetPlan, ...]
    settings: tuple[SettingPlan, ...]
    metrics: tuple[MetricPlan, ...]
    methods: tuple[MethodPlan, ...]
    budgets: dict[str, BudgetPlan]
    paper: str = ""
    table: str = ""
    protocol_options: dict[str, Any] = field(default_factory=dict)
    candidates: int = 1
    x_axis: str = ""
    first_run: int = 1
    borrows: tuple[str, ...] = ()

    def dataset(self, name: str) -> DatasetPlan:
        return next(one for one in self.datasets if one.name == name)

    def method(self, name: str) -> MethodPlan:
        return next(one for one in self.methods if one.name == name)

    def metric(self, name: str) -> MetricPlan:
        return next(one for one in self.metrics if one.name == name)

    def cells(self, budget: str = "full") -> list[Cell]:
        """Everything to measure under a budget, with sets and methods that are at hand."""
        plan = self.budgets[budget]
        return [
            Cell(self.name, dataset.name, setting.values, run, method.name)
            for dataset, setting in self._places()
            if dataset.name in plan.datasets and plan.has_setting(setting.values)
            for run in self._runs(dataset, plan.runs)
            for method in self.methods
            if method.runs_on(dataset, setting)
        ]

    def gaps(self) -> list[tuple[Cell, str]]:
        """Places that cannot be measured, with the reason; one per method, set and setting."""
        found = []
        for dataset, setting in self._places():
            for method in self.methods:
                reason = dataset.not_public or method.not_built
                if reason and method.is_for(dataset, setting):
                    place = (dataset.name, setting.values, self.first_run, method.name)
                    found.append((Cell(self.name, *place), reason))
        return found

    def measures(self, cell: Cell) -> bool:
        """Whether a cell, whatever experiment it names, is one of this experiment's."""
        places = (
            (dataset.name, run, setting.values, method.name)
            for dataset, setting in self._places()
            if dataset.name == cell.dataset and setting.values == cell.setting
            for run in self._runs(dataset, None)
            for method in self.methods
            if method.runs_on(dataset, setting)
        )
        return (cell.dataset, cell.run, cell.setting, cell.method) in places

    def owner(self, cell: Cell, experiments: Mapping[str, Experiment]) -> Cell:
        """The cell as it is stored: by this experiment, or by one that measures it already."""
        for name in self.borrows:
            if name in experiments and experiments[name].measures(cell):
                return Cell(name, cell.dataset, cell.setting, cell.run, cell.method)
        return Cell(self.name, cell.dataset, cell.setting, cell.run, cell.method)

    def left_out(self, budget: str) -> list[str]:
        """What a budget does not run, in words."""
        plan = self.budgets[budget]
        found = [f"set {one.name} ({one.not_public})" for one in self.datasets if one.not_public]
        found += [
            f"set {one.name}"
            for one in self.datasets
            if not one.not_public and one.name not in plan.datasets
        ]
        found += [f"method {one.name} ({one.not_built})" for one in self.methods if one.not_built]
        found += [
            f"every {name} but {', '.join(map(str, values))}"
            for name, values in plan.settings.items()
        ]
        most = max(one.runs for one in self.datasets)
        if plan.runs is not None and plan.runs < most:
            found.append(f"runs beyond {plan.runs} of up to {most}")
        if plan.candidates is not None and plan.candidates < self.candidates:
            found.append(f"settings beyond {plan.candidates} of {self.candidates} candidates")
        return found

    def n_candidates(self, dataset: str, budget: str) -> int:
        """How many settings a method may try on a set."""
        most = self.dataset(dataset).candidates or self.candidates
        limit = self.budgets[budget].candidates
        return most if limit is None else min(most, limit)

    def serves(self, dataset: str, measured_under: str, wanted: str) -> bool:
        """Whether a row of one budget is good enough for another.

        It is when settings were chosen among at least as many candidates.
        """
        return self.n_candidates(dataset, measured_under) >= self.n_candidates(dataset, wanted)

    def figures(self) -> list[tuple[PublishedFigure, FigurePlace]]:
        """The published figures of this table, with their places among our rows."""
        datasets = {one.published: one.name for one in self.datasets}
        settings = {one.published: one.values for one in self.settings}
        metrics = {one.published: one.name for one in self.metrics}
        methods = {one.published: one.name for one in self.methods}
        found = []
        for figure in published_figures():
            if (figure.paper, figure.table) == (self.paper, self.table):
                place = FigurePlace(
                    self.name,
                    datasets[figure.dataset],
                    settings[figure.setting],
                    metrics[figure.metric],
                    methods[figure.method],
                )
                found.append((figure, place))
        return found

    def _places(self) -> Iterator[tuple[DatasetPlan, SettingPlan]]:
        for dataset, setting in itertools.product(self.datasets, self.settings):
            if setting.is_for(dataset):
                yield dataset, setting

    def _runs(self, dataset: DatasetPlan, most: int | None) -> range:
        n_runs = dataset.runs if most is None else min(most, dataset.runs)
        return range(self.first_run, self.first_run + n_runs)
