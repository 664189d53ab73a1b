"""The table of the simulated annotator is that of the rows."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from review_simulation import SETS, TABLE, summary

    lines = (ROOT / "benchmarks" / "results" / "review_simulation.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert TABLE.read_text(encoding="utf-8") == summary(rows, SETS), (
        "run: python benchmarks/review_simulation.py"
    )
