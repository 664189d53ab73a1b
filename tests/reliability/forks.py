"""Jobs in forks of this process: one after the other is quick, since everything heavy is imported."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

# exit statuses of a job that did not end by itself
TOO_LONG, BROKEN = -1, 99


class Job(NamedTuple):
    """What a fork calls, for how many seconds at most; the status is what it returns."""

    name: Any
    call: Callable[[], int]
    seconds: float


def run_jobs(jobs: Iterable[Job], n_processes: int) -> Iterator[tuple[Any, int]]:
    """Yield names and exit statuses as jobs end; ``jobs`` is asked for the next one late."""
    waiting = iter(jobs)
    running: dict[int, tuple[Job, float]] = {}
    is_over = False
    while running or not is_over:
        while not is_over and len(running) < n_processes:
            job = next(waiting, None)
            if job is None:
                is_over = True
                break
            running[_fork(job)] = job, time.monotonic() + job.seconds
        for process, (job, deadline) in list(running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended and time.monotonic() < deadline:
                continue
            _end_group(process)
            if not ended:
                os.waitpid(process, 0)
            del running[process]
            yield job.name, os.waitstatus_to_exitcode(status) if ended else TOO_LONG
        time.sleep(0.02)


def _fork(job: Job) -> int:
    process = os.fork()
    if process:
        return process
    status = BROKEN
    try:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        status = job.call()
    finally:
        os._exit(status)


def _end_group(process: int) -> None:
    """End a job and whatever it started."""
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
