"""One job: choose settings, or draw, fit and score; what goes wrong becomes the status of a row."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from labelgap.data import DatasetUnavailableError
from labelgap.fitting import FitDivergedError
from labelgap_papers.bench._experiment import Cell, DatasetPlan, Experiment
from labelgap_papers.bench._machine import (
    device_of,
    forget_peak,
    machine_facts,
    peak_gigabytes,
    try_device,
)
from labelgap_papers.bench._rows import Kind, Row, Status
from labelgap_papers.bench.methods import METHODS, Method, find_method
from labelgap_papers.bench.protocols import PROTOCOLS, Protocol
from labelgap_papers.bench.protocols.protocol import Scores, Task, fewer_rows

Params = dict[str, Any]


def try_candidates(
    protocol: Protocol,
    method: Method,
    task: Task,
    dataset: DatasetPlan,
    n_candidates: int,
    params: Params,
) -> tuple[list[Params], list[float | None]]:
    """What was tried, and what it reached; None for settings with which the fit broke down.

    Test rows play no part: candidates are scored within the training rows, by labels that are
    observed there.

    protocol : Protocol
    method : Method
    task : Task. The drawing of the first run.
    dataset : DatasetPlan
    n_candidates : int
    params : dict. Settings that stay as they are.
    Returns candidates : list of dict
    and scores : list of float or None
    """
    task = fewer_rows(task, dataset.tuning_rows)
    if method.search is not None:
        tried, found = method.search(task, n_candidates, params)
        return tried, [_finite(score) for score in found]
    candidates = method.candidates(task, n_candidates)
    divisions = protocol.divisions(task)
    scores = np.array(
        [
            [_score(protocol, method, part, {**params, **one}) for one in candidates]
            for part in divisions
        ]
    )
    return candidates, [_finite(score) for score in scores.mean(axis=0)]


def best_of(candidates: list[Params], scores: list[float | None]) -> Params:
    """The first of the best; an error where every candidate broke down."""
    reached = [-np.inf if score is None else score for score in scores]
    if not np.isfinite(reached).any():
        raise FitDivergedError(f"the fit broke down with each of {len(scores)} candidates")
    return candidates[int(np.argmax(reached))]


def _score(protocol: Protocol, method: Method, part: Task, params: Params) -> float:
    try:
        model = protocol.fit(method.make(part, **params), part)
        return protocol.score_choice(model, part)
    except (FitDivergedError, np.linalg.LinAlgError, FloatingPointError):
        return np.nan


def _finite(score: float) -> float | None:
    return float(score) if np.isfinite(score) else None


class TimeLimitError(Exception):
    """A job took longer than its budget allows."""


@dataclass(frozen=True)
class Job:
    """A cell to measure, or settings to choose; whatever a worker needs to do it.

    ``params`` are the settings that were chosen for the cell; ``device`` is where models that can
    are fitted.
    """

    experiment: Experiment
    cell: Cell
    kind: Kind
    budget: str
    seconds: float
    threads: int = 1
    params: dict[str, Any] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True)
class Done:
    """What became of a job: a row, or why there is none (its data is not here)."""

    job: Job
    row: Row | None
    unavailable: str = ""


def do(job: Job) -> Done:
    """Measure a cell or choose settings, within the limits of time and threads."""
    forget_peak()
    outcome: dict[str, Any]
    try:
        with warnings.catch_warnings(), _limits(job):
            warnings.simplefilter("ignore")
            outcome = _chosen(job) if job.kind is Kind.SELECTION else _measured(job)
    except DatasetUnavailableError as error:
        return Done(job, None, _one_line(error))
    except TimeLimitError:
        reason = f"stopped after {job.seconds:g} seconds, the limit of the budget"
        outcome = {"status": Status.TIMED_OUT, "reason": reason}
    except MemoryError as error:
        outcome = {"status": Status.OUT_OF_MEMORY, "reason": _one_line(error) or "out of memory"}
    except Exception as error:
        # torch has an error of its own for the memory of a device
        full = type(error).__name__ == "OutOfMemoryError"
        outcome = {
            "status": Status.OUT_OF_MEMORY if full else Status.FAILED,
            "reason": f"{type(error).__name__}: {_one_line(error)}",
        }
    if job.device is not None:
        outcome.setdefault("device", job.device)
    return Done(job, row_of(job, **outcome))


def row_of(job: Job, **outcome: Any) -> Row:
    """The row of a job, with what is known of this machine."""
    cell = job.cell
    place = (cell.experiment, cell.dataset, cell.setting, cell.run, cell.method)
    facts = {**machine_facts(), "threads": job.threads, "peak_gigabytes": peak_gigabytes()}
    return Row(*place, kind=job.kind, budget=job.budget, **{**facts, **outcome})


def _chosen(job: Job) -> dict[str, Any]:
    experiment, cell = job.experiment, job.cell
    plan = experiment.method(cell.method)
    task = _drawn(experiment, cell.dataset, cell.setting, cell.run)
    method = find_method(plan, METHODS).on_device(job.device)
    candidates, scores = try_candidates(
        protocol_of(experiment),
        method,
        task,
        experiment.dataset(cell.dataset),
        experiment.n_candidates(cell.dataset, job.budget),
        plan.params,
    )
    params = best_of(candidates, scores)
    device = device_of(method.make(task, **{**params, **plan.params}))
    return {"params": params, "candidates": candidates, "scores": scores, "device": device}


def _measured(job: Job) -> dict[str, Any]:
    experiment, cell = job.experiment, job.cell
    plan, protocol = experiment.method(cell.method), protocol_of(experiment)
    setting = {name: cell.setting[name] for name in protocol.keys if name in cell.setting}
    params = {**job.params, **plan.params, **method_params(protocol, cell.setting)}
    task = _drawn(experiment, cell.dataset, setting, cell.run)
    model = find_method(plan, METHODS).on_device(job.device).make(task, **params)
    try_device(job.device)
    start, busy = time.perf_counter(), time.process_time()
    model = protocol.fit(model, task)
    fitted, fit_cpu_seconds = time.perf_counter(), time.process_time() - busy
    found = protocol.score(model, task, setting)
    seconds = {
        "fit_seconds": fitted - start,
        "fit_cpu_seconds": fit_cpu_seconds,
        "predict_seconds": time.perf_counter() - fitted,
    }
    return {"params": params, "device": device_of(model), **defined(found), **seconds}


def defined(found: Scores) -> dict[str, Any]:
    """Scores as fields of a row; what is no number is named in the details instead."""
    metrics = {name: value for name, value in found.metrics.items() if math.isfinite(value)}
    curve = {name: some for name, some in found.curve.items() if all(map(math.isfinite, some))}
    lost = [name for name in (*found.metrics, *found.curve) if name not in {**metrics, **curve}]
    details = {**found.details, "undefined": lost} if lost else found.details
    return {"metrics": metrics, "curve": curve, "details": details}


def protocol_of(experiment: Experiment) -> Protocol:
    """The protocol of an experiment, with its options."""
    return PROTOCOLS[experiment.protocol](**experiment.protocol_options)


def method_params(protocol: Protocol, setting: dict[str, Any]) -> dict[str, Any]:
    """What a setting says to the methods: all that the protocol does not read."""
    rest = {name: value for name, value in setting.items() if name not in protocol.keys}
    if "varied" in rest:
        rest[rest.pop("varied")] = rest.pop("value")
    return rest


def _drawn(experiment: Experiment, dataset: str, setting: dict[str, Any], run: int) -> Task:
    options = json.dumps(experiment.protocol_options, sort_keys=True)
    return _draw(experiment.protocol, options, dataset, json.dumps(setting), run)


@lru_cache(maxsize=1)
def _draw(protocol: str, options: str, dataset: str, setting: str, run: int) -> Task:
    """Methods that follow each other on one drawing share it."""
    return PROTOCOLS[protocol](**json.loads(options)).draw(dataset, json.loads(setting), run)


@contextmanager
def _limits(job: Job) -> Iterator[None]:
    """Threads of linear algebra and of compiled loops; an alarm where the system has one."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(job.threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        with threadpool_limits(job.threads), _alarm(job.seconds):
            yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not in_main_thread:
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500]
