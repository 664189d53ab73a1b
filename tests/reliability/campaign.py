"""``python tests/reliability/campaign.py``: the table of what was tried, and what it came to.

Cases are spread over processes, and each row is written to ``--rows`` as it comes; a later call
tries what has no row yet, also on another machine, and the table counts all rows.

    python tests/reliability/campaign.py --fits 10000 --files 2000 --processes 2 --rows rows.jsonl
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "papers" / "tests")]

from reliability.children import run_cases  # noqa: E402
from reliability.outcomes import ALLOWED, FAILED, Outcome  # noqa: E402

AREAS = {
    "fits": "fits",
    "calls": "other calls",
    "files": "damaged files",
    "documents": "odd documents",
}


def measure(module: str, seeds: Sequence[int]) -> tuple[Counter, list[str]]:
    """Counts of outcomes, and one line per failure."""
    found = list(run_cases(module, seeds))
    failures = [told(module, seed, outcome) for seed, outcome in found if outcome.kind in FAILED]
    return Counter(outcome.kind for _, outcome in found), failures


def told(module: str, seed: int, outcome: Outcome) -> str:
    """One line about a case and what it came to."""
    case = importlib.import_module(f"reliability.{module}").draw(seed)
    return f"{outcome.kind}: {case}: {outcome.said}"


def table(rows: Iterable[dict]) -> str:
    """The counts of all rows, as a table in Markdown."""
    counts: dict[str, Counter] = {module: Counter() for module in AREAS}
    for row in rows:
        counts[row["module"]][row["kind"]] += 1
    kinds = [kind for kind in (*ALLOWED, *FAILED) if kind != "not installed"]
    lines = [f"| area | tried | {' | '.join(kinds)} |", "|---|" + "---:|" * (len(kinds) + 1)]
    for module, found in counts.items():
        tried = sum(found.values()) - found["not installed"]
        cells = [f"{n:,}" for n in (tried, *(found[kind] for kind in kinds))]
        lines.append(f"| {AREAS[module]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read_rows(path: Path) -> list[dict]:
    """Rows of earlier calls; what needs a package may be tried again where it is."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for module, words in AREAS.items():
        parser.add_argument(f"--{module}", type=int, default=0, help=f"how many {words}")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after these")
    parser.add_argument("--rows", type=Path, default=Path(os.devnull), help="a file of JSON lines")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    rows = [row for row in read_rows(options.rows) if row["kind"] != "not installed"]
    done = {(row["module"], row["seed"]) for row in rows}
    with options.rows.open("a", encoding="utf-8") as file:
        for module in AREAS:
            seeds = range(options.first, options.first + getattr(options, module))
            left = [seed for seed in seeds if (module, seed) not in done]
            for seed, outcome in run_cases(module, left, options.processes, deadline):
                rows.append(
                    {"module": module, "seed": seed, "kind": outcome.kind, "said": outcome.said}
                )
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
                if outcome.kind in FAILED:
                    print(told(module, seed, outcome), flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
