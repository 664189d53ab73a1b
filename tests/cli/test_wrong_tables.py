"""Tables with something wrong, as CSV and as Parquet: the file, the row, the remedy, no output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FIRST = 9007199254740993
KINDS = ("csv", "parquet")


def _items(n: int = 30):
    rng = np.random.default_rng(0)
    age, size = rng.normal(size=(2, n)).round(3)
    return pandas.DataFrame(
        {
            "id": [FIRST + k for k in range(n)],
            "age": age,
            "size": size,
            "tag_a": (age > 0).astype(int),
            "tag_b": (size > 0).astype(int),
        }
    )


def _pairs(items):
    lines = [(i, tag) for tag in ("tag_a", "tag_b") for i in items["id"][items[tag] == 1]]
    return pandas.DataFrame(lines, columns=["id", "label"])


def _write(frame, name: str, kind: str) -> str:
    path = f"{name}.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def _set(frame, row: int, column: str, value):
    frame = frame.astype({column: object})
    frame.loc[row, column] = value
    return frame


def _text(frame, column: str):
    return frame.assign(**{column: frame[column].astype(str)})


def _large_with_gap(frame):
    ids = frame["id"].astype("Int64")
    ids[5] = pandas.NA
    return frame.assign(id=ids)


# what is done to the items, what is said, and the remedy
ITEMS = {
    "an id twice": (
        lambda t: t.assign(id=[*t["id"][:7], FIRST + 2, *t["id"][8:]]),
        {"csv": "line 9", "parquet": "row 8"},
        f"item '{FIRST + 2}' occurs twice (first in",
        "must identify a row",
    ),
    "an id is empty": (
        _large_with_gap,
        {"csv": "line 7", "parquet": "row 6"},
        "the id in column 'id' is empty",
        "Give every row its id",
    ),
    "a word among numbers": (
        lambda t: _text(_set(t, 5, "age", "old"), "age"),
        {"csv": "line 7", "parquet": "row 6"},
        "column 'age' holds 'old', not numbers",
        "--drop 'age'",
    ),
    "a word among labels": (
        lambda t: _text(_set(t, 5, "tag_a", "perhaps"), "tag_a"),
        {"csv": "line 7", "parquet": "row 6"},
        "column 'tag_a' holds 'perhaps', which is no label",
        "Write 1, 0 or an empty cell",
    ),
    "a number that is no label": (
        lambda t: t.assign(tag_a=[*t["tag_a"][:5], 3, *t["tag_a"][6:]]),
        {"csv": "line 7", "parquet": "row 6"},
        "column 'tag_a' holds 3, which is no label",
        "Write 1, 0 or an empty cell",
    ),
    "an empty feature": (
        lambda t: t.assign(age=[*t["age"][:5], np.nan, *t["age"][6:]]),
        {"csv": "line 7", "parquet": "row 6"},
        f"column 'age' of id {FIRST + 5} is empty",
        "give --empty mean",
    ),
}
PAIRS = {
    "labels of no item": (
        lambda t: t.assign(id=[*t["id"][:4], 77, *t["id"][5:]]),
        {"csv": "line 6", "parquet": "row 5"},
        "item '77' is not in items",
        "Remove the line or add the item",
    ),
    "a pair without a label": (
        lambda t: _set(t, 3, "label", None),
        {"csv": "line 5", "parquet": "row 4"},
        "the label in column 'label' is empty",
        "Remove the line or name the label",
    ),
    "a value that is none": (
        lambda t: t.assign(value=[5 if k == 2 else 1 for k in range(len(t))]),
        {"csv": "line 4", "parquet": "row 3"},
        "column 'value' holds 5, which is no label",
        "Write 1, 0 or an empty cell",
    ),
}
COMMANDS = {
    "audit": ("-o", "audit"),
    "fit": ("-o", "m"),
    "impute": ("-o", "c.csv"),
    "hide": ("-o", "hidden"),
    "topics": ("-o", "t.csv"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ITEMS)
def test_wrong_items(fails, case, kind):
    change, places, said, remedy = ITEMS[case]
    path = _write(change(_items()), "items", kind)
    for command, out in COMMANDS.items():
        if command == "hide" and case == "an empty feature":
            continue  # features are of no interest there
        refuse = ("--empty", "refuse") if case == "an empty feature" else ()
        told = fails(command, path, "-l", "tag_*", "--item", "id", *out, *refuse)
        assert f"{path}, {places[kind]}: {said}" in told, command
        assert remedy in told, command


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", PAIRS)
def test_wrong_pairs(fails, case, kind):
    change, places, said, remedy = PAIRS[case]
    items = _items()
    things = _write(items[["id", "age", "size"]], "items", kind)
    tags = _write(change(_pairs(items)), "tags", kind)
    for command, out in COMMANDS.items():
        told = fails(command, things, "--item", "id", "--label-table", tags, *out)
        assert f"{tags}, {places[kind]}: {said}" in told, command
        assert remedy in told, command


@pytest.mark.parametrize("kind", KINDS)
def test_rows_to_predict(fails, run, kind):
    good = _write(_items(), "good", "csv")
    refuse = ("--empty", "refuse")
    assert run("fit", good, "-l", "tag_*", "--item", "id", "-o", "m", *refuse).code == 0
    for case in ("an id twice", "an id is empty", "a word among numbers", "an empty feature"):
        change, places, said, _ = ITEMS[case]
        path = _write(change(_items()), "items", kind)
        assert f"{path}, {places[kind]}: {said}" in fails("predict", "m", path, "-o", "p.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_tables_without_rows(fails, kind):
    path = _write(_items()[:0], "items", kind)
    assert f"{path}: the table has no rows" in fails("audit", path, "-l", "tag_*", "--item", "id")


@pytest.mark.parametrize("content", [b"", b"no such thing", b"PAR1 and no more"])
def test_files_that_are_no_parquet(fails, content):
    Path("items.parquet").write_bytes(content)
    for command, out in COMMANDS.items():
        told = fails(command, "items.parquet", "-l", "tag_*", "--item", "id", *out)
        assert "items.parquet: is no Parquet file, or is damaged" in told
        assert "write it again" in told


def test_wrong_columns_of_parquet_have_no_line(fails):
    items = _items()
    things = _write(items[["id", "age", "size"]], "items", "parquet")
    tags = _write(_pairs(items), "tags", "parquet")
    told = fails("audit", things, "--item", "id", "--label-table", tags, "--label-column", "word")
    assert "--label-column word: tags.parquet has no such column; its columns are id, label" in told


def test_ragged_lines_and_other_encodings(fails):
    Path("ragged.csv").write_text("id,age,tag_a\n1,2,0\n2,3,1,9\n")
    told = fails("audit", "ragged.csv", "-l", "tag_*", "--item", "id")
    assert "ragged.csv: cannot read the table" in told
    assert "line 3" in told
    Path("binary.csv").write_bytes(b"id,age,tag_a\n1,\xff\0\0\xfe,0\n")
    told = fails("audit", "binary.csv", "-l", "tag_*", "--item", "id")
    assert "binary.csv: is no text in an encoding that is known (byte 0xff)" in told
    assert "iconv -f UTF-16" in told


def test_columns_of_one_name(fails):
    twins = _items().rename(columns={"size": "age"})
    twins.to_csv("twins.csv", index=False)
    told = fails("audit", "twins.csv", "-l", "tag_*", "--item", "id")
    assert "twins.csv, line 1: two columns are called 'age'" in told


def test_a_file_is_named_once(fails):
    path = _write(_items(), "items", "csv")
    told = fails("audit", path, "-l", "tag_*", "--item", "id", "--decisions", path)
    assert told.count("items.csv") == 1
    assert "is no decisions file" in told


def test_zeros_in_front_of_ids_are_kept(run):
    items = _items().assign(id=[f"{k:04d}" for k in range(30)])
    _write(items[["id", "age", "size"]], "items", "csv")
    _write(_pairs(items), "tags", "parquet")
    given = ("items.csv", "--item", "id", "--label-table", "tags.parquet")
    ran = run("impute", *given, "-o", "c.csv", "--threshold", "0.01")
    assert ran.code == 0, ran
    assert set(pandas.read_csv("c.csv", dtype=str)["id"]) <= set(items["id"])


@pytest.mark.parametrize("kind", KINDS)
def test_large_ids_stay_what_they_are(run, kind):
    path = _write(_items(), "items", kind)
    ran = run("impute", path, "-l", "tag_*", "--item", "id", "-o", "c.csv")
    assert ran.code == 0, ran
    written = pandas.read_csv("c.csv", dtype=str)["id"]
    assert set(written) <= {str(FIRST + k) for k in range(30)}
    assert written.nunique() > 15
