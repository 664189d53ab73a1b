"""MATLAB files as the multi-label community publishes them."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels import Labels
from labelgap.views import from_blocks

_CHECK = "Check the file or download it again"

TargetOrder = Literal["auto", "labels_by_rows", "rows_by_labels"]


def read_mat(path: FileSource, *, target_order: TargetOrder = "auto") -> Dataset:
    """Read features and labels from one MATLAB file (version 7 or older).

    Three sets of variables are understood: ``train_data, train_target, test_data, test_target``;
    ``data, target``; and the cell array ``view`` with ``label`` (and ``view_name``).

    Parameters
    ----------
    path : path
    target_order : {"auto", "labels_by_rows", "rows_by_labels"}, default="auto"
        "auto" goes by the number of rows; when both fit it takes the customary labels x rows.

    Returns
    -------
    Dataset
        With a split or with views where the file has them. Targets may be coded {0, 1} or {-1, 1}.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from labelgap.data import read_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.mat")
    ...     savemat(path, {"data": np.ones((4, 3)), "target": np.array([[1, -1, 1, 1]])})
    ...     read_mat(path).shape
    (4, 3, 1)
    """
    contents = _survived(path)
    variables = _variables(contents)
    name = Path(contents.file).stem
    if {"train_data", "train_target", "test_data", "test_target"} <= variables.keys():
        parts = [
            Dataset(
                name,
                X := _features(contents, variables, f"{part}_data"),
                _targets(contents, variables, f"{part}_target", X.shape[0], target_order),
            )
            for part in ("train", "test")
        ]
        return stack_splits(name, *parts)
    if {"data", "target"} <= variables.keys():
        X = _features(contents, variables, "data")
        return Dataset(name, X, _targets(contents, variables, "target", X.shape[0], target_order))
    if {"view", "label"} <= variables.keys():
        X, views = from_blocks(_cells(contents, variables))
        Y = _targets(contents, variables, "label", X.shape[0], target_order)
        return Dataset(name, X, Y, views=views)
    raise contents.error(
        f"the variables are {', '.join(variables) or 'none'}",
        remedy="Name them data and target, or train_data, train_target, test_data and test_target",
    )


def read_mat_views(
    views: Mapping[str, FileSource], labels: FileSource, *, name: str = "views"
) -> Dataset:
    """Read views from one MATLAB file each; every file holds one matrix, whatever its name.

    Parameters
    ----------
    views : mapping from the name of a view to its file
    labels : path
        Rows x labels or labels x rows, coded {0, 1} or {-1, 1}.
    name : str, default="views"

    See Also
    --------
    read_mat : One file for all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from labelgap.data import read_mat_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = {name: Path(folder, f"{name}.mat") for name in ("hue", "shape", "tags")}
    ...     for path, width in zip(paths.values(), (2, 3, 1), strict=True):
    ...         savemat(path, {"matrix": np.ones((4, width))})
    ...     read_mat_views({name: paths[name] for name in ("hue", "shape")}, paths["tags"]).shape
    (4, 5, 1)
    """
    blocks = {}
    for view, path in views.items():
        contents = _survived(path)
        matrix = _only_matrix(contents)
        blocks[view] = matrix if matrix.dtype == np.float64 else matrix.astype(np.float32)
    X, found = from_blocks(blocks)
    contents = _survived(labels)
    Y = _as_labels(contents, "labels", _only_matrix(contents), X.shape[0], "auto")
    return Dataset(name, X, Y, views=found)


# a reader in C, given a damaged file, may crash, loop or take all memory: a child may do so first
_TRIAL = """
import io, sys
try:
    import resource
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (int(sys.argv[1]) * (limit == resource.RLIMIT_AS),) * 2)
except (ImportError, ValueError):
    pass
from scipy.io import loadmat
try:
    found = loadmat(io.BytesIO(sys.stdin.buffer.read()))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}"[:500])
for value in found.values():
    if hasattr(value, "check_format"):
        value.check_format(full_check=True)
