"""``labelgap diff``: two versions of a table, an audit checked, and two sources."""

from __future__ import annotations

import pytest

from auditing.sample_audits import sample_audit

pytest.importorskip("typer")
OPTIONS = ("--labels", "tag_*", "--item", "id")


@pytest.fixture
def two(workplace):
    (workplace / "old.csv").write_text("id,x,tag_a,tag_b\np,1,1,0\nq,2,0,1\nr,3,1,1\n")
    (workplace / "new.csv").write_text("id,x,tag_a,tag_b\nq,2,1,1\np,1,1,1\nr,3,0,1\ns,4,1,1\n")
    return workplace


def test_what_was_added_and_removed(run, two):
    ran = run("diff", "old.csv", "new.csv", *OPTIONS, "-o", "changes.csv", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["n_added"], ran.json["n_removed"], ran.json["new_items"]) == (2, 1, 1)
    assert (two / "changes.csv").read_text().splitlines()[1].startswith("added,")
    assert "2 labels added, 1 removed" in run("diff", "old.csv", "new.csv", *OPTIONS).out


def test_an_audit_is_checked(run, two):
    (two / "audit.json").write_text(sample_audit().to_json())
    ran = run("diff", "old.csv", "new.csv", *OPTIONS, "--audit", "audit.json", "--json")
    assert ran.json["suggestions"]["n"] == 0


def test_two_sources(run, two):
    ran = run("diff", "old.csv", "new.csv", *OPTIONS, "--sources", "--json")
    assert ran.code == 0, ran.err
    table = ran.json["table"]
    assert (table["n_first"], table["n_second"], table["n_both"]) == (4, 5, 3)
    assert "if they are independent" in run("diff", "old.csv", "new.csv", *OPTIONS, "--sources").out


def test_an_audit_does_not_go_with_sources(run, two):
    ran = run("diff", "old.csv", "new.csv", *OPTIONS, "--sources", "--audit", "audit.json")
    assert ran.code == 2
    assert "leave it out with --sources" in " ".join(ran.err.split())
