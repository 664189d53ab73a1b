"""A logistic regression whose first weights may not be negative."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["fit_nonnegative_logistic"]


def fit_nonnegative_logistic(
    design: np.ndarray,
    y: np.ndarray,
    l2: float,
    n_nonnegative: int,
    offset: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the weights of the columns and an intercept; the first ``n_nonnegative`` at least zero.

    Minimises the log-loss plus ``l2 / 2`` times the squared weights of standardised columns. A
    constant column has the weight 0. ``offset`` is what else the log-odds have.
    """
    mean, scale = design.mean(axis=0), design.std(axis=0)
    constant = scale <= 1e-9 * np.maximum(1.0, np.abs(mean))
    scale = np.where(constant, 1.0, scale)
    standard = np.column_stack([(design - mean) / scale, np.ones(len(design))])
    standard[:, :-1][:, constant] = 0.0
    ridge = np.append(np.full(design.shape[1], float(l2)), 0.0)

    def loss_and_gradient(weights: np.ndarray) -> tuple[float, np.ndarray]:
        z = standard @ weights + offset
        loss = float((np.logaddexp(0, z) - y * z).sum() + 0.5 * (ridge * weights**2).sum())
        return loss, standard.T @ (expit(z) - y) + ridge * weights

    rate = np.clip(y.mean(), 1e-6, 1 - 1e-6)
    start = np.append(np.zeros(design.shape[1]), np.log(rate / (1 - rate)))
    bounds = [(0, None) if k < n_nonnegative else (None, None) for k in range(start.size)]
    solved = minimize(loss_and_gradient, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = np.where(constant, 0.0, solved[:-1] / scale)
    return np.append(slopes, solved[-1] - slopes @ mean)
