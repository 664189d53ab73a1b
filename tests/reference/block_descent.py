"""Squared-hinge regressions by a general minimiser, one label after the other."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def objective(X, costs, w):
    """The objective of one label; the last coefficient belongs to a constant feature of 1."""
    excess = np.maximum(0.0, 1.0 - np.sign(costs) * (X @ w[:-1] + w[-1]))
    return 0.5 * w @ w + np.abs(costs) @ excess**2


def minimum(X, costs):
    """Coefficients of every label, of shape (n_features + 1, k)."""
    start = np.zeros(X.shape[1] + 1)
    found = [
        minimize(lambda w, own=own: objective(X, own, w), start, tol=1e-12).x for own in costs.T
    ]
    return np.column_stack(found)
