"""The audit page, as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from audit.sample_audits import bare_audit, sample_audit
from labelgap.audit import CooccurrenceMap, Estimate, LabelAudit, LearningPoint
from labelgap.report import audit_page, review_page, write_audit_page
from labelgap.report._audit_charts import items_svg, learning_svg, trace_svg
from labelgap.report._audit_map import describe, map_svg, strongest
from labelgap.report._audit_words import headline, learning, p_value, title

pytest.importorskip("jinja2")


class Outline(HTMLParser):
    """Checks that tags are closed in order, and collects ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.described: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("href", "src") if name in found]
        for name in ("aria-labelledby", "aria-describedby"):
            self.described += found.get(name, "").split()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert parser.open == []
    return parser


PAGES = {
    "full": lambda: audit_page(sample_audit()),
    "bare": lambda: audit_page(bare_audit()),
    "served": lambda: audit_page(sample_audit(), nonce="abc"),
    "review": lambda: review_page(sample_audit(), nonce="abc"),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_well_formed_and_refer_to_nothing_outside(name):
    page = PAGES[name]()
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.described) <= set(found.ids)
    for link in found.links:
        assert link in ("data:,", "/report") or link[1:] in found.ids
    assert "url(" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "(&#39;" not in page


def test_every_part_of_the_audit_is_there():
    audit = sample_audit()
    page = audit_page(audit)
    shown = " ".join(re.sub(r"<[^>]+>", " ", page).split()).replace(" )", ")").replace("( ", "(")
    for words in (
        *audit.summary.sentences,
        audit.summary.gaps_in_words,
        "200 × 6",
        "too rare to learn",
        "0.90 (0.85–0.94)",
        "fiction · crime",
        "&lt;0.001",
        "fiction ≈ novel",
        "86%",
        "topic 1",
        "Features worth keeping",
        "Converged.",
        "9007199254740993",
        "ab" * 32,
        "2 of 200 items carry no label at all",
    ):
        assert words in shown, words


def test_parts_without_content_are_left_out():
    page = audit_page(bare_audit())
    for name in ("missing", "pairs", "quality", "topics", "features", "convergence"):
        assert f'id="{name}"' not in page
        assert f'href="#{name}"' not in page
    assert "<script" not in page


