"""The page of the reproduction results in a browser, from made-up rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from labelgap_papers.reproduction import (
    ReproductionStatus as Status,
)
from labelgap_papers.reproduction import (
    build_reproduction,
    load_papers,
    load_reasons,
    page_contents,
    write_html_page,
)
from report.browsing import Browser
from reproduction.made_results import (
    experiment_of,
    picture_experiment,
    picture_rows,
    rows_of,
    stored,
)

pytestmark = pytest.mark.browser
pytest.importorskip("jinja2")
image = pytest.importorskip("matplotlib.image")

TABLES = (("RMFL", "II"), ("iMVWL", "4"), ("GMFS", "3"))


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    experiments = [experiment_of(*table, runs=2) for table in TABLES]
    pictures = [picture_experiment(), picture_experiment("iterations")]
    # every third set stands far above its published figures, every third far below
    rows = []
    for experiment in experiments:
        for place, dataset in enumerate(experiment.datasets):
            shifted = rows_of(experiment, (0.0, 0.2, -0.2)[place % 3])
            rows += [row for row in shifted if row.dataset == dataset.name]
    rows = [row for row in rows if row.method != "LSML"]
    folder = tmp_path_factory.mktemp("rows")
    store = stored(folder, rows, *map(picture_rows, pictures))
    experiments = [*experiments, *pictures]
    return page_contents(build_reproduction(experiments, store, load_papers(), load_reasons()))


@pytest.fixture(scope="module")
def page(view, tmp_path_factory) -> str:
    target = tmp_path_factory.mktemp("page") / "reproduction.html"
    write_html_page(view, target, "labelgap bench report --out reproduction.html", "0.1.0")
    return target.as_uri()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path) as one:
        yield one
        assert one.complaints == []
        assert {address.split(":")[0] for address in one.requests} <= {"file", "data"}


def count(browser: Browser, selector: str) -> int:
    return browser.run(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.parametrize("width", [1280, 390])
def test_fits_the_window_in_light_and_dark(browser, page, width):
    papers = []
    for scheme in ("light", "dark"):
        browser.look(width, scheme=scheme)
        browser.open(page)
        assert browser.run("document.documentElement.scrollWidth") <= width
        papers.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(17, 21, 26)"]


def test_every_table_and_picture_is_there(browser, page, view):
    browser.look(1280)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    shown = [one for paper in view.papers for one in paper.experiments]
    assert count(browser, "table.grid") == sum(len(one.grids) for one in shown)
    figures = sum(len(one.results.experiment.figures()) for one in shown)
    assert count(browser, "table.grid .cell[title]") == figures
    lines = sum(bool(contest.lines) for one in shown for contest in one.contests)
    assert count(browser, "table.winloss") == lines
    pictures = sum(bool(contest.picture) for one in shown for contest in one.contests)
    pictures += sum(len(one.curves) for one in shown)
    pictures += sum(len(paper.costs) for paper in view.papers)
    assert pictures > 8
    drawn = (
        "[...document.querySelectorAll('svg.drawing')].filter(one => "
        "one.getBoundingClientRect().width > 250 && one.querySelectorAll('path').length > 3).length"
    )
    assert browser.run(drawn) == pictures


def test_nothing_is_cut_off(browser, page):
    """Cells and texts of drawings lie inside what can be scrolled to."""
    browser.look(1280)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    outside = browser.run(
        "[...document.querySelectorAll('svg.drawing')].flatMap(drawing => {"
        " const frame = drawing.getBoundingClientRect();"
        " return [...drawing.querySelectorAll('text')].filter(text => {"
        "  const b = text.getBoundingClientRect();"
        "  return b.left < frame.left - 4 || b.right > frame.right + 4"
        "   || b.top < frame.top - 4 || b.bottom > frame.bottom + 4;"
        " }).map(text => text.textContent); })"
    )
    assert outside == []
    wrapped = browser.run(
        "[...document.querySelectorAll('.grid .ours')].filter("
        "one => one.getClientRects().length > 1 || one.scrollWidth > one.clientWidth + 1).length"
    )
    assert wrapped == 0


def test_tables_open_with_a_click_and_links_lead_inside(browser, page):
    browser.look(1280)
    browser.open(page)
    closed = count(browser, "details:not([open])")
    browser.click("details:not([open]) > summary")
    assert count(browser, "details:not([open])") == closed - 1
    browser.click("nav a[href='#rmfl']")
    top = "Math.abs(document.getElementById('rmfl').getBoundingClientRect().top)"
    browser.wait(f"{top} < 60")


def test_statuses_have_their_colours(browser, page, tmp_path):
    browser.look(1280, 1400)
    browser.open(page)
    browser.picture(tmp_path / "page.png", whole=False)
    pixels = np.rint(255 * image.imread(tmp_path / "page.png")[..., :3]).astype(int)
    for status, colour in {
        Status.BEATEN: (0x00, 0x72, 0xB2),
        Status.BELOW: (0xD5, 0x5E, 0x00),
        Status.REPRODUCED: (0x00, 0x9E, 0x73),
    }.items():
        assert (pixels == colour).all(axis=-1).sum() > 500, status


def test_text_can_be_read_on_its_ground(browser, page):
    """The contrast of every chip is at least 4.5, in light and dark."""
    contrast = (
        "(() => { const light = text => { const [r, g, b] = text.match(/\\d+/g).map(v => {"
        " v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });"
        " return 0.2126 * r + 0.7152 * g + 0.0722 * b; };"
        " return Math.min(...[...document.querySelectorAll('.cell[class*=v-]')].flatMap(cell =>"
        "  [...cell.querySelectorAll('.chip, .published, .ours')].map(text => {"
        "   const ground = light(getComputedStyle(cell).backgroundColor);"
        "   const ink = light(getComputedStyle(text).color);"
        "   return (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05); }))); })()"
    )
    for scheme in ("light", "dark"):
        browser.look(1280, scheme=scheme)
        browser.open(page)
        assert browser.run(contrast) >= 4.5


def test_paper_has_the_closed_tables_too(browser, page, tmp_path):
    browser.look(1280, medium="print", scheme="dark")
    browser.open(page)
    heights = browser.run(
        "[...document.querySelectorAll('details table')].map("
        "one => one.getBoundingClientRect().height)"
    )
    assert min(heights) > 20
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
