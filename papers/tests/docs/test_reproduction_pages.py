"""The pages of the reproduction results are those of the committed rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgap_papers.bench import RowStore, load_experiments, published_figures
from labelgap_papers.reproduction import (
    build_reproduction,
    load_papers,
    load_reasons,
    markdown_pages,
    page_contents,
)

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "papers" / "reproduction"
COMMAND = "labelgap bench report --markdown papers/reproduction"


@pytest.fixture(scope="module")
def reproduction():
    papers = load_papers(PAGES / "explanations.toml")
    experiments = list(load_experiments().values())
    return build_reproduction(experiments, RowStore(PAGES / "rows"), papers, load_reasons())


def test_pages_are_current(reproduction):
    view = page_contents(reproduction)
    for name, text in markdown_pages(view, COMMAND).items():
        assert (PAGES / name).read_text(encoding="utf-8") == text, f"{name} is old: {COMMAND}"
    drawn = {path.stem for path in (PAGES / "figures").glob("*.svg")}
    assert drawn == {picture.name for picture in view.pictures()}, COMMAND


def test_every_figure_has_a_status_on_its_page(reproduction):
    assert [entry.figure for entry in reproduction.entries] == list(published_figures())
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for status, n in reproduction.counts().items():
        assert f"| {status.symbol} | {status} | {status.meaning} | {n:,} |" in index
    for paper in reproduction.papers:
        text = (PAGES / f"{paper.slug}.md").read_text(encoding="utf-8")
        for status, n in reproduction.counts(paper.name).items():
            assert text.count(f"<br>{status.symbol}\u00a0") == n, (paper.name, status)


def test_every_paper_has_an_account(reproduction):
    for paper in reproduction.papers:
        assert paper.explanations.holds, paper.name
        assert paper.explanations.fails, paper.name


def test_no_sentence_lacks_its_end():
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "leaves out ." not in text, page.name
