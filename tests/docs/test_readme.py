"""The figures on the first screen of the README are those of the measured rows."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIRST_SCREEN = (ROOT / "README.md").read_text(encoding="utf-8").split("## Try it")[0]
TEXT = " ".join(FIRST_SCREEN.split())


def rows(name: str) -> list[dict]:
    path = ROOT / "benchmarks" / "results" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("audit", "Of the first 1,000 it called missing, {} had been"),
        ("neighbours", "{} of those that the nearest neighbours call missing"),
        ("classifier", "{} of a classifier's"),
        ("cleanlab self_confidence", "{} of cleanlab's"),
    ],
)
def test_precision_of_the_first_suggestions(method, words):
    measured = [
        row["precision"]
        for row in rows("audit_precision")
        if row["dataset"] == "bibtex" and row["method"] == method
    ]
    assert words.format(f"{statistics.mean(measured):.0%}") in TEXT


def test_mended_classifiers_against_observed_entries():
    found = {
        row["metric"]: row
        for row in rows("mend_summary")
        if row["experiment"] == "tests"
        and (row["classifier"], row["against"]) == ("logistic", "observed entries")
    }
    for row in found.values():
        assert row["better"] == row["sets"]
        assert f"on all {row['sets']} sets of the comparison" in TEXT
    assert f"average precision (by {found['average_precision']['gain']:.3f} on the 13)" in TEXT
    assert f"macro F1 (by {found['macro_f1']['gain']:.2f}," in TEXT
    blind = [
        row
        for row in rows("mend_summary")
        if row["experiment"] == "parts"
        and (row["part"], row["against"]) == ("blind", "observed entries")
    ]
    assert blind
    for row in blind:
        assert row["better"] == row["sets"]
        assert f"on all {row['sets']} that were kept for the end" in TEXT


def test_complete_sets_are_called_complete_and_others_are_not():
    complete = [row for row in rows("audit_recording") if row["dropped"] == 0]
    assert f"on all {len(complete)} complete sets" in TEXT
    assert all(row["gaps"] == "none" for row in complete)
    assert all(row["gaps"] != "none" for row in rows("audit_recording") if row["dropped"] > 0)


def test_questions_until_half_of_the_gaps_are_found():
    table = (ROOT / "docs/how-to/review_simulation.inc").read_text(encoding="utf-8")
    yeast = table.split("yeast: ")[1].split("science: ")[0]
    n_gaps = yeast.split(" gaps")[0]
    ours, random = (
        re.search(rf"^\| {order} \| [\d,]+ \| ([\d,]+) ", yeast, re.MULTILINE)[1]
        for order in ("expected gain", "random")
    )
    assert f"half of the {n_gaps} gaps of yeast with {ours} questions" in TEXT
    assert f"in random order it takes {random}" in TEXT


def test_the_large_table():
    row = rows("audit_scale")[-1]
    assert f"{row['n_items']:,} items x {row['n_labels']:,} labels" in TEXT
    assert f"in {row['seconds'] / 60:.0f} minutes and {row['gigabytes']:.0f} GB" in TEXT


def test_the_picture_is_there_and_small():
    alt, target = re.search(r"!\[(.+?)\]\((\S+)\)", TEXT).groups()
    assert len(alt) > 40
    assert (ROOT / target).stat().st_size < 200_000
