"""Solvers for many symmetric positive definite systems that share one product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def conjugate_gradient(
    product: Callable[[np.ndarray], np.ndarray],
    right_side: np.ndarray,
    diagonal: np.ndarray,
    *,
    n_steps: int,
    tol: float = 0.0,
) -> np.ndarray:
    """A few steps of preconditioned conjugate gradient on k systems A_c x_c = b_c at once.

    Starts at zero, so that the quadratic x'Ax/2 - b'x never gets worse than its value there;
    to warm-start at x0, solve for the correction with right side b - A x0.

    Parameters
    ----------
    product : callable
        Maps P of shape (d, k) to the columns A_c p_c.
    right_side : array of shape (d, k)
    diagonal : array of shape (d, k)
        Diagonals of the matrices (the Jacobi preconditioner), all positive.
    n_steps : int
        Largest number of products.
    tol : float
        Stops when every residual is below ``tol`` times its right side.
    """
    solution = np.zeros_like(right_side)
    residual = right_side.copy()
    target = tol * np.linalg.norm(right_side, axis=0)
    scaled = residual / diagonal
    direction = scaled.copy()
    energy = np.einsum("dk,dk->k", residual, scaled)
    for _ in range(n_steps):
        image = product(direction)
        curvature = np.einsum("dk,dk->k", direction, image)
        length = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
        solution += length * direction
        residual -= length * image
        if tol and (np.linalg.norm(residual, axis=0) <= target).all():
            break
        scaled = residual / diagonal
        new_energy = np.einsum("dk,dk->k", residual, scaled)
        ratio = np.divide(new_energy, energy, out=np.zeros_like(energy), where=energy > 0)
        direction = scaled + ratio * direction
        energy = new_energy
    return solution
