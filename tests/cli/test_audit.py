"""``labelgap audit`` on tables of every kind, and on tables with something wrong."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from cli.sample_tables import write_rows
from labelgap.auditing import Audit

pytest.importorskip("jinja2")
pandas = pytest.importorskip("pandas")

FILES = ("audit.json", "labels.csv", "report.html", "suggestions.csv", "suggestions.parquet")


def item_rows(n=200, seed=0):
    """Items with a large number as id; a third of the ones of three tags is forgotten."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        age, size = rng.normal(size=2).round(3)
        tags = [age > 0, size > 0, age + size > 0]
        kept = [int(tag and rng.random() < 2 / 3) for tag in tags]
        row = {"id": 9007199254740993 + number, "age": age, "size": size}
        row["note"] = "red apple" if age > 0 else "green pear"
        rows.append({**row, **dict(zip(("tag_a", "tag_b", "tag_c"), kept, strict=True))})
    return rows


def long_rows(rows):
    tags = ("tag_a", "tag_b", "tag_c")
    return [{"id": row["id"], "label": tag} for row in rows for tag in tags if row[tag]]


def features(rows):
    return [{name: row[name] for name in ("id", "age", "size")} for row in rows]


@pytest.fixture
def table():
    return write_rows(Path("items.csv"), item_rows())


WIDE = ("-l", "tag_*", "--item", "id", "--drop", "note")


def read(folder="audit"):
    return Audit.from_json(Path(folder, "audit.json").read_text(encoding="utf-8"))


def listed(found):
    return [(one.item, one.label, round(one.probability, 9)) for one in found.suggestions]


def test_a_table_of_label_columns(run, table):
    ran = run("audit", table, *WIDE, "--suggestions", 20)
    assert ran.code == 0, ran
    assert sorted(path.name for path in Path("audit").iterdir()) == sorted(FILES)
    found = read()
    assert found.summary.n_items == 200
    assert found.summary.n_features == 2
    assert found.suggestions[0].item in {str(row["id"]) for row in item_rows()}
    assert "Probably missing" in ran.out
    assert found.suggestions[0].label in ran.out
    suggestions = pandas.read_csv("audit/suggestions.csv", dtype={"id": str})
    assert suggestions["id"].tolist() == [one.item for one in found.suggestions]
    parquet = pandas.read_parquet("audit/suggestions.parquet")
    assert parquet["probability"].tolist() == [one.probability for one in found.suggestions]
    assert "tag_a" in Path("audit/report.html").read_text(encoding="utf-8")


def test_texts_of_labels_are_compared_with_items(run, fails, table):
    write_rows(Path("texts.csv"), [{"label": "tag_a", "text": "apple"}])
    given = ("audit", table, "--item", "id", "--labels", "tag_*", "--label-text", "texts.csv")
    assert "give their --text too" in fails(*given)
    ran = run(*given, "--text", "note", "--json")
    assert ran.code == 0, ran
    found = Audit.from_json(Path("audit/audit.json").read_text())
    says = {s.evidence.words[0].word for s in found.suggestions if s.evidence.words}
    assert "apple" in says


def test_for_machines(run, table):
    ran = run("audit", table, *WIDE, "--json")
    assert ran.json["audit_id"] == read().audit_id
    assert ran.json["summary"]["n_labels"] == 3
    assert len(ran.json["first_suggestions"]) == 10
    assert ran.json["files"][0] == "audit/report.html"


def test_the_command_in_the_report_gives_the_same_again(run, table):
    run("audit", table, *WIDE, "--zeros", "unlabeled", "--random-state", 3, "--suggestions", 7)
    found = read()
    command = shlex.split(found.provenance.command)
    assert command[0] == "labelgap"
    again = run(*command[1:], "-o", "again")
    assert again.code == 0, again
    assert read("again").audit_id == found.audit_id
    assert listed(read("again")) == listed(found)
    assert found.provenance.sources[0].place == "items.csv"
    assert len(found.provenance.sources[0].sha256) == 64


@pytest.fixture
def expected(run):
    """Suggestions from a long table in CSV; every other source must give the same."""
    rows = item_rows()
    write_rows(Path("things.csv"), features(rows))
    write_rows(Path("tags.csv"), long_rows(rows))
    ran = run("audit", "things.csv", "--label-table", "tags.csv", "--item", "id", "-o", "e")
    assert ran.code == 0, ran
    return listed(read("e"))


def test_parquet(run, expected):
    for name in ("things", "tags"):
        pandas.read_csv(f"{name}.csv").to_parquet(f"{name}.parquet")
    ran = run("audit", "things.parquet", "--label-table", "tags.parquet", "--item", "id")
    assert ran.code == 0, ran
    assert listed(read()) == expected


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders(run, expected, kind):
    for name in ("things", "tags"):
        frame = pandas.read_csv(f"{name}.csv")
        Path(name).mkdir()
        for part, rows in enumerate((frame[:90], frame[90:])):
            target = f"{name}/part-{part}.{kind}"
            rows.to_csv(target, index=False) if kind == "csv" else rows.to_parquet(target)
    ran = run("audit", "things", "--label-table", "tags", "--item", "id")
    assert ran.code == 0, ran
    assert listed(read()) == expected