"""
_TRIAL_SECONDS, _TRIAL_BYTES, _BYTES_PER_BYTE = 120, 2**31, 200


def _survived(source: FileSource) -> Contents:
    """The contents of a file that another process has read and survived.

    Contents that somebody read before are those of the registry, whose checksums were compared.
    """
    contents = contents_of(source)
    if isinstance(source, Contents):
        return contents
    memory = _TRIAL_BYTES + _BYTES_PER_BYTE * len(contents.data)
    command = [sys.executable, "-c", _TRIAL, str(memory)]
    try:
        done = subprocess.run(
            command, input=contents.data, capture_output=True, timeout=_TRIAL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise contents.error("reading it does not end", remedy=_CHECK) from None
    said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if done.returncode and "NotImplementedError" not in said:
        what = said if done.returncode > 0 and said else "the reader crashes on it"
        raise contents.error(f"this is not a MATLAB file, or it is damaged ({what})", remedy=_CHECK)
    return contents


def _variables(contents: Contents) -> dict[str, Any]:
    try:
        found = loadmat(io.BytesIO(contents.data))
    except NotImplementedError as error:
        raise contents.error(
            "this is a MATLAB 7.3 (HDF5) file", remedy="Save it in MATLAB with the option -v7"
        ) from error
    except Exception as error:
        raise contents.error(f"this is not a MATLAB file ({error})", remedy=_CHECK) from error
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _only_matrix(contents: Contents) -> Any:
    variables = _variables(contents)
    if len(variables) != 1:
        raise contents.error(
            f"the variables are {', '.join(variables) or 'none'}",
            remedy="A file of one view holds one matrix",
        )
    return next(iter(variables.values()))


def _features(contents: Contents, variables: dict[str, Any], variable: str) -> Any:
    value = variables[variable]
    if sparse.issparse(value):
        return canonical_rows(value, variable)
    if value.ndim != 2 or value.dtype.kind not in "biuf":
        raise contents.error(
            f"{variable} is {value.dtype}{list(value.shape)}",
            remedy="Features are a matrix of numbers, rows x features",
        )
    return value


def _cells(contents: Contents, variables: dict[str, Any]) -> dict[str, np.ndarray]:
    cells = variables["view"]
    if cells.dtype != object:
        raise contents.error("view is not a cell array", remedy="Save the views as a cell array")
    blocks = cells.ravel()
    names = [str(name).strip() for name in variables.get("view_name", ())]
    if len(names) != len(blocks):
        names = [f"view{position}" for position in range(len(blocks))]
    return dict(zip(names, blocks, strict=True))


def _targets(
    contents: Contents, variables: dict[str, Any], variable: str, n_samples: int, order: TargetOrder
) -> Labels:
    return _as_labels(contents, variable, variables[variable], n_samples, order)


def _as_labels(
    contents: Contents, variable: str, target: Any, n_samples: int, order: TargetOrder
) -> Labels:
    if sparse.issparse(target):
        target = canonical_rows(target, variable).toarray()
    if getattr(target, "ndim", 0) != 2 or target.dtype.kind not in "biuf":
        raise contents.error(f"{variable} is no matrix of numbers", remedy=_CHECK)
    if order == "auto":
        order = "labels_by_rows" if target.shape[1] == n_samples else "rows_by_labels"
    elif order not in ("labels_by_rows", "rows_by_labels"):
        raise ValueError(
            f"target_order={order!r}: use 'auto', 'labels_by_rows' or 'rows_by_labels'"
        )
    by_row = target.T if order == "labels_by_rows" else target
    if by_row.shape[0] != n_samples:
        raise contents.error(
            f"{variable} has the shape {list(target.shape)} for {n_samples} rows of features",
            remedy="Targets are labels x rows, or rows x labels",
        )
    coding = set(np.unique(by_row).tolist())
    if coding <= {0, 1}:
        return Labels.from_dense(by_row)
    if coding <= {-1, 1}:
        return Labels.from_dense(by_row == 1)
    raise contents.error(
        f"{variable} holds the values {sorted(coding)[:5]}",
        remedy="Targets are coded {0, 1} or {-1, 1}; if 0 is to mean unknown, build "
        "Labels.from_signed yourself",
    )
