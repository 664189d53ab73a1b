"""Arrays in one NumPy file."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.labels import Labels

__all__ = ["read_npz"]

_WRITE = "Write it with numpy.savez(FILE, X=X, Y=Y)"
# of an archive and of a single array
_BEGINNINGS = (b"PK", b"\x93NUMPY")


def read_npz(path: FileSource, *, labelled: bool = True) -> Dataset:
    """Read features and labels from a NumPy file, as ``numpy.savez(path, X=X, Y=Y)`` writes it.

    Parameters
    ----------
    path : path
        Holds ``X``, numbers of shape (n_rows, n_features), and ``Y`` of shape (n_rows, n_labels)
        with 1, 0 and NaN for unknown; if there are ``feature_names`` and ``label_names``, these
        are the names. Pickled objects are not read.
    labelled : bool
        Whether there must be ``Y``; otherwise it is not looked at, and the rows have no labels.

    Returns
    -------
    Dataset
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
        return {name: found[name] for name in found.files}
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise contents.error(f"it is damaged ({error})", remedy=_WRITE) from error
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
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
