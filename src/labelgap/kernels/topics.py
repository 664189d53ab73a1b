"""Row-local formulas of the gamma-Poisson topic model, and its closed-form prediction."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit, prange

from labelgap.kernels.array_namespace import array_namespace
from labelgap.kernels.polya_gamma import unit_mean


@njit(cache=True)
def softplus(x):
    """Return log(1 + exp(x))."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(cache=True)
def logistic(x):
    """Return 1 / (1 + exp(-x))."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True, parallel=True)
def topic_weights(psi, log_observed_fraction, counts, r, weights, term):
    """Most probable topic weights of each row and the rows' fraction of the log posterior.

    u = (r + m) q / s with q = logistic(psi + log s); the fraction of row n is
    sum_k r (log(r + m) - log(1 + s exp(psi))) - (r + m) - log Gamma(r). A topic with s = 0
    (none of its labels observed in the row) has no data: u stays at its prior mode r exp(psi).
    """
    n_samples, n_topics = psi.shape
    for n in prange(n_samples):
        total = 0.0
        for k in range(n_topics):
            shape = r[k] + counts[n, k]
            x = psi[n, k] + log_observed_fraction[n, k]
            if log_observed_fraction[n, k] == -math.inf:
                weights[n, k] = shape * math.exp(min(psi[n, k], 700.0))
            else:
                weights[n, k] = shape * logistic(x) * math.exp(-log_observed_fraction[n, k])
            total += r[k] * (math.log(shape) - softplus(x)) - shape - math.lgamma(r[k])
        term[n] = total


@njit(cache=True, parallel=True)
def regression_terms(psi, log_observed_fraction, counts, r, spread, residual, omega):
    """Polya-Gamma means and residuals of the negative-binomial regression of the counts.

    With x = psi + log s: omega = (m + r) tanh(z/2) / (2 z), z = sqrt(x^2 + spread), and the
    residual kappa - omega x, kappa = (m - r) / 2. Both are zero where s = 0.
    """
    n_samples, n_topics = psi.shape
    for n in prange(n_samples):
        for k in range(n_topics):
            if log_observed_fraction[n, k] == -math.inf:
                residual[n, k] = 0
                omega[n, k] = 0
                continue
            x = psi[n, k] + log_observed_fraction[n, k]
            z = abs(x) if spread.size == 0 else math.sqrt(x * x + spread[n, k])
            omega[n, k] = (counts[n, k] + r[k]) * unit_mean(z)
            residual[n, k] = 0.5 * (counts[n, k] - r[k]) - omega[n, k] * x


# exp(80)^8 is still a number in double precision
_LARGEST_PSI = 80.0
_FACTORS_PER_LOGARITHM = 8
_SMALL_RATE = 1e-2


def surprise_rates(psi: Any, topics: Any, r: Any) -> Any:
    """Return -log P(y_l = 0 | x) = sum_k r_k log(1 + V_lk exp(psi_k)), topic weights integrated out.

    Most rates are small, and for those three terms of the series of the logarithm, which are
    matrix products, are enough; the others are computed one by one. ``psi`` above 80 counts as
    80.

    psi : array of shape (n_samples, n_topics). Of numpy or of any library of the array API
        standard; the latter takes the logarithms of one topic after the other.
    topics : array of shape (n_labels, n_topics)
    r : array of shape (n_topics,)
    """
    xp = array_namespace(psi, topics, r)
    if xp is not np:
        return _rates_by_topic(xp, psi, topics, r)
    growth = np.exp(np.minimum(psi, _LARGEST_PSI)).astype(np.float64)
    topics = topics.astype(np.float64, copy=False)
    first = growth @ topics.T
    out = np.zeros_like(first)
    power, fraction = growth * r, topics
    for order, sign in ((1, 1), (2, -1), (3, 1)):
        out += (sign / order) * (power @ fraction.T)
        power, fraction = power * growth, fraction * topics
    if np.all(r == r[0]):
        _replace_large(growth, topics, float(r[0]), first, out)
    else:
        _replace_large_general(growth, topics, r.astype(np.float64), first, out)
    return out


def _rates_by_topic(xp: ModuleType, psi: Any, topics: Any, r: Any) -> Any:
    growth = xp.exp(xp.minimum(psi, xp.full_like(psi, _LARGEST_PSI)))
    out = 0.0
    for k in range(psi.shape[1]):
        out = out + r[k] * xp.log1p(growth[:, k, None] * topics[None, :, k])
    return out


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _replace_large(growth, topics, r, first, out):
    """The exact sum where the series is not enough: one logarithm for several factors."""
    n_samples, n_topics = growth.shape
    whole = n_topics - n_topics % _FACTORS_PER_LOGARITHM
    for n in prange(n_samples):
        for label in range(topics.shape[0]):
            if first[n, label] < _SMALL_RATE:
                continue
            total = 0.0
            running = 1.0
            for start in range(0, whole, _FACTORS_PER_LOGARITHM):
                product = 1.0
                for k in range(start, start + _FACTORS_PER_LOGARITHM):
                    product *= 1.0 + topics[label, k] * growth[n, k]
                if product > 1e10 or running > 1e100:
                    total += math.log(running) + math.log(product)
                    running = 1.0
                else:
                    running *= product
            if running > 1e50:
                total += math.log(running)
                running = 1.0
            for k in range(whole, n_topics):
                running *= 1.0 + topics[label, k] * growth[n, k]
            out[n, label] = r * (total + math.log(running))


@njit(cache=True, parallel=True)
def _replace_large_general(growth, topics, r, first, out):
    n_samples, n_topics = growth.shape
    for n in prange(n_samples):
        for label in range(topics.shape[0]):
            if first[n, label] < _SMALL_RATE:
                continue
            total = 0.0
            for k in range(n_topics):
                total += r[k] * math.log1p(topics[label, k] * growth[n, k])
            out[n, label] = total
