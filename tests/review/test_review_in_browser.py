"""The review page in a real browser: decide, reload, kill the server, go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labelgap.auditing import Audit, read_decisions
from labelgap.review import DecisionStore
from report.axe import violations
from report.browsing import Browser
from report.hostile import HOSTILE, hostile, no_intruders
from review.books import book_audit

pytestmark = pytest.mark.browser
pytest.importorskip("jinja2")
pytest.importorskip("typer")

READY = "document.body.dataset.ready"


class Server:
    """``labelgap review`` in a process of its own."""

    def __init__(self, folder: Path, audit: Audit | None = None) -> None:
        self.folder = folder
        self.db = folder / "decisions.sqlite"
        text = (audit or book_audit(45)).to_json()
        (folder / "audit.json").write_text(text, encoding="utf-8")
        self.start()

    def start(self, port: int = 0) -> None:
        command = [sys.executable, "-m", "labelgap.cli", "review", str(self.folder / "audit.json")]
        command += ["--db", str(self.db), "--port", str(port), "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        lines = ""
        while not lines.rstrip().endswith("}"):
            assert self.process.poll() is None, "the server ended at once"
            lines += self.process.stdout.readline()
        self.facts: dict[str, Any] = json.loads(lines)
        self.url: str = self.facts["url"]
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def kept(self) -> list[tuple[str, str, str]]:
        store = DecisionStore(self.db, self.facts["audit_id"])
        return [(one.item, one.label, one.decision) for one in store.last()]


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    one = Server(tmp_path)
    yield one
    if one.process.poll() is None:
        one.kill()


@pytest.fixture
def browser(tmp_path, server) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as one:
        yield one
        own = ("http://127.0.0.1:", "data:", "blob:")
        assert [address for address in one.requests if not address.startswith(own)] == []


def question(browser: Browser) -> tuple[str, str]:
    label, item = browser.run(
        "[...document.querySelectorAll('#question em')].map(e => e.textContent)"
    )
    return item, label


def answer(browser: Browser, decision: str) -> tuple[str, str]:
    """Click, and wait until the server has it."""
    asked = question(browser)
    browser.click(f"#{decision}")
    words = {"accept": "added", "reject": "rejected", "skip": "put off"}[decision]
    said = json.dumps(f"{asked[1]} for {asked[0]}: {words}.")
    browser.wait(f"document.getElementById('said').textContent === {said}")
    return asked


def test_click_reload_kill_and_go_on(browser, server):
    browser.open(server.url, until=READY)
    first = answer(browser, "accept")
    second = answer(browser, "reject")
    assert browser.text("#n-accepted") == "1"
    assert browser.text("#n-decided") == "2 of 45"
    browser.reload(until=READY)
    assert browser.text("#n-decided") == "2 of 45"
    assert question(browser) not in (first, second)
    third = answer(browser, "accept")
    expected = [(*first, "accept"), (*second, "reject"), (*third, "accept")]
    server.kill()
    assert server.kept == expected
    before = list(browser.complaints)
    browser.click("#accept")
    browser.wait("!document.getElementById('trouble').hidden")
    assert "was not saved" in browser.text("#trouble")
    # the browser itself reports the refused connection, and nothing else was wrong
    assert before == []
    assert all("ERR_CONNECTION_REFUSED" in one for one in browser.complaints)
    browser.complaints.clear()
    server.start()
    browser.open(server.url, until=READY)
    assert browser.text("#n-decided") == "3 of 45"
    fourth = answer(browser, "reject")
    assert server.kept == [*expected, (*fourth, "reject")]
    assert browser.complaints == []


def test_keys_undo_and_the_next_batch(browser, server):
    browser.open(server.url, until=READY)
    first = question(browser)
    browser.press("a")
    browser.wait("document.querySelector('#place').textContent.startsWith('Question 2')")
    browser.press("u")
    browser.wait("document.querySelector('#place').textContent.startsWith('Question 1')")
    assert question(browser) == first
    assert server.kept == [(*first, "withdraw")]
    browser.press("ArrowRight")
    browser.press("s")
    browser.wait("document.querySelector('#place').textContent.startsWith('Question 3')")
    # as fast as keys can be pressed: none is lost
    for number in range(2, 20):
        browser.press("r" if number % 2 else "a")
    # all but the first are answered: back to it, and on to the next batch
    browser.wait("document.querySelector('#place').textContent.startsWith('Question 1 ')")
    browser.press("a")
    browser.wait("document.querySelector('#said').textContent.startsWith('The model has learned')")
    assert browser.text("#n-decided") == "19 of 45"
    assert browser.text("#n-skipped") == "1"
    assert "before the answers" in browser.text("#probability-words")
    # the last answer of the batch before can be taken back
    browser.press("u")
    browser.wait("document.querySelector('#n-decided').textContent === '18 of 45'")
    assert question(browser) == first
    assert browser.complaints == []


def test_the_report_and_the_queue_fraction_decisions(browser, server, tmp_path):
    browser.open(server.url, until=READY)
    asked = answer(browser, "accept")
    browser.click("#to-report")
    browser.wait("document.querySelector('.suggestion')")
    decided = "document.querySelector('.suggestion[data-decision=accept]').suggestion"
    assert (browser.run(f"{decided}.item"), browser.run(f"{decided}.label")) == asked
    browser.run(
        "[...document.querySelectorAll('.suggestion')].find(e => !e.dataset.decision)"
        ".querySelector('button.reject').click()"
    )
    browser.wait("document.getElementById('count').textContent.startsWith('1 accepted, 1 rej')")
    assert [decision for _, _, decision in server.kept] == ["accept", "reject"]
    browser.click("#export")
    target = tmp_path / "browser" / f"labelgap-decisions-{server.facts['audit_id'][:8]}.json"
    end = time.monotonic() + 20
    while not target.exists() and time.monotonic() < end:
        browser.run("1")
        time.sleep(0.1)
    assert [one.decision for one in read_decisions(target).decisions] == ["accept", "reject"]
    assert browser.complaints == []


def test_two_reviewers_and_what_they_differ_about(browser, server, tmp_path):
    browser.open(server.url, until=READY)
    browser.run("document.getElementById('reviewer').value = 'Ann'")
    with Browser(tmp_path / "second") as other:
        other.open(server.url, until=READY)
        other.run("document.getElementById('reviewer').value = 'Bob'")
        assert question(other) != question(browser)
        asked = answer(browser, "accept")
        answer(other, "accept")
        token = server.url.split("token=")[1]
        click = {"item": asked[0], "label": asked[1], "decision": "reject"}
        click |= {"reviewer": "Bob", "request": "by hand"}
        other.run(
            "fetch('/api/decide', {method: 'POST', headers: {'Content-Type': 'application/json',"
            f"'X-Labelgap-Token': '{token}'}}, body: JSON.stringify({json.dumps(click)})}})"
            ".then(a => a.status)"
        )
        assert other.complaints == []
    answer(browser, "accept")
    assert "Bob: 2" in browser.text("#reviewers")
    assert browser.text("#disagreements li").endswith("Ann accept, then Bob reject")
    assert len(server.kept) == 3
    assert browser.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_fits_the_window(browser, server, width, scheme):
    browser.look(width, scheme=scheme)
    browser.open(server.url, until=READY)
    assert browser.run("document.documentElement.scrollWidth") <= width
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    named = [
        node.get("name", {}).get("value", "")
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] in ("button", "textbox", "link")
    ]
    assert len(named) > 20
    assert all(named)
    assert browser.pale() == []
    shown = browser.run(
        "[...document.querySelectorAll('[hidden]')].map(e => e.getClientRects().length)"
    )
    assert not any(shown), "what is hidden is not drawn, such as a chart of no answers"
    assert browser.complaints == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe(browser, server, width, scheme):
    browser.look(width, scheme=scheme)
    browser.open(server.url, until=READY)
    assert violations(browser) == []
    answer(browser, "accept")
    answer(browser, "reject")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.wait("document.querySelectorAll('#item-labels li').length > 0")
    assert violations(browser) == []
    browser.run("document.getElementById('other-item').showModal()")
    assert violations(browser) == []


def test_hostile_names_stay_text_and_no_other_script_gets_in(tmp_path):
    plain = book_audit(len(HOSTILE))
    texts = list(HOSTILE.values())
    suggestions = tuple(map(hostile, plain.suggestions, texts))
    labels = tuple(replace(plain.labels[0], name=text) for text in texts)
    changed = replace(hostile(plain, texts[0]), suggestions=suggestions, labels=labels)
    server = Server(tmp_path, changed)
    try:
        with Browser(tmp_path / "browser") as browser:
            browser.open(server.url, until=READY)
            for k in range(len(texts)):
                item, label = question(browser)
                assert item == label
                assert item in texts
                width = browser.run("[document.documentElement.scrollWidth, innerWidth]")
                assert width[0] <= width[1], item[:20]
                browser.click("#accept")
                browser.wait(f"document.getElementById('n-accepted').textContent === '{k + 1}'")
            assert browser.complaints == []
            no_intruders(browser)
            browser.open(
                server.url.replace("/?", "/report?"), until="location.pathname === '/report'"
            )
            assert browser.complaints == []
            no_intruders(browser)
        assert sorted(server.kept) == sorted((text, text, "accept") for text in texts)
    finally:
        server.kill()
