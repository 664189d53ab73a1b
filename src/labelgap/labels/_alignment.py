"""Rows of features and of labels that belong together: by index, or by a column of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from labelgap.labels._label_frames import frame_names, has_default_names
from labelgap.labels._labels import Labels
from labelgap.labels.states import ZerosName

_POSITIONS = "y.to_numpy() where the rows of X and y are already in one order"


class AlignedRows(NamedTuple):
    """Features, labels in the order of their rows, and the column of ids they were joined on."""

    X: Any
    y: Any
    item: str | None


def align_rows(X: Any, y: Any, *, zeros: ZerosName = "negative") -> AlignedRows:
    """Return features with the labels of the same items, in the order of the features.

    Frames of pandas are joined on their index. Frames that share a column of ids are joined on it,
    and lose it; the labels may then also be a long table, with an item and a label in each row.
    Anything else is taken to be in one order.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : any encoding of labels, or a vector of classes
    zeros : {"negative", "unlabeled"}, default="negative"
        What a pair means that a long table does not list.

    Returns
    -------
    AlignedRows

    Raises
    ------
    ValueError
        If an item is in one of them only, or twice; names the first such item.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.labels import align_rows
    >>> X = pd.DataFrame({"size": [1.5, 2.5]}, index=["a", "b"])
    >>> align_rows(X, pd.DataFrame({"red": [0, 1]}, index=["b", "a"])).y["red"].tolist()
    [1, 0]
    """
    if not hasattr(X, "columns") or not (hasattr(y, "columns") or hasattr(y, "iloc")):
        return AlignedRows(X, y, None)
    item = _shared_column(X, y)
    if item is not None:
        return _joined_on(X, y, item, zeros)
    if not (_has_index(X) and _has_index(y)) or X.index.equals(y.index):
        return AlignedRows(X, y, None)
    if len(X) != len(y) and all(type(one.index).__name__ == "RangeIndex" for one in (X, y)):
        return AlignedRows(X, y, None)  # the numbers of rows differ, which is said elsewhere
    order = _positions(X.index.tolist(), y.index.tolist(), "their index")
    return AlignedRows(X, y.iloc[order], None)


def without_items(X: Any, item: str | None) -> Any:
    """Return a frame without its column of ids, if it has it.

    Parameters
    ----------
    X : array or frame
    item : str or None
        The column.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.labels import without_items
    >>> list(without_items(pd.DataFrame({"id": [7], "size": [1.5]}), "id"))
    ['size']
    """
    if item is None or not hasattr(X, "columns") or item not in frame_names(X):
        return X
    return nw.from_native(X, eager_only=True).drop(item).to_native()


def items_of(X: Any, item: str | None = None) -> Any:
    """Return what identifies the rows of a frame: its ids or its index; None for anything else.

    Parameters
    ----------
    X : array or frame
    item : str, default=None
        The column of ids, which may be absent.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.labels import items_of
    >>> items_of(pd.DataFrame({"id": [7, 9], "size": [1.5, 2.5]}), "id")
    [7, 9]
    """
    if not _is_frame(X):
        return None
    if item is not None and item in frame_names(X):
        return nw.from_native(X, eager_only=True)[item].to_list()
    return X.index if _has_index(X) else None


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape") and not hasattr(X, "collect")


def _has_index(X: Any) -> bool:
    return hasattr(X, "index") and hasattr(X, "iloc")


def _shared_column(X: Any, y: Any) -> str | None:
    """The only column that both frames have, unless it is a label."""
    if not (_is_frame(X) and _is_frame(y)) or has_default_names(X) or has_default_names(y):
        return None
    shared = [name for name in frame_names(X) if name in set(frame_names(y))]
    if len(shared) != 1 or len(frame_names(y)) < 2:
        return None
    column = nw.from_native(y, eager_only=True)[shared[0]]
    is_number = column.dtype.is_numeric() or column.dtype == nw.Boolean
    return None if is_number and set(column.drop_nulls().to_list()) <= {0, 1} else shared[0]


def _joined_on(X: Any, y: Any, item: str, zeros: ZerosName) -> AlignedRows:
    table = nw.from_native(y, eager_only=True)
    ids, listed = _ids(X, item), _ids(y, item)
    rest = [name for name in table.columns if name != item]
    features = without_items(X, item)
    is_long = table[rest[0]].dtype in (nw.String, nw.Categorical, nw.Object) and len(rest) <= 2
    if is_long and len(set(listed)) < len(listed):
        _check_once(ids, "X", f"column {item!r}")
        values = table[rest[1]].to_list() if len(rest) == 2 else None
        tags = table[rest[0]].to_list()
        _positions(listed, ids, f"column {item!r}", both=False, names=("y", "X"))
        labels = Labels.from_long(listed, tags, values, item_order=ids, implicit=zeros)
        return AlignedRows(features, labels, item)
    order = _positions(ids, listed, f"column {item!r}")
    return AlignedRows(features, table.drop(item)[order].to_native(), item)


def _ids(frame: Any, item: str) -> list:
    return nw.from_native(frame, eager_only=True)[item].to_list()


def _positions(
    wanted: Sequence, given: Sequence, by: str, *, both: bool = True, names: Any = ("X", "y")
) -> np.ndarray:
    """Where the items of the first are in the second; the same items must be in both, once."""
    first, second = names
    if both:
        _check_once(wanted, first, by)
    _check_once(given, second, by)
    position = {key: row for row, key in enumerate(given)}
    for row, key in enumerate(wanted):
        if key not in position:
            raise ValueError(_absent(key, row, first, second, by))
    if both and len(given) > len(wanted):
        known = set(wanted)
        row = next(row for row, key in enumerate(given) if key not in known)
        raise ValueError(_absent(given[row], row, second, first, by))
    return np.array([position[key] for key in wanted], dtype=np.intp)


def _absent(key: Any, row: int, first: str, second: str, by: str) -> str:
    return (
        f"item {key!r} (row {row} of {first}, counted from 0) is not in {second}: X and y are joined "
        f"on {by}; give both the same items, or {_POSITIONS}"
    )


def _check_once(keys: Sequence, name: str, by: str) -> None:
    first: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if first.setdefault(key, row) != row:
            raise ValueError(
                f"item {key!r} is twice in {name}, in rows {first[key]} and {row}: X and y are "
                f"joined on {by}; keep one of them, or give {_POSITIONS}"
            )
