"""Solvers for many symmetric positive definite systems with one product."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from labelgap.kernels.array_namespace import array_namespace


def conjugate_gradient(
    product: Callable[[Any], Any],
    right_side: Any,
    diagonal: Any,
    *,
    n_steps: int,
    tol: float = 0.0,
) -> Any:
    """Return a few steps of preconditioned conjugate gradient on k systems A_c x_c = b_c at once.

    Starts at zero, so that the quadratic x'Ax/2 - b'x never gets worse than its value there;
    to warm-start at x0, solve for the correction with right side b - A x0.

    product : callable. Maps P of shape (d, k) to the columns A_c p_c.
    right_side : array of shape (d, k). Of numpy or of any library of the array API standard.
    diagonal : array of shape (d, k). Diagonals of the matrices (the Jacobi preconditioner), all
        positive.
    n_steps : int. Largest number of products.
    tol : float, default=0.0. Stops when every residual is below ``tol`` times its right side.
    """
    xp = array_namespace(right_side, diagonal)
    solution = xp.zeros_like(right_side)
    residual = right_side
    target = tol**2 * _column_dots(xp, right_side, right_side)
    scaled = residual / diagonal
    direction = scaled
    energy = _column_dots(xp, residual, scaled)
    for _ in range(n_steps):
        image = product(direction)
        length = _ratio(xp, energy, _column_dots(xp, direction, image))
        solution = solution + length * direction
        residual = residual - length * image
        if tol and bool(xp.all(_column_dots(xp, residual, residual) <= target)):
            break
        scaled = residual / diagonal
        new_energy = _column_dots(xp, residual, scaled)
        direction = scaled + _ratio(xp, new_energy, energy) * direction
        energy = new_energy
    return solution


def _column_dots(xp: ModuleType, left: Any, right: Any) -> Any:
    if xp is np:
        return np.einsum("dk,dk->k", left, right)
    return xp.sum(left * right, axis=0)


def _ratio(xp: ModuleType, numerator: Any, denominator: Any) -> Any:
    """Quotients, and zero where the denominator is not positive."""
    positive = denominator > 0
    safe = xp.where(positive, denominator, xp.ones_like(denominator))
    return xp.where(positive, numerator / safe, xp.zeros_like(numerator))
