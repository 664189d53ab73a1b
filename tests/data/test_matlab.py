"""MATLAB files: orientation and coding of targets, splits, views."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from labelgap.data import DataFormatError, read_mat, read_mat_views
from labelgap.views import present

X = np.arange(15.0).reshape(5, 3)
TARGETS = np.array([[1, 0, 1, 0, 0], [0, 0, 1, 1, 0]])


@pytest.fixture
def save(tmp_path):
    def save_file(name="some.mat", **variables):
        path = tmp_path / name
        savemat(path, variables)
        return path

    return save_file


@pytest.mark.parametrize("coded", [TARGETS, 2 * TARGETS - 1, sparse.csc_array(TARGETS * 1.0)])
@pytest.mark.parametrize("transposed", [False, True])
def test_targets_in_either_order_and_coding(save, coded, transposed):
    found = read_mat(save(data=X, target=coded.T if transposed else coded))
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y.to_dense(), TARGETS.T)


def test_square_targets_are_labels_by_rows_unless_said_otherwise(save):
    square = np.array([[1, 1], [0, 0]])
    path = save(data=X[:2], target=square)
    np.testing.assert_array_equal(read_mat(path).Y.to_dense(), square.T)
    other = read_mat(path, target_order="rows_by_labels")
    np.testing.assert_array_equal(other.Y.to_dense(), square)


def test_split(save):
    found = read_mat(
        save(
            train_data=X[:3],
            train_target=TARGETS[:, :3],
            test_data=X[3:],
            test_target=TARGETS[:, 3:],
        )
    )
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y.to_dense(), TARGETS.T)
    assert found.train.tolist() == [0, 1, 2]
    assert found.test.tolist() == [3, 4]


def test_cell_array_of_views(save):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = X[:, :1], X[:, 1:]
    found = read_mat(save(view=cells, label=TARGETS.T, view_name=["sound ", "rhythm"]))
    np.testing.assert_array_equal(found.X, X)
    assert found.views.widths == {"sound": 1, "rhythm": 2}


def test_one_file_per_view(save):
    found = read_mat_views(
        {
            "a": save("a.mat", whatever=X[:, :2].astype(np.uint16)),
            "b": save("b.mat", x=X[:, 2:].astype(np.float32)),
        },
        save("labels.mat", y=TARGETS.T),
    )
    assert found.X.dtype == np.float32
    np.testing.assert_array_equal(found.X, X)
    assert present(found.X, found.views).all()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"data": X}, "the variables are data"),
        ({"data": X, "target": TARGETS[:, :4]}, "has the shape"),
        ({"data": X, "target": TARGETS + 1}, r"holds the values \[1, 2\]"),
        ({"data": X, "target": TARGETS - np.eye(2, 5)}, "from_signed"),
        ({"data": "text", "target": TARGETS}, "matrix of numbers"),
    ],
)
def test_files_that_do_not_fit(save, variables, message):
    with pytest.raises(DataFormatError, match=message) as caught:
        read_mat(save(**variables))
    assert caught.value.file.endswith("some.mat")


def test_not_a_matlab_file(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"hello, this is not a MATLAB file at all " * 10)
    with pytest.raises(DataFormatError, match="not a MATLAB file"):
        read_mat(path)


def test_matlab_73_is_named(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124, b" ") + b"\x00\x02IM" + b"\x00" * 64)
    with pytest.raises(DataFormatError, match="-v7"):
        read_mat(path)


def test_unknown_order_is_refused(save):
    with pytest.raises(ValueError, match="target_order='rows'"):
        read_mat(save(data=X, target=TARGETS), target_order="rows")
