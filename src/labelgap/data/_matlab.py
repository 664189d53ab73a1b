"""MATLAB files as the multi-label community publishes them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.labels import Labels
from labelgap.views import from_blocks

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
    contents = contents_of(path)
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
        contents = contents_of(path)
        matrix = _only_matrix(contents)
        blocks[view] = matrix if matrix.dtype == np.float64 else matrix.astype(np.float32)
    X, found = from_blocks(blocks)
    contents = contents_of(labels)
    Y = _as_labels(contents, "labels", _only_matrix(contents), X.shape[0], "auto")
    return Dataset(name, X, Y, views=found)


def _variables(contents: Contents) -> dict[str, Any]:
    try:
        found = loadmat(io.BytesIO(contents.data))
    except NotImplementedError as error:
        raise contents.error(
            "this is a MATLAB 7.3 (HDF5) file", remedy="Save it in MATLAB with the option -v7"
        ) from error
    except (MatReadError, ValueError, TypeError, OSError) as error:
        raise contents.error(
            f"this is not a MATLAB file ({error})", remedy="Check the file or download it again"
        ) from error
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
        return sparse.csr_array(value)
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
        target = target.toarray()
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
