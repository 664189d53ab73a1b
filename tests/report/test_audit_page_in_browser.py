"""The audit page in a real browser: fits, decides, exports, remembers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from auditing.sample_audits import bare_audit, sample_audit
from labelgap.auditing import Audit, read_decisions
from labelgap.report import write_audit_page
from report.axe import violations
from report.browsing import Browser
from report.hostile import HOSTILE, hostile, no_intruders

pytestmark = pytest.mark.browser
pytest.importorskip("jinja2")

READY = "document.querySelector('.suggestion')"


def long_audit() -> Audit:
    """Forty suggestions, with ids and names that are hard to break into lines."""
    audit = sample_audit(30)
    long = "Mean_of_something_measured_40_times_"
    assert audit.topics is not None
    assert audit.selected_features is not None
    audit = replace(
        audit,
        topics=tuple(
            replace(one, features=tuple((long + name, w) for name, w in one.features))
            for one in audit.topics
        ),
        selected_features=tuple(
            replace(one, name=long + one.name) for one in audit.selected_features
        ),
    )
    more = tuple(
        replace(one, rank=k + 1, item=f"{one.item}-{'x' * 40}-{k}")
        for k, one in enumerate((*audit.suggestions, *audit.suggestions[:10]))
    )
    return replace(audit, suggestions=more)


@pytest.fixture
def browser(tmp_path) -> Iterator[Browser]:
    with Browser(tmp_path) as one:
        yield one
        assert one.complaints == []
        assert {address.split(":")[0] for address in one.requests} <= {"file", "data", "blob"}


@pytest.fixture
def page(tmp_path) -> str:
    target = tmp_path / "audit.html"
    write_audit_page(long_audit(), target)
    return target.as_uri()


@pytest.mark.parametrize("width", [1280, 390])
def test_fits_the_window_in_light_and_dark(browser, page, width):
    papers = []
    for scheme in ("light", "dark"):
        browser.look(width, scheme=scheme)
        browser.open(page, until=READY)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("document.querySelectorAll('.suggestion').length") == 15
        papers.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(17, 21, 26)"]


def test_a_page_with_little_to_say(browser, tmp_path):
    write_audit_page(bare_audit(), tmp_path / "bare.html")
    browser.open((tmp_path / "bare.html").as_uri())
    assert "Labels" in browser.text("nav")


def test_clicks_decide_and_are_remembered(browser, page):
    browser.open(page, until=READY)
    browser.click(".suggestion button.accept")
    browser.click("li:nth-child(2) button.reject")
    browser.wait("document.getElementById('count').textContent.startsWith('1 accepted, 1 rej')")
    assert browser.text("#said").endswith("rejected.")
    browser.reload(until=READY)
    assert browser.text("#count") == "1 accepted, 1 rejected of 40"
    pressed = "document.querySelector('.suggestion button.accept').getAttribute('aria-pressed')"
    assert browser.run(pressed) == "true"
    browser.click(".suggestion button.accept")
    browser.wait("document.getElementById('count').textContent.startsWith('0 accepted, 1 rej')")


def test_keys_go_through_the_list(browser, page):
    browser.open(page, until=READY)
    browser.run("document.querySelector('.suggestion').focus()")
    for key in ("a", "r", "ArrowDown", "a", "ArrowUp", "u", "e"):
        browser.press(key)
        browser.run("new Promise(done => setTimeout(done, 30))")
    # accepted, rejected, left out, accepted and moved on, back up, taken back
    decided = "[...document.querySelectorAll('.suggestion')].map(e => e.dataset.decision || '-')"
    assert browser.run(decided)[:6] == ["accept", "reject", "-", "-", "-", "-"]
    assert browser.run("document.activeElement.suggestion.rank") == 4
    assert browser.run("document.activeElement.querySelector('details').open") is True
    assert browser.run("document.querySelectorAll('.suggestion[tabindex=\"0\"]').length") == 1
    label = browser.run("document.activeElement.getAttribute('aria-label')")
    assert label.endswith(", undecided")


def test_the_exported_file_is_one_the_library_reads(browser, page, tmp_path):
    browser.open(page, until=READY)
    assert browser.run("document.getElementById('export').disabled") is True
    browser.click(".suggestion button.accept")
    browser.click("li:nth-child(3) button.reject")
    browser.click("#export")
    target = tmp_path / "labelgap-decisions-5a0c1e7d.json"
    end = time.monotonic() + 20
    while not target.exists() and time.monotonic() < end:
        browser.run("1")
        time.sleep(0.1)
    read = read_decisions(target)
    suggestions = long_audit().suggestions
    assert read.audit == long_audit().audit_id
    assert [(one.item, one.label, one.decision) for one in read.decisions] == [
        (suggestions[0].item, suggestions[0].label, "accept"),
        (suggestions[2].item, suggestions[2].label, "reject"),
    ]


def test_filters_and_more(browser, page):
    browser.open(page, until=READY)
    shown = "[...document.querySelectorAll('.suggestion')].map(e => e.suggestion.rank)"
    browser.click("#more")
    assert browser.run(shown) == list(range(1, 31))
    assert browser.run("document.activeElement.suggestion.rank") == 16
    choose = (
        "(() => { const s = document.getElementById('%s'); s.value = %r;"
        "s.dispatchEvent(new Event('input')); })()"
    )
    browser.run(choose % ("filter-label", "crime"))
    labels = "[...document.querySelectorAll('.suggestion .tag')].map(e => e.textContent)"
    assert set(browser.run(labels)) == {"crime"}
    browser.run(choose % ("filter-item", "no such item"))
    assert browser.run("document.getElementById('none').hidden") is False
    browser.run(choose % ("filter-item", ""))
    browser.click(".suggestion button.accept")
    browser.run(choose % ("filter-state", "decided"))
    assert len(browser.run(shown)) == 1


def test_can_be_printed(browser, page, tmp_path):
    browser.open(page, until=READY)
    browser.click(".suggestion button.accept")
    browser.look(1000, medium="print", scheme="dark")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.querySelector('.tray')).display") == "none"
    assert (
        browser.run("getComputedStyle(document.querySelector('.decision-word')).display") == "block"
    )
    why = "document.querySelector('.evidence summary')"
    assert browser.run(f"{why}.checkVisibility()") is True
    assert browser.run(f"getComputedStyle({why}).whiteSpace") == "normal"
    browser.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_names_are_for_everybody(browser, page):
    """Every button and control has a name; headings come in order; pictures are described."""
    browser.open(page, until=READY)
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "searchbox", "img", "image", "link"}
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] in roles
    ]
    assert len(named) > 40
    assert [one for one in named if not one[1]] == []
    levels = browser.run("[...document.querySelectorAll('h1, h2, h3')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("width", [1280, 390])
def test_every_part_is_drawn_and_no_number_lies_on_another(browser, tmp_path, width):
    audit = long_audit()
    objective = replace(audit.convergence[0], values=(-438012.5, -321000.0, -304000.0))
    write_audit_page(replace(audit, convergence=(objective,)), tmp_path / "drawn.html")
    browser.look(width)
    browser.open((tmp_path / "drawn.html").as_uri(), until=READY)
    links = browser.run("[...document.querySelectorAll('nav a')].map(e => e.hash.slice(1))")
    parts = "missing labels item-rates pairs quality topics features convergence again"
    assert links == parts.split()
    sizes = browser.run(
        "[...document.querySelectorAll('svg[role=img]')].map(e => {"
        "const b = e.getBoundingClientRect(); return [b.width, b.height]; })"
    )
    assert len(sizes) == 5, "items, map, learning curve, calibration, convergence"
    assert all(wide > 100 and high > 60 for wide, high in sizes)
    trouble = browser.run(
        """
        [...document.querySelectorAll('svg.chart')].flatMap(svg => {
          const frame = svg.getBoundingClientRect();
          const texts = [...svg.querySelectorAll('text')].map(
            t => [t.textContent, t.getBoundingClientRect()]);
          const cut = texts.filter(([, b]) => b.left < frame.left - 1 || b.right > frame.right + 1
            || b.top < frame.top - 1 || b.bottom > frame.bottom + 1).map(([t]) => 'cut: ' + t);
          const apart = (a, b) => a.right <= b.left || b.right <= a.left
            || a.bottom <= b.top || b.bottom <= a.top;
          const touching = texts.flatMap(([s, a], i) => texts.slice(i + 1)
            .filter(([, b]) => !apart(a, b)).map(([t]) => `touching: ${s} and ${t}`));
          return [...cut, ...touching];
        })
        """
    )
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(browser, page, scheme):
    browser.look(1280, scheme=scheme)
    browser.open(page, until=READY)
    browser.click(".suggestion button.accept")
    browser.click("li:nth-child(2) button.reject")
    browser.click("li:nth-child(3) summary")
    assert browser.pale() == []
    # the check itself can fail
    browser.run("document.querySelector('h1').style.color = 'rgb(128 128 128 / .5)'")
    assert len(browser.pale()) == 1


def test_the_keyboard_reaches_everything_in_reading_order(browser, page):
    browser.open(page, until=READY)
    seen, place = [], "document.activeElement"
    for _ in range(200):
        browser.press("Tab")
        where = browser.run(
            f"(e => e === document.body ? null : [e.id || e.className || e.textContent.trim(),"
            f"e.getBoundingClientRect().top + scrollY,"
            f"getComputedStyle(e).outlineStyle])({place})"
        )
        if where is None:
            break
        seen.append(where)
    names = [name for name, _, _ in seen]
    wanted = ["Missing labels", "filter-label", "filter-state", "filter-item", "suggestion"]
    wanted += ["accept", "reject", "more"]
    places = [names.index(name) for name in wanted]
    assert places == sorted(places)
    assert names.count("suggestion") == 1, "one stop in the list; arrows move within it"
    # sticky things aside, the order is that of the page; and one sees where one is
    tops = [top for name, top, _ in seen if name not in ("export", "clear")]
    assert all(after >= before - 60 for before, after in pairwise(tops))
    assert {style for _, _, style in seen} == {"solid"}


def test_a_browser_that_keeps_nothing_says_so(browser, page: str):
    denied = (
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }});"
    )
    browser.ask("Page.addScriptToEvaluateOnNewDocument", source=denied)
    browser.open(page, until=READY)
    assert browser.run("document.getElementById('fleeting').hidden") is False
    browser.click(".suggestion button.accept")
    browser.wait("document.getElementById('count').textContent.startsWith('1 accepted')")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe(browser, page, width, scheme):
    browser.look(width, scheme=scheme)
    browser.open(page, until=READY)
    assert violations(browser) == []
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert violations(browser) == []


def test_an_item_shows_its_cells(browser, tmp_path):
    audit = sample_audit(8)
    cells = (("note", "the invoice is wrong <b>twice</b>"), ("recorded", "billing"))
    suggestions = tuple(replace(one, cells=cells) for one in audit.suggestions)
    target = tmp_path / "audit.html"
    write_audit_page(replace(audit, suggestions=suggestions), target)
    browser.look(390)
    browser.open(target.as_uri(), until=READY)
    assert browser.text(".suggestion .cells dd") == "the invoice is wrong <b>twice</b>"
    box = "document.querySelector('.suggestion .cells').getBoundingClientRect()"
    assert browser.run(f"{box}.right") <= 390


def test_a_table_that_goes_on_to_the_right_says_so(browser, page):
    browser.look(390)
    browser.open(page, until=READY)
    wide = (
        """[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth)"""
    )
    assert browser.run(f"{wide}.length") > 0
    assert browser.run(
        f"{wide}.every(e => getComputedStyle(e).backgroundImage.includes('gradient'))"
    )


def test_hostile_names_stay_text(browser, tmp_path):
    for name, text in HOSTILE.items():
        target = tmp_path / f"{name}.html"
        write_audit_page(hostile(sample_audit(3), text), target)
        browser.open(target.as_uri(), until=f"location.href.includes('{name}.html') && {READY}")
        browser.click("button.accept")
        assert browser.run("window.hurt") is None
        assert browser.run("document.querySelectorAll('img, main script, main style').length") == 0
        shown = text.replace("\0", "")
        assert browser.run("document.querySelector('main').textContent").count(shown) > 10
        width = browser.run("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], name


def test_the_policy_of_a_file_lets_no_other_script_or_style_in(browser, page):
    browser.open(page, until=READY)
    no_intruders(browser)
