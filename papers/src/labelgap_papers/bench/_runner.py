"""Running experiments: what is missing, in parallel, every row on disk as soon as it is there."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from joblib.externals.loky import ProcessPoolExecutor

from labelgap_papers.bench._experiment import Cell, Experiment
from labelgap_papers.bench._machine import try_device
from labelgap_papers.bench._measure import Done, Job, do, row_of
from labelgap_papers.bench._rows import Kind, Row, RowStore, Status
from labelgap_papers.bench._schedule import Schedule, Step

logger = logging.getLogger(__name__)

Progress = Callable[[str, int, int | None], None]
"""Called with what is going on, how many jobs are done, and of how many."""


@dataclass
class Summary:
    """What a run did.

    Attributes
    ----------
    counts : Counter from Status to int
        Of the rows that were written for cells.
    n_choices : int
        Of the settings that were chosen.
    n_there : int
        Cells that had a row already.
    unavailable : dict from set to reason
        Sets whose data could not be loaded here.
    """

    counts: Counter[Status] = field(default_factory=Counter)
    n_choices: int = 0
    n_there: int = 0
    unavailable: dict[str, str] = field(default_factory=dict)


def run_experiments(
    names: Sequence[str],
    experiments: Mapping[str, Experiment],
    store: RowStore,
    budget: str = "small",
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    n_jobs: int = 1,
    threads: int = 1,
    seconds: float | None = None,
    retry: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Measure the cells of experiments that have no row yet.

    Every row reaches the disk before the next job begins in its place: a run that is killed loses
    the jobs in flight and nothing else, and the same call goes on where it ended.

    Parameters
    ----------
    names : sequence of str
        Experiments to run.
    experiments : mapping from name to Experiment
        All experiments, as `load_experiments` gives them.
    store : RowStore
    budget : {"smoke", "small", "full"}, default="small"
    datasets, methods : sequence of str, default=()
        Only these; all by default.
    n_jobs : int, default=1
        Processes; with 1 everything runs in this one.
    threads : int, default=1
        Threads of linear algebra and compiled loops per process.
    seconds : float, default=None
        The limit of a cell or a choice of settings, instead of the budget's.
    retry : bool, default=False
        Whether cells that failed, timed out or ran out of memory are measured again.
    device : str, default=None
        A device of torch, such as "cuda", for models that have the parameter ``device``; the others
        run on the processor.
    progress : callable, default=None

    Returns
    -------
    Summary
    """
    try_device(device)
    schedule = Schedule(
        experiments, store, budget, retry=retry, threads=threads, seconds=seconds, device=device
    )
    cells = list(_wanted((experiments[name] for name in names), budget, datasets, methods))
    # the first runs of everything come first: an interrupted run has no set without rows
    cells.sort(key=lambda one: one[1].run)
    steps = schedule.steps(cells)
    run = _Run(schedule, store, steps, progress)
    n_results = sum(step.job.kind is Kind.RESULT for step in steps)
    run.summary.n_there = (
        len({experiment.owner(cell, experiments).key for experiment, cell in cells}) - n_results
    )
    for name in names:
        record_gaps(experiments[name], store)
    pool = _InProcess() if n_jobs == 1 else _Workers(n_jobs)
    with pool:
        run.through(pool)
    return run.summary


def record_gaps(experiment: Experiment, store: RowStore) -> None:
    """Rows for what cannot be measured, with the reason; once each."""
    there = {(row.cell.key, row.reason) for row in store.rows(experiment.name, Kind.RESULT)}
    for cell, reason in experiment.gaps():
        if (cell.key, reason) not in there:
            absent = bool(experiment.dataset(cell.dataset).not_public)
            status = Status.DATA_NOT_PUBLIC if absent else Status.NOT_BUILT
            place = (cell.experiment, cell.dataset, cell.setting, cell.run, cell.method)
            store.append(Row(*place, status=status, reason=reason))


def _wanted(
    experiments: Iterable[Experiment], budget: str, datasets: Sequence[str], methods: Sequence[str]
) -> Iterator[tuple[Experiment, Cell]]:
    for experiment in experiments:
        for cell in experiment.cells(budget):
            if (not datasets or cell.dataset in datasets) and (
                not methods or cell.method in methods
            ):
                yield experiment, cell


