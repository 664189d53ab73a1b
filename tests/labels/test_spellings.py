"""Every spelling of the same labels gives the same labels, and a sentence says how it was read."""

from __future__ import annotations

import json
import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from labelgap import Labels, as_labels
from labelgap.labels import read_label_frame
from labelgap.targets import read_target

TAGS = [["rock", "jazz"], ["jazz"], [], ["folk", "rock"], ["rock"]]
CLEAN = Labels.from_tag_sets(TAGS)
DENSE = CLEAN.to_dense().astype(int)


def _wide(yes, no):
    cells = np.where(DENSE == 1, yes, no)
    return pd.DataFrame(cells.tolist(), columns=CLEAN.names.tolist())


def _column(cells):
    return pd.DataFrame({"tags": cells})


SPELLINGS = {
    "true and false": (_wide("true", "false"), "3 label columns, written as"),
    "True and False": (pd.DataFrame(DENSE == 1, columns=CLEAN.names), "3 label"),
    "yes and no": (_wide("Yes", "no"), "written as 'no', 'Yes'"),
    "x and empty text": (_wide("x", ""), "written as 'x'; 9 empty cells are zeros"),
    "x and null": (_wide("X", "").replace("", None), "9 empty cells are zeros"),
    "text of numbers": (_wide("1", "0"), "3 label columns"),
    "categories": (_wide("yes", "no").astype("category"), "3 label columns"),
    "semicolons": (_column([";".join(t) for t in TAGS]), "3 tags from column 'tags', separated by"),
    "bars and blanks": (
        _column([" | ".join(t) for t in TAGS]),
        "separated by '|'; 1 rows list none",
    ),
    "commas": (_column([", ".join(t) or None for t in TAGS]), "separated by ','"),
    "lines": (_column(["\n".join(t) for t in TAGS]), "separated by"),
    "JSON": (_column([json.dumps(t) for t in TAGS]), "JSON lists; 1 rows list none"),
    "lists of Python": (_column([str(t) for t in TAGS]), "JSON lists"),
    "lists of NumPy": (_column([str(np.array(t, dtype=object)) for t in TAGS]), "JSON lists"),
    "angle brackets": (_column(["".join(f"<{x}>" for x in t) for t in TAGS]), "<a><b>"),
    "hash tags": (_column([" ".join(f"#{x}" for x in t) for t in TAGS]), "separated by ' '"),
    "lists": (_column(TAGS), "lists; 1 rows list none"),
    "arrays": (_column([np.array(t, dtype=object) for t in TAGS]), "lists"),
    "polars lists": (pl.DataFrame({"tags": TAGS}), "lists"),
    "arrow lists": (pa.table({"tags": TAGS}), "lists"),
    "polars text": (pl.DataFrame({"tags": [";".join(t) for t in TAGS]}), "separated by ';'"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_says_the_same(name):
    frame, said = SPELLINGS[name]
    labels, sentence = read_label_frame(frame)
    if name == "hash tags":
        labels = labels.with_names([tag.lstrip("#") for tag in labels.names])
    assert labels.equals(CLEAN)
    assert said in sentence
    assert as_labels(frame).shape == CLEAN.shape


VECTORS = {
    "semicolons": [";".join(t) for t in TAGS],
    "JSON": [json.dumps(t) for t in TAGS],
    "lists": TAGS,
    "sets": [set(t) for t in TAGS],
}


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, lambda c: pd.Series(c, dtype=object)])
@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_that_lists_labels_is_never_one_of_classes(name, wrap):
    if name == "sets" and wrap is pl.Series:
        pytest.skip("polars has no sets")
    labels, target = read_target(wrap(VECTORS[name]))
    assert target.kind == "multilabel"
    assert target.classes.tolist() == CLEAN.names.tolist()
    assert labels.equals(CLEAN)


def test_numbers_as_tags_are_in_the_order_of_numbers():
    labels = as_labels(pd.Series(["1;4;10", "4", "10;1"]))
    assert labels.names.tolist() == ["1", "4", "10"]


