"""The reproduction results as Markdown, read as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from labelgap_papers.reproduction import (
    ReproductionStatus as Status,
)
from labelgap_papers.reproduction import (
    build_reproduction,
    load_papers,
    load_reasons,
    markdown_pages,
    page_contents,
    write_markdown_pages,
)
from reproduction.made_results import (
    experiment_of,
    picture_experiment,
    picture_rows,
    rows_of,
    stored,
)

pytest.importorskip("matplotlib")

COMMAND = "labelgap bench report"


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    """One table with every kind of status, one with topics, two pictures."""
    folder = tmp_path_factory.mktemp("reproduction")
    table = experiment_of("GMFS", "2", runs=3, title="A <b>table</b>")
    table = replace(
        table,
        datasets=tuple(
            replace(one, not_public="nobody has it") if one.name == "delicious" else one
            for one in table.datasets
        ),
        methods=tuple(
            replace(one, not_built="too hard") if one.name == "CMFS" else one
            for one in table.methods
        ),
    )
    shifts = {"All-Fea": 0.2, "FSNM": -0.2, "SFUS": -0.2}
    rows = [row for name in shifts for row in rows_of(table, shifts[name]) if row.method == name]
    rows += [row for row in rows_of(table) if row.method in ("GMFS", "one per label")]
    rows += [row for row in rows_of(table) if row.method == "MIFS" and row.run == 1]
    few = experiment_of("ML-LCS", "4", runs=1)
    topics = [{"fraction": 0.25, "coherence": 0.5, "labels": ["sun & sea", "sand"]}]
    few_rows = [replace(row, details={"topics": topics}) for row in rows_of(few)]
    pictures = [picture_experiment(), picture_experiment("iterations")]
    reasons, explanations = folder / "reasons.toml", folder / "explanations.toml"
    reasons.write_text(
        '[[refuted]]\npaper = "GMFS"\nmethod = "SFUS"\ntext = "<i>No</i>."\nevidence = "x.md"\n',
        encoding="utf-8",
    )
    explanations.write_text('[GMFS]\nholds = ["This & that."]\nfails = ["<u>This</u> does not."]\n')
    store = stored(folder / "rows", rows, few_rows, *map(picture_rows, pictures))
    experiments = [table, few, *pictures]
    reproduction = build_reproduction(
        experiments, store, load_papers(explanations), load_reasons(reasons)
    )
    return page_contents(reproduction)


@pytest.fixture(scope="module")
def texts(view):
    return markdown_pages(view, COMMAND)


def test_reasons_stand_under_the_tables(texts):
    page = texts["gmfs.md"]
    assert "Data not public: delicious. Nobody has it." in page
    assert "Not built: CMFS. Too hard." in page
    assert (
        "Refuted: SFUS on emotions, SFUS on yeast, SFUS on science, SFUS on rcv1s1 and 2 more"
        in page
    )
    assert "1/3" in page


def test_markdown_has_a_page_for_each_paper_and_its_pictures(view, texts):
    assert set(texts) == {"index.md", *(f"{paper.slug}.md" for paper in load_papers())}
    linked = [
        name for text in texts.values() for name in re.findall(r"\]\(figures/([^)]+)\.svg\)", text)
    ]
    assert linked == [picture.name for picture in view.pictures()]
    assert len(linked) == 5


def test_markdown_tables_are_rectangles(texts):
    for name, text in texts.items():
        for block in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(widths) == 1, f"{name}: {block}"


def test_markdown_says_what_the_page_says(view, texts):
    text = texts["gmfs.md"]
    assert "- This & that." in text
    assert "[Evidence](x.md)" in text
    for status in (
        Status.NOT_BUILT,
        Status.DATA_NOT_PUBLIC,
        Status.NOT_MEASURED,
    ):
        assert f"{status.symbol} {status.short}".replace(" ", "\u00a0") in text
    symbols = re.findall("<br>(\\S)\u00a0", text)
    told = {status: symbols.count(status.symbol) for status in Status}
    assert told == view.reproduction.counts("GMFS", "2")
    assert COMMAND in texts["index.md"]


def test_pictures_are_the_same_when_drawn_again(view, texts):
    again = page_contents(view.reproduction)
    assert markdown_pages(again, COMMAND) == texts
    for one, two in zip(view.pictures(), again.pictures(), strict=True):
        assert one.raw == two.raw


def test_files_are_complete_or_untouched(view, tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.svg").write_text("old")
    written = write_markdown_pages(view, tmp_path, COMMAND)
    assert sorted(written) == sorted(p for p in tmp_path.rglob("*") if p.is_file())
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    broken = replace(view, papers=(*view.papers, None))
    with pytest.raises(Exception, match="None"):
        write_markdown_pages(broken, tmp_path, "another command")
    assert (tmp_path / "index.md").read_text(encoding="utf-8") == index


def test_an_empty_folder_makes_a_page_too(tmp_path):
    experiment = experiment_of("GMFS", "2")
    reproduction = build_reproduction([experiment], stored(tmp_path / "rows"), load_papers())
    view = page_contents(reproduction)
    assert "1,626 were not measured yet" in markdown_pages(view, COMMAND)["index.md"]


def test_seconds_are_those_of_processors(tmp_path):
    table = experiment_of("GMFS", "2", runs=1)
    rows = [
        replace(row, device="cuda") if row.method == "MIFS" else row
        for row in rows_of(table)
        if row.method in ("GMFS", "MIFS")
    ]
    reproduction = build_reproduction([table], stored(tmp_path / "rows", rows), load_papers())
    costs = next(one.costs for one in page_contents(reproduction).papers if one.costs)
    assert [one.title.split(" against")[0] for one in costs] == [
        "Seconds to fit",
        "Peak memory (GB)",
    ]
    assert all("GMFS" in one.description and "MIFS" not in one.description for one in costs)
