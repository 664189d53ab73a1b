"""Pickled arrays, and pickles that want more than that."""

from __future__ import annotations

import bz2
import os
import pickle
import sys

import numpy as np
import pytest

from labelgap.data import DataFormatError, read_array_pickle


def write(path, content, protocol=4):
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=protocol)))
    return path


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_come_back(tmp_path, rng, protocol):
    X, y = rng.normal(size=(6, 3)), rng.integers(0, 2, size=(6, 2))
    found = read_array_pickle(write(tmp_path / "x.dump.bz2", {"X": X, "y": y}, protocol))
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y.to_dense(), y)


def python2_array(shape, dtype: str, data: bytes) -> str:
    """An array as Python 2 pickled it: text, with the bytes of the array in a string."""
    sizes = "".join(f"I{size}\n" for size in shape)
    spelt = "".join(f"\\x{byte:02x}" for byte in data)
    return (
        "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        f"(I1\n({sizes}tcnumpy\ndtype\n(S'{dtype}'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
        f"I00\nS'{spelt}'\ntb"
    )


def test_arrays_of_python_2(tmp_path, rng):
    X, y = rng.normal(size=(4, 3)), rng.integers(0, 2, size=(4, 2))
    parts = [
        f"S'{name}'\n{python2_array(a.shape, a.dtype.str[1:], a.tobytes())}s"
        for name, a in (("X", X), ("y", y))
    ]
    path = tmp_path / "x.pkl"
    path.write_bytes(f"(d{''.join(parts)}.".encode())
    found = read_array_pickle(path)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.Y.to_dense(), y)


def test_a_damaged_place_of_the_memo_reserves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "x.pkl"
    path.write_bytes(b"(dS'X'\np200000000\n.")  # 3 GB in the unpickler of C
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataFormatError, match="not a pickle of the arrays"):
        read_array_pickle(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_words_become_numbers_and_names_of_rows_go(tmp_path):
    X = np.array([["P1", "YES", "NO"], ["P2", "NO", "NO"]])
    path = write(tmp_path / "x.pkl", {"X": X, "y": np.eye(2, dtype=int)})
    found = read_array_pickle(path, drop_features=(0,))
    np.testing.assert_array_equal(found.X, [[1, 0], [0, 0]])


class Evil:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("wrap", [lambda evil: evil, lambda evil: {"X": evil, "y": evil}])
def test_nothing_is_run(tmp_path, protocol, wrap):
    marker = tmp_path / "ran"
    evil = Evil(os.mkdir, str(marker))
    path = write(tmp_path / "x.pkl", wrap(evil), protocol)
    with pytest.raises(DataFormatError, match="asks for"):
        read_array_pickle(path)
    assert not marker.exists()


@pytest.mark.parametrize("function", [eval, exec, getattr, sys.exit, np.load, np.frombuffer])
def test_only_the_named_globals_are_admitted(tmp_path, function):
    with pytest.raises(DataFormatError, match="asks for"):
        read_array_pickle(write(tmp_path / "x.pkl", Evil(function, "1")))


@pytest.mark.parametrize(
    "content",
    [
        [1, 2],
        {"X": np.zeros(3), "y": np.zeros((3, 1))},
        {"X": np.array([[None]]), "y": np.zeros((1, 1))},
    ],
)
def test_other_contents_are_refused(tmp_path, content):
    with pytest.raises(DataFormatError):
        read_array_pickle(write(tmp_path / "x.pkl", content))


def test_cut_file(tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps({"X": np.eye(3), "y": np.eye(3)})[:-30])
    with pytest.raises(DataFormatError, match="not a pickle"):
        read_array_pickle(path)
