"""The README: its examples run as pasted, and its figures are those of the measured rows."""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured_rows import read_rows as rows  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN, MEASURED = README.split("## ", 1)[0], README.split("## How well it works")[1]
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def paragraph(word: str) -> str:
    """The item of the measured list that starts with a bold word, on one line."""
    found = re.search(rf"^- \*\*{word}.*?(?=^- |^## )", MEASURED, re.MULTILINE | re.DOTALL)
    assert found, f"the README has no measured paragraph {word!r}"
    return " ".join(found[0].split())


def figures(text: str) -> list[str]:
    return re.findall(r"\d[\d,.]*\d%?|\d%?", text)


def test_the_first_screen_has_what_a_newcomer_needs():
    assert FIRST_SCREEN.count("\n") < 40
    assert "pip install" in FIRST_SCREEN
    assert len([line for line in PYTHON[0].splitlines() if line]) == 3
    assert "$ labelgap " in FIRST_SCREEN


@pytest.mark.parametrize("block", range(len(PYTHON)))
def test_examples_run_as_pasted(block, capsys):
    exec(compile(PYTHON[block], "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    if block == 0:
        assert "labels missing" in printed[0]
    else:
        assert printed[0] == "(100, 5)"
        # far above what scores without information would reach
        assert 0.8 < float(printed[1]) <= 1


def test_gaps_that_people_left():
    (mdi,), (emoji,) = (rows("audit_real_gaps", part=part) for part in ("mdi", "emoji"))
    (texts,) = rows("text_gaps", dataset="emoji", method="with texts")
    added = [f"{row['missing']}" for row in (mdi, emoji)]
    right = [f"{p:.0%}" for p in (mdi["precision"], emoji["precision"], texts["precision_500"])]
    assert figures(paragraph("Gaps")) == [added[0], "5,045", added[1], "1,884", "500", *right]
    ranges = [f"{row[end]:,}" for row in (mdi, emoji) for end in ("low", "high")]
    assert figures(paragraph("How many")) == ranges


def test_precision_of_the_first_suggestions():
    measured = {
        method: [
            row
            for row in rows("audit_precision")
            if row["dataset"] == "bibtex" and row["method"] == method
        ]
        for method in ("audit", "neighbours", "classifier", "cleanlab self_confidence")
    }
    means = [statistics.mean(row["precision"] for row in found) for found in measured.values()]
    shown = [figure for figure in figures(paragraph("Finding")) if figure.endswith("%")]
    assert shown == ["40%", *(f"{value:.0%}" for value in means)]
    losses = rows("audit_real_gaps", experiment="losses")
    others = ("logistic", "forest", "cleanlab")
    assert all(row["precision"] > max(row[other] for other in others) for row in losses)


def test_the_default_against_a_tuned_regression():
    gains = [
        [
            row["gain"]
            for row in rows("predictor_summary", experiment="gain", gap=gap)
            if not row["dataset"].startswith("mean")
        ]
        for gap in ("entries", "positives")
    ]
    assert min(map(min, gains)) > 0
    means = [f"{statistics.mean(of_sets):.3f}" for of_sets in gains]
    shown = figures(paragraph("Predicting"))
    assert shown == ["60%", f"{len(gains[0])}", means[0], "40%", means[1]]


def test_mend_against_observed_entries():
    found = [
        row
        for row in rows("mend_summary")
        if (row.get("estimator"), row.get("against")) == ("logistic", "observed entries")
    ]
    assert all(row["better"] == row["sets"] for row in found if row["experiment"] == "tests")
    tests = {row["metric"]: row for row in found if row["experiment"] == "tests"}
    blind = [row for row in found if row["experiment"] == "parts" and row["part"] == "blind"]
    assert all(row["better"] == row["sets"] for row in blind)
    sets = [str(tests["average_precision"]["sets"]), str(blind[0]["sets"])]
    gains = [f"{tests['average_precision']['gain']:.3f}", f"{tests['macro_f1']['gain']:.2f}"]
    assert {*sets, *gains} <= set(figures(paragraph("Training")))


def test_questions_until_half_of_the_missing_labels_are_found():
    table = (ROOT / "docs/measured/review_simulation.inc").read_text(encoding="utf-8")
    yeast = table.split("yeast: ")[1].split("science: ")[0]
    half = {
        order: re.search(rf"^\| {order} \| [\d,]+ \| ([\d,]+) ", yeast, re.MULTILINE)[1]
        for order in ("expected gain", "most probable", "random")
    }
    shown = figures(paragraph("Reviewing"))
    assert shown == [yeast.split(" ")[0], half["expected gain"], half["random"]]
    ours, simple = (int(half[k].replace(",", "")) for k in ("expected gain", "most probable"))
    assert abs(ours - simple) < 0.05 * ours


def test_the_large_table():
    row = next(row for row in rows("audit_scale") if row["n_items"] == 100_000)
    sizes = [f"{row['n_items']:,}", f"{row['n_labels']:,}"]
    costs = [f"{row['seconds'] / 60:.0f}", f"{row['gigabytes']:.0f}"]
    assert figures(paragraph("Large")) == sizes + costs


def test_the_picture_is_there_and_small():
    alt, target = re.search(r"!\[(.+?)\]\((\S+)\)", FIRST_SCREEN).groups()
    assert len(alt) > 40
    assert (ROOT / target).stat().st_size < 200_000