def test_suggestions_travel_as_they_are():
    audit = sample_audit()
    page = audit_page(audit)
    data = re.search(r'id="audit-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    read = json.loads(data.group(1))
    assert read["audit"] == audit.audit_id
    assert read["served"] is False
    assert read["suggestions"] == audit.to_dict()["suggestions"]


def test_markup_in_the_data_stays_text():
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    audit = sample_audit()
    labels = tuple(replace(one, name=evil) for one in audit.labels)
    suggestions = tuple(replace(one, label=evil, item=evil) for one in audit.suggestions)
    label_map = CooccurrenceMap((evil, evil), ((2, 1), (1, 2)), ((1.0, 2.0), (2.0, 1.0)))
    page = audit_page(
        replace(
            audit,
            labels=labels,
            suggestions=suggestions,
            pairs=replace(audit.pairs, map=label_map),
        )
    )
    outline(page)
    assert page.count("<script") == 2
    assert "<img" not in page


def test_only_the_page_of_the_server_talks_to_it():
    alone, served = audit_page(sample_audit()), audit_page(sample_audit(), nonce="abc")
    assert "default-src 'none'" in alone
    assert "nonce" not in alone
    assert '"served": false' in alone
    assert '"served": true' in served
    assert served.count('nonce="abc"') == 3


def test_many_labels_are_cut_and_the_rest_is_counted():
    audit = sample_audit()
    one = audit.labels[0]
    many = tuple(replace(one, name=f"label {k}", expected_missing=float(k)) for k in range(350))
    page = audit_page(replace(audit, labels=many))
    rows = re.findall(r'<th scope="row" class="words">(label \d+)', page)
    assert rows == [f"label {k}" for k in range(349, 49, -1)]
    assert "280 more labels" in page
    assert "50 more are in the tables" in page


def test_labels_nothing_is_known_of_come_last():
    audit = sample_audit()
    unknown = LabelAudit("unknown", 1000, 1.0, None, None, True, None, None, None)
    page = audit_page(replace(audit, labels=(unknown, *audit.labels[:2])))
    table = page.split('<h2 id="labels"')[1]
    assert re.findall(r'<th scope="row" class="words">(\w+)', table)[:3] == [
        "novel",
        "fiction",
        "unknown",
    ]


def test_the_map_says_what_it_shows():
    pairs = sample_audit().pairs.map
    assert strongest(pairs, 200, 1) == [("fiction", "crime", 3, 0.09)]
    assert "fiction and crime: 3 items, 0.1 times" in describe(pairs, 200)
    picture = map_svg(pairs, 200)
    assert picture.count('class="self"') == 3
    assert picture.count("<title>") == 9
    assert "fiction and crime: 3 items, 0.09 times what chance gives" in picture


def test_pairs_that_chance_explains_are_pale():
    def shade(n_each: int) -> float:
        pairs = CooccurrenceMap(("a", "b"), ((n_each, 0), (0, n_each)), ((1.0, 0.0), (0.0, 1.0)))
        found = re.search(r'class="seldom".*?fill-opacity="([\d.]+)"', map_svg(pairs, 1000))
        assert found is not None
        return float(found.group(1))

    assert shade(20) < 0.2 < shade(100) < shade(200) == 1.0


def test_learning_words_follow_the_intervals():
    def points(first: float, second: float, half: float):
        return tuple(
            LearningPoint(share, n, Estimate(value, value - half, value + half))
            for share, n, value in ((0.5, 100, first), (1.0, 200, second))
        )

    audit = sample_audit()
    assert "still help" in learning(replace(audit, learning_curve=points(0.5, 0.7, 0.05)))
    assert "within the uncertainty" in learning(
        replace(audit, learning_curve=points(0.5, 0.52, 0.05))
    )
    assert "nothing was gained" in learning(replace(audit, learning_curve=points(0.5, 0.5, 0.05)))
    assert learning(replace(audit, learning_curve=points(0.5, 0.5, 0.05)[:1])) == ""


def test_the_learning_curve_runs_over_labels():
    points = sample_audit().learning_curve
    picture = learning_svg(points)
    assert "labels learned from" in picture
    assert f"{points[-1].n_labels:,} labels of {points[-1].n_items:,} items" in picture
    old = tuple(replace(point, n_labels=None) for point in points)
    assert "items learned from" in learning_svg(old)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.418, 0.633, ["0.40", "0.50", "0.60", "0.70"]),
        (0.71, 0.74, ["0.70", "0.72", "0.74"]),
        (0.97, 1.0, ["0.96", "0.98", "1.00"]),
        (0.995, 0.998, ["0.96", "0.98", "1.00"]),
        (0.0, 0.001, ["0.00", "0.02", "0.04"]),
        (0.02, 0.97, ["0.00", "0.25", "0.50", "0.75", "1.00"]),
    ],
)
def test_axes_have_round_numbers(low, high, expected):
    points = [LearningPoint(1.0, 10, Estimate((low + high) / 2, low, high), 20)]
    ticks = re.findall(r'text-anchor="end">([^<]+)<', learning_svg(points))
    assert ticks == expected


def test_long_numbers_fit_beside_the_axis():
    trace = replace(sample_audit().convergence[0], values=(-4.38e3, -3.04e3))
    ticks = re.findall(r'text-anchor="end">([^<]+)<', trace_svg(trace, 0))
    assert ticks == ["-4.38k", "-3.71k", "-3.04k"]
    large = replace(trace, values=(1.5e6, 2.5e9))
    assert re.findall(r'text-anchor="end">([^<]+)<', trace_svg(large, 0)) == [
        "1.5M",
        "1.25G",
        "2.5G",
    ]


def test_charts_stay_in_their_frames():
    audit = sample_audit()
    flat = replace(audit.convergence[0], values=(1.0, 1.0))
    one_point = audit.learning_curve[:1]
    empty = replace(audit.items, counts=(0, 0, 0, 0))
    for picture in (trace_svg(flat, 0), learning_svg(one_point), items_svg(empty)):
        assert "nan" not in picture
        for name, value in re.findall(r' (x|y|cx|cy|x1|x2|y1|y2)="(-?[\d.]+)"', picture):
            assert 0 <= float(value) <= (440 if "x" in name else 250)


def test_words_for_what_has_none():
    audit = sample_audit()
    assert title(replace(audit, provenance=replace(audit.provenance, sources=()))) == (
        "200 items, 6 labels"
    )
    silent = replace(audit, summary=replace(audit.summary, sentences=()))
    assert headline(silent) == "Nothing could be said about missing labels."
    assert [p_value(p) for p in (0.00001, 0.0123, 1.0)] == ["<0.001", "0.012", "1.000"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    broken = replace(sample_audit(), labels=None)
    with pytest.raises(TypeError):
        write_audit_page(broken, target)
    assert target.read_text() == "old"
    write_audit_page(sample_audit(), target)
    assert target.read_text(encoding="utf-8") == audit_page(sample_audit())
    assert list(tmp_path.iterdir()) == [target]
