"""Means, published figures and paired tests from rows of ``gmfs_tables``, figures and the ledger.

    python benchmarks/gmfs_summary.py

- means: average precision of every method, on raw and on standardised features
- claims: GMFS against what its paper compares it with, run by run; rivals: against the other
  selectors of its tables
- choices: GMFS against what a user would pick; "lost" where a method is better with p < 0.05
- smallest: the same with a sixth of the features
- count: on how many sets it is the best, tied with the best, or lost
- shares: GMFS against all others of figure 2, by the share hidden
- verdicts: in how many comparisons a claim holds, or the opposite
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import gmfs_ledger
from gmfs_data import LARGE, RATES, SCALINGS, SETS, published
from paired_tests import Paired, paired

RESULTS = Path(__file__).parent / "results"
METRIC = "average_precision"
SMALLEST = "at_a_sixth"
GMFS = "GMFS"
CLAIMS = {
    "above all features": (GMFS, "All features"),
    "above FSNM": (GMFS, "FSNM"),
    "spike-and-slab above Laplace": (GMFS, "GMFS, Laplace"),
    "k = 20 above k = 0": (GMFS, "GMFS, k = 0"),
}
RIVALS = {f"above {method}": (GMFS, method) for method in ("SFUS", "MIFS", "CMFS", "MLMLFS")}
# What figure 2 has.
CURVES = {
    **{name: CLAIMS[name] for name in ("above all features", "above FSNM")},
    **RIVALS,
    "above a forest": (GMFS, "forest"),
}
CHOICES = ("FSNM", "chi-squared", "ANOVA F", "mutual information", "forest", "random")
LEVEL = 0.05
Rows = list[dict[str, Any]]


def measured() -> Rows:
    """Rows of the scripts and of the ledger, over the numbers of features that all methods have."""
    path = RESULTS / "gmfs_tables.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["experiment"] == "tables"] + gmfs_ledger.result_rows()
    cells: dict[tuple, dict[str, Any]] = {}
    for row in rows:
        cell = tuple(row[name] for name in ("dataset", "missing", "method", "scaling", "run"))
        known = cells.setdefault(cell, row)
        if len(row["sixths"]) > len(known["sixths"]):
            cells[cell] = row
    return _over_common_sizes(list(cells.values()))


def _over_common_sizes(rows: Rows) -> Rows:
    common: dict[str, set[int]] = {}
    for row in rows:
        if row["sixths"] != [6]:
            sixths = common.setdefault(row["dataset"], set(row["sixths"]))
            sixths &= set(row["sixths"])
    found = []
    for row in rows:
        if row["sixths"] != [6]:
            values = zip(row["sixths"], row[f"{METRIC}_by_size"], strict=True)
            kept = [value for part, value in values if part in common[row["dataset"]]]
            row = {**row, METRIC: statistics.fmean(kept)}
            if row["sixths"][0] == 1:
                row[SMALLEST] = row[f"{METRIC}_by_size"][0]
        found.append(row)
    return found


def summaries(rows: Rows) -> Rows:
    found: Rows = []
    for rate in RATES:
        for name in (*SETS, *LARGE):
            some = [r for r in rows if (r["dataset"], r["missing"]) == (name, rate)]
            place = {"dataset": name, "missing": rate}
            found += _means(some, place)
            for scaling in SCALINGS:
                part = [row for row in some if row["scaling"] == scaling]
                found += _claims(part, {**place, "scaling": scaling})
                found += _claims(part, {**place, "scaling": scaling}, "rivals", RIVALS)
                found += _choices(part, {**place, "scaling": scaling})
                found += _choices(part, {**place, "scaling": scaling}, "smallest", SMALLEST)
    return found + _counts(found) + _verdicts(found)


def _counts(found: Rows) -> Rows:
    """Over sets, by the share hidden and the scaling of the features."""
    counts: Rows = []
    for rate in RATES:
        for scaling in SCALINGS:
            wanted = {"experiment": "choices", "missing": rate, "scaling": scaling}
            some = [row for row in found if wanted.items() <= row.items()]
            line: dict[str, Any] = {**wanted, "experiment": "count", "sets": len(some)}
            line["ahead"] = sum(row["gmfs"] >= row["its"] for row in some)
            line["best_or_tied"] = sum(row["best_or_tied"] for row in some)
            counts.append({**line, "lost": [r["dataset"] for r in some if not r["best_or_tied"]]})
    return counts


def _verdicts(found: Rows) -> Rows:
    """Over sets and shares hidden, by the scaling of the features."""
    counts: Rows = []
    for claim in (*CLAIMS, *RIVALS):
        for scaling in SCALINGS:
            wanted = {"claim": claim, "scaling": scaling}
            some = [row for row in found if wanted.items() <= row.items()]
            kinds = [row["verdict"] for row in some]
            line: dict[str, Any] = {**wanted, "experiment": "verdicts", "comparisons": len(some)}
            line |= {kind: kinds.count(kind) for kind in ("above", "no difference", "below")}
            counts.append(line)
    return counts


def by_share() -> Rows:
    """Figure 2: yeast, standardised features."""
    path = RESULTS / "gmfs_figures.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["experiment"] == "missing"]
    found: Rows = []
    for rate in sorted({row["missing"] for row in rows}):
        place = {"dataset": "yeast", "missing": rate, "scaling": "standardised"}
        part = [row for row in rows if place.items() <= row.items()]
        found += _claims(part, place, "shares", CURVES)
    return found


def _means(rows: Rows, place: dict[str, Any]) -> Rows:
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line = {"experiment": "means", **place, "method": method}
        for scaling in SCALINGS:
            values = [
                row[METRIC] for row in rows if (row["method"], row["scaling"]) == (method, scaling)
            ]
            line |= {"runs": max(len(values), line.get("runs", 0)), scaling: _spread(values)}
        found.append({**line, "published": published(**_place(place), method=method)})
    return found


def _place(place: dict[str, Any]) -> dict[str, Any]:
    return {"name": place["dataset"], "rate": place["missing"]}


def _claims(
    rows: Rows,
    place: dict[str, Any],
    experiment: str = "claims",
    claims: dict[str, tuple[str, str]] = CLAIMS,
) -> Rows:
    found = []
    for claim, pair in claims.items():
        test = paired(rows, "run", METRIC, *pair)
        if test.n > 1:
            figures = [published(**_place(place), method=method) for method in pair]
            printed = None if None in figures else f"{figures[0] - figures[1]:+.3f}"
            line = {"experiment": experiment, **place, "claim": claim, "runs": test.n}
            line |= {"difference": f"{test.difference:+.4f}", "p": _p(test.t_p)}
            found.append({**line, "verdict": _verdict(test), "published": printed})
    return found


def _choices(
    rows: Rows, place: dict[str, Any], experiment: str = "choices", metric: str = METRIC
) -> Rows:
    """The best other method, and every other method that GMFS loses to."""
    rows = [row for row in rows if metric in row]
    tests = {method: paired(rows, "run", metric, GMFS, method) for method in CHOICES}
    tests = {method: test for method, test in tests.items() if test.n > 1}
    if not tests:
        return []
    best = max(tests, key=lambda method: tests[method].second)
    lost = [method for method, test in tests.items() if _verdict(test) == "below"]
    test = tests[best]
    line = {"experiment": experiment, **place, "gmfs": test.first, "best": best}
    line |= {"its": test.second, "difference": f"{test.difference:+.4f}", "p": _p(test.t_p)}
    return [{**line, "lost_to": lost, "best_or_tied": not lost}]


def _verdict(test: Paired) -> str:
    if test.t_p >= LEVEL:
        return "no difference"
    return "above" if test.difference > 0 else "below"


def _spread(values: list[float]) -> str | None:
    if not values:
        return None
    deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 1e-4 else "< 0.0001"


def main() -> None:
    path = RESULTS / "gmfs_summary.jsonl"
    found = summaries(measured()) + by_share()
    text = "".join(json.dumps(row) + "\n" for row in found)
    path.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
