"""Polya-Gamma augmentation of logistic and negative-binomial likelihoods.

For a likelihood exp(psi)^a / (1 + exp(psi))^b the Polya-Gamma identity gives, with
kappa = a - b/2 and omega ~ PG(b, psi),

    log likelihood = kappa psi - omega psi^2 / 2 + constant given omega.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit

from labelgap.kernels.array_namespace import array_namespace


@njit(cache=True)
def unit_mean(psi):
    """E[PG(1, psi)] = tanh(psi/2) / (2 psi), which is 1/4 at psi = 0."""
    size = abs(psi)
    if size < 1e-3:
        return 0.25 - size * size / 48.0
    return math.tanh(0.5 * size) / (2.0 * size)


@njit(cache=True)
def _mean_into(shape, psi, out):
    for i in range(psi.size):
        out[i] = shape[i] * unit_mean(psi[i])


def polya_gamma_mean(shape: Any, psi: Any) -> Any:
    """E[PG(b, psi)] = b tanh(psi/2) / (2 psi), elementwise, with the limit b/4 at zero.

    Parameters
    ----------
    shape : array or number
        The first parameter b; broadcast against ``psi``.
    psi : array
        The tilt; the mean is even in it. Of numpy or of any library of the array API standard.
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
