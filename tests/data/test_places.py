"""A row is named as whoever has the file would count it."""

from __future__ import annotations

import gzip
import pickle

import pytest

from labelgap.data import DataFormatError, read_table
from labelgap.data._frames import Part, TableName

pandas = pytest.importorskip("pandas")

TEXT = 'id,note,size\n1,"two\nlines",3\n\n2,plain,4\n3,"a, b",5\n'


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.tsv"])
def test_lines_are_those_of_the_file(tmp_path, name):
    text = TEXT if "csv" in name else TEXT.replace(",", "\t").replace("a\t b", "a, b")
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    separator = "\t" if "tsv" in name else ","
    table = TableName(str(path), [Part(path, 3, separator=separator)])
    # a cell holds a line break, and one line is empty
    assert [table.place(row)["line"] for row in range(3)] == [2, 5, 6]
    shown = pandas.read_csv(path, sep="\t" if "tsv" in name else ",")
    assert shown["id"].tolist() == [1, 2, 3], "rows are counted as pandas reads them"


def test_rows_of_other_files_and_of_frames(tmp_path):
    table = TableName("x.parquet", [Part(tmp_path / "x.parquet", 5)])
    assert table.place(2) == {"file": str(tmp_path / "x.parquet"), "row": 3}
    assert TableName("frame").place(2) == {"file": "frame", "row": 2}


def test_rows_of_a_folder_have_the_file_they_are_in(tmp_path):
    for name, ids in (("a.csv", [1, 2]), ("b.csv", [3, 1])):
        pandas.DataFrame({"id": ids, "size": [0.5, 1.5], "tag": [1, 0]}).to_csv(
            tmp_path / name, index=False
        )
    with pytest.raises(DataFormatError) as caught:
        read_table(tmp_path, item="id", label_columns=["tag"])
    assert caught.value.file == str(tmp_path / "b.csv")
    assert caught.value.line == 3
    assert f"first in {tmp_path / 'a.csv'}, line 2" in str(caught.value)


def test_the_file_is_said_once(tmp_path):
    table = TableName("x.parquet", [Part(tmp_path / "x.parquet", 5)])
    assert table.words(0, str(tmp_path / "x.parquet")) == "row 1"
    assert table.words(0) == f"{tmp_path / 'x.parquet'}, row 1"


def test_the_error_survives_a_process():
    error = DataFormatError("is odd", file="x.parquet", row=3, remedy="Mend it")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "x.parquet, row 3: is odd. Mend it"
    assert again.row == 3
