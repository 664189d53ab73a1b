"""Extreme-classification and svmlight files."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from labelgap.data import DataFormatError, read_svmlight, read_xc


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "some.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write_file


def test_rows_without_labels_or_features(write):
    found = read_xc(write("4 3 2\n0,1 0:1.5 2:-2\n 1:3\n1\n\n\n"))
    np.testing.assert_array_equal(
        found.X.toarray(), [[1.5, 0, -2], [0, 3, 0], [0, 0, 0], [0, 0, 0]]
    )
    np.testing.assert_array_equal(found.Y.to_dense(), [[1, 1], [0, 0], [0, 1], [0, 0]])
    assert found.X.indices.dtype == np.int32


def test_compressed_xc(tmp_path):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"1 1 1\n0 0:1\n"))
    assert read_xc(path).shape == (1, 1, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 0:1\n", 1, "not three sizes"),
        ("2 1 1\n0 0:1\n", 1, "promises 2 rows and there are 1"),
        ("1 1 1\n0 0:1\n0 0:1\n", 1, "promises 1 rows and there are 2"),
        ("2 1 1\n0 0:1\n1 0:1\n", 3, "label 1 does not exist among 1"),
        ("1 1 1\n0 4:1\n", 2, "feature 4 does not exist"),
        ("1 1 1\n0;1 0:1\n", 2, "labels are not whole numbers"),
        ("1 2 1\n0 0:1 x\n", 2, "not 'index:value'"),
        ("1 2 1\n0 0:1 1:\n", 2, "not 'index:value'"),
        ("1 2 1\n0 0:one\n", 2, "'one' is not a number"),
        ("1 2 1\n0 0:1 0:2\n", 2, "two values"),
    ],
)
def test_broken_xc_files_are_named_by_line(write, text, line, message):
    with pytest.raises(DataFormatError, match=message) as caught:
        read_xc(write(text))
    assert caught.value.line == line
    assert caught.value.remedy


SVMLIGHT = """# a comment
3,1 1:0.5 4:2
1 2:1e-3   # another

 3:7
7,3 1:1
"""


@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_svmlight_agrees_with_scikit_learn(write, zero_based):
    found = read_svmlight(write(SVMLIGHT), zero_based=zero_based)
    X, labels = load_svmlight_file(
        io.BytesIO(SVMLIGHT.encode()), multilabel=True, zero_based=zero_based
    )
    np.testing.assert_array_equal(found.X.toarray(), X.toarray())
    assert list(found.label_names) == ["1", "3", "7"]
    tags = [{int(name) for name in row} for row in found.Y.to_tag_sets()]
    assert tags == [set(row) for row in labels]


def test_columns_can_be_fixed_for_several_files(write):
    found = read_svmlight(write(SVMLIGHT), n_features=9, label_ids=[7, 1, 5, 3])
    assert found.shape == (4, 9, 4)
    np.testing.assert_array_equal(
        found.Y.to_dense(), [[0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    )


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        ({"label_ids": [1, 3]}, 6, "label 7 is not among label_ids"),
        ({"label_ids": []}, 2, "label 3 is not among label_ids"),
        ({"n_features": 2}, 2, "feature 3 does not exist among 2"),
    ],
)
def test_svmlight_columns_that_do_not_fit(write, options, line, message):
    with pytest.raises(DataFormatError, match=message) as caught:
        read_svmlight(write(SVMLIGHT), **options)
    assert caught.value.line == line


def test_feature_zero_in_a_one_based_file(write):
    with pytest.raises(DataFormatError, match="zero_based=True"):
        read_svmlight(write("1 0:1\n"), zero_based=False)
