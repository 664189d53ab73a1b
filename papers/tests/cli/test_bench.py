"""``labelgap bench run`` and ``list``; a newcomer's method from one line to the report."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import pytest

from bench.toy import write_toy


def test_list_tells_what_budgets_leave_out(run):
    ran = run("bench", "list", "gmfs-2", "--json")
    (entry,) = ran.json["experiments"]
    assert entry["published_figures"] == 49
    smoke = entry["budgets"]["smoke"]
    assert smoke["cells"] == 28
    assert "set yeast" in smoke["left_out"]
    (views,) = run("bench", "list", "imvwl-2", "--json").json["experiments"]
    told = views["budgets"]["full"]["left_out"]
    assert any(text.startswith("set pascal07 (") for text in told)
    shown = run("bench", "list")
    assert shown.code == 0
    assert "rmfl-4" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "rmfl-44"), "rmfl-44: no such name"),
        (("run", "--budget", "huge"), "--budget huge: choose among smoke, small, full"),
        (("run", "rmfl-4", "--dataset", "yeats"), "--dataset yeats: no such name"),
        (("run", "rmfl-4", "--method", "RMFLL"), "--method RMFLL: no such name"),
        (("run", "--experiments", "nowhere"), "nowhere: there is no such folder"),
        (("list", "rmfl-44"), "rmfl-44: there is no such experiment"),
    ],
)
def test_wrong_names_are_told(run, arguments, message):
    ran = run("bench", *arguments)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.usefixtures("data_dir")
def test_run_keeps_rows_and_says_what_it_did(run, tmp_path):
    write_toy(tmp_path / "mine")
    options = ("toy", "--experiments", "mine", "--rows", "rows", "--budget", "smoke", "--json")
    first = run("bench", "run", *options).json
    assert first["written"] == {"measured": 4}
    assert first["left_out"]["toy"] == [
        "runs beyond 1 of up to 3",
        "settings beyond 2 of 4 candidates",
    ]
    second = run("bench", "run", *options).json
    assert (second["written"], second["there_already"]) == ({}, 4)


@pytest.mark.usefixtures("data_dir")
def test_one_line_brings_a_method_into_a_table_and_into_the_report(run, tmp_path):
    own = Path(str(resources.files("labelgap_papers.bench") / "experiments" / "rmfl-4"))
    table = tmp_path / "mine" / "rmfl-4"
    shutil.copytree(own, table)
    lines = (table / "experiment.toml").read_text(encoding="utf-8").split("\n")
    lines.insert(lines.index("[methods]") + 1, '"A newcomer" = "bench.toy:means"')
    (table / "experiment.toml").write_text("\n".join(lines), encoding="utf-8")
    shared = ("--experiments", "mine", "--rows", "rows")
    ran = run(
        *("bench", "run", "rmfl-4", "--method", "A newcomer", "--budget", "small"),
        *("--dataset", "emotions", *shared, "--json"),
    )
    assert ran.json["written"] == {"measured": 3}
    reported = run("bench", "report", *shared, "--markdown", "pages")
    assert reported.code == 0, reported.err
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "pages").glob("*.md")]
    assert any("A newcomer" in page for page in pages)
