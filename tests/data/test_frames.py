"""Tables from folders and databases, and columns of ids."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from labelgap.data import DataFormatError, TableName, read_frame, read_table
from labelgap.data._tables import _check_ids, _ids_as_text

pandas = pytest.importorskip("pandas")

FRAME = pandas.DataFrame({"id": [3, 1, 2], "a": [0.5, 1.5, 2.5], "l": [1, 0, 1]})


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    FRAME[1:].to_csv(tmp_path / "b.csv", index=False)
    FRAME[:1].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / ".hidden.csv").write_text("nothing\n")
    (tmp_path / "notes.txt").write_text("nothing")
    frame, file = read_frame(tmp_path)
    pandas.testing.assert_frame_equal(frame, FRAME)
    assert file == str(tmp_path)
    found = read_table(tmp_path, label_columns=["l"], item="id")
    np.testing.assert_array_equal(found.X, FRAME[["a"]])


def test_parquet_comes_before_text_in_a_folder(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet")
    FRAME[:1].to_csv(tmp_path / "old.csv", index=False)
    assert len(read_frame(tmp_path)[0]) == 3


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["007", "7", "8"], ["007", "7", "8"]),
        (["7", "-8", "9"], [7, -8, 9]),
        (["7.0", "8", "9.00"], [7, 8, 9]),
        (["1e3", "2", "3"], ["1e3", "2", "3"]),
        ([" 7", "8 ", "9"], [7, 8, 9]),
        (["999999999999999999", "1", "2"], [999999999999999999, 1, 2]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
        (["9007199254740993.0", "1", "2"], ["9007199254740993.0", "1", "2"]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "tsv", "folder"])
def test_ids_are_what_is_written(tmp_path, written, read, kind):
    mark = "\t" if kind == "tsv" else ","
    lines = [mark.join(line) for line in [("id", "a"), *((one, "1") for one in written)]]
    path = tmp_path / ("x.tsv" if kind == "tsv" else "x.csv")
    path.write_text("\n".join(lines))
    frame, _ = read_frame(tmp_path if kind == "folder" else path, ids=["id", "not there"])
    assert frame["id"].tolist() == read
    assert frame["a"].tolist() == [1, 1, 1]


def test_zeros_in_front_tell_items_apart(tmp_path):
    (tmp_path / "items.csv").write_text("id,a\n01,1\n1,2\n002,3\n")
    (tmp_path / "tags.csv").write_text("id,label\n01,x\n002,01\n1,1\n")
    found = read_table(tmp_path / "items.csv", label_table=tmp_path / "tags.csv", item="id")
    assert found.Y.names.tolist() == ["01", "1", "x"]
    assert found.Y.to_tag_sets() == [{"x"}, {"1"}, {"01"}]


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,l,a\n1,2,1,3\n")
    with pytest.raises(DataFormatError, match=r"x\.csv, line 1: two columns are called 'a'"):
        read_table(tmp_path / "x.csv", label_columns=["l"], item="id")


def test_tab_separated_text(tmp_path):
    FRAME.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    pandas.testing.assert_frame_equal(read_frame(tmp_path / "x.tsv")[0], FRAME)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_the_only_table_of_a_database(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as database:
            FRAME.to_sql('odd "name"', database, index=False)
        database.close()
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as database:
            database.execute('CREATE TABLE "odd ""name""" AS SELECT * FROM FRAME')
    frame, _ = read_frame(path)
    pandas.testing.assert_frame_equal(frame.astype(FRAME.dtypes), FRAME)
    some, _ = read_frame(path, query='SELECT id FROM "odd ""name""" WHERE a > 1')
    assert some["id"].tolist() == [1, 2]


def test_a_database_is_not_changed(tmp_path):
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as database:
        FRAME.to_sql("t", database, index=False)
    database.close()
    before = path.read_bytes()
    with pytest.raises(DataFormatError, match="the database refuses"):
        read_frame(path, query="DROP TABLE t")
    assert path.read_bytes() == before


def test_a_database_with_damaged_text_is_refused(tmp_path):
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as database:
        FRAME.to_sql("items", database, index=False)
    database.close()
    path.write_bytes(path.read_bytes().replace(b"items", b"it\xe7ms"))
    with pytest.raises(DataFormatError, match="the database refuses"):
        read_frame(path)


def test_a_query_of_a_file_is_refused(tmp_path):
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match="a query is for a DuckDB or SQLite file"):
        read_frame(tmp_path / "x.csv", query="SELECT 1")


def test_frames_without_rows_are_refused():
    with pytest.raises(DataFormatError, match="the table has no rows"):
        read_frame(FRAME[:0])


def test_ids_are_compared_as_written():
    whole = pandas.Series([1.0, 2.0], name="id")
    assert (
        _ids_as_text(whole, TableName("x"))
        == _ids_as_text(pandas.Series(["1", "2"]), TableName("y"))
        == ["1", "2"]
    )
    large = pandas.Series([2**53 + 1, 2**53 + 2], name="id")
    assert _check_ids(large, TableName("x")) == ["9007199254740993", "9007199254740994"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 1.0], "x, row 0: the id .*0.5.* is a floating-point number"),
        ([1.0, 2.0**60], "x, row 1: the id .* is a floating-point number"),
        ([None, "a"], "x, row 0: the id in column 'id' is empty"),
        (["a", "b", "a"], r"x, row 2: item 'a' occurs twice \(first in row 0\)"),
    ],
)
def test_ids_that_do_not_identify(values, message):
    with pytest.raises(DataFormatError, match=message):
        _check_ids(pandas.Series(values, name="id"), TableName("x"))


def test_numbers_and_text_as_ids_meet():
    pairs = pandas.DataFrame({"id": ["1", "3"], "label": ["p", "q"]})
    found = read_table(FRAME[["id", "a"]], label_table=pairs, item="id")
    np.testing.assert_array_equal(found.Y.to_dense(), [[0, 1], [1, 0], [0, 0]])
