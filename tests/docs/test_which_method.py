"""The page "Which method when" says what the rows say, and what the contract checks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from labelgap.registry import list_estimators
from labelgap_papers.registry import ESTIMATORS as PUBLISHED

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured_rows import read_rows  # noqa: E402


def assumptions():
    """Cells of the table, by method."""
    text = (ROOT / "docs" / "which-method.md").read_text(encoding="utf-8")
    lines = [line.strip("|\n ").split(" | ") for line in text.splitlines() if line[:2] == "| "]
    return {cells[0]: cells[1:] for cells in lines if len(cells) == 4 and cells[0] != "method"}


def test_every_method_is_on_the_page():
    # searches over another estimator are no methods of their own
    named = {record.name for record in list_estimators()} - {"RMFLCV", "StabilitySelection"}
    published = {record.name for record in PUBLISHED}
    assert set(assumptions()) == named - published
    assert "```{published-table}" in (ROOT / "docs" / "which-method.md").read_text("utf-8")


def test_the_table_of_published_methods_has_all_of_them():
    pytest.importorskip("sphinx", reason="pip install 'labelgap[docs]'")
    from registry_tables import PublishedTable

    rows = {row[0]: row[1:] for row in PublishedTable.rows(None)}
    assert set(rows) == {record.name for record in PUBLISHED}


def test_methods_that_were_given_up_have_no_scores():
    from which_method_summary import given

    scores = {"average_precision": 0.5, "macro_auc": 0.6, "macro_f1": 0.7, "hamming_loss": 0.2}
    scores["fit_seconds"] = 1.0
    place = {"part": "classifiers", "gap": "entries", "dataset": "yeast", "family": "baseline"}
    rows = [
        {**place, "method": "slow", "run": 1, "outcome": "over 60 s"},
        {**place, "method": "worse", "run": 1, "outcome": "fitted", **scores},
        {**place, "method": "better", "run": 1, "outcome": "fitted", **scores}
        | {"average_precision": 0.8},
        {**place, "method": "better", "run": 2, "outcome": "fitted", **scores},
    ]
    found = {row["method"]: row for row in given(rows, "classifiers", "entries")}
    assert list(found) == ["better", "worse", "slow"]
    assert found["better"]["yeast_ap_spread"] == "0.650 ± 0.212"
    assert found["slow"]["yeast_seconds"] == "over 60 s"
    assert "yeast_ap" not in found["slow"]


def measured(experiment, gap):
    rows = read_rows("which_method_summary", experiment=experiment, gap=gap)
    if not rows:
        pytest.skip("not measured")
    return {row["method"]: row for row in rows}


def leaders(rows, field, n):
    """The methods with the largest values."""
    return set(sorted(rows, key=lambda name: -rows[name][field])[:n])


def test_what_the_page_says_of_unknown_cells():
    rows = measured("classifiers", "entries")
    assert leaders(rows, "emotions_ap", 2) == leaders(rows, "emotions_auc", 2) == {"RMFL", "ML2"}
    assert leaders(rows, "yeast_ap", 2) == {"RMFL", "KernelRidgePerLabel"}
    for name in ("LLSF", "JFSC", "PLST", "CPLST", "LSML", "FastTag"):
        assert min(rows[name]["places"]) > len(rows) / 2
    assert rows["Maxide"]["yeast_seconds"] < 0.06 * rows["KernelRidgePerLabel"]["yeast_seconds"]
    assert leaders(rows, "yeast_hl", 1) == {"Mend"}
    check_mend(rows)


def check_mend(rows):
    mend, plain = rows["Mend"], rows["BinaryRelevance"]
    for name in ("emotions", "yeast"):
        assert 0 < mend[f"{name}_ap"] - plain[f"{name}_ap"] < 0.015
        assert mend[f"{name}_f1"] > plain[f"{name}_f1"]


def test_what_the_page_says_of_dropped_positives():
    rows = measured("classifiers", "positives")
    check_mend(rows)
    assert leaders(rows, "emotions_ap", 1) == {"ML2"}
    assert leaders(rows, "yeast_ap", 1) == {"KernelRidgePerLabel"}
    for name in ("emotions", "yeast"):
        assert leaders(rows, f"{name}_f1", 1) == {"Mend"}
        assert not leaders(rows, f"{name}_ap", 3) & {"Mend", "GenEML", "ExpoMF"}
        few = [row for row in rows.values() if row[f"{name}_f1"] < 0.45]
        assert len(few) > len(rows) / 2


def test_what_the_page_says_of_selectors():
    rows = measured("selectors", "positives")
    for name in ("emotions", "yeast"):
        for method in ("FSNM", "SFUS", "MIFS", "MLMLFS", "GMFS"):
            assert rows[method][f"{name}_ap"] > rows["all features"][f"{name}_ap"]
    for gap in ("entries", "positives"):
        rows = measured("selectors", gap)
        for name in ("emotions", "yeast"):
            assert rows["CMFS"][f"{name}_ap"] < rows["all features"][f"{name}_ap"]
        assert rows["CMFS"]["yeast_ap"] < rows["a random fifth"]["yeast_ap"] + 0.005


def test_what_the_page_says_of_views():
    rows = measured("views", "views and labels")
    assert rows["means, Maxide"]["places"] == [2, 1]
    assert rows["IMVWL"]["places"][0] == 1