class _Run:
    """The steps of a run on their way to rows."""

    def __init__(
        self,
        schedule: Schedule,
        store: RowStore,
        steps: list[Step],
        progress: Progress | None,
    ) -> None:
        self.schedule, self.store, self.progress = schedule, store, progress
        self.waiting = steps
        self.open = {step.key for step in steps}
        self.summary = Summary()
        self.n_done, self.n_jobs = 0, len(steps)

    def through(self, pool: _InProcess | _Workers) -> None:
        while self.waiting or pool.n_running:
            while pool.n_free and (step := self._next_ready()):
                job = self.schedule.with_choice(step)
                if isinstance(job, Row):
                    self._keep(Done(step.job, job))
                else:
                    self._tell(job)
                    pool.submit(job)
            for done in pool.finished():
                self._keep(done)

    def _next_ready(self) -> Step | None:
        for position, step in enumerate(self.waiting):
            if step.job.cell.dataset in self.summary.unavailable:
                self.waiting.pop(position)
                self.open.discard(step.key)
                return self._next_ready()
            if step.needs is None or step.needs not in self.open:
                return self.waiting.pop(position)
        return None

    def _keep(self, done: Done) -> None:
        job = done.job
        if done.row is None:
            self.summary.unavailable[job.cell.dataset] = done.unavailable
        else:
            self.store.append(done.row)
            self.schedule.note(done.row)
            if job.kind is Kind.RESULT:
                self.summary.counts[done.row.status] += 1
            else:
                self.summary.n_choices += 1
            logger.info("%s: %s", _words(job), done.row.status)
        self.open.discard(Step(job).key)
        self.n_done += 1
        self._tell(job)

    def _tell(self, job: Job) -> None:
        if self.progress is not None:
            self.progress(_words(job), self.n_done, self.n_jobs)


def _words(job: Job) -> str:
    what = "settings of " if job.kind is Kind.SELECTION else ""
    cell = job.cell
    return f"{cell.experiment}: {what}{cell.method} on {cell.dataset}, run {cell.run}"


class _InProcess:
    """One job at a time, in this process."""

    def __init__(self) -> None:
        self._job: Job | None = None

    def __enter__(self) -> _InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        return

    @property
    def n_running(self) -> int:
        return int(self._job is not None)

    @property
    def n_free(self) -> int:
        return 1 - self.n_running

    def submit(self, job: Job) -> None:
        self._job = job

    def finished(self) -> list[Done]:
        job, self._job = self._job, None
        return [] if job is None else [do(job)]


class _Workers:
    """Several processes. A worker that the system kills takes its pool along: the jobs in flight
    are tried again one at a time, and the one that is killed once more is out of memory."""

    def __init__(self, n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self._pool = ProcessPoolExecutor(n_jobs)
        self._running: dict[Future, Job] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(kill_workers=True)

    @property
    def n_running(self) -> int:
        return len(self._running)

    @property
    def n_free(self) -> int:
        return self._n_jobs - self.n_running

    def submit(self, job: Job) -> None:
        self._running[self._pool.submit(do, job)] = job

    def finished(self) -> list[Done]:
        if not self._running:
            return []
        ready, _ = wait(self._running, return_when=FIRST_COMPLETED)
        found, lost = [], []
        for future in ready:
            job = self._running.pop(future)
            try:
                found.append(future.result())
            except BrokenProcessPool:
                lost.append(job)
        if lost:
            lost += self._running.values()
            self._running.clear()
            self._pool.shutdown(kill_workers=True)
            found += [_alone(job) for job in lost]
            self._pool = ProcessPoolExecutor(self._n_jobs)
        return found


def _alone(job: Job) -> Done:
    pool = ProcessPoolExecutor(1)
    try:
        return pool.submit(do, job).result()
    except BrokenProcessPool:
        reason = "the system ended the process, most likely for want of memory"
        return Done(job, row_of(job, status=Status.OUT_OF_MEMORY, reason=reason))
    finally:
        pool.shutdown(kill_workers=True)
