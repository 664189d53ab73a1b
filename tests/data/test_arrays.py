"""NumPy files of features and labels."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.data import DataFormatError, read_npz

X, Y = np.arange(6.0).reshape(3, 2), np.array([[1, 0], [np.nan, 1], [0, 0]])


def test_what_was_saved_is_read(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, X=X, Y=Y, feature_names=["a", "b"], label_names=["x", "y"])
    found = read_npz(path)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y.to_dense(), Y)
    assert found.feature_names.tolist() == ["a", "b"]
    assert found.Y.names.tolist() == ["x", "y"]
    np.savez_compressed(path, X=X.astype(np.float32), Y=Y[[0, 2, 2]].astype(np.int8))
    assert read_npz(path).Y.n_positives() == 1
    assert read_npz(path).feature_names is None


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"Y": Y}, r"there is no array X \(there are: Y\)"),
        ({"X": X, "Y": Y[:2]}, "X has 3 rows and Y has 2"),
        ({"X": X[:0], "Y": Y[:0]}, "X has no rows"),
        ({"X": X, "Y": Y[:, 0]}, r"Y is float64\[3\]"),
        ({"X": X.astype(str), "Y": Y}, "X is <U"),
        ({"X": X, "Y": Y + 1}, "Y holds 2 in row 0, which is no label"),
        ({"X": X, "Y": Y, "label_names": ["x"]}, r"label_names has the shape \[1\]"),
        ({"X": X.astype(object), "Y": Y}, "it holds Python objects, which are not read"),
    ],
)
def test_wrong_arrays(tmp_path, arrays, said):
    np.savez(tmp_path / "arrays.npz", **arrays)
    with pytest.raises(DataFormatError, match=said):
        read_npz(tmp_path / "arrays.npz")


def test_files_that_are_none(tmp_path):
    (tmp_path / "text.npz").write_text("X, Y")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "one.npy", X)
    np.savez(tmp_path / "cut.npz", X=X, Y=Y)
    cut = tmp_path / "cut.npz"
    cut.write_bytes(cut.read_bytes()[:150])
    wrong = {
        "text.npz": "this is no NumPy file",
        "empty.npz": "",
        "one.npy": "it holds a single array",
        "cut.npz": "it is damaged",
    }
    for name, said in wrong.items():
        with pytest.raises(DataFormatError, match=f"{name}: {said}"):
            read_npz(tmp_path / name)


def test_rows_without_labels(tmp_path):
    np.savez(tmp_path / "new.npz", X=X)
    found = read_npz(tmp_path / "new.npz", labelled=False)
    np.testing.assert_array_equal(found.X, X)
    assert found.Y.shape == (len(X), 0)