def test_duckdb(run, expected):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("shop.duckdb") as database:
        database.execute("CREATE TABLE things AS SELECT * FROM read_csv('things.csv')")
        database.execute("CREATE TABLE tags AS SELECT id, label AS tag FROM read_csv('tags.csv')")
    ran = run(
        "audit", "shop.duckdb", "--query", "SELECT * FROM things ORDER BY id", "--item", "id",
        "--label-query", "SELECT id, tag AS label FROM tags",
    )  # fmt: skip
    assert ran.code == 0, ran
    assert listed(read()) == expected


def test_sqlite(run, expected):
    with sqlite3.connect("shop.sqlite") as database:
        for name in ("things", "tags"):
            pandas.read_csv(f"{name}.csv").to_sql(name, database, index=False)
    database.close()
    ran = run(
        "audit", "shop.sqlite", "--query", "SELECT * FROM things ORDER BY id", "--item", "id",
        "--label-query", "SELECT * FROM tags",
    )  # fmt: skip
    assert ran.code == 0, ran
    assert listed(read()) == expected


def test_text_beside_numbers(run, table):
    ran = run("audit", table, "-l", "tag_*", "--item", "id", "--text", "note")
    assert ran.code == 0, ran
    found = read()
    assert found.summary.n_features == 2 + 4
    named = {one.feature for s in found.suggestions for one in s.evidence.features}
    assert {"age", "note: apple"} <= named


def test_decisions_of_the_last_round(run, table):
    run("audit", table, *WIDE)
    first = read().suggestions[0]
    made = {"item": first.item, "label": first.label, "decision": "reject", "time": "2026-01-01"}
    decisions = {"format": "labelgap decisions", "version": 1, "audit": read().audit_id}
    Path("d.json").write_text(json.dumps({**decisions, "decisions": [made]}))
    ran = run("audit", table, *WIDE, "--decisions", "d.json", "-o", "next")
    assert ran.code == 0, ran
    after = read("next")
    assert after.provenance.n_decisions == 1
    assert (first.item, first.label) not in {(one.item, one.label) for one in after.suggestions}
    assert "--decisions d.json" in after.provenance.command


