"""The reproduction results as HTML and as Markdown, read as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from labelgap_papers.reproduction import (
    ReproductionStatus as Status,
)
from labelgap_papers.reproduction import (
    build_reproduction,
    html_page,
    load_papers,
    load_reasons,
    markdown_pages,
    page_contents,
    write_html_page,
    write_markdown_pages,
)
from reproduction.made_results import (
    experiment_of,
    picture_experiment,
    picture_rows,
    rows_of,
    stored,
)
from reproduction.outline import outline

pytest.importorskip("jinja2")
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
def page(view):
    return html_page(view, COMMAND, "0.1.0")


@pytest.fixture(scope="module")
def texts(view):
    return markdown_pages(view, COMMAND)


def test_page_is_well_formed_and_refers_to_nothing_outside(page):
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.described) <= set(found.ids)
    for link in found.links:
        assert link == "data:," or link[1:] in found.ids, link
    for inside in re.findall(r"url\(([^)]*)\)", page):
        assert inside[1:] in found.ids
    assert "<script" not in page
    # the names of the drawing language are no addresses
    assert set(re.findall(r'https?://[^"<\s]+', page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_page_shows_every_figure_of_its_tables_once(view, page):
    for status, n in view.reproduction.counts("GMFS", "2").items():
        assert page.count(f'class="cell v-{status.slug}" title') >= n
    cells = re.findall(r'class="cell v-[a-z-]+" title', page)
    assert len(cells) == 49 + 6
    shown = {one for one in Status if view.counts[one]}
    assert shown >= {
        Status.BEATEN,
        Status.BELOW,
        Status.REFUTED,
        Status.NOT_BUILT,
    }


def test_page_counts_all_figures(view, page):
    assert "Of 1,626 published figures" in page
    for status, n in view.counts.items():
        assert f"<strong>{n:,}</strong><b>{status.symbol} {status}</b>" in page


def test_page_has_all_pictures(page):
    assert page.count('class="drawing"') == 1 + 2 + 2
    assert "var(--series-1)" in page
    assert "style=" not in page.split("<svg", 1)[1].split("</svg>", 1)[0]


def test_text_is_escaped(page):
    assert "A &lt;b&gt;table&lt;/b&gt;" in page
    assert "&lt;i&gt;No&lt;/i&gt;." in page
    assert "This &amp; that." in page
    assert "&lt;u&gt;This&lt;/u&gt; does not." in page
    assert "sun &amp; sea, sand" in page


def test_reasons_stand_under_the_tables(page):
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
    target = tmp_path / "reproduction.html"
    target.write_text("old")
    broken = replace(view, papers=(*view.papers, None))
    with pytest.raises(Exception, match="None"):
        write_html_page(broken, target, COMMAND, "0.1.0")
    assert target.read_text() == "old"
    write_html_page(view, target, COMMAND, "0.1.0")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_empty_folder_makes_a_page_too(tmp_path):
    experiment = experiment_of("GMFS", "2")
    reproduction = build_reproduction([experiment], stored(tmp_path / "rows"), load_papers())
    view = page_contents(reproduction)
    outline(html_page(view, COMMAND, "0.1.0"))
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
