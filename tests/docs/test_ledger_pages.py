"""The pages of the ledger are those of the committed rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgap.bench import RowStore, load_experiments, published_figures
from labelgap.report import build_ledger, ledger_markdown, ledger_view, load_papers, load_reasons

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reproduction"
COMMAND = "labelgap bench report --markdown docs/reproduction"


@pytest.fixture(scope="module")
def ledger():
    papers = load_papers(PAGES / "accounts.toml")
    experiments = list(load_experiments().values())
    return build_ledger(experiments, RowStore(PAGES / "rows"), papers, load_reasons())


def test_pages_are_current(ledger):
    view = ledger_view(ledger)
    for name, text in ledger_markdown(view, COMMAND).items():
        assert (PAGES / name).read_text(encoding="utf-8") == text, f"{name} is old: {COMMAND}"
    drawn = {path.stem for path in (PAGES / "figures").glob("*.svg")}
    assert drawn == {picture.name for picture in view.pictures()}, COMMAND


def test_every_figure_has_a_verdict_on_its_page(ledger):
    assert [entry.figure for entry in ledger.entries] == list(published_figures())
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for verdict, n in ledger.counts().items():
        assert f"| {verdict.symbol} | {verdict} | {verdict.meaning} | {n:,} |" in index
    for paper in ledger.papers:
        text = (PAGES / f"{paper.slug}.md").read_text(encoding="utf-8")
        for verdict, n in ledger.counts(paper.name).items():
            assert text.count(f"<br>{verdict.symbol}\u00a0") == n, (paper.name, verdict)


def test_every_paper_has_an_account(ledger):
    for paper in ledger.papers:
        assert paper.account.holds, paper.name
        assert paper.account.fails, paper.name


def test_no_sentence_lacks_its_end():
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "leaves out ." not in text, page.name
