"""ARFF files: Mulan, MEKA, sparse, nominal, compressed, and broken ones."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle

import numpy as np
import pytest
from scipy import sparse

from labelgap.data import DataFormatError, read_arff, read_label_xml

DENSE = """% music
@RELATION 'songs'

@attribute tempo numeric
@attribute 'loud ness' REAL
@attribute happy {0,1}
@attribute "sad" {0,1}

@DATA
1.5, -2e3, 1, 0
% a comment
?,0.25,?,1

0,0,0,0
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="sad"><label name="happy"></label></label>
</labels>"""


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "some.arff"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def arff(attributes: str, data: str, relation: str = "toy") -> str:
    lines = "\n".join(f"@attribute {line}" for line in attributes.split(";"))
    return f"@relation {relation}\n{lines}\n@data\n{data}\n"


def test_dense_file_with_unknown_labels(write):
    found = read_arff(write(DENSE), ["happy", "sad"])
    np.testing.assert_array_equal(found.X, [[1.5, -2000.0], [np.nan, 0.25], [0.0, 0.0]])
    np.testing.assert_array_equal(found.Y.to_dense(), [[1, 0], [np.nan, 1], [0, 0]])
    assert list(found.feature_names) == ["tempo", "loud ness"]
    assert list(found.label_names) == ["happy", "sad"]


def test_the_order_of_the_arff_file_beats_that_of_the_xml(write):
    found = read_arff(write(DENSE), write(XML, "some.xml"))
    assert read_label_xml(write(XML, "some.xml")) == ["sad", "happy"]
    assert list(found.label_names) == ["happy", "sad"]


@pytest.mark.parametrize(
    ("relation", "expected"), [("'toy: -C 1'", ["a"]), ("'toy: -C -2'", ["b", "c"])]
)
def test_meka_keeps_the_number_of_labels_in_the_relation(write, relation, expected):
    path = write(arff("a {0,1};b {0,1};c {0,1}", "1,0,1", relation))
    assert list(read_arff(path).label_names) == expected


def test_number_of_labels_as_an_argument_goes_before_the_relation(write):
    path = write(arff("a {0,1};b {0,1};c {0,1}", "1,0,1", "'toy: -C 1'"))
    assert list(read_arff(path, -1).label_names) == ["c"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_recognised_whatever_the_name(tmp_path, compress):
    path = tmp_path / "packed.arff"
    path.write_bytes(compress(DENSE.encode()))
    assert read_arff(path, -2).shape == (3, 2, 2)


def test_sparse_and_dense_spelling_mean_the_same(write, rng):
    table = np.where(rng.random((30, 12)) < 0.3, rng.normal(size=(30, 12)).round(4), 0)
    table[:, 9:] = table[:, 9:] != 0
    attributes = ";".join([f"x{j} numeric" for j in range(9)] + [f"y{j} {{0,1}}" for j in range(3)])

    def cell(j, value):
        return f"{value:.0f}" if j >= 9 else repr(float(value))

    dense = "\n".join(",".join(cell(j, v) for j, v in enumerate(row)) for row in table)
    thin = "\n".join(
        "{" + ",".join(f"{j} {cell(j, v)}" for j, v in enumerate(row) if v) + "}" for row in table
    )
    left = read_arff(write(arff(attributes, dense)), -3)
    right = read_arff(write(arff(attributes, thin)), -3)
    assert isinstance(left.X, np.ndarray)
    assert isinstance(right.X, sparse.csr_array)
    assert right.X.indices.dtype == np.int32
    np.testing.assert_array_equal(left.X, table[:, :9])
    np.testing.assert_array_equal(right.X.toarray(), table[:, :9])
    assert left.Y.equals(right.Y)


def test_sparse_indices_may_come_in_any_order(write):
    found = read_arff(write(arff("a numeric;b numeric;y {0,1}", "{2 1, 1 5, 0 4}")), -1)
    np.testing.assert_array_equal(found.X.toarray(), [[4, 5]])
    assert found.X.has_sorted_indices


COLOURS = "colour {red,'dark blue',green};flag {no,yes};size {1,2,4};y {0,1}"


def test_categories_become_columns_numbers_and_flags(write):
    found = read_arff(write(arff(COLOURS, "'dark blue',yes,4,1\nred,no,1,0\n?,?,?,?")), -1)
    assert list(found.feature_names) == [
        "colour=red", "colour=dark blue", "colour=green", "flag", "size",
    ]  # fmt: skip
    gap = np.full(5, np.nan)
    np.testing.assert_array_equal(found.X, [[0, 1, 0, 1, 4], [1, 0, 0, 0, 1], gap])


def test_categories_as_codes(write):
    path = write(arff(COLOURS, "green,yes,2.0,1\nred,no,1,0"))
    np.testing.assert_array_equal(read_arff(path, -1, nominal="codes").X, [[2, 1, 2], [0, 0, 1]])


def test_what_a_sparse_row_leaves_out_is_the_first_category(write):
    found = read_arff(write(arff(COLOURS, "{0 green, 3 1}\n{}\n{0 ?}")), -1)
    expected = [[0, 0, 1, 0, 1], [1, 0, 0, 0, 1], [np.nan] * 3 + [0, 1]]
    np.testing.assert_array_equal(found.X.toarray(), expected)
    np.testing.assert_array_equal(found.Y.to_dense(), [[1], [0], [0]])


@pytest.mark.parametrize("categories", ["{TRUE,FALSE}", "{FALSE,TRUE}", "{no,yes}", "{Y,N}"])
def test_labels_spelt_in_words(write, categories):
    yes = next(c for c in categories.strip("{}").split(",") if c.lower()[0] in "ty")
    no = next(c for c in categories.strip("{}").split(",") if c != yes)
    found = read_arff(write(arff(f"x numeric;y {categories}", f"1,{yes}\n2,{no}")), -1)
    np.testing.assert_array_equal(found.Y.to_dense(), [[1], [0]])


def test_text_is_refused_or_left_out(write):
    path = write(arff("id string;x numeric;y {0,1}", "'it''s, me',5,1".replace("''", "\\'")))
    with pytest.raises(DataFormatError, match=r"'id' holds text. Pass text='drop'"):
        read_arff(path, -1)
    found = read_arff(path, -1, text="drop")
    np.testing.assert_array_equal(found.X, [[5.0]])
    assert list(found.feature_names) == ["x"]


def test_numbers_keep_their_last_bit(write, rng):
    numbers = rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, size=200)
    path = write(arff("x numeric;y {0,1}", "\n".join(f"{float(v)!r},1" for v in numbers)))
    np.testing.assert_array_equal(read_arff(path, -1).X[:, 0], numbers)


def test_old_files_are_not_utf8(tmp_path):
    path = tmp_path / "old.arff"
    path.write_bytes(arff("stra\u00dfe numeric;y {0,1}", "1,1").encode("latin-1"))
    assert list(read_arff(path, -1).feature_names) == ["stra\u00dfe"]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("1,1\n1", 6, "fewer values"),
        ("1,1,1", 5, "more values"),
        ("\n\n1,7", 7, "not one of the categories"),
        ("1,1\n% fine\nabc,1", 7, "'abc' is not a number"),
        ("{0 1, 5 1}", 5, "index of an attribute"),
        ("{0 1,1", 5, "not closed"),
        ("'1,1", 5, "not closed"),
        ("{0 1, 1 1, 0 2}", 5, "attribute 0 has two values"),
        ("1,1,{5}", 5, "instance weight"),
    ],
)
def test_broken_rows_are_named_by_file_and_line(write, data, line, message):
    path = write(arff("x numeric;y {0,1}", data))
    with pytest.raises(DataFormatError, match=message) as caught:
        read_arff(path, -1)
    assert caught.value.line == line
    assert caught.value.file == str(path)
    assert f"line {line}" in str(caught.value)
    assert caught.value.remedy in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("@relation x\n@attribute a numeric\n", -1, "no @data line"),
        (arff("a numeric", "1"), None, "nothing says which attributes are labels"),
        (arff("a numeric", "1"), 2, "2 labels among 1 attributes"),
        (arff("a numeric", "1"), ["b"], "no attribute for the label 'b'"),
        (arff("a numbers;y {0,1}", "1"), -1, "the type 'numbers'"),
        ("@relation x\nattribute a numeric\n@data\n", -1, "neither @relation nor @attribute"),
        (arff("y {a,b,c}", "a"), -1, "the two categories"),
        (arff("y numeric", "3"), -1, "label 'y' is 3 in data row 1"),
        (arff("y string", "3"), -1, "'y' holds text"),
        (arff("y {'0,1}", "3"), -1, "cannot read the categories"),
    ],
)
def test_broken_headers_say_what_to_do(write, text, labels, message):
    with pytest.raises(DataFormatError, match=message):
        read_arff(write(text), labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<labels><label/></labels>", "has no name"),
        ("<labels></labels>", "no <label name"),
        ("<labels>", "not well-formed"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels/>', "document type"),
    ],
)
def test_broken_xml(write, text, message):
    with pytest.raises(DataFormatError, match=message):
        read_label_xml(write(text, "labels.xml"))


def test_damaged_compression(tmp_path):
    path = tmp_path / "cut.arff.gz"
    path.write_bytes(gzip.compress(DENSE.encode())[:-20])
    with pytest.raises(DataFormatError, match=r"damaged.*Download the file again"):
        read_arff(path, -2)


def test_options_are_checked(write):
    with pytest.raises(ValueError, match="nominal='one'"):
        read_arff(write(DENSE), -2, nominal="one")
    with pytest.raises(ValueError, match="text='keep'"):
        read_arff(write(DENSE), -2, text="keep")
