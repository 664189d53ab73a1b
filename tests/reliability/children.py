"""Run cases in child processes, which may crash or hang without taking the campaign along."""

from __future__ import annotations

import importlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence

from reliability.outcomes import Outcome, outcome_of

# of the child's own time; on a busy machine the clock may run much longer
_MOST_SECONDS = 10.0
_PATIENCE = 120.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_cases(
    module: str, seeds: Sequence[int], n_processes: int = 1, deadline: float = float("inf")
) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of every seed, from ``draw`` and ``run`` of a module of this folder.

    Cases of several processes come as they end; those that have not begun at the deadline of
    ``time.monotonic`` are left out.
    """
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        left.put(seed)
    found: queue.SimpleQueue[tuple[int, Outcome] | None] = queue.SimpleQueue()
    for _ in range(n_processes):
        threading.Thread(target=_work, args=(module, left, found, deadline), daemon=True).start()
    at_work = n_processes
    while at_work:
        try:
            one = found.get(timeout=max(0.0, min(deadline + 5 - time.monotonic(), 1e6)))
        except queue.Empty:
            return
        if one is None:
            at_work -= 1
        else:
            yield one


def _work(
    module: str,
    left: queue.SimpleQueue[int],
    found: queue.SimpleQueue[tuple[int, Outcome] | None],
    deadline: float,
) -> None:
    child = None
    while time.monotonic() < deadline:
        try:
            seed = left.get_nowait()
        except queue.Empty:
            break
        child = child or _Child(module)
        outcome = child.outcome_of(seed)
        found.put((seed, outcome))
        if outcome.kind in ("crash", "hang"):
            child.stop()
            child = None
    if child is not None:
        child.stop()
    found.put(None)


class _Child:
    def __init__(self, module: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reliability.children", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**dict.fromkeys(_THREADS, "1"), **environment},
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:  # type: ignore[union-attr]
            self.lines.put(line)
        self.lines.put(None)

    def outcome_of(self, seed: int) -> Outcome:
        stream = self.process.stdin
        assert stream is not None
        try:
            stream.write(f"{seed}\n")
            stream.flush()
            line = self.lines.get(timeout=_PATIENCE)
        except queue.Empty:
            return Outcome("hang", f"no answer in {_PATIENCE:g} s")
        except BrokenPipeError:
            line = None
        if line is None:
            return Outcome("crash", f"the process ended with {self.process.wait()}")
        kind, said, seconds = json.loads(line)
        if seconds > _MOST_SECONDS:
            return Outcome("hang", f"{seconds:.0f} s, then {kind}: {said}")
        return Outcome(kind, said)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def _serve(module: str) -> None:
    cases = importlib.import_module(f"reliability.{module}")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        outcome, seconds = _timed(cases, int(line))
        if seconds > _MOST_SECONDS:
            # where kernels were compiled, the second time is without
            outcome, seconds = _timed(cases, int(line))
        answers.write(json.dumps([outcome.kind, outcome.said, seconds]) + "\n")
        answers.flush()


def _timed(cases: object, seed: int) -> tuple[Outcome, float]:
    start = time.process_time()
    tried = outcome_of(lambda: cases.run(cases.draw(seed)))  # type: ignore[attr-defined]
    return tried.value or tried, time.process_time() - start


if __name__ == "__main__":
    _serve(sys.argv[1])
