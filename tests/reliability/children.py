"""Run cases in a child process, which may crash or hang without taking the campaign along."""

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

from reliability.outcomes import Outcome

# of the child's own time; on a busy machine the clock may run much longer
_MOST_SECONDS = 10.0
_PATIENCE = 120.0


def run_cases(module: str, seeds: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of every seed, from ``draw`` and ``run`` of a module of this folder."""
    left = list(seeds)
    while left:
        child = _Child(module, left)
        while left:
            seed = left[0]
            outcome = child.next_outcome()
            left.pop(0)
            yield seed, outcome
            if outcome.kind in ("crash", "hang"):
                break
        child.stop()


class _Child:
    def __init__(self, module: str, seeds: Sequence[int]) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reliability.children", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        assert self.process.stdin is not None
        threading.Thread(target=self._give, args=(seeds,), daemon=True).start()
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _give(self, seeds: Sequence[int]) -> None:
        try:
            with self.process.stdin as stream:  # type: ignore[union-attr]
                stream.write(json.dumps(list(seeds)))
        except BrokenPipeError:
            pass

    def _read(self) -> None:
        for line in self.process.stdout:  # type: ignore[union-attr]
            self.lines.put(line)
        self.lines.put(None)

    def next_outcome(self) -> Outcome:
        try:
            line = self.lines.get(timeout=_PATIENCE)
        except queue.Empty:
            return Outcome("hang", f"no answer in {_PATIENCE:g} s")
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
    seeds = json.load(sys.stdin)
    cases = importlib.import_module(f"reliability.{module}")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for seed in seeds:
        start = time.process_time()
        outcome = cases.run(cases.draw(seed))
        seconds = time.process_time() - start
        answers.write(json.dumps([outcome.kind, outcome.said, seconds]) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
