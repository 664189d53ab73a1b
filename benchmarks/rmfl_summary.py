"""Means, published figures and paired tests from the rows of ``rmfl_tables``.

python benchmarks/rmfl_summary.py
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from paired_tests import paired

RESULTS = Path(__file__).parent / "results"
CRITERIA = ("one_error", "hamming_loss", "ranking_loss", "coverage", "average_precision")
RMFL, RIDGE = "RMFL", "kernel ridge per label"
ORDER = ("yeast", "image", "scene", "emotions", "corel5k", "science", "education", "social")
ORDER += ("corel16k1", "corel16k2", "corel16k3")
Rows = list[dict[str, Any]]


def measured() -> Rows:
    path = RESULTS / "rmfl_tables.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def summaries(rows: Rows) -> Rows:
    """Table rows for the page: criteria per method, comparisons, and the ablation."""
    places = {(row["dataset"], row["missing"]) for row in rows}
    found: Rows = []
    for dataset, missing in sorted(places, key=lambda p: (p[1], ORDER.index(p[0]))):
        some = [r for r in rows if r["dataset"] == dataset and r["missing"] == missing]
        place = {"dataset": dataset, "missing": missing}
        found += _criteria(some, place)
        found += _comparison(some, place)
        found += _ablation(some, place)
    return found


def _criteria(rows: Rows, place: dict[str, Any]) -> Rows:
    found = []
    for method in (RMFL, RIDGE):
        runs = [row for row in rows if row["method"] == method]
        if runs:
            values = {name: _spread([row[name] for row in runs]) for name in CRITERIA}
            found.append({"experiment": "criteria", **place, "method": method, **values})
            found[-1]["runs"] = len(runs)
    published = _published(rows)
    if published:
        row = {"experiment": "criteria", **place, "method": "RMFL, published"}
        found.append({**row, **{name: f"{published[name]:.3f}" for name in CRITERIA}})
    return found


def _comparison(rows: Rows, place: dict[str, Any]) -> Rows:
    test = paired(rows, "run", "average_precision", RMFL, RIDGE)
    published = _published(rows)
    if not test.n or published is None:
        return []
    target = published["average_precision"]
    row = {"experiment": "comparison", **place, "runs": test.n, "rmfl": test.first}
    row |= {"published": target, "reached": round(test.first, 3) >= target}
    row |= {"ridge": test.second, "difference": f"{test.difference:+.4f}"}
    return [{**row, "wilcoxon_p": _p(test.wilcoxon_p), "t_p": _p(test.t_p)}]


def _ablation(rows: Rows, place: dict[str, Any]) -> Rows:
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        if method.startswith("RMFL,"):
            row = {"experiment": "ablation", **place, "method": method.removeprefix("RMFL, ")}
            for name in ("average_precision", "ranking_loss", "hamming_loss"):
                test = paired(rows, "run", name, method, RMFL)
                row |= {"runs": test.n, name: f"{test.difference:+.4f} (p {_p(test.t_p)})"}
                if name == "average_precision":
                    row |= {"mean": test.first, "wilcoxon_p": _p(test.wilcoxon_p)}
            found.append(row)
    return found


def _published(rows: Rows) -> dict[str, float] | None:
    return next((row["published"] for row in rows if row["method"] == RMFL), None)


def _spread(values: list[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 1e-4 else "< 0.0001"


def main() -> None:
    path = RESULTS / "rmfl_summary.jsonl"
    text = "".join(json.dumps(row) + "\n" for row in summaries(measured()))
    path.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
