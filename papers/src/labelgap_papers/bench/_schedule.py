"""What is still to be done: cells without a row, each after the choice of its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labelgap_papers.bench._experiment import Cell, Experiment
from labelgap_papers.bench._measure import Job, protocol_of
from labelgap_papers.bench._rows import Kind, Row, RowStore, Status
from labelgap_papers.bench.methods import METHODS, find_method


@dataclass(frozen=True)
class Step:
    """A job, and the key of the choice that has to be there before it can begin."""

    job: Job
    needs: str | None = None

    @property
    def key(self) -> str:
        return key_of(self.job.cell, self.job.kind)


def key_of(cell: Cell, kind: Kind) -> str:
    return f"{kind} {cell.key}"


class Schedule:
    """The steps of a run, in order, and the rows that are there already.

    experiments : mapping from name to Experiment
    store : RowStore
    budget : str
    retry : bool, default=False. Whether cells that failed, timed out or ran out of memory are
        measured again.
    threads : int, default=1
    seconds : float, default=None. The limit of a job, instead of the budget's.
    device : str, default=None. Where models that can are fitted, as torch names it.
    """

    def __init__(
        self,
        experiments: Mapping[str, Experiment],
        store: RowStore,
        budget: str,
        *,
        retry: bool = False,
        threads: int = 1,
        seconds: float | None = None,
        device: str | None = None,
    ) -> None:
        self.experiments, self.store, self.budget = experiments, store, budget
        self.retry, self.threads, self.seconds, self.device = retry, threads, seconds, device
        self._rows: dict[str, Row] = {}
        self._read: set[str] = set()

    def steps(self, cells: Iterable[tuple[Experiment, Cell]]) -> list[Step]:
        """What is to be done for these cells; a cell that several experiments have comes once."""
        found: dict[str, Step] = {}
        for experiment, cell in cells:
            owned = experiment.owner(cell, self.experiments)
            key = key_of(owned, Kind.RESULT)
            if key in found or self.has(owned, Kind.RESULT):
                continue
            owner = self.experiments[owned.experiment]
            choice = self._choice(owner, owned)
            needs = None if choice is None else choice.key
            if choice is not None and needs not in found and not self.has_choice(choice):
                found[choice.key] = choice
            found[key] = Step(self._job(owner, owned, Kind.RESULT), needs)
        return list(found.values())

    def has(self, cell: Cell, kind: Kind) -> bool:
        """Whether there is a row that is good enough for the budget."""
        row = self.row(key_of(cell, kind), cell.experiment)
        if row is None:
            return False
        if row.status is not Status.MEASURED:
            gap = row.status in (Status.NOT_BUILT, Status.DATA_NOT_PUBLIC)
            return not gap and not self.retry and row.budget == self.budget
        return self.experiments[cell.experiment].serves(cell.dataset, row.budget, self.budget)

    def has_choice(self, choice: Step) -> bool:
        return self.has(choice.job.cell, Kind.SELECTION)

    def row(self, key: str, experiment: str) -> Row | None:
        if experiment not in self._read:
            self._read.add(experiment)
            for row in self.store.rows(experiment):
                self.note(row)
        return self._rows.get(key)

    def note(self, row: Row) -> None:
        """Remember a row; measured ones of larger budgets stay."""
        key = key_of(row.cell, row.kind)
        before = self._rows.get(key)
        if before is None or row.worth >= before.worth:
            self._rows[key] = row

    def with_choice(self, step: Step) -> Job | Row:
        """The job with its chosen settings; or the row that says why there are none."""
        if step.needs is None:
            return step.job
        choice = self._rows[step.needs]
        if choice.status is Status.MEASURED:
            return replace(step.job, params=choice.params)
        return replace(
            choice,
            experiment=step.job.cell.experiment,
            setting=step.job.cell.setting,
            run=step.job.cell.run,
            method=step.job.cell.method,
            kind=Kind.RESULT,
            budget=self.budget,
            reason=f"no settings were chosen: {choice.reason}",
        )

    def _choice(self, experiment: Experiment, cell: Cell) -> Step | None:
        """How the settings of a cell are chosen; None for a method without any to choose."""
        name = experiment.method(cell.method).settings_of or cell.method
        chooser = self._chooser(experiment, cell, name)
        method = find_method(chooser.method(name), METHODS)
        if not method.tuned or chooser.n_candidates(cell.dataset, self.budget) < 2:
            return None
        setting = tuning_setting(chooser, cell.setting)
        place = Cell(chooser.name, cell.dataset, setting, chooser.first_run, name)
        return Step(self._job(chooser, place, Kind.SELECTION))

    def _chooser(self, experiment: Experiment, cell: Cell, method: str) -> Experiment:
        """The experiment in which a method's settings are chosen: a borrowed one if it has it."""
        wanted = tuning_setting(experiment, cell.setting)
        for name in (*experiment.borrows, experiment.name):
            other = self.experiments[name]
            has = (
                any(one.name == method for one in other.methods)
                and any(one.name == cell.dataset for one in other.datasets)
                and any(tuning_setting(other, one.values) == wanted for one in other.settings)
            )
            if has:
                return other
        raise ValueError(f"{experiment.name}: no settings of {method!r} can be chosen anywhere")

    def _job(self, experiment: Experiment, cell: Cell, kind: Kind) -> Job:
        limit = self.seconds or experiment.budgets[self.budget].seconds
        return Job(experiment, cell, kind, self.budget, limit, self.threads, device=self.device)


def tuning_setting(experiment: Experiment, setting: dict[str, Any]) -> dict[str, Any]:
    """The part of a setting on which a choice may depend."""
    keys = protocol_of(experiment).tuning_keys
    return {name: setting[name] for name in keys if name in setting}
