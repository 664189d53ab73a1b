"""The page of the demo, as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from labelgap.report import CELL_STATES, MatrixSample, demo_page, write_demo_page
from labelgap.report._demo_words import naive_words, recovered_words, unseen_words, verdict
from labelgap.report._matrix_svg import describe, matrix_svg
from report.results import method, result

pytest.importorskip("jinja2")

VOID = {"meta", "link", "br", "rect", "circle", "path", "line", "use"}


class Outline(HTMLParser):
    """Checks that tags are closed in order and collects ids, links and headings."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.described: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)
            if name == "aria-labelledby":
                self.described += value.split()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_page_is_well_formed_and_refers_to_nothing_outside():
    page = demo_page(result())
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.described) <= set(found.ids)
    for link in found.links:
        assert link == "data:," or link[1:] in found.ids
    assert "url(" not in page
    assert "<script" not in page
    assert "http" not in page


def test_page_shows_every_method_number_and_the_command():
    page = demo_page(result())
    for one in result().methods:
        assert page.count(f"{one.name}<") >= 3
    assert "labelgap demo --seed 0" in page
    assert "80%" in page
    assert "0.750" in page
    assert "(&#39;" not in page
    assert "the intervals do not cover another draw" in page


def test_names_are_escaped():
    sample = MatrixSample([0], ["<b>&\"'"], [["found"]])
    page = demo_page(result(dataset="<script>alert(1)</script>", sample=sample))
    outline(page)
    assert "<script" not in page
    assert "<b>" not in page


def test_generated_data_are_announced():
    page = demo_page(result(generated="Nothing could be fetched."))
    assert "These data are generated.</strong> Nothing could be fetched." in page
    assert "These data are generated" not in demo_page(result())


def test_every_state_has_its_own_picture_and_words():
    page = demo_page(result())
    for state, meaning in CELL_STATES.items():
        assert f'id="cell-{state}"' in page
        assert page.count(f'"#cell-{state}"') == 3
        assert meaning in page


def test_picture_describes_itself():
    text = describe(result().sample)
    assert "2 rows and 6 labels" in text
    assert "hidden, recovered: yes: 2" in text
    long_name = "a very long name of a label"
    picture = matrix_svg(MatrixSample([0], [long_name], [["no"]]))
    assert f"row 0, {long_name}: known: no" in picture
    assert ">a very long n…</text>" in picture


def test_words_follow_the_intervals():
    assert "In this run on yeast, with 40% of the labels hidden" in verdict(result())
    assert "ranked unseen rows better than every naive alternative" in verdict(result())
    tie = [
        method("model", "model"),
        method("one", "naive"),
        method("two", "naive", ahead=(-0.1, 0.1)),
        method("all", "ceiling"),
    ]
    assert "ahead of 1 of 2 naive alternatives in ranking, and level with method two" in verdict(
        result(methods=tie)
    )
    worse = [
        method("model", "model"),
        method("one", "naive", ahead=(-0.3, -0.1)),
        method("all", "ceiling"),
    ]
    assert "method one ranked unseen rows better than the model" in verdict(result(methods=worse))
    assert naive_words(result(methods=worse)) == (
        "In ranking, the model is clearly behind method one. "
        "In yes/no decisions, the model is clearly behind method one."
    )


def test_words_state_the_base_rate():
    said = recovered_words(result())
    assert "80% were filled in correctly (answering no everywhere would get 70%)" in said
    assert "50% of the 300 hidden yeses were found" in said
    assert re.search(
        r"average precision 0\.750; had no label been hidden, it would be 0\.750",
        unseen_words(result()),
    )


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    broken = result(sample=MatrixSample([0], ["a"], [["nosuch"]]))
    with pytest.raises(KeyError):
        write_demo_page(broken, target)
    assert target.read_text() == "old"
    write_demo_page(result(), target)
    assert target.read_text(encoding="utf-8") == demo_page(result())
    assert list(tmp_path.iterdir()) == [target]
