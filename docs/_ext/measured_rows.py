"""Measured rows for the pages: of the row store, of ``benchmarks/results``, and summaries of them."""

from __future__ import annotations

import hashlib
import importlib
import json
import statistics
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from labelgap_papers.bench import Kind, RowStore

_SIGNIFICANCE = ("p", "corrected")
_SMALL = ("gain", "least", "over_observed", "over_negative", "over_the_better")

ROOT = Path(__file__).parents[2]
SPEED = ROOT / "benchmarks" / "results"
STORE = ROOT / "papers" / "reproduction" / "rows"
SUMMARIES = ("mechanism_summary", "mend_summary", "predictor_summary", "which_method_summary")
"""Modules beside this one that compute rows from rows."""


def read_rows(name: str, **wanted: str) -> list[dict[str, Any]]:
    """Rows by their name, in order, whose fields have the wanted values.

    A name is that of a summary, of a file ``<name>.jsonl`` of a speed script, or of an experiment of
    the row store, whose rows become flat.
    """
    return [row for row in _rows(name) if all(str(row.get(k)) == v for k, v in wanted.items())]


def files_of(name: str) -> list[Path]:
    """What the rows of a name depend on."""
    if name in SUMMARIES:
        read = importlib.import_module(name).READ
        return [ROOT / "docs" / "_ext" / f"{name}.py", *(one for n in read for one in files_of(n))]
    speed = SPEED / f"{name}.jsonl"
    return [speed if speed.exists() else STORE / f"{name.replace('_', '-')}.jsonl"]


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    if name in SUMMARIES:
        return importlib.import_module(name).summaries()
    path = files_of(name)[0]
    if path.parent == SPEED:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = RowStore(path.parent).rows(path.stem, Kind.RESULT)
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "run": row.run,
            "params": row.params,
            **row.setting,
            **row.metrics,
            **row.curve,
            **row.details,
            "fit_seconds": row.fit_seconds,
        }
        for row in rows
    ]


def averaged(
    rows: list[dict[str, Any]], columns: Iterable[str], by: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Rows that agree in all these columns but their floats, as one: "mean ± deviation".

    Floats of the columns ``by`` are no results: rows have to agree in them too.
    """
    columns = [c for c in columns if any(c in row for row in rows)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        words = {c: row.get(c) for c in columns if c in by or not isinstance(row.get(c), float)}
        groups.setdefault(json.dumps(words, sort_keys=True), []).append(row)
    return [
        {c: g[0].get(c) if c in by else _spread([row.get(c) for row in g], c) for c in columns}
        for g in groups.values()
    ]


def _spread(values: list[Any], column: str) -> Any:
    if len(values) == 1 or not isinstance(values[0], float):
        return values[0]
    if column.endswith("seconds"):
        return statistics.mean(values)
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def checksum(rows: Iterable[dict[str, Any]]) -> str:
    """Says whether a figure was drawn from these rows."""
    text = "\n".join(json.dumps(row, sort_keys=True) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def shown(value: Any, column: str = "") -> str:
    """A value as a cell of a table: three decimals for scores, four for gains, or three digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if column in _SIGNIFICANCE:
            return f"{value:.2g}"
        if column.endswith(_SMALL):
            return f"{value:.4f}"
        is_score = 0 < abs(value) < 1 and not column.endswith(("seconds", "_iteration"))
        return f"{value:.3f}" if is_score else f"{value:.3g}"
    if isinstance(value, dict):
        if not value:
            return "defaults"
        return ", ".join(f"{name} = {shown(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)
