"""``python tests/reliability/mutation.py``: which small faults in the code do the tests notice?

First the tests run with the code as it is: what each of them takes, and which lines it runs. Then one
place at a time is changed (a comparison, a sign, a constant, a condition), and the tests that run its
line are asked, the quickest first; a fault that none of them notices survives. The places are sampled,
with a seed; the working tree stays as it is, since a fault is put in while the module is imported.
Survivors that are no faults, or whose faults do no harm, are listed in ``survivors.txt`` with the reason.

    python tests/reliability/mutation.py labels metrics --n 60 --processes 2 --rows rows.jsonl
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

from reliability.forks import BROKEN, TOO_LONG, Job, run_jobs  # noqa: E402
from reliability.mutants import Mutant, mutant, n_mutants  # noqa: E402
from reliability.noticing import SOURCE, Seen, notice, record, recorded  # noqa: E402

# rooms, and the tests that are nearest to them; the tests of one may notice faults of another
ROOMS = {
    "labels": ["tests/labels", "tests/frames"],
    "metrics": ["tests/metrics"],
    "imputers": ["tests/imputers"],
    "mend": ["tests/mend"],
    "propensity": ["tests/propensity", "tests/estimation"],
    "auditing": ["tests/auditing", "tests/cli/test_audit.py", "tests/cli/test_diff.py"],
    "files.py": ["tests/test_files.py"],
    "kernels/input_arrays.py": ["tests/kernels/test_input_arrays.py"],
}
_MOST_TEST_SECONDS, _MOST_TESTS, _START_SECONDS = 30.0, 300, 30.0
_KILLED = ("killed", "too long", "crashed")
SURVIVORS = Path(__file__).with_name("survivors.txt")


class Place(NamedTuple):
    """One mutant: its room, its file below the source, and its number there."""

    room: str
    file: str
    number: int


def files_of(room: str) -> list[Path]:
    place = SOURCE / room
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def sampled(rooms: list[str], n: int, seed: int) -> list[Place]:
    """The first of each room, the second of each room, ..."""
    each = []
    for room in rooms:
        every = [
            Place(room, str(path.relative_to(SOURCE)), number)
            for path in files_of(room)
            for number in range(n_mutants(path.read_text(encoding="utf-8")))
        ]
        random.Random(seed).shuffle(every)
        each.append(every[:n])
    longest = max(map(len, each))
    return [places[k] for k in range(longest) for places in each if k < len(places)]


def seen_without_faults(
    rooms: list[str], n_processes: int, folder: Path, seconds: float
) -> dict[str, Seen]:
    """Run the tests of the rooms on the code as it is; those that fail here are not asked later.

    What has not passed in so many seconds is left out too.
    """
    tasks = []
    for room in rooms:
        files = [
            file
            for one in ROOMS[room]
            for file in (sorted((TESTS.parent / one).rglob("test_*.py")) or [TESTS.parent / one])
        ]
        tasks += [[str(file.relative_to(TESTS.parent))] for file in files]
        dotted = "labelgap." + room.removesuffix(".py").replace("/", ".")
        tasks.append(["tests/test_docstrings.py", "-k", f"test_examples_run and {dotted}"])
    tasks.sort(key=lambda task: -(TESTS.parent / task[0]).stat().st_size)
    start = time.monotonic()

    def jobs() -> Iterator[Job]:
        for number, task in enumerate(tasks):
            out, left = folder / f"seen-{number}.json", start + seconds - time.monotonic()
            if left > 0:
                call = partial(record, task, out)
                yield Job(" ".join(task), call, left)

    for name, status in run_jobs(jobs(), n_processes):
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            took = time.monotonic() - start
            print(f"without faults, {took:.0f} s: {name} ended with {status}", flush=True)
    found: dict[str, Seen] = {}
    for path in folder.glob("seen-*.json"):
        found |= recorded(path)
    print(f"without faults: {time.monotonic() - start:.0f} s", *_slowest(found), sep="\n")
    return {name: one for name, one in found.items() if one.passed}


def _slowest(seen: dict[str, Seen]) -> list[str]:
    by_file: Counter = Counter()
    for name, one in seen.items():
        by_file[name.split("::")[0]] += one.seconds  # type: ignore[assignment]
    return [f"  {seconds:.0f} s {file}" for file, seconds in by_file.most_common(5)]


def nearest(
    fault: Mutant, file: str, seen: dict[str, Seen], most_seconds: float = _MOST_TEST_SECONDS
) -> list[str]:
    """Tests that run the line, the quickest first, then their neighbours, as far as time goes.

    What a fixture or a cache computed is counted for the first test that needs it, hence the neighbours.
    A line that runs when the module is imported is asked of all that run anything in the module.
    """
    by_line = [
        name for name, one in seen.items() if set(fault.lines) & set(one.lines.get(file, ()))
    ]
    if not by_line and not fault.function:
        by_line = [name for name, one in seen.items() if one.lines.get(file)]
    homes = {name.split("::")[0] for name in by_line} - {"tests/test_docstrings.py"}
    others = [name for name in seen if name.split("::")[0] in homes and name not in set(by_line)]
    chosen, seconds = [], 0.0
    for group in (by_line, others):
        for name in sorted(group, key=lambda name: seen[name].seconds):
            seconds += seen[name].seconds
            if chosen and (seconds > most_seconds or len(chosen) == _MOST_TESTS):
                return chosen
            chosen.append(name)
    return chosen


def try_all(
    places: list[Place], seen: dict[str, Seen], n_processes: int, deadline: float, folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield a row per mutant, as they end; none begins after the deadline."""
    faults: dict[Place, Mutant] = {}
    not_reached: list[Place] = []

    def jobs() -> Iterator[Job]:
        for place in places:
            if time.monotonic() > deadline:
                return
            source = (SOURCE / place.file).read_text(encoding="utf-8")
            fault = faults[place] = mutant(source, place.number)
            tests = nearest(fault, place.file, seen)
            if tests:
                yield _job(place, fault.tree, tests, seen, folder)
            else:
                not_reached.append(place)

    for place, status in run_jobs(jobs(), n_processes):
        out = _out(place, folder)
        by = out.read_text() if out.exists() else ""
        yield _row(place, faults[place], _kind(status), by)
    for place in not_reached:
        yield _row(place, faults[place], "not reached", "")


