"""Statistics are named tuples of arrays and numbers that add up over rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def add(left: Any, right: Any) -> Any:
    """The sum of two statistics, field by field; ``None`` fields stay ``None``."""
    return _combine(left, right, lambda a, b: a + b)


def add_into(total: Any, part: Any) -> Any:
    """As :func:`add`, writing into the arrays of ``total`` where it has arrays."""
    return _combine(total, part, _accumulate)


def scale(stats: Any, factor: float) -> Any:
    """Statistics as if every row had the weight ``factor``."""
    if stats is None:
        return None
    if isinstance(stats, tuple):
        return type(stats)(*(scale(field, factor) for field in stats))
    return stats * factor


def _combine(left: Any, right: Any, operation: Any) -> Any:
    if left is None and right is None:
        return None
    if left is None or right is None:
        raise TypeError("statistics of two blocks must have the same fields")
    if isinstance(left, tuple):
        pairs = zip(left, right, strict=True)
        return type(left)(*(_combine(a, b, operation) for a, b in pairs))
    return operation(left, right)


def _accumulate(total: Any, part: Any) -> Any:
    if isinstance(total, np.ndarray):
        total += part
        return total
    return total + part
