"""CSV and Parquet with label columns, long label tables and text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgap.data import DataFormatError, read_label_table, read_table

pandas = pytest.importorskip("pandas")

FRAME = pandas.DataFrame(
    {
        "id": ["a", "b", "c"],
        "length": [1.5, np.nan, 3.0],
        "recent": [True, False, True],
        "words": ["red car", "blue car", None],
        "sport": [1, 0, None],
        "news": [0.0, None, 1.0],
    }
)
PAIRS = pandas.DataFrame({"id": ["c", "a", "c"], "label": ["news", "sport", "sport"]})


@pytest.fixture(params=["csv", "parquet", "pandas", "polars"])
def give(request, tmp_path):
    """A frame in one of the forms that a user has."""

    def form(frame, name):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
        elif request.param == "parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
        elif request.param == "polars":
            return pytest.importorskip("polars").from_pandas(frame)
        else:
            return frame.set_index(pandas.Index([7] * len(frame)))
        return path

    return form


def test_label_columns(give):
    found = read_table(give(FRAME, "x"), label_columns=["sport", "news"], drop=["id", "words"])
    np.testing.assert_array_equal(found.X, [[1.5, 1], [np.nan, 0], [3, 1]])
    np.testing.assert_array_equal(found.Y.to_dense(), [[1, 0], [0, np.nan], [np.nan, 1]])
    assert list(found.feature_names) == ["length", "recent"]
    assert list(found.label_names) == ["sport", "news"]


@pytest.mark.parametrize(
    ("implicit", "zero"), [("negative", 0), ("unknown", np.nan), ("unlabeled", 0)]
)
def test_long_label_table(give, implicit, zero):
    features = FRAME[["id", "length"]]
    found = read_table(
        give(features, "x"), label_table=give(PAIRS, "y"), item="id", implicit=implicit
    )
    expected = [[zero, 1], [zero, zero], [1, 1]]
    np.testing.assert_array_equal(found.Y.to_dense(), expected)
    assert list(found.label_names) == ["news", "sport"]
    assert found.Y.unlabeled == (implicit == "unlabeled")
    assert list(found.feature_names) == ["length"]


def test_values_in_a_long_table():
    pairs = PAIRS.assign(value=[0, 1, None])
    found = read_table(
        FRAME[["id", "length"]], label_table=pairs, item="id", value="value", implicit="unknown"
    )
    gap = np.nan
    np.testing.assert_array_equal(found.Y.to_dense(), [[gap, 1], [gap, gap], [0, gap]])


def test_text_is_weighted_by_the_training_rows_alone(give):
    found = read_table(
        give(FRAME[["words", "length", "sport"]], "x"),
        label_columns=["sport"],
        text="words",
        train=[0],
        tfidf={"norm": None},
    )
    alone = TfidfVectorizer(norm=None).fit(["red car"])
    expected = alone.transform(["red car", "blue car", ""]).toarray()
    assert isinstance(found.X, sparse.csr_array)
    np.testing.assert_allclose(found.X.toarray()[:, 1:], expected)
    assert list(found.feature_names) == ["length", "words: car", "words: red"]
    assert found.train.tolist() == [0]
    assert found.test.tolist() == [1, 2]


def test_ids_and_texts_come_with_the_features(give):
    found = read_table(
        give(FRAME[["id", "words", "length", "sport"]], "x"),
        label_columns=["sport"],
        item="id",
        text="words",
        tfidf=False,
    )
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.texts.tolist() == ["red car", "blue car", ""]
    assert list(found.feature_names) == ["length"]
    last = found.take(np.array([2]))
    assert (last.ids.tolist(), last.texts.tolist(), last.X.tolist()) == (["c"], [""], [[3.0]])


def test_labels_of_any_rows_from_a_long_table():
    labels = read_label_table(PAIRS, ["c", "b", "a"], item="id")
    assert labels.to_tag_sets() == [{"news", "sport"}, set(), {"sport"}]
    with pytest.raises(DataFormatError, match="item 'c' is not a row of my rows"):
        read_label_table(PAIRS, ["a", "b"], item="id", file="my rows")


def test_text_only():
    found = read_table(FRAME[["words", "sport"]], label_columns=["sport"], text="words")
    assert list(found.feature_names) == ["words: blue", "words: car", "words: red"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_columns": ["music"]}, "no column 'music'"),
        ({"label_columns": ["sport"], "drop": ["x"]}, "no column 'x'"),
        ({"label_table": PAIRS.assign(id="z"), "item": "id"}, "item 'z' is not in"),
        ({"label_table": PAIRS, "item": "id", "label": "tag"}, "no column 'tag'"),
        ({"label_table": PAIRS, "item": "words"}, "no column 'words'"),
    ],
)
def test_tables_that_do_not_fit(options, message):
    with pytest.raises(DataFormatError, match=message):
        read_table(FRAME, **options)


def test_other_columns_stay_what_they_are():
    found = read_table(FRAME, label_columns=["sport"], item="id", drop=["news"])
    assert found.X.columns.tolist() == ["length", "recent", "words"]
    assert repr(found).startswith("Dataset('frame': 3 rows x 3 features (frame) x 1 labels")
    assert found.take(np.array([1])).X["words"].tolist() == ["blue car"]
    words = read_table(FRAME, label_columns=["sport"], item="id", text="words", drop=["news"])
    both = read_table(
        FRAME.assign(day=["2024-01-01", "2024-01-02", None]),
        label_columns=["sport"],
        item="id",
        text="words",
        drop=["news"],
    )
    assert both.X.shape[1] > words.X.shape[1]


@pytest.mark.parametrize(
    "column",
    [
        ["1", "2", "3", "4", "5", "old", "7", "8", "9", "10"],
        [f"item{k}" for k in range(10)],
    ],
    ids=["a word among numbers", "ids"],
)
def test_columns_that_are_mistakes(column):
    frame = pandas.DataFrame({"a": column, "l": [0, 1] * 5})
    with pytest.raises(DataFormatError, match=r"column 'a' holds '(old|item0)', not numbers"):
        read_table(frame, label_columns=["l"])


def test_label_columns_by_pattern():
    frame = pandas.DataFrame({"tag_b": [1, 0], "tag_a": [0, 1], "x": [1.0, 2.0]})
    found = read_table(frame, label_columns=["tag_*"])
    assert found.Y.names.tolist() == ["tag_b", "tag_a"]
    assert found.labels_read == "read 2 label columns"
    with pytest.raises(DataFormatError, match=r"no column 'z_\*'"):
        read_table(frame, label_columns=["z_*"])


def test_an_item_twice():
    twice = pandas.concat([FRAME, FRAME])[["id", "length"]]
    with pytest.raises(DataFormatError, match="frame, row 3: item 'a' occurs twice"):
        read_table(twice, label_table=PAIRS, item="id")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either label_columns or label_table"),
        ({"label_columns": ["sport"], "label_table": PAIRS}, "either"),
        ({"label_columns": ["sport"], "tfidf": {}}, "tfidf is given without text"),
        ({"label_columns": ["sport"], "implicit": "unknown"}, "implicit='unknown'"),
        ({"label_table": PAIRS}, "item is missing"),
    ],
)
def test_arguments_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message):
        read_table(FRAME, **options)


def test_broken_files(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,2,3,4\n5,"6\n')
    with pytest.raises(DataFormatError, match="cannot read the table"):
        read_table(path, label_columns=["b"])
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv", label_columns=["b"])
    with pytest.raises(TypeError, match="a path or a frame"):
        read_table(5, label_columns=["b"])
