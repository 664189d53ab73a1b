"""The built site in a real browser: nothing is cut at the right, and no page is endless."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from report.browsing import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
pytest.importorskip("sphinx")
pytest.importorskip("myst_nb")

DOCS = Path(__file__).parents[2] / "docs"
MOST_PIXELS = 12_000
# what lies beyond the right edge and cannot be scrolled to
CUT = """
(() => {
  const width = document.documentElement.clientWidth, cut = [];
  const scrolls = e => e && e !== document.body
    && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  for (const e of document.querySelectorAll("main *")) {
    if (!e.checkVisibility() || e.getBoundingClientRect().right <= width + 1) continue;
    if (!scrolls(e.parentElement)) cut.push(`${e.tagName} ${e.className}: ${e.textContent.slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > width) cut.push("the page itself");
  return cut.slice(0, 3);
})()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    built = subprocess.run([*command, str(DOCS), str(target)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-3000:]
    return target


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_cut_or_endless(site, tmp_path, width):
    found = []
    with Browser(tmp_path) as browser:
        browser.look(width)
        for page in sorted(site.rglob("*.html")):
            if "_static" in page.parts:
                continue
            browser.open(page.as_uri())
            cut = browser.run(CUT)
            tall = browser.run("document.documentElement.scrollHeight")
            # a narrow window makes a page longer, not a worse one
            if cut or (width == 1280 and tall > MOST_PIXELS):
                found.append(f"{page.relative_to(site)}: {tall} px, {cut}")
    assert not found, "\n".join(found)


def test_the_audit_is_in_the_navigation(site, tmp_path):
    with Browser(tmp_path) as browser:
        browser.look(1280)
        browser.open((site / "index.html").as_uri())
        shown = browser.run(
            "[...document.querySelectorAll('.bd-header a')].map(e => e.textContent.trim())"
        )
        assert {"Audit", "Review"} <= set(shown)


def test_notebooks_show_pictures(site, tmp_path):
    with Browser(tmp_path) as browser:
        for name in ("audit", "mend", "zero_shot"):
            browser.open((site / "notebooks" / f"{name}.html").as_uri())
            pictures = "[...document.querySelectorAll('.cell_output img')]"
            assert browser.run(f"{pictures}.filter(e => e.naturalWidth > 100).length") >= 1


def test_the_first_page_and_the_reference_are_more_than_links(site, tmp_path):
    with Browser(tmp_path) as browser:
        for page in ("index.html", "reference/index.html"):
            browser.open((site / page).as_uri())
            words = len(browser.text("main article").split())
            linked = browser.run(
                "[...document.querySelectorAll('main article a')].map(e => e.innerText).join(' ')"
            )
            assert words > 2 * len(linked.split()), page
