"""Sums of row norms (the L2,1 norm) and the reweighted ridge regressions that minimise them.

    h(v) = sqrt(||v||^2 + smoothing)

is at most ``h(u) + (||v||^2 - ||u||^2) / (2 h(u))`` for every u, with equality at v = u: a sum of
row norms is brought down by least squares with the weights 1/(2 h(u)), and never goes up.

Arrays are of numpy, or of another library of the array API standard on a device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg, sparse

from labelgap.kernels.array_namespace import array_namespace, cholesky, cholesky_solve
from labelgap.kernels.products import (
    Features,
    prepare_features,
    transposed_times,
    weighted_gram,
    with_intercept,
)

__all__ = [
    "SMOOTHING",
    "reweight",
    "row_norms",
    "solve_positive",
    "solve_reweighted",
    "sum_of_norms",
]

SMOOTHING = float(np.finfo(np.float64).eps)
_SINGULAR = (
    "a system of the regression is singular in double precision: scale the features "
    "(StandardScaler) or raise alpha"
)


def row_norms(W: Any, smoothing: float = 0.0) -> Any:
    """sqrt(||w_r||^2 + smoothing) of every row."""
    xp = array_namespace(W)
    squares = np.einsum("rc,rc->r", W, W) if xp is np else xp.sum(W * W, axis=1)
    return xp.sqrt(squares + smoothing)


def sum_of_norms(W: Any, smoothing: float = SMOOTHING) -> float:
    """sum_r sqrt(||w_r||^2 + smoothing)."""
    return float(row_norms(W, smoothing).sum())


def reweight(W: Any, smoothing: float = SMOOTHING) -> Any:
    """1 / (2 sqrt(||w_r||^2 + smoothing)): weights whose squares touch the norms at W."""
    return 0.5 / row_norms(W, smoothing)


def solve_reweighted(
    features: Features,
    target: Any,
    row_weights: Any,
    penalties: Any,
    *,
    side: str = "smaller",
) -> Any:
    """argmin over W of  sum_i g_i ||[x_i 1] W - y_i||^2 + sum_r p_r ||w_r||^2.

    The intercept is the last row of W; with an infinite penalty there is none, with a penalty of
    zero it is free.

    features : Features of shape (n, d)
    target : array of shape (n, c)
    row_weights : array of shape (n,). g; rows of weight zero are left out.
    penalties : array of shape (d + 1,). p, positive; the last, of the intercept, may be 0 or
        infinite.
    side : {"smaller", "features", "rows"}, default="smaller". Whether the system has one equation
        per feature, ``(X'GX + P) W = X'GY``, or one per row, ``W = P^-1 X' (X P^-1 X' + G^-1)^-1
        Y``; by default whichever is smaller.
    Returns array of shape (d + 1, c)
    """
    n, d = features.shape
    if side == "features" or (side == "smaller" and d + 1 <= n):
        return _solve_features(features, target, row_weights, penalties)
    return _solve_rows(features, target, row_weights, penalties)


def _solve_features(features: Features, target: Any, row_weights: Any, penalties: Any) -> Any:
    weighted = row_weights[:, None] * target
    right_side = with_intercept(transposed_times(features, weighted), weighted)
    matrix = weighted_gram(features, row_weights[:, None])[0]
    n_used = len(penalties) - int(math.isinf(float(penalties[-1])))
    matrix = matrix[:n_used, :n_used]
    matrix[np.diag_indices(n_used)] += penalties[:n_used]
    solution = array_namespace(right_side).zeros_like(right_side)
    solution[:n_used] = solve_positive(matrix, right_side[:n_used])
    return solution


def _solve_rows(features: Features, target: Any, row_weights: Any, penalties: Any) -> Any:
    xp = array_namespace(target)
    used = row_weights > 0
    if not bool(used.all()):
        features, target = prepare_features(features.rows[used]), target[used]
        row_weights = row_weights[used]
    kernel = _weighted_kernel(features.rows, 1 / penalties[:-1])
    own = penalties[-1]
    if own > 0:
        kernel += 1 / own
    kernel[np.diag_indices(len(kernel))] += 1 / row_weights
    if own > 0:
        dual = solve_positive(kernel, target)
        level = dual.sum(axis=0) / own
    else:  # a free intercept: the dual coefficients of each column sum to zero
        ones = xp.ones_like(row_weights)[:, None]
        both = solve_positive(kernel, xp.concat([ones, target], axis=1))
        level = both[:, 1:].sum(axis=0) / both[:, 0].sum()
        dual = both[:, 1:] - both[:, :1] * level
    weights = transposed_times(features, dual) / penalties[:-1, None]
    return xp.concat([weights, level[None]], axis=0)


def _weighted_kernel(X: Any, weights: Any) -> Any:
    """X diag(weights) X'."""
    if sparse.issparse(X):
        return ((X * weights[None, :]) @ X.T).toarray()
    return (X * weights) @ X.T


def solve_positive(matrix: Any, right_side: Any) -> Any:
    """Cholesky on the matrix with a unit diagonal: penalties of empty rows are huge."""
    xp = array_namespace(matrix)
    scale = 1 / xp.sqrt(matrix.diagonal())
    matrix = scale[:, None] * matrix * scale
    right_side = scale[:, None] * right_side
    if xp is np:
        try:
            factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise linalg.LinAlgError(_SINGULAR) from error
        return scale[:, None] * linalg.cho_solve(factor, right_side)
    L, bad = cholesky(xp, matrix[None])
    if bad is not None:
        raise linalg.LinAlgError(_SINGULAR)
    return scale[:, None] * cholesky_solve(xp, L[0], right_side)
