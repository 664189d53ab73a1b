"""Arrays in one NumPy file, or in a pickle that is read without running anything in it."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core.multiarray import _reconstruct, scalar

from labelgap.data._contents import Contents, DataFormatError, FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.labels import Labels

_WRITE = "Write it with numpy.savez(FILE, X=X, Y=Y)"
# of an archive and of a single array
_BEGINNINGS = (b"PK", b"\x93NUMPY")


def read_npz(path: FileSource, *, labelled: bool = True) -> Dataset:
    """Read features and labels from a NumPy file, as ``numpy.savez(path, X=X, Y=Y)`` writes it.

    Parameters
    ----------
    path : path
        Holds ``X``, numbers of shape (n_samples, n_features), and ``Y`` of shape (n_samples, n_labels)
        with 1, 0 and NaN for unknown; if there are ``feature_names`` and ``label_names``, these
        are the names. Pickled objects are not read.
    labelled : bool, default=True
        Whether there must be ``Y``; otherwise it is not read, and the rows have no labels.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelgap.data import read_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.npz")
    ...     np.savez(path, X=np.ones((2, 3)), Y=np.array([[1, 0], [np.nan, 1]]))
    ...     read_npz(path).shape
    (2, 3, 2)
    """
    contents = contents_of(path)
    arrays = _arrays(contents)
    for name in ("X", "Y") if labelled else ("X",):
        if name not in arrays:
            there = ", ".join(arrays) or "none"
            raise contents.error(f"there is no array {name} (there are: {there})", remedy=_WRITE)
        _check_matrix(contents, name, arrays[name])
    X = arrays["X"]
    names = _names(contents, arrays, "feature_names", X.shape[1])
    if not labelled:
        nothing = Labels.from_dense(np.empty((X.shape[0], 0)), names=np.empty(0, dtype=object))
        return Dataset(Path(contents.file).stem, X, nothing, names)
    Y = arrays["Y"]
    if X.shape[0] != Y.shape[0]:
        raise contents.error(
            f"X has {X.shape[0]} rows and Y has {Y.shape[0]}",
            remedy="Give one row of Y per row of X",
        )
    labels = _labels(contents, Y, _names(contents, arrays, "label_names", Y.shape[1]))
    return Dataset(Path(contents.file).stem, X, labels, names)


def _arrays(contents: Contents) -> dict[str, Any]:
    if not contents.data.startswith(_BEGINNINGS):
        raise contents.error("this is no NumPy file", remedy=_WRITE)
    try:
        found = np.load(io.BytesIO(contents.data), allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise contents.error("it holds a single array", remedy=_WRITE)
        n_bytes = sum(member.file_size for member in found.zip.infolist())
        contents.check_expansion(n_bytes)
        return {name: found[name] for name in found.files}
    except DataFormatError:
        raise
    # a damaged archive fails in a dozen ways: zlib, struct, unknown compression, no memory, ...
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise contents.error(f"it is damaged ({error})", remedy=_WRITE) from error
        raise contents.error(
            "it holds Python objects, which are not read", remedy="Save arrays of numbers and text"
        ) from error


def _check_matrix(contents: Contents, name: str, array: np.ndarray) -> None:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise contents.error(
            f"{name} is {array.dtype}{list(array.shape)}",
            remedy="X and Y are matrices of numbers, with a row per item",
        )
    if not array.shape[0]:
        raise contents.error(f"{name} has no rows", remedy="Give at least one row")


def _names(contents: Contents, arrays: dict[str, Any], name: str, n: int) -> np.ndarray | None:
    if name not in arrays:
        return None
    if arrays[name].shape != (n,):
        raise contents.error(
            f"{name} has the shape {list(arrays[name].shape)}", remedy=f"Give {n} names"
        )
    return arrays[name].astype(str).astype(object)


def _labels(contents: Contents, Y: np.ndarray, names: np.ndarray | None) -> Labels:
    known = Y[~np.isnan(Y)] if Y.dtype.kind == "f" else Y
    strange = np.setdiff1d(known, [0, 1])
    if strange.size:
        row = int(np.flatnonzero(np.isin(Y, strange[:1]).any(axis=1))[0])
        raise contents.error(
            f"Y holds {strange[0]:g} in row {row}, which is no label",
            remedy="Write 1, 0 or NaN for unknown",
        )
    return Labels.from_dense(Y, names=names)


# NumPy moved its core package; files of either age name the same three functions.
_ADMITTED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.multiarray", "scalar"): scalar,
    ("numpy._core.multiarray", "scalar"): scalar,
}
_YES = frozenset({"YES", "TRUE", "1"})


class _ArrayUnpickler(pickle._Unpickler):  # type: ignore[name-defined]
    """Admits arrays, dtypes and numpy scalars, and nothing else.

    The one in Python: that in C reserves gigabytes for a memo whose damaged place is large.
    """

    def find_class(self, module: str, name: str):
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"the file asks for {module}.{name}") from None


def read_array_pickle(path: FileSource, *, drop_features: tuple[int, ...] = ()) -> Dataset:
    """Read a pickled dictionary of two arrays, ``{"X": ..., "y": ...}``.

    Parameters
    ----------
    path : path
        Plain or compressed (gzip, bz2, xz).
    drop_features : tuple of int, default=()
        Columns of ``X`` to leave out, such as names of rows.

    Notes
    -----
    Only NumPy arrays, dtypes and scalars are built; a file that asks for anything else is refused.

    Examples
    --------
    >>> import pickle, tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelgap.data import read_array_pickle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.pickle")
    ...     _ = path.write_bytes(pickle.dumps({"X": np.ones((2, 3)), "y": np.eye(2)}))
    ...     read_array_pickle(path).shape
    (2, 3, 2)
    """
    contents = contents_of(path)
    try:
        found = _ArrayUnpickler(io.BytesIO(contents.data), encoding="latin1").load()
        X, y = np.asarray(found["X"]), np.asarray(found["y"])
    except Exception as error:
        raise contents.error(
            f"this is not a pickle of the arrays X and y ({error})",
            remedy="Do not open it by other means unless you trust where it comes from",
        ) from error
    if X.dtype == object or y.dtype == object or X.ndim != 2 or y.ndim != 2:
        raise contents.error(
            f"X is {X.dtype}{list(X.shape)} and y is {y.dtype}{list(y.shape)}",
            remedy="Both must be matrices of numbers",
        )
    X = np.delete(X, drop_features, axis=1)
    if X.dtype.kind == "U":
        X = np.isin(np.char.upper(X), list(_YES))
    return Dataset(
        name=Path(contents.file).name.split(".")[0],
        X=np.ascontiguousarray(X, dtype=np.float64),
        Y=Labels.from_dense(y),
    )
