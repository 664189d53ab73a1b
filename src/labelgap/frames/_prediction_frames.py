"""Predictions as frames with the names of labels and what identifies the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.extras import require

_CONTAINERS = ("default", "pandas", "polars")


def check_container(name: str) -> None:
    """Raise a ValueError for a name that is no container of predictions.

    Parameters
    ----------
    name : {"default", "pandas", "polars"}

    Examples
    --------
    >>> from labelgap.frames import check_container
    >>> check_container("polars")
    """
    if name not in _CONTAINERS:
        raise ValueError(f"transform={name!r}: use one of {', '.join(map(repr, _CONTAINERS))}")


def framed(
    values: np.ndarray, container: str, *, names: Any, items: Any = None, item: str | None = None
) -> Any:
    """Return predictions in a container, with names for the columns and items for the rows.

    Parameters
    ----------
    values : array of shape (n_samples, n_columns)
    container : {"default", "pandas", "polars"}
    names : sequence
        One per column.
    items : sequence, default=None
        What identifies the rows: the index of a pandas frame. A polars frame has none, and gets
        them as its first column where that has a name.
    item : str, default=None
        The column of ids that the items came from.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.frames import framed
    >>> framed(np.array([[0.9, 0.2]]), "pandas", names=["sea", "sky"], items=["a"])
       sea  sky
    a  0.9  0.2
    """
    if container == "default" or values.ndim != 2:
        return values
    if container == "pandas":
        pandas = require("pandas", extra="frames", purpose="set_output")
        index = items if item is None or items is None else pandas.Index(items, name=item)
        return pandas.DataFrame(values, index=index, columns=list(names))
    polars = require("polars", extra="frames", purpose="set_output")
    frame = polars.DataFrame(values, schema=[str(name) for name in names])
    if item is None or items is None:
        return frame
    return frame.insert_column(0, polars.Series(item, items))
