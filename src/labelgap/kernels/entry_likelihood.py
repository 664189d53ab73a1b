"""The likelihood of recorded labels, some unknown, some zeros perhaps missing: the E step of entries.

Each entry has a state: 1 relevant, 2 irrelevant, 3 unknown, 4 an unlabeled zero, which may be a
missing label (the codes of :class:`labelgap.State`). With psi the log odds of relevance and the
propensity theta, the probability that an entry was examined,

    P(recorded 1) = theta sigmoid(psi),    P(recorded 0) = 1 - theta sigmoid(psi),

and the probability that a recorded zero was examined is

    gamma = theta sigmoid(-psi) / (theta sigmoid(-psi) + 1 - theta).

Given gamma and the Polya-Gamma mean omega, the expected log-likelihood of psi is
kappa psi - omega psi^2 / 2 with kappa = -gamma/2 and omega = gamma tanh(psi/2) / (2 psi).
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from labelgap.kernels.array_namespace import array_like, array_namespace
from labelgap.kernels.polya_gamma import polya_gamma_mean

__all__ = ["LabelTerms", "label_terms", "row_terms", "with_soft_labels"]

RELEVANT, NEGATIVE, UNKNOWN, UNLABELED = 1, 2, 3, 4
_SMALL, _UNDERFLOW = 1e-13, 1e-200


class LabelTerms(NamedTuple):
    """What the entries say of psi.

    kappa, omega : (n, L), linear and quadratic weight of psi, zero where an entry is unknown;
    log_likelihood : float; examined : (L,), expected number of unlabeled zeros that were examined,
    0 without propensities.
    """

    kappa: Any
    omega: Any
    log_likelihood: float
    examined: Any


def label_terms(psi: Any, states: Any, theta: Any = None) -> LabelTerms:
    """Return weights of psi and log-likelihood of the entries of some rows.

    psi : array of shape (n_samples, n_labels). Log odds; of numpy or of any library of the array
        API standard.
    states : int8 array of shape (n_samples, n_labels)
    theta : array of shape (n_labels,), (n_samples, n_labels), (n_samples, 1) or None, default=None.
        Propensities, in (0, 1). With None an unlabeled zero is a zero.
    """
    xp = array_namespace(psi, states)
    if xp is not np:
        return _standard_terms(xp, psi, states, theta)
    kappa, omega, term = row_terms(psi, states, theta)
    examined = np.zeros(psi.shape[1], dtype=psi.dtype)
    if theta is not None:
        examined = -2 * np.where(states == UNLABELED, kappa, 0).sum(axis=0)
    return LabelTerms(kappa, omega, float(term.sum()), examined)


def row_terms(
    psi: np.ndarray, states: np.ndarray, theta: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kappa and omega as in :func:`label_terms`, and the log-likelihood of every row (n,)."""
    kappa, omega = np.empty_like(psi), np.empty_like(psi)
    term = np.empty(psi.shape[0])
    # without propensities
    rates = np.empty((0, 0), dtype=psi.dtype)
    if theta is not None:
        rates = np.atleast_2d(theta).astype(psi.dtype, copy=False)
    _terms_into(psi, states, rates, kappa, omega, term)
    return kappa, omega, term


def with_soft_labels(terms: LabelTerms, psi: Any, soft: Any) -> LabelTerms:
    """Return the terms of some labels, and beside them those of labels known by their probabilities.

    A soft label q has the log-likelihood q psi - log(1 + exp(psi)).

    terms : LabelTerms
    psi, soft : arrays of shape (n_samples, n_soft)
    """
    xp = array_namespace(psi, soft)
    above = xp.maximum(psi, xp.zeros_like(psi)) + xp.log1p(xp.exp(-xp.abs(psi)))
    return LabelTerms(
        kappa=xp.concat([terms.kappa, soft - 0.5], axis=1),
        omega=xp.concat([terms.omega, polya_gamma_mean(xp.ones_like(psi), psi)], axis=1),
        log_likelihood=terms.log_likelihood + float(xp.sum(soft * psi - above)),
        examined=terms.examined,
    )


@njit(cache=True, parallel=True)
def _terms_into(psi, states, theta, kappa, omega, term):
    for n in prange(psi.shape[0]):
        row = np.int64(n) if theta.shape[0] > 1 else 0
        term[n] = _row_terms(psi[n], states[n], theta, row, kappa[n], omega[n])


@njit(cache=True)
def _row_terms(psi, states, theta, row, kappa, omega):
    """One exponential per entry; likelihoods are multiplied, and their logarithms taken rarely."""
    with_propensity = theta.size > 0
    total, product = 0.0, 1.0
    for j in range(psi.size):
        state = states[j]
        if state == UNKNOWN:
            kappa[j] = 0
            omega[j] = 0
            continue
        size = abs(psi[j])
        e = math.exp(-size)
        larger = 1 / (1 + e)
        smaller = e * larger
        as_recorded = larger if (psi[j] >= 0) == (state == RELEVANT) else smaller
        weight, sign = 1.0, 0.5 if state == RELEVANT else -0.5
        if with_propensity and state != NEGATIVE:
            rate = theta[row, j if theta.shape[1] > 1 else 0]
            if state == UNLABELED:
                examined = rate * as_recorded
                as_recorded = examined + 1 - rate
                weight = examined / as_recorded
            else:
                product *= rate
        if as_recorded > _SMALL:
            product *= as_recorded
        else:
            total -= size  # the logarithm of such an e
        if product < _UNDERFLOW:
            total += math.log(product)
            product = 1.0
        kappa[j] = sign * weight
        omega[j] = weight * _unit_mean_of(size, e, larger)
    return total + math.log(product)


@njit(cache=True)
def _unit_mean_of(size, e, larger):
    """tanh(size/2) / (2 size) from e = exp(-size) and 1 / (1 + e); a series near zero."""
    if size < 0.1:
        s = size * size
        return 0.25 - s * (1 / 48 - s * (1 / 480 - s * (17 / 80640 - s * (31 / 1451520))))
    return (1 - e) * larger / (2 * size)


def _standard_terms(xp: ModuleType, psi: Any, states: Any, theta: Any) -> LabelTerms:
    zero, one = xp.zeros_like(psi), xp.ones_like(psi)
    known, relevant = states != UNKNOWN, states == RELEVANT
    above = xp.maximum(psi, zero) + xp.log1p(xp.exp(-xp.abs(psi)))
    weight = xp.where(known, one, zero)
    likelihood = xp.where(relevant, psi - above, -above)
    examined = xp.zeros_like(psi[0, :])
    if theta is not None:
        rates = array_like(xp, theta, psi)
        rates = (rates if rates.ndim == 2 else rates[None, :]) * one
        examined = rates * xp.exp(-above)
        unlabeled = states == UNLABELED
        gamma = examined / (examined + 1 - rates)
        weight = xp.where(unlabeled, gamma, weight)
        likelihood = xp.where(unlabeled, xp.log(examined + 1 - rates), likelihood)
        likelihood = xp.where(relevant, likelihood + xp.log(rates), likelihood)
        examined = xp.sum(xp.where(unlabeled, gamma, zero), axis=0)
    kappa = xp.where(relevant, 0.5 * weight, -0.5 * weight)
    total = float(xp.sum(xp.where(known, likelihood, zero)))
    return LabelTerms(kappa, weight * polya_gamma_mean(1.0, psi), total, examined)
