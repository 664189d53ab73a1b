"""Slow twins of the proximal operators and of the accelerated path."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.optimize import minimize_scalar


def shrink_one(x: float, threshold: float, *, nonnegative: bool = False) -> float:
    """By a search for the minimum on either side of zero."""

    def value(z):
        return threshold * abs(z) + 0.5 * (z - x) ** 2

    reach = abs(x) + 1
    sides = [(0, reach)] if nonnegative else [(-reach, 0), (0, reach)]
    found = [
        minimize_scalar(value, bounds=b, method="bounded", options={"xatol": 1e-10}).x
        for b in sides
    ]
    return min([0.0, *found], key=value)


def accelerated_points(gradient, prox, start, curvature, n_steps):
    """FISTA with a constant step as it is written down, without restarts."""
    x = before = np.array(start, dtype=float)
    b = [1.0, 1.0]
    points = []
    for k in range(n_steps):
        y = x + (b[k] - 1) / b[k + 1] * (x - before)
        before, x = x, prox(y - gradient(y) / curvature, 1 / curvature)[0]
        b.append((1 + np.sqrt(1 + 4 * b[-1] ** 2)) / 2)
        points.append(x)
    return points


def sylvester(A, B, right_side):
    """As one system over all entries of X."""
    m, n = right_side.shape
    matrix = np.kron(A, np.eye(n)) + np.kron(np.eye(m), B.T)
    return np.linalg.solve(matrix, right_side.ravel()).reshape(m, n)


def symmetric_sylvester(A: np.ndarray, B: np.ndarray, right_side: np.ndarray) -> np.ndarray:
    """X with ``A X + X B = right_side`` for symmetric A and B, by their eigenvectors.

    Raises
    ------
    LinAlgError
        When an eigenvalue of A and one of B cancel: X is not unique, or there is none.
    """
    a, left = linalg.eigh(A)
    b, right = linalg.eigh(B)
    sums = a[:, None] + b
    if sums.size:
        scale = np.abs(a).max() + np.abs(b).max()
        if np.abs(sums).min() <= np.finfo(np.float64).eps * len(sums) * scale:
            raise linalg.LinAlgError(
                "A and -B share an eigenvalue: A X + X B = C has no unique solution"
            )
    return left @ ((left.T @ right_side @ right) / sums) @ right.T
