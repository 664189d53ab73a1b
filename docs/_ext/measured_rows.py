"""The measured rows of ``benchmarks/results``: one JSON object per line and measurement."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_SIGNIFICANCE = ("p", "corrected")
_SMALL = ("gain", "least", "over_observed", "over_negative", "over_the_better")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"


def read_rows(prefix: str, folder: Path = FOLDER, **wanted: str) -> list[dict[str, Any]]:
    """Rows of all files ``<prefix>*.jsonl``, in order, whose fields have the wanted values."""
    rows = []
    for path in sorted(folder.glob(f"{prefix}*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip():
                continue
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error
    return [row for row in rows if all(str(row.get(k)) == v for k, v in wanted.items())]


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
