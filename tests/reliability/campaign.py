"""``python tests/reliability/campaign.py``: the table of what was tried, and what it came to.

Rows are kept in ``docs/reliability.json``; ``--fits`` and ``--files`` say how many cases are run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "papers" / "tests")]

from reliability.children import run_cases  # noqa: E402
from reliability.outcomes import ALLOWED, FAILED  # noqa: E402

AREAS = {"fits": "fits", "files": "damaged files"}


def measure(
    module: str, n: int, first: int = 0, tell: Callable[[str], None] = lambda line: None
) -> tuple[Counter, list[str]]:
    """Counts of outcomes, and one line per failure, told as it happens."""
    cases = importlib.import_module(f"reliability.{module}")
    counts: Counter[str] = Counter()
    failures = []
    for seed, outcome in run_cases(module, range(first, first + n)):
        counts[outcome.kind] += 1
        if outcome.kind in FAILED:
            failures.append(f"{outcome.kind}: {cases.draw(seed)}: {outcome.said}")
            tell(failures[-1])
    return counts, failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for module, words in AREAS.items():
        parser.add_argument(f"--{module}", type=int, default=0, help=f"how many {words}")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="a JSON file for the counts")
    options = parser.parse_args()
    rows = []
    for module, words in AREAS.items():
        n = getattr(options, module)
        if not n:
            continue
        start = time.perf_counter()
        counts, _ = measure(module, n, options.first, partial(print, flush=True))
        row = {"area": words, "tried": n, **{kind: counts[kind] for kind in (*ALLOWED, *FAILED)}}
        rows.append({**row, "minutes": round((time.perf_counter() - start) / 60, 1)})
    for row in rows:
        print(", ".join(f"{name}: {value}" for name, value in row.items()))
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
