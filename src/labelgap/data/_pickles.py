"""Arrays in pickle files, read without running anything that the file may ask for."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
from numpy._core.multiarray import _reconstruct, scalar

from labelgap.data._contents import FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.labels import Labels

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


class _ArrayUnpickler(pickle.Unpickler):
    """Admits arrays, dtypes and numpy scalars, and nothing else."""

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
    drop_features : tuple of int
        Columns of ``X`` to leave out, such as names of rows.

    Notes
    -----
    Only NumPy arrays, dtypes and scalars are built; a file that asks for anything else is refused.
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
