"""Starting points: the objective is not convex, so that several are worth trying."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from labelgap.models.rmfl._checks import check_start
from labelgap.models.rmfl._model import Targets


def starting_factors(
    targets: Targets, n_factors: int, width: int, init: Any, seed: int, attempt: int
) -> tuple[np.ndarray, np.ndarray]:
    """U and Z before the first step.

    ``init="labels"`` takes U from the singular vectors of the labels, unknown entries filled with
    the mean of their label; from the second attempt on with noise as large as they are.
    ``init="random"`` draws U, as the paper does. Z is random in both.
    """
    n_rows, n_labels = targets.signed.shape
    if not isinstance(init, str):
        return check_start(init, (n_rows, n_factors), n_labels)
    rng = np.random.default_rng([seed, attempt])
    Z = rng.standard_normal((n_labels, width))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    U = rng.standard_normal((n_rows, n_factors))
    if init == "random":
        return U, Z
    leading = _label_factors(targets, n_factors)
    if attempt == 0:
        return leading, Z
    return leading + U * np.sqrt((leading**2).mean(axis=0)), Z


def _label_factors(targets: Targets, n_factors: int) -> np.ndarray:
    filled = targets.signed
    if targets.observed is not None:
        counts = targets.observed.sum(axis=0)
        means = targets.signed.sum(axis=0) / np.maximum(counts, 1)
        filled = targets.signed + (1 - targets.observed) * means
    n_rows, n_labels = filled.shape
    if n_labels > 1000 and n_factors < n_labels // 4:
        v0 = np.ones(min(filled.shape))
        vectors, values, _ = svds(filled, k=n_factors, v0=v0)
        return vectors[:, ::-1] * values[::-1]
    vectors, values, _ = np.linalg.svd(filled, full_matrices=False)
    found = vectors[:, :n_factors] * values[:n_factors]
    missing = n_factors - found.shape[1]
    return np.hstack([found, np.zeros((n_rows, missing))]) if missing > 0 else found
