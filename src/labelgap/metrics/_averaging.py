"""From one value per row or label to a number, and what happens where there is none."""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from labelgap.metrics._inputs import check_choice

# one meaning, the names that papers and scikit-learn have for it
_SYNONYMS = {"label": "macro", "example": "instance", "samples": "instance"}


def check_average(average: str, allowed: tuple[str, ...]) -> str:
    """The canonical name of an average: "micro" (entries), "macro" (labels), "instance" (rows)."""
    canonical = _SYNONYMS.get(average, average) if isinstance(average, str) else average
    if canonical not in allowed:
        names = [*allowed, *(alias for alias, name in _SYNONYMS.items() if name in allowed)]
        check_choice("average", average, tuple(names))
    return canonical


def settle(
    values: np.ndarray, where: np.ndarray, choice: Any, *, argument: str, defined: bool
) -> np.ndarray:
    """Apply the caller's choice for the rows (or labels) in which a metric says little or nothing.

    Parameters
    ----------
    values : array, one value per row or label; NaN does not count
    where : bool array, the rows or labels concerned
    choice : "drop", "keep" or the number they contribute
    argument : name of the caller's parameter, for the message
    defined : whether the metric has a value of its own there, that "keep" can keep
    """
    is_number = isinstance(choice, numbers.Real) and not isinstance(choice, bool)
    if is_number and math.isfinite(choice):
        return np.where(where, float(choice), values)
    if choice == "keep" and not defined:
        raise ValueError(
            f"{argument}='keep': the metric has no value there; use 'drop' or the number to count"
        )
    if choice not in ("drop", "keep"):
        options = "'drop', 'keep'" if defined else "'drop'"
        raise ValueError(f"{argument}={choice!r}: use {options} or the number to count")
    return np.where(where, np.nan, values) if choice == "drop" else values


def summarise(values: np.ndarray, *, metric: str, reduce: bool, unit: str) -> Any:
    """The mean over the rows or labels that count; all values when ``reduce`` is false."""
    if not reduce:
        return values
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else undefined(metric, f"no {unit} counts")


def undefined(metric: str, reason: str) -> float:
    """NaN, said aloud where the metric was called from."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(__package__):
        depth, frame = depth + 1, frame.f_back
    message = f"{metric} is undefined and set to nan: {reason}"
    warnings.warn(message, UndefinedMetricWarning, stacklevel=depth)
    return float("nan")


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotient as float, NaN where the denominator is 0."""
    numerator = np.asarray(numerator, dtype=np.float64)
    result = np.full(numerator.shape, np.nan)
    return np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0)


def refuse_values(average: str, reduce: bool) -> None:
    """A pooled metric is one number: there is nothing to give back for single rows or labels."""
    if not reduce:
        raise ValueError(
            f"reduce=False with average={average!r}, which pools all entries: use 'macro' for a "
            "value per label or 'instance' for a value per row"
        )
