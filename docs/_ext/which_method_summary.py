"""The tables of "Which method when", from its rows and those of the published methods."""

from __future__ import annotations

import statistics
from typing import Any

from measured_rows import read_rows

READ = ("which_method", "baselines_table")
# two sets to a table
SETS = {"": ("emotions", "yeast"), "further ": ("image", "science")}
SCORES = {"average_precision": "ap", "macro_auc": "auc", "macro_f1": "f1", "hamming_loss": "hl"}
Rows = list[dict[str, Any]]


def summaries() -> Rows:
    """All tables, each row with its ``experiment``."""
    scores, table = map(read_rows, READ)
    places = dict.fromkeys((row["part"], row["gap"]) for row in scores)
    found = [row for place in places for kind in SETS for row in given(scores, *place, kind)]
    return [*found, *agreement(table), *objectives(table), *costs(table)]


def given(rows: Rows, part: str, gap: str, kind: str = "") -> Rows:
    """What the methods give with one kind of gap: one row each, the best mean place first."""
    rows = [row for row in rows if row["part"] == part and row["gap"] == gap]
    rows = [row for row in rows if row["dataset"] in SETS[kind]]
    sets = [name for name in SETS[kind] if any(row["dataset"] == name for row in rows)]
    methods = dict.fromkeys(row["method"] for row in rows)
    found = []
    for method in methods:
        some = [row for row in rows if row["method"] == method]
        row = {"experiment": kind + part, "gap": gap, "method": method, "family": some[0]["family"]}
        for name in sets:
            row |= means([run for run in some if run["dataset"] == name], name)
        found.append(row)
    for name in complete(rows, sets, len(methods)):
        ranked = [row for row in found if f"{name}_ap" in row]
        ranked.sort(key=lambda row: -row[f"{name}_ap"])
        for place, row in enumerate(ranked, start=1):
            row.setdefault("places", []).append(place)
    return sorted(found, key=lambda row: statistics.mean(row.get("places", [len(found)])))


def complete(rows: Rows, sets: list[str], n_methods: int) -> list[str]:
    """The sets that every method was tried on: places on others would not compare."""
    return [
        name
        for name in sets
        if len({row["method"] for row in rows if row["dataset"] == name}) == n_methods
    ]


def means(runs: Rows, name: str) -> dict[str, Any]:
    """Over the runs of a set; nothing of a method that was given up."""
    fitted = [run for run in runs if run["outcome"] == "fitted"]
    if not fitted:
        return {f"{name}_seconds": runs[0]["outcome"]} if runs else {}
    row: dict[str, Any] = {
        f"{name}_{short}": statistics.mean(run[score] for run in fitted)
        for score, short in SCORES.items()
    }
    row[f"{name}_ap_spread"] = spread([run["average_precision"] for run in fitted])
    row[f"{name}_runs"] = len(fitted)
    row[f"{name}_seconds"] = statistics.median(run["fit_seconds"] for run in fitted)
    return row


def spread(values: list[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def agreement(table: Rows) -> Rows:
    """Per method: every array with its largest deviation, and the largest fraction of a tolerance."""
    found = []
    rows = [row for row in table if row["experiment"] == "agreement"]
    for method in sorted({row["method"] for row in rows}, key=str.lower):
        some = [row for row in rows if row["method"] == method]
        arrays = ", ".join(f"{row['array']} {row['deviation']:.0e}" for row in some)
        fraction = max(row["deviation"] / row["tolerance"] for row in some)
        row = {"experiment": "agreement", "method": method, "deviations": arrays}
        row |= {
            "comparisons": sum(row["comparisons"] for row in some),
            "fraction": f"{fraction:.1g}",
        }
        found.append(row)
    return found


def objectives(table: Rows) -> Rows:
    """Per method, the comparison after the most iterations on each problem."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table:
        if row["experiment"] == "objective":
            key = (row["method"], row["problem"])
            if key not in last or row["iterations"] > last[key]["iterations"]:
                last[key] = row
    fields = ("method", "problem", "iterations", "sought")
    return [
        {
            "experiment": "objective",
            **{name: row[name] for name in fields},
            "iterations": row["iterations"] or "closed form",
            **{name: f"{row[name]:.7g}" for name in ("ours", "reference")},
        }
        for _, row in sorted(last.items(), key=lambda item: item[0][0].lower())
    ]


def costs(table: Rows) -> Rows:
    """Per method: seconds and iterations on every set."""
    rows = [row for row in table if row["experiment"] == "seconds"]
    found = []
    for method in sorted({row["method"] for row in rows}, key=str.lower):
        row = {"experiment": "costs", "method": method}
        for measured in (row for row in rows if row["method"] == method):
            name = measured["dataset"]
            row[f"{name}_seconds"] = measured.get("fit_seconds", measured.get("reason"))
            if measured.get("n_iter") is not None:
                row[f"{name}_iterations"] = measured["n_iter"]
        found.append(row)
    return found
