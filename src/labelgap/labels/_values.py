"""Numbers and gaps out of arrays of any type, and what is said of a value that is neither."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Place = Callable[[tuple[int, ...]], str]

CODINGS = (
    "labels are 1 (relevant), 0 (irrelevant) or NaN (unknown); "
    "signed labels {+1, 0 = unknown, -1} go through Labels.from_signed, "
    "a number that means unknown through Labels.from_dense(..., unknown=number)"
)


def cell(index: tuple[int, ...]) -> str:
    """How an entry of a label matrix is named in messages."""
    return f"y[{', '.join(map(str, index))}]"


def shown(value: Any) -> str:
    """A value as its owner wrote it, without the type that numpy gave it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def read_matrix(array: Any, place: Place = cell) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`read_values`, for a matrix."""
    try:
        values, gaps = read_values(array, place)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            "y is ragged, its rows have different lengths: give a matrix (rows x labels); "
            "lists of tags go through Labels.from_tag_sets"
        ) from error
    if values.ndim != 2:
        raise ValueError(
            f"y has {values.ndim} dimension(s), shape {values.shape}: labels are a matrix "
            "(rows x labels); reshape a single label with y.reshape(-1, 1), or turn classes "
            "into labels with sklearn.preprocessing.label_binarize"
        )
    return values, gaps


def read_values(array: Any, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and where there are none: NaN, None, pandas.NA or masked."""
    masked = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
    values = np.asarray(array if masked is None else np.ma.getdata(array))
    if values.dtype.kind in "OUST":
        values = _as_numbers(values, masked, place)
    elif values.dtype.kind == "c":
        raise ValueError("y: Complex data not supported")
    elif values.dtype.kind not in "biuf":
        raise ValueError(f"y has the type {values.dtype}: {CODINGS}")
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
    return values, gaps if masked is None else gaps | masked


def check_binary(values: np.ndarray, gaps: np.ndarray, place: Place) -> np.ndarray:
    """Where the value is 1; raises on the first value that is neither 0 nor 1 nor a gap."""
    is_one = values == 1
    is_bad = ~(is_one | (values == 0) | gaps)
    if is_bad.any():
        first = tuple(int(i) for i in np.argwhere(is_bad)[0])
        raise ValueError(f"{place(first)} = {shown(values[first])} is not a label state: {CODINGS}")
    return is_one & ~gaps


def is_missing(value: Any) -> bool:
    """Whether one object stands for "nothing here"."""
    pandas = sys.modules.get("pandas")
    if value is None or (pandas is not None and value is pandas.NA):
        return True
    return isinstance(value, float) and value != value


def _as_numbers(values: np.ndarray, masked: np.ndarray | None, place: Place) -> np.ndarray:
    result = np.full(values.size, np.nan)
    skip = np.zeros(values.size, dtype=bool) if masked is None else masked.ravel()
    for position, value in enumerate(values.ravel().tolist()):
        if skip[position] or is_missing(value):
            continue
        if not isinstance(value, (numbers.Real, np.bool_)):
            first = tuple(int(i) for i in np.unravel_index(position, values.shape))
            raise ValueError(f"{place(first)} = {shown(value)} is not a label state: {CODINGS}")
        result[position] = float(value)
    return result.reshape(values.shape)