def test_a_benchmark_set_by_name(run, data_dir, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    ran = run("audit", "emotions", "--json")
    assert ran.code == 0, ran
    assert ran.json["summary"]["n_items"] == 593


# -- what can be wrong -------------------------------------------------------------------------


def broken(change, name="items.csv"):
    rows = item_rows(40)
    change(rows)
    return write_rows(Path(name), rows)


def long_tables(change_tags=lambda tags: None, n=40):
    rows = item_rows(n)
    tags = long_rows(rows)
    change_tags(tags)
    write_rows(Path("things.csv"), features(rows))
    write_rows(Path("tags.csv"), tags)
    return ("audit", "things.csv", "--label-table", "tags.csv", "--item", "id")


def test_wrong_columns(fails, table):
    said = fails("audit", table, "-l", "tab_*", "--item", "id")
    assert "--labels tab_*: items.csv has no such column" in said
    assert "tag_a" in said
    assert "--item key: items.csv has no such column" in fails(
        "audit", table, "-l", "tag_*", "--item", "key"
    )
    arguments = long_tables()
    assert "--label-column tag: tags.csv has no such column; its columns are id, label" in fails(
        *arguments, "--label-column", "tag"
    )


def test_no_labels_are_named(fails, table):
    assert "give --labels" in fails("audit", table, "--item", "id")


def test_ids_twice(fails):
    path = broken(lambda rows: rows[7].update(id=rows[2]["id"]))
    said = fails("audit", path, *WIDE)
    assert "items.csv, line 9: item '9007199254740995' occurs twice (first in line 4)" in said
    assert "must identify a row" in said


def test_ids_that_differ_beyond_floating_point_are_told_apart(run):
    rows = item_rows(60)
    assert len({float(row["id"]) for row in rows}) < len(rows)
    path = write_rows(Path("items.csv"), rows)
    assert run("audit", path, *WIDE).code == 0
    beyond = [{**row, "id": f"{10**30 + k}"} for k, row in enumerate(rows)]
    path = write_rows(Path("larger.csv"), beyond)
    assert run("audit", path, *WIDE, "-o", "larger").code == 0
    assert read("larger").suggestions[0].item.startswith("1" + "0" * 25)


def test_empty_ids(fails):
    path = broken(lambda rows: rows[3].update(id=""))
    said = fails("audit", path, *WIDE)
    assert "items.csv, line 5: the id in column 'id' is empty" in said
    assert "Give every row its id" in said


def test_floating_point_ids(fails):
    pandas.DataFrame(item_rows(40)).assign(id=np.arange(40) + 0.5).to_parquet("items.parquet")
    said = fails("audit", "items.parquet", *WIDE)
    assert "is a floating-point number" in said
    assert "Store ids as integers or text" in said


def test_labels_of_items_that_are_not_there(fails):
    said = fails(*long_tables(lambda tags: tags[4].update(id="77")))
    assert "tags.csv, line 6: item '77' is not in things.csv" in said
    assert "Remove the line or add the item" in said


def test_labels_without_items(fails):
    said = fails(*long_tables(lambda tags: tags[2].update(id="")))
    assert "tags.csv, line 4: the id in column 'id' is empty" in said


def test_items_without_a_label_name(fails):
    said = fails(*long_tables(lambda tags: tags[2].update(label="")))
    assert "tags.csv, line 4: the label in column 'label' is empty" in said


def test_mixed_types_in_a_feature(fails):
    path = broken(lambda rows: rows[5].update(age="old"))
    said = fails("audit", path, *WIDE)
    assert "items.csv, line 7: column 'age' holds 'old', not numbers" in said
    assert "--drop 'age'" in said


def test_mixed_types_in_a_label(fails):
    path = broken(lambda rows: rows[5].update(tag_a="perhaps"))
    said = fails("audit", path, *WIDE)
    assert "items.csv, line 7: column 'tag_a' holds 'perhaps', which is no label" in said
    assert "1, 0 or an empty cell" in said


def test_a_gap_in_a_feature(fails):
    path = broken(lambda rows: rows[5].update(age=""))
    said = fails("audit", path, *WIDE, "--empty", "refuse")
    assert "items.csv, line 7: column 'age' of id 9007199254740998 is empty" in said
    assert "--drop 'age', or give --empty mean" in said


@pytest.mark.parametrize("text", ["", "id,age,tag_a\n"])
def test_empty_tables(fails, text):
    Path("items.csv").write_text(text)
    said = fails("audit", "items.csv", "-l", "tag_*", "--item", "id")
    assert "items.csv" in said
    assert "row" in said


def test_an_empty_label_table(fails):
    arguments = long_tables()
    Path("tags.csv").write_text("id,label\n")
    said = fails(*arguments)
    assert "tags.csv: the table has no rows" in said


def test_other_encodings(run):
    rows = item_rows(40)
    rows[9]["note"] = "crème"
    path = write_rows(Path("items.csv"), rows)
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    ran = run("audit", path, *WIDE)
    assert ran.code == 0, ran
    assert "read as Windows-1252 text: line 11 is not UTF-8 (byte 0xe8)" in ran.err


def test_too_few_items(fails):
    path = write_rows(Path("items.csv"), item_rows(4))
    said = fails("audit", path, *WIDE)
    assert "items.csv: no label can be learned" in said


def test_files_of_a_folder_that_do_not_fit(fails):
    Path("items").mkdir()
    write_rows(Path("items/a.csv"), item_rows(20))
    write_rows(Path("items/b.csv"), [{**row, "more": 1} for row in item_rows(20)])
    said = fails("audit", "items", *WIDE)
    assert "b.csv, line 1: has a column 'more', other than a.csv" in said
    Path("none").mkdir()
    assert "none: the folder holds no table (CSV" in fails("audit", "none", *WIDE)


def test_databases_that_do_not_answer(fails):
    pytest.importorskip("duckdb")
    with sqlite3.connect("two.sqlite") as database:
        database.execute("CREATE TABLE a (x)")
        database.execute("CREATE TABLE b (x)")
    database.close()
    assert "it holds: a, b" in fails("audit", "two.sqlite", *WIDE)
    assert "no such table: c" in fails("audit", "two.sqlite", *WIDE, "--query", "SELECT * FROM c")
    Path("no.duckdb").write_text("nothing of the kind")
    assert "no.duckdb: the database refuses" in fails("audit", "no.duckdb", *WIDE)


def test_queries_of_what_is_no_database(fails, table):
    assert "--query: is for a database" in fails("audit", table, *WIDE, "--query", "SELECT 1")
    arguments = ("audit", table, *WIDE, "--label-query", "SELECT 1", "--label-table", "x.csv")
    assert "give one of them" in fails(*arguments)


def test_places_that_cannot_be_written(fails, table):
    assert "--out items.csv: is a file" in fails("audit", table, *WIDE, "-o", "items.csv")


def test_decisions_of_other_data(fails, table):
    Path("d.json").write_text("{}")
    assert "d.json: is no decisions file" in fails("audit", table, *WIDE, "--decisions", "d.json")
    assert "absent.json: there is no such file" in fails(
        "audit", table, *WIDE, "--decisions", "absent.json"
    )


def test_nothing_is_left_when_writing_fails(run, table, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device", "audit/labels.csv")

    monkeypatch.setattr("labelgap.cli.audit.write_table", fail)
    ran = run("audit", table, *WIDE)
    assert ran.code == 1
    assert "No space left on device" in ran.err
    assert not Path("audit").exists()


def test_arrays_are_audited(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    np.savez("arrays.npz", X=X, Y=(X[:, :2] + 0.3 * rng.normal(size=(80, 2)) > 0) * 1)
    ran = run("audit", "arrays.npz", "--json")
    assert ran.code == 0, ran
    assert ran.json["summary"]["n_items"] == 80
    assert ran.json["provenance"]["command"] == "labelgap audit arrays.npz"
