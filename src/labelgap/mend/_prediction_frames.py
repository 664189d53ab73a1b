"""Predictions as frames with names of labels and the index of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.extras import require

__all__ = ["check_container", "framed"]

_CONTAINERS = ("default", "pandas", "polars")


def check_container(name: str) -> None:
    """Raise a ValueError for a name that is no container of predictions."""
    if name not in _CONTAINERS:
        raise ValueError(f"transform={name!r}: use one of {', '.join(map(repr, _CONTAINERS))}")


def framed(estimator: Any, values: np.ndarray, X: Any) -> Any:
    """Return predictions of label matrices in the container that ``set_output`` asked for."""
    container = getattr(estimator, "_sklearn_output_config", {}).get("transform", "default")
    if container == "default" or values.ndim != 2:
        return values
    names = list(estimator.classes_)
    if container == "pandas":
        pandas = require("pandas", extra="tables", purpose="set_output")
        return pandas.DataFrame(values, index=getattr(X, "index", None), columns=names)
    polars = require("polars", extra="tables", purpose="set_output")
    return polars.DataFrame(values, schema=[str(name) for name in names])
