"""``labelgap bench report``."""

from __future__ import annotations

import pytest

from labelgap_papers.bench import load_experiments
from reproduction.made_results import rows_of, stored

pytest.importorskip("matplotlib")


@pytest.fixture
def rows(workplace):
    """A few rows of one table, near its published figures."""
    experiment = load_experiments()["bmlpl-3"]
    stored(workplace / "rows", rows_of(experiment, spread=0.0))
    return "rows"


def test_counts_without_writing_anything(run, rows, workplace):
    ran = run("bench", "report", "--rows", rows, "--json")
    assert ran.code == 0, ran.err
    assert sum(ran.json["statuses"].values()) == 1626
    assert ran.json["papers"]["BMLPL"]["reproduced"] == 3
    assert ran.json["papers"]["BMLPL"]["data not public"] == 8
    assert ran.json["written"] == []
    assert [path.name for path in workplace.iterdir()] == ["rows"]
    shown = run("bench", "report", "--rows", rows)
    assert "Of 1,626 published figures, 3 are reproduced" in shown.out


def test_writes_pages_with_the_account_beside_the_rows(run, rows, workplace):
    (workplace / "explanations.toml").write_text('[BMLPL]\nholds = ["All of it."]\n')
    ran = run("bench", "report", "--rows", rows, "--markdown", "pages", "--json")
    assert ran.code == 0, ran.err
    assert "- All of it." in (workplace / "pages" / "bmlpl.md").read_text(encoding="utf-8")
    index = (workplace / "pages" / "index.md").read_text(encoding="utf-8")
    assert "labelgap bench report --rows rows --markdown pages" in index
    assert ran.json["written"][0] == "pages/index.md"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "nowhere"), "--rows nowhere: there is no such folder"),
        (
            ("--rows", "rows", "--explanations", "no.toml"),
            "--explanations no.toml: there is no such file",
        ),
        (("--rows", "rows", "--experiments", "no"), "no: there is no such folder"),
        (("--rows", "rows", "--markdown", "rows/bmlpl-3.jsonl"), "is a file; give a folder"),
    ],
)
@pytest.mark.usefixtures("rows")
def test_wrong_places_are_told_before_any_work(fails, options, message):
    assert message in fails("bench", "report", *options)
