"""Least squares with a penalty on the nuclear norm, by accelerated proximal gradient steps.

    minimise  1/2 <Z, A(Z)> - <B, Z> + weight ||Z||_*

for a positive semi-definite linear map A. Matrix completion with side information is of this form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

__all__ = ["Point", "low_rank_path", "nuclear_norm", "shrink_singular_values", "thin_svd"]


class Point(NamedTuple):
    """Z, its image A(Z), the objective there, and the curvature of the step that led to it."""

    Z: np.ndarray
    image: np.ndarray
    value: float
    curvature: float


def thin_svd(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return left vectors, singular values and right vectors, the last as rows.

    Divide and conquer gives up on a rare finite matrix with clustered singular values; the slower
    QR iteration does not.
    """
    try:
        return np.linalg.svd(Z, full_matrices=False)
    except np.linalg.LinAlgError:
        return linalg.svd(Z, full_matrices=False, lapack_driver="gesvd")


def nuclear_norm(Z: np.ndarray) -> float:
    """Return sum of the singular values."""
    if not Z.size:
        return 0.0
    try:
        return float(np.linalg.svd(Z, compute_uv=False).sum())
    except np.linalg.LinAlgError:
        return float(thin_svd(Z)[1].sum())


def shrink_singular_values(Z: np.ndarray, threshold: float) -> tuple[np.ndarray, float]:
    """Return argmin over X of ``threshold ||X||_* + 1/2 ||X - Z||_F^2``, and the nuclear norm of it.

    Every singular value is lowered by the threshold, and not below zero.
    """
    if not Z.size:
        return Z.copy(), 0.0
    left, values, right = thin_svd(Z)
    values = np.maximum(values - threshold, 0.0)
    rank = int(np.count_nonzero(values))
    return (left[:, :rank] * values[:rank]) @ right[:rank], float(values.sum())


def low_rank_path(
    product: Callable[[np.ndarray], np.ndarray],
    linear: np.ndarray,
    weight: float,
    start: np.ndarray,
    *,
    curvature: float = 1.0,
    restart: bool = True,
) -> Iterator[Point]:
    """Return the points that accelerated proximal gradient visits, without an end.

    A step of length 1/c from Y is safe when the map has curvature at most c along it,
    ``<D, A(D)> <= c ||D||^2`` with D = Z - Y; c is doubled until that holds. The test is made on D
    itself and not on a difference of two objectives, so that rounding does not spoil it close to
    the solution.

    product : callable. The map A.
    linear : array. B.
    weight : float. Weight of the nuclear norm.
    start : array
    curvature : float, default=1.0. First c; with the largest eigenvalue of A it is never doubled.
    restart : bool, default=True. Whether momentum is dropped when the objective would increase,
        which then never happens. Without it the path is that of the plain method.
    Yields Point

    References
    ----------
    .. [1] S. Ji and J. Ye. An accelerated gradient method for trace norm minimization. ICML, 2009.
    .. [2] B. O'Donoghue and E. Candes. Adaptive restart for accelerated gradient schemes.
       Foundations of Computational Mathematics 15, 2015.
    """
    here = _start_point(product, linear, weight, start, curvature)
    before, a_before, a = here, 1.0, 1.0
    while True:
        momentum = a * (1 / a_before - 1)
        found = _step(product, linear, weight, _ahead(here, before, momentum))
        if restart and found.value > here.value:
            a = 1.0
            found = _step(product, linear, weight, here._replace(curvature=found.curvature))
            if found.value > here.value:  # by rounding alone
                found = here._replace(curvature=found.curvature)
        before, here = here, found
        a_before, a = a, (np.sqrt(a**4 + 4 * a**2) - a**2) / 2
        yield here


def _start_point(product, linear, weight, start, curvature) -> Point:
    image = product(start)
    value = _smooth(start, image, linear) + weight * nuclear_norm(start)
    return Point(start, image, value, curvature)


def _ahead(here: Point, before: Point, momentum: float) -> Point:
    """Beyond the last point in the direction of the last step; images are linear."""
    if momentum == 0:
        return here
    Z = here.Z + momentum * (here.Z - before.Z)
    image = here.image + momentum * (here.image - before.image)
    return here._replace(Z=Z, image=image)


def _step(product, linear, weight, origin: Point) -> Point:
    curvature = origin.curvature
    gradient = origin.image - linear
    while True:
        Z, norm = shrink_singular_values(origin.Z - gradient / curvature, weight / curvature)
        move = Z - origin.Z
        moved = product(move)
        if np.vdot(move, moved) <= curvature * (1 + 1e-9) * np.vdot(move, move):
            image = origin.image + moved
            return Point(Z, image, _smooth(Z, image, linear) + weight * norm, curvature)
        curvature *= 2


def _smooth(Z: np.ndarray, image: np.ndarray, linear: np.ndarray) -> float:
    return float(0.5 * np.vdot(Z, image) - np.vdot(linear, Z))
