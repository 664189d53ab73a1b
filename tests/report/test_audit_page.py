"""The audit page, as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from auditing.sample_audits import bare_audit, sample_audit
from labelgap.auditing import (
    ClaimBin,
    CooccurrenceMap,
    Estimate,
    LabelAudit,
    LearningPoint,
    MissingEstimate,
    MissingScenario,
    UnopenedItem,
    WrongPositive,
)
from labelgap.report import audit_page, review_page, write_audit_page
from labelgap.report._audit_charts import (
    calibration_chart,
    cooccurrence_chart,
    items_chart,
    learning_chart,
    trace_chart,
)
from labelgap.report._audit_words import (
    basis,
    learning,
    map_summary,
    p_value,
    strongest_pairs,
    title,
)

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


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
        assert link in ("data:,", "/report") or link[1:] in found.ids, link
    assert all(inside[1:] in found.ids for inside in re.findall(r"url\(([^)]*)\)", page))
    assert " style=" not in page
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


def tips(picture: str) -> list[str]:
    """What the shapes of a drawing say when they are pointed at."""
    return re.findall(r"<(?:use|path)[^>]*><title>([^<]*)</title>", picture)


def test_the_map_says_what_it_shows():
    audit = sample_audit()
    assert strongest_pairs(audit, 1) == [("fiction", "crime", 3, 0.09)]
    assert "fiction and crime: 3 items, 0.1 times as many" in map_summary(audit)
    said = tips(cooccurrence_chart(audit))
    assert len(said) == 9
    assert said[0] == f"fiction: {audit.pairs.map.counts[0][0]} items"
    assert "fiction and crime: 3 items, 0.09 times as many as if independent" in said


def test_pairs_that_are_nearly_independent_are_pale():
    def shade(n_each: int) -> float:
        audit = sample_audit()
        pairs = CooccurrenceMap(("a", "b"), ((n_each, 0), (0, n_each)), ((1.0, 0.0), (0.0, 1.0)))
        audit = replace(
            audit,
            pairs=replace(audit.pairs, map=pairs),
            summary=replace(audit.summary, n_items=1000),
        )
        (cell,) = re.findall(r"<[^>]*><title>a and b", cooccurrence_chart(audit))
        assert "var(--series-2)" in cell
        found = re.search(r'fill-opacity="([\d.]+)"', cell)
        return float(found[1]) if found else 1.0

    assert shade(20) < 0.2 < shade(100) < shade(200) == 1.0


def test_learning_words_follow_the_intervals():
    def points(first: float, second: float, half: float):
        return tuple(
            LearningPoint(fraction, n, Estimate(value, value - half, value + half), 3 * n)
            for fraction, n, value in ((0.5, 100, first), (1.0, 200, second))
        )

    audit = sample_audit()
    assert "still help" in learning(replace(audit, learning_curve=points(0.5, 0.7, 0.05)))
    assert "within the uncertainty" in learning(
        replace(audit, learning_curve=points(0.5, 0.52, 0.05))
    )
    assert "nothing was gained" in learning(replace(audit, learning_curve=points(0.5, 0.5, 0.05)))
    assert learning(replace(audit, learning_curve=points(0.5, 0.5, 0.05)[:1])) == ""


def test_charts_say_their_numbers_when_pointed_at():
    audit = sample_audit()
    last = audit.learning_curve[-1]
    assert f"{last.n_labels:,} labels of {last.n_items:,} items" in tips(learning_chart(audit))[-1]
    assert len(tips(learning_chart(audit))) == len(audit.learning_curve)
    assert len(tips(calibration_chart(audit))) == len(audit.calibration)
    assert len(tips(items_chart(audit))) == len(audit.items.counts)


def test_charts_of_little_are_drawn_or_left_out():
    audit = sample_audit()
    flat = replace(audit.convergence[0], values=(1.0, 1.0))
    one_point = replace(audit, learning_curve=audit.learning_curve[:1])
    for picture in (trace_chart(flat, 0), learning_chart(one_point)):
        assert "nan" not in picture
    assert items_chart(replace(audit, items=replace(audit.items, counts=(0, 0, 0, 0)))) == ""


def test_words_for_what_has_none():
    audit = sample_audit()
    assert title(replace(audit, provenance=replace(audit.provenance, sources=()))) == (
        "200 items, 6 labels"
    )
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


def test_unopened_items_wrong_labels_and_claims_are_shown():
    found = replace(
        sample_audit(),
        unopened_items=(UnopenedItem("<item 7>", 0.83, 2.4),),
        wrong_positives=(WrongPositive(1, "item 3", "soup", 0.61),),
        claims=(ClaimBin(0.8, 0.9, 120, 0.84, 0.91),),
    )
    page = audit_page(found)
    outline(page)
    for shown in ("Items that perhaps nobody opened", "&lt;item 7&gt;", "<td>83%</td><td>2.4</td>"):
        assert shown in page
    assert '<td class="words">soup</td><td>61%</td>' in page
    assert "80% to 90%</th><td>120</td><td>84%</td><td>91%</td>" in page
    without = audit_page(sample_audit())
    assert 'id="unopened"' not in without
    assert 'id="wrong"' not in without


def test_the_basis_has_a_number_for_each_mechanism():
    scenarios = (
        MissingScenario("one rate for all labels", 40.0, 10.0, 90.0),
        MissingScenario("obvious labels recorded first", 800.0, 800.0, 800.0),
    )
    missing = MissingEstimate(200.0, 10.0, 800.0, "one table; a range", False, scenarios)
    said = basis(replace(sample_audit(), missing=missing))
    assert "One rate for all labels: 40 (10 to 90); " in said
    assert said.endswith("obvious labels recorded first: 800.")
