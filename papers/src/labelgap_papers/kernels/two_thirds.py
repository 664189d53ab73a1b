"""Low-rank factorisation with a nuclear norm on one factor and a ridge on the other.

    minimise  loss ||B P - A||^2 + mu ||B||_* + eta ||P||^2

over B with k columns is, in the product Z = B P, least squares with a penalty on the singular
values of Z to the power 2/3: of all pairs with a given product the cheapest has singular values
``b = (2 eta z^2 / mu)^(1/3)`` of B for each z of Z, and costs ``c z^(2/3)`` with
``c = 3/2 mu^(2/3) (2 eta)^(1/3)``. The vectors of the best Z are those of A, and each singular
value is a problem of its own, so that the global minimum takes one decomposition.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from labelgap.kernels.low_rank import thin_svd

__all__ = ["cheapest_factors", "factorise", "leading_svd", "shrink_two_thirds"]

_NEWTON_STEPS = 60


def shrink_two_thirds(values: np.ndarray, weight: float) -> np.ndarray:
    """argmin over s >= 0 of ``weight s^(2/3) + (s - a)^2`` for every a >= 0.

    With s = t^3 a stationary point solves t^4 - a t + weight/3 = 0; the largest root is a local
    minimum, and the other candidate is 0. Newton's method from a^(1/3), where the quartic is
    convex and positive, runs down to that root.
    """
    values = np.asarray(values, dtype=np.float64)
    # the least value of the quartic is not positive: there is a root
    found = (values > 0) & (3 * (values / 4) ** (4 / 3) >= weight / 3)
    a = values[found]
    t = np.cbrt(a)
    for _ in range(_NEWTON_STEPS):
        slope = 4 * t**3 - a
        step = (t**4 - a * t + weight / 3) / np.where(slope > 0, slope, np.inf)
        t = t - np.maximum(step, 0.0)
    s = t**3
    better = weight * t**2 + (s - a) ** 2 < a**2
    out = np.zeros_like(values)
    out[found] = np.where(better, s, 0.0)
    return out


def leading_svd(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular values of A with their vectors, the right ones as rows.

    From the eigenvectors of the smaller Gram matrix, which is cheap for few values of a large
    matrix; values below 1e-7 times the largest are not resolved and come out as zero.
    """
    n, d = A.shape
    k = min(k, n, d)
    wide = d > n
    gram = A @ A.T if wide else A.T @ A
    size = len(gram)
    squares, vectors = linalg.eigh(gram, subset_by_index=(size - k, size - 1))
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    vectors = vectors[:, ::-1]
    values[values <= 1e-7 * values[:1]] = 0.0
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    if wide:
        return vectors, values, inverse[:, None] * (vectors.T @ A)
    return (A @ vectors) * inverse, values, vectors.T


def factorise(
    A: np.ndarray, k: int, *, loss: float, mu: float, eta: float
) -> tuple[np.ndarray, np.ndarray]:
    """B (n x k) and P (k x d) at the global minimum; columns that are not needed are zero."""
    left, values, right = leading_svd(A, k)
    weight = 1.5 * mu ** (2 / 3) * (2 * eta) ** (1 / 3) / loss
    z = shrink_two_thirds(values, weight)
    b, p = _split(z, mu, eta)
    B, P = np.zeros((len(A), k)), np.zeros((k, A.shape[1]))
    B[:, : len(b)], P[: len(p)] = left * b, p[:, None] * right
    return B, P


def cheapest_factors(
    B: np.ndarray, P: np.ndarray, *, mu: float, eta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs with the product B P the one with the least ``mu ||B||_* + eta ||P||^2``."""
    k = B.shape[1]
    if k > min(len(B), P.shape[1]):
        return B, P
    left, upper = np.linalg.qr(B)
    right, lower = np.linalg.qr(P.T)
    inner, z, other = thin_svd(upper @ lower.T)
    b, p = _split(z, mu, eta)
    return (left @ inner) * b, p[:, None] * (other @ right.T)


def _split(z: np.ndarray, mu: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """b and p with b p = z and the least mu b + eta p^2."""
    b = np.cbrt(2 * eta * z**2 / mu)
    return b, np.divide(z, b, out=np.zeros_like(z), where=b > 0)
