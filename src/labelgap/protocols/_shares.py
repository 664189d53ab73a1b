"""Validation of shares and rates, and how many entries a share of something is."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_share(share: Any, argument: str = "share") -> float:
    """A number between 0 and 1."""
    is_number = isinstance(share, (int, float, np.integer, np.floating))
    if isinstance(share, bool) or not is_number or not 0 <= share <= 1:
        raise ValueError(
            f"{argument}={share!r} must be a fraction between 0 and 1, such as 0.4 for 40%"
        )
    return float(share)


def check_rates(rates: Any, argument: str, length: int) -> np.ndarray:
    """One number between 0 and 1 per row or label; ones when not given."""
    if rates is None:
        return np.ones(length)
    rates = np.asarray(rates, dtype=np.float64)
    if rates.shape != (length,):
        raise ValueError(f"{argument} has shape {rates.shape}: give one rate for each of {length}")
    bad = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if bad.size:
        raise ValueError(
            f"{argument}[{bad[0]}] = {rates[bad[0]]} must be a probability between 0 and 1"
        )
    return rates


def share_of(share: float, sizes: Any) -> np.ndarray:
    """floor(share * size), safe against products such as 0.29 * 100 = 28.999999999999996."""
    return np.floor(share * np.asarray(sizes) + 1e-9).astype(np.int64)
