"""``labelgap decisions``: out of a database, into one, several together; and --decisions with one."""

from __future__ import annotations

import json

import pytest

from labelgap.review import DecisionStore

pytest.importorskip("typer")


@pytest.fixture
def two(workplace):
    ann, bob = (DecisionStore(workplace / f"{name}.sqlite", "audit 1") for name in ("ann", "bob"))
    ann.add("b1", "crime", "accept", "Ann")
    ann.add("b2", "crime", "accept", "Ann")
    bob.add("b1", "crime", "reject", "Bob")
    bob.add("b2", "crime", "accept", "Bob")
    bob.add("b3", "crime", "unsure", "Bob", comment="blurred")
    return ann, bob


def test_export_and_import(run, two, workplace):
    ran = run("decisions", "export", "ann.sqlite", "-o", "ann.json", "--json")
    assert (ran.code, ran.json["n_written"]) == (0, 2), ran.err
    assert json.loads((workplace / "ann.json").read_text())["audit"] == "audit 1"
    assert run("decisions", "import", "ann.json", "-o", "again.sqlite").code == 0
    again = DecisionStore(workplace / "again.sqlite")
    assert again.answers().decisions == two[0].answers().decisions


def test_merge_keeps_all_and_the_last_counts(run, two, workplace):
    ran = run("decisions", "merge", "ann.sqlite", "bob.sqlite", "-o", "all.sqlite", "--json")
    assert (ran.code, ran.json["n_written"]) == (0, 5), ran.err
    merged = DecisionStore(workplace / "all.sqlite")
    assert {(one.item, one.decision) for one in merged.last()} == {
        ("b1", "reject"),
        ("b2", "accept"),
        ("b3", "unsure"),
    }
    assert [one.comment for one in merged.since(0) if one.item == "b3"] == ["blurred"]


def test_agreement(run, two):
    ran = run("decisions", "agreement", "ann.sqlite", "bob.sqlite", "--json")
    (pair,) = ran.json["pairs"]
    assert (pair["n_both"], pair["n_agree"]) == (2, 1)
    assert [one["item"] for one in ran.json["disagreements"]] == ["b1"]
    assert "agree on 1 of 2" in run("decisions", "agreement", "ann.sqlite", "bob.sqlite").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("merge", "ann.sqlite"), "--out: name the file"),
        (("export", "ann.sqlite", "bob.sqlite", "-o", "x.json"), "takes one database"),
        (("agreement", "ann.sqlite", "-o", "x.json"), "writes nothing"),
        (("merge", "ann.sqlite", "other.sqlite", "-o", "x.sqlite"), "different audits"),
        (("export", "nothing.sqlite", "-o", "x.json"), "nothing.sqlite"),
    ],
)
def test_wrong_calls_in_one_sentence(run, two, workplace, arguments, words):
    DecisionStore(workplace / "other.sqlite", "audit 2").add("b1", "crime", "accept", "Ann")
    ran = run("decisions", *arguments)
    assert ran.code == 2
    assert words in " ".join(ran.err.split())
