"""The review page on real emojis, in a browser: whatever a newcomer reaches for is there."""

from __future__ import annotations

import json
from collections import Counter
from threading import Thread

import pandas as pd
import pytest

from labelgap.review import DecisionStore, ReviewServer
from report.browsing import Browser

pytestmark = pytest.mark.browser
pytest.importorskip("jinja2")

READY = "document.body.dataset.ready"
PLACE = "document.querySelector('#place').textContent"
BATCH = 20


@pytest.fixture
def reviewed(run, emojis, tmp_path, monkeypatch):
    """Run ``labelgap review`` of a table with texts and definitions until the test is over."""
    monkeypatch.chdir(tmp_path)
    emojis.to_csv("emojis.csv", index=False)
    often = Counter(tag for tags in emojis["tags"] for tag in tags.split(";") if tag)
    meaning = [f"what has to do with {tag}" for tag in often]
    pd.DataFrame({"label": list(often), "text": meaning}).to_csv("meaning.csv", index=False)
    servers: list[ReviewServer] = []

    def serve(server: ReviewServer) -> None:
        # the command ends at once, and its server stays for the browser
        servers.append(server)

    with monkeypatch.context() as patch:
        patch.setattr(ReviewServer, "serve_forever", serve)
        patch.setattr(ReviewServer, "server_close", lambda server: None)
        read = ("--labels", "tags", "--item", "id", "--text", "text", "--zeros", "unlabeled")
        shown = ("--reviewer", "Ann", "--suggestions", "60")
        ran = run("review", "emojis.csv", *read, *shown, "--label-text", "meaning.csv")
    assert ran.code == 0, ran
    (server,) = servers
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _asked(browser: Browser) -> tuple[str, str]:
    label, item = browser.run(
        "[...document.querySelectorAll('#question em')].map(e => e.innerText)"
    )
    return item, label


def _kept() -> dict[tuple[str, str], str]:
    return {(one.item, one.label): one.decision for one in DecisionStore("decisions.sqlite").last()}


def test_all_that_a_question_needs_is_on_the_page(reviewed, emojis, tmp_path):
    text_of = dict(zip(emojis["id"], emojis["text"], strict=True))
    with Browser(tmp_path / "browser") as browser:
        browser.open(reviewed.url, until=READY)
        item, label = _asked(browser)
        assert text_of[item] in browser.text("#about")
        assert browser.run("document.getElementById('reviewer').value") == "Ann"
        # nothing was answered, so that nothing was different before
        assert "before" not in browser.text("#probability-words")

        # what the label means, with items that carry it
        browser.wait("!document.getElementById('about-label').hidden")
        browser.click("#about-label summary")
        assert f"what has to do with {label}" in browser.text("#label-facts")
        carrying = [text_of[row.id] for row in emojis.itertuples() if label in row.tags.split(";")]
        assert any(text in browser.text("#label-facts") for text in carrying)

        # words that speak for the label are marked in the text of some question of the batch
        marked = set()
        for _ in range(BATCH):
            marked |= set(
                browser.run("[...document.querySelectorAll('#about mark')].map(e => e.innerText)")
            )
            browser.press("ArrowRight")
        assert marked
        assert all(any(word in text for text in text_of.values()) for word in marked)

        # a similar item is a button that shows it
        browser.run("scrollTo(0, 0)")
        similar = browser.text("#why button.link")
        browser.click("#why button.link")
        browser.wait("document.getElementById('other-item').open")
        assert browser.text("#other-name") == similar
        assert text_of[similar] in browser.text("#other-about")
        assert _asked(browser)[1] in browser.text("#other-labels").split(", ")
        browser.click("#other-item form button")
        assert browser.complaints == []


def test_all_labels_comments_and_what_cannot_be_told(reviewed, tmp_path):
    with Browser(tmp_path / "browser") as browser:
        browser.open(reviewed.url, until=READY)
        first = _asked(browser)
        browser.run("document.getElementById('comment').value = 'looks like it'")
        browser.click("#accept")
        browser.wait(f"{PLACE}.startsWith('Question 2')")
        second = _asked(browser)
        browser.click("#unsure")
        browser.wait(f"{PLACE}.startsWith('Question 3')")
        third = _asked(browser)
        browser.click("#skip")
        browser.wait(f"{PLACE}.startsWith('Question 4')")
        assert browser.text("#n-unsure") == browser.text("#n-skipped") == "1"

        # every label of the table can be set, also one that was not suggested
        fourth = _asked(browser)
        asked = {(one.item, one.label) for one in reviewed.review.audit.suggestions}
        browser.click("#all-labels summary")
        browser.wait("document.querySelectorAll('#item-labels li').length > 0")
        _, states = reviewed.review.item(fourth[0])
        new = next(
            one.label
            for one in states
            if not one.is_positive and (fourth[0], one.label) not in asked
        )
        browser.run(
            f"(find => {{ find.value = {json.dumps(new)};"
            "find.dispatchEvent(new Event('input', {bubbles: true})); })"
            "(document.getElementById('find-label'))"
        )
        browser.wait("document.querySelectorAll('#item-labels li button.accept').length > 0")
        browser.click("#item-labels button.accept")
        browser.wait("document.querySelector('#item-labels button.accept[aria-pressed=true]')")
        assert _kept() == {
            first: "accept",
            second: "unsure",
            third: "skip",
            (fourth[0], new): "accept",
        }
        (about,) = [one for one in DecisionStore("decisions.sqlite").since(0) if one.comment]
        assert (about.reviewer, about.comment) == ("Ann", "looks like it")

        # answers are of the reviewer of now, and who differs is named
        browser.run("document.getElementById('reviewer').value = 'Bob'")
        browser.click("#strip li:first-child button")
        browser.wait(f"{PLACE}.startsWith('Question 1 ')")
        assert _asked(browser) == first
        browser.click("#reject")
        browser.wait("!document.getElementById('disagreements-part').hidden")
        assert "Ann accept, then Bob reject" in browser.text("#disagreements")
        assert browser.complaints == []


def test_the_last_answer_of_a_batch_can_be_taken_back(reviewed, tmp_path):
    with Browser(tmp_path / "browser") as browser:
        browser.open(reviewed.url, until=READY)
        for number in range(1, BATCH):
            browser.press("r")
            browser.wait(f"{PLACE}.startsWith('Question {number + 1} ')")
        last = _asked(browser)
        browser.press("a")
        browser.wait(f"{PLACE}.startsWith('Question 1 ')")
        assert not browser.run("document.getElementById('undo').disabled")
        browser.press("u")
        browser.wait(f"document.querySelector('#n-decided').textContent.startsWith('{BATCH - 1} ')")
        assert _asked(browser) == last
        assert _kept()[last] == "withdraw"
        assert browser.complaints == []