def check_clean(files: set[str], seen: dict[str, Seen], n_processes: int, folder: Path) -> set[str]:
    """Put each module in its own place: tests that notice it are left out, and modules they all notice.

    Returns the files whose faults can be told by tests that pass without any.
    """
    left, clean = set(files), set()
    for _ in range(10):
        jobs = [job for file in sorted(left) for job in _job_without_fault(file, seen, folder)]
        for place, status in run_jobs(jobs, n_processes):
            by = _out(place, folder).read_text() if _out(place, folder).exists() else ""
            if status == pytest.ExitCode.OK:
                clean.add(place.file)
            else:
                print(f"without faults, {place.file} ended with {status}: {by}", flush=True)
                seen.pop(by, None)
        left -= clean
        if not left:
            break
    return clean


def _job_without_fault(file: str, seen: dict[str, Seen], folder: Path) -> Iterator[Job]:
    tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    # a few are enough to see that the module can be put back
    tests = nearest(Mutant(range(0), "", "", "", tree), file, seen, most_seconds=1.0)
    if tests:
        yield _job(Place("", file, -1), tree, tests, seen, folder)


def _job(
    place: Place, tree: ast.Module, tests: list[str], seen: dict[str, Seen], folder: Path
) -> Job:
    parts = Path(place.file).with_suffix("").parts
    module = ".".join(["labelgap", *parts]).removesuffix(".__init__")
    seconds = _START_SECONDS + 5 * sum(seen[name].seconds for name in tests)
    return Job(place, lambda: notice(module, tree, tests, _out(place, folder)), seconds)


def _out(place: Place, folder: Path) -> Path:
    return folder / f"{place.file.replace('/', '-')}-{place.number}"


