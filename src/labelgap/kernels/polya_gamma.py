"""Polya-Gamma augmentation of logistic and negative-binomial likelihoods.

For a likelihood exp(psi)^a / (1 + exp(psi))^b the Polya-Gamma identity gives, with
kappa = a - b/2 and omega ~ PG(b, psi),

    log likelihood = kappa psi - omega psi^2 / 2 + constant given omega.

Draws come from a generator that is passed in, on one thread: their order is part of the result.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit

from labelgap.kernels.array_namespace import array_namespace

__all__ = ["polya_gamma", "polya_gamma_mean", "sample_polya_gamma", "unit_mean"]


@njit(cache=True)
def unit_mean(psi):
    """Return E[PG(1, psi)] = tanh(psi/2) / (2 psi), which is 1/4 at psi = 0."""
    size = abs(psi)
    if size < 1e-3:
        return 0.25 - size * size / 48.0
    return math.tanh(0.5 * size) / (2.0 * size)


@njit(cache=True)
def _mean_into(shape, psi, out):
    for i in range(psi.size):
        out[i] = shape[i] * unit_mean(psi[i])


def polya_gamma_mean(shape: Any, psi: Any) -> Any:
    """Return E[PG(b, psi)] = b tanh(psi/2) / (2 psi), elementwise, with the limit b/4 at zero.

    shape : array or number. The first parameter b; broadcast against ``psi``.
    psi : array. The tilt; the mean is even in it. Of numpy or of any library of the array API
        standard.
    """
    xp = array_namespace(shape, psi)
    if xp is not np:
        return shape * _unit_means(xp, psi)
    psi = np.asarray(psi)
    psi = psi.astype(np.result_type(psi.dtype, np.float32), copy=False)
    shape = np.ascontiguousarray(np.broadcast_to(np.asarray(shape, dtype=psi.dtype), psi.shape))
    out = np.empty(psi.shape, dtype=psi.dtype)
    _mean_into(shape.ravel(), np.ascontiguousarray(psi).ravel(), out.ravel())
    return out


def _unit_means(xp: ModuleType, psi: Any) -> Any:
    size = xp.abs(psi)
    small = size < 1e-3
    safe = xp.where(small, xp.ones_like(size), size)
    return xp.where(small, 0.25 - size * size / 48.0, xp.tanh(0.5 * safe) / (2.0 * safe))


@njit(cache=True)
def unit_variance(psi):
    """Return Var[PG(1, psi)] = (2 tanh(psi/2) - psi sech(psi/2)^2) / (4 psi^3), 1/24 at psi = 0."""
    z = abs(psi)
    if z < 0.05:
        return 1.0 / 24.0 - z * z / 120.0 + 17.0 * z**4 / 13440.0
    tanh = math.tanh(0.5 * z)
    return (2.0 * tanh - z * (1.0 - tanh * tanh)) / (4.0 * z**3)


@njit(cache=True)
def inverse_gaussian(generator, mean, lam):
    """Return a draw from the inverse Gaussian distribution of that mean, with the variance mean^3 / lam.

    The smaller root of Michael, Schucany and Haas, in a form without cancellation.
    """
    w = 0.5 * mean * generator.standard_normal() ** 2 / lam
    root = mean / (1.0 + w + math.sqrt(w * (2.0 + w)))
    if generator.random() * (mean + root) <= mean:
        return root
    return mean * (mean / root)


@njit(cache=True)
def polya_gamma(generator, shape, psi):
    """Return a draw from PG(shape, psi) for any real shape above zero and finite psi.

    PG(b, psi) is the sum over j of Gamma(b, scale 1 / (2 pi^2 ((j - 1/2)^2 + (psi/2 pi)^2))). The
    first 5 + |psi|/2 terms are drawn one by one, the rest as one gamma variable of the same mean
    and variance. The mean and the variance of the result are exact; its third cumulant is off
    by less than one part in 1e4 (1e6 for |psi| < 2).

    Beyond |psi| = 40 the Laplace transform (cosh(psi/2) / cosh(sqrt(psi^2 + 2t) / 2))^b is that of
    an inverse Gaussian variable of mean b / 2|psi|, up to factors 1 + exp(-|psi|).
    """
    if abs(psi) > 40.0:
        return inverse_gaussian(generator, 0.5 * shape / abs(psi), 0.25 * shape * shape)
    two_pi_squared = 2.0 * math.pi * math.pi
    offset = psi * psi / (2.0 * two_pi_squared)
    mean, variance = unit_mean(psi), unit_variance(psi)
    total = 0.0
    for j in range(5 + int(0.5 * abs(psi))):
        scale = 1.0 / (two_pi_squared * ((j + 0.5) ** 2 + offset))
        mean -= scale
        variance -= scale * scale
        total += scale * generator.standard_gamma(shape)
    return total + variance / mean * generator.standard_gamma(shape * mean * mean / variance)


@njit(cache=True)
def _polya_gamma_into(generator, shape, psi, out):
    for i in range(out.size):
        out[i] = polya_gamma(generator, shape[i], psi[i])


def sample_polya_gamma(
    generator: np.random.Generator, shape: np.ndarray, psi: np.ndarray
) -> np.ndarray:
    """Return independent draws from PG(shape, psi), elementwise.

    generator : Generator
    shape : array. The first parameter, above zero; same shape as ``psi``.
    psi : array. Finite.
    """
    psi = np.ascontiguousarray(psi, dtype=np.float64)
    shape = np.ascontiguousarray(np.broadcast_to(shape, psi.shape), dtype=np.float64)
    for name, values, good in (("psi", psi, np.isfinite(psi)), ("shape", shape, shape > 0)):
        if not good.all():
            at = tuple(map(int, np.argwhere(~good)[0]))
            raise ValueError(
                f"{name}[{', '.join(map(str, at))}] is {values[at]}: there is no "
                "Polya-Gamma variable with that parameter"
            )
    out = np.empty(psi.shape)
    _polya_gamma_into(generator, shape.ravel(), psi.ravel(), out.reshape(-1))
    return out
