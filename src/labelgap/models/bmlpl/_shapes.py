"""The shapes r of the topic weights: one step that never lowers the objective."""

from __future__ import annotations

import numpy as np
from scipy import special


def best_shapes(
    weights: str,
    tables: np.ndarray,
    decay: np.ndarray,
    n_rows: float,
    prior: tuple[float, float],
) -> np.ndarray:
    """r from sums over rows, under a gamma prior on r (as a density of log r).

    What is maximised here replaces one part of the objective by ``tables`` log r, with the same
    slope at the current r. A gain here is a gain of the objective; docs/models/bmlpl has the
    proofs.

    - ``"mean"``: tables = sum r (digamma(m + r) - digamma(r)), the expected numbers of tables of
      a Chinese restaurant; what is maximised is tables log r - decay r.
    - ``"map"``: tables = sum r log(1 + m/r); the bound has the further term
      n (r log r - r - log Gamma(r)), so that r solves
      (tables + a) / r + n (log r - digamma(r)) = decay + b.
    """
    shape, rate = prior
    mass, pull = tables + shape, decay + rate
    if weights == "mean":
        return mass / pull
    r = mass / pull
    for _ in range(60):
        value = mass + n_rows * r * (np.log(r) - special.digamma(r)) - pull * r
        slope = n_rows * (r * (np.log(r) - special.digamma(r) + 1) - r**2 * special.polygamma(1, r))
        slope -= pull * r
        change = np.clip(value / np.minimum(slope, -1e-12), -1.0, 1.0)
        r = r * np.exp(-change)
        if np.abs(change).max() < 1e-12:
            break
    return r
