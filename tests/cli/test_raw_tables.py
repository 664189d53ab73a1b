"""Commands take tables as they are: text, categories, dates and holes, labels in one column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops.io")
pytest.importorskip("skrub")

LISTED = ("-l", "tags", "--item", "id")


@pytest.fixture
def shop() -> Path:
    rng = np.random.default_rng(0)
    n = 80
    colour = rng.choice(["red", "green"], n)
    size = rng.normal(size=n).round(2)
    tags = [
        ";".join(tag for tag, there in (("warm", c == "red"), ("large", s > 0)) if there)
        for c, s in zip(colour, size, strict=True)
    ]
    frame = pandas.DataFrame(
        {
            "id": [f"i{k}" for k in range(n)],
            "colour": colour,
            "size": size,
            "day": pandas.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "tags": tags,
        }
    )
    frame.loc[[3, 8], "size"] = None
    frame.loc[[5, 9], "colour"] = None
    frame.to_csv("shop.csv", index=False, sep=";")
    return Path("shop.csv")


def test_a_model_of_a_raw_table_is_saved_and_predicts(run, fails, shop):
    fitted = run("fit", shop, *LISTED, "-o", "m", "-m", "binary-relevance")
    assert fitted.code == 0, fitted
    for said in (
        "read shop.csv as text separated by ';'",
        "read 2 tags from column 'tags', separated by ';'",
        "read text, categories or dates as features: colour, day",
    ):
        assert said in fitted.err
    assert run("predict", "m", shop, "--drop", "tags", "-o", "p.csv").code == 0
    predicted, frame = pandas.read_csv("p.csv"), pandas.read_csv(shop, sep=";")
    assert predicted.columns.tolist() == ["id", "large", "warm"]
    known = frame["colour"].notna()
    assert ((predicted["warm"] > 0.5) == (frame["colour"] == "red"))[known].mean() > 0.95
    frame[["id", "size", "day"]].to_csv("few.csv", index=False)
    assert "lacks the column 'colour'" in fails("predict", "m", "few.csv", "-o", "q.csv")


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "-o", "audit"),
        ("impute", "-o", "c.csv"),
        ("compare", "-m", "prior", "-m", "binary-relevance"),
        ("select", "-k", 1, "-o", "s.csv"),
        ("hide", "-o", "hidden"),
    ],
    ids=lambda command: command[0],
)
def test_commands_take_raw_tables(run, shop, command):
    ran = run(command[0], shop, *LISTED, *command[1:])
    assert ran.code == 0, ran


def test_what_an_empty_cell_says_can_be_chosen(run, shop):
    given = run("audit", shop, *LISTED, "-o", "a", "--empty-labels", "unknown", "--separator", ";")
    assert given.code == 0, given
    assert "empty cells are unknown" in given.err


def test_empty_cells_of_raw_tables_can_be_refused(fails, shop):
    said = fails("fit", shop, *LISTED, "-o", "m", "--empty", "refuse")
    assert "shop.csv, line 5: column 'size' of id i3 is empty" in said
    assert "is for tables of numbers" in fails("fit", shop, *LISTED, "-o", "m", "--empty", "zero")


def test_a_column_that_lists_labels_is_proposed(fails, shop):
    said = fails("audit", shop, "--item", "id")
    assert "column 'tags' looks like one that lists labels: --labels tags" in said


def test_suggestions_go_back_to_the_annotation_tool(run, shop):
    frame = pandas.read_csv(shop, sep=";").fillna({"tags": ""})
    records = [
        {
            "id": row["id"],
            "fields": {"size": row["size"] if row["size"] == row["size"] else 0.0},
            "responses": {"kind": [{"value": row["tags"].split(";") if row["tags"] else []}]},
            "suggestions": {},
        }
        for row in frame.to_dict("records")
    ]
    for record in records[::4]:
        record["responses"]["kind"] = [{"value": []}]
    Path("argilla.json").write_text(json.dumps(records))
    ran = run("audit", "argilla.json", "-l", "kind", "--item", "id", "-o", "a")
    assert ran.code == 0, ran
    assert "read as an export of Argilla" in ran.err
    made = json.loads(Path("a/preannotations.json").read_text())
    assert made
    assert all(record["suggestions"]["kind"]["agent"] == "labelgap" for record in made)
    assert run("audit", "argilla.json", "-l", "kind", "--item", "id", "-o", "a").code == 0


def test_long_cells_are_not_printed_whole(fails, shop):
    frame = pandas.read_csv(shop, sep=";").assign(warm="yes")
    frame.loc[4, "warm"] = "word " * 500
    frame.assign(large="no").to_csv("long.csv", index=False)
    said = fails("audit", "long.csv", "-l", "warm,large", "--item", "id", "--drop", "tags")
    assert "long.csv, line 6: column 'warm' holds 'word word" in said
    assert len(said) < 400