def _kind(status: int) -> str:
    if status == pytest.ExitCode.OK:
        return "survived"
    if status in (BROKEN, pytest.ExitCode.NO_TESTS_COLLECTED):
        return "broken"
    return "too long" if status == TOO_LONG else "killed" if status > 0 else "crashed"


def _row(place: Place, fault: Mutant, kind: str, by: str) -> dict[str, Any]:
    row = {**place._asdict(), "line": fault.lines.start, "function": fault.function}
    return row | {"fault": fault.words, "kind": kind, "by": by}


def reasons() -> dict[tuple[str, str, str], str]:
    """File, function and fault of survivors that may stay, and why."""
    found = {}
    if SURVIVORS.exists():
        blocks = SURVIVORS.read_text(encoding="utf-8").split("\n\n")
        for block in blocks:
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            if lines:
                where, *faults, reason = lines
                file, _, function = where.partition(" ")
                found |= {(file, function, fault.strip()): reason.strip() for fault in faults}
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """The score of each room, and the survivors without a reason."""
    known = reasons()
    counts: dict[str, Counter] = {}
    survivors = []
    for row in rows:
        kind = "killed" if row["kind"] in _KILLED else row["kind"]
        if kind in ("survived", "not reached"):
            reason = known.get((row["file"], row["function"], row["fault"]))
            kind = "harmless" if reason else kind
            if not reason:
                survivors.append(
                    f"{row['file']}:{row['line']} {row['function']}: {row['fault']}  ({kind})"
                )
        counts.setdefault(row["room"], Counter())[kind] += 1
    lines = ["| room | tried | noticed | harmless | survived | not reached | score |"]
    lines.append("|---|" + "---:|" * 6)
    for room, found in {**counts, "all": sum(counts.values(), Counter())}.items():
        tried = found.total() - found["broken"]
        cells = [found[kind] for kind in ("killed", "harmless", "survived", "not reached")]
        score = found["killed"] / max(1, tried - found["harmless"])
        lines.append(f"| {room} | {tried} | {' | '.join(map(str, cells))} | {score:.1%} |")
    return "\n".join([*sorted(survivors), "", *lines])


def _import_all_but_ours() -> None:
    # what a fork finds imported it need not import again
    heavy = (
        "numpy scipy.sparse scipy.optimize scipy.stats scipy.special scipy.io numba pandas polars "
    )
    heavy += (
        "pyarrow hypothesis.extra.numpy sklearn.ensemble sklearn.linear_model sklearn.neighbors "
    )
    heavy += "sklearn.model_selection sklearn.preprocessing sklearn.cluster sklearn.svm skrub typer rich "
    heavy += "sklearn.multioutput sklearn.utils.estimator_checks narwhals joblib skops.io"
    for name in heavy.split():
        with suppress(ImportError):
            importlib.import_module(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rooms", nargs="*", default=[], help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--n", type=int, default=10, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="none begins later")
    parser.add_argument("--first-seconds", type=float, default=900.0, help="without faults")
    parser.add_argument("--rows", type=Path, default=Path(os.devnull), help="a file of JSON lines")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    rooms = options.rooms or list(ROOMS)
    rows = []
    if options.rows.is_file():
        rows = [json.loads(line) for line in options.rows.read_text(encoding="utf-8").splitlines()]
    places = sampled(rooms, options.n, options.seed)
    for one in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[one] = "1"
    _import_all_but_ours()
    done = {(row["file"], row["number"]) for row in rows}
    places = [place for place in places if (place.file, place.number) not in done]
    with tempfile.TemporaryDirectory() as made, options.rows.open("a", encoding="utf-8") as file:
        folder = Path(made)
        seen = seen_without_faults(rooms, options.processes, folder, options.first_seconds)
        print(f"{len(seen)} tests pass without faults", flush=True)
        clean = check_clean({place.file for place in places}, seen, options.processes, folder)
        print(f"{len(clean)} modules are told by them", flush=True)
        places = [place for place in places if place.file in clean]
        for row in try_all(places, seen, options.processes, deadline, folder):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    print(table(rows))


if __name__ == "__main__":
    main()