def test_a_column_of_rows_is_a_matrix():
    rows = [[1, 0, 1], [0, 0, 1]]
    for column in (pd.Series(rows), pd.Series([np.array(row) for row in rows])):
        np.testing.assert_array_equal(as_labels(column).to_dense(), rows)


def test_columns_of_label_numbers_are_tags():
    assert as_labels(pd.Series([[3, 7], [7], []])).to_tag_sets() == [{3, 7}, {7}, set()]


def test_empty_cells_say_no_only_where_nothing_else_does():
    only_marks = pd.DataFrame({"a": ["x", None], "b": [None, "x"]})
    np.testing.assert_array_equal(as_labels(only_marks).to_dense(), [[1, 0], [0, 1]])
    with_no = only_marks.assign(c=["no", "yes"])
    assert as_labels(with_no).n_observed() == 4
    gaps = Labels.from_frame(only_marks, empty="unknown")
    np.testing.assert_array_equal(gaps.to_dense(), [[1, np.nan], [np.nan, 1]])
    listed = pd.DataFrame({"tags": ["a;b", None]})
    assert Labels.from_frame(listed, empty="unknown").to_tag_sets() == [{"a", "b"}, None]
    null_list = pd.DataFrame({"tags": [["a"], None]})
    assert as_labels(null_list).to_tag_sets() == [{"a"}, None]
    ones = pd.DataFrame({"a": [1, None, 1], "b": [0, 1, None]})
    assert as_labels(ones).n_observed() == 4


def test_words_for_unknown_stay_unknown():
    frame = pd.DataFrame({"a": ["x", "?", None], "b": ["x", "x", "unknown"]})
    np.testing.assert_array_equal(as_labels(frame).to_dense(), [[1, 1], [np.nan, 1], [0, np.nan]])


def test_classes_stay_classes():
    for y in (
        ["red", "green", "red"],
        pd.Series(["a;b", "c;d", "a;b"]).astype("category"),
        pd.Series(["New York", "San Diego"]),
        pl.Series(["x;y", "z"]).cast(pl.Categorical),
    ):
        assert read_target(y)[1].kind in ("binary", "multiclass")


def test_names_with_commas_are_refused_rather_than_guessed():
    y = pd.Series(["Smith, John", "Doe, Jane", "Smith, John"])
    with pytest.raises(ValueError, match=r"y\[0\] = 'Smith, John' could be one class or a list"):
        read_target(y)
    assert Labels.from_tag_sets(y, separator=",").n_labels == 4
    assert read_target(y.astype("category"))[1].kind == "binary"


def test_one_label_per_row():
    labels, said = read_label_frame(pd.DataFrame({"genre": ["rock", "jazz", None]}))
    assert labels.to_tag_sets() == [{"rock"}, {"jazz"}, None]
    assert said == "read 2 tags from column 'genre', one per row; 1 empty cells are unknown"


def test_a_separator_can_be_given():
    cells = pd.DataFrame({"tags": ["New York, NY/Boston, MA", "Boston, MA"]})
    assert Labels.from_frame(cells, separator="/").names.tolist() == ["Boston, MA", "New York, NY"]


def test_a_frequent_semicolon_goes_before_a_more_frequent_comma():
    cells = ["New York, NY;Boston, MA", "Boston, MA", "Austin, TX;Boston, MA"]
    labels = as_labels(pd.Series(cells))
    assert labels.names.tolist() == ["Austin, TX", "Boston, MA", "New York, NY"]


def test_as_labels_logs_how_it_read(caplog):
    with caplog.at_level(logging.INFO, logger="labelgap"):
        as_labels(pd.DataFrame({"tags": ["a;b", "a"]}))
    assert "read 2 tags from column 'tags', separated by ';'" in caplog.text


def test_further_rows_have_the_labels_of_the_first():
    _, target = read_target(pd.Series(["a;b", "b;c"]))
    np.testing.assert_array_equal(
        target.read(pd.Series(["c;a", "c"])).to_dense(), [[1, 0, 1], [0, 0, 1]]
    )
    with pytest.raises(ValueError, match="label 'new' is not among the 3 known labels"):
        target.read(pd.Series(["c;new"]))
