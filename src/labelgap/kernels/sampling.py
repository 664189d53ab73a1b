"""Exact draws of the latent variables behind binary labels, from a generator that is passed in.

Positives cost O(number of positives x number of topics), as in :mod:`labelgap.kernels.counts`; the
kernels run on one thread, since the order of the draws is part of the result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from labelgap.kernels.counts import Positives
from labelgap.kernels.polya_gamma import unit_mean


class SampledCounts(NamedTuple):
    """Counts per row and topic, per label and topic, and sum of m log v - log m! over (n, l, k)."""

    by_row: np.ndarray
    by_label: np.ndarray
    log_density: float


@njit(cache=True)
def positive_poisson(generator, rate):
    """A Poisson count given that it is at least one, for any rate from 0 (which gives 1) to 1e15.

    In a Poisson process on [0, rate] that has an event, the first one falls at
    -log(1 - U (1 - exp(-rate))); the events after it are Poisson again.
    """
    first = -math.log1p(generator.random() * math.expm1(-rate))
    return 1 + generator.poisson(max(rate - first, 0.0))


@njit(cache=True)
def first_above(steps, target):
    """Index of the first entry of an increasing array above ``target``; the last if none is."""
    low, high = 0, steps.size - 1
    while low < high:
        middle = (low + high) // 2
        if steps[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def share_out(generator, count, steps, shares):
    """A multinomial draw of ``count`` over weights with the cumulative sums ``steps``.

    Costs O(K + min(count, K) log K): few counts are placed one by one, many by binomials.
    """
    n_parts = steps.size
    shares[:] = 0
    if count <= n_parts:
        for _ in range(count):
            shares[first_above(steps, generator.random() * steps[-1])] += 1
        return
    left = count
    for k in range(n_parts - 1, 0, -1):
        if left == 0:
            return
        share = 1.0 - steps[k - 1] / steps[k] if steps[k] > 0.0 else 0.0
        shares[k] = generator.binomial(left, min(max(share, 0.0), 1.0))
        left -= shares[k]
    shares[0] = left


@njit(cache=True)
def _split_positives(generator, indptr, indices, U, V, by_row, by_label):
    n_topics = U.shape[1]
    steps = np.empty(n_topics)
    shares = np.empty(n_topics, dtype=np.int64)
    term = 0.0
    for n in range(indptr.size - 1):
        for position in range(indptr[n], indptr[n + 1]):
            label = indices[position]
            rate = 0.0
            for k in range(n_topics):
                rate += V[label, k] * U[n, k]
                steps[k] = rate
            count = positive_poisson(generator, rate)
            if rate <= 0.0:
                # every rate has underflowed: nothing to prefer
                for k in range(n_topics):
                    steps[k] = k + 1.0
            share_out(generator, count, steps, shares)
            for k in range(n_topics):
                m = shares[k]
                if m > 0:
                    by_row[n, k] += m
                    by_label[label, k] += m
                    term += m * math.log(max(V[label, k], 1e-300)) - math.lgamma(m + 1.0)
    return term


def sample_counts(
    generator: np.random.Generator, positives: Positives, U: np.ndarray, V: np.ndarray
) -> SampledCounts:
    """Latent counts of the positives given topic weights and topics: the drawn twin of
    :func:`labelgap.kernels.counts.expected_counts`.

    m_nl is a zero-truncated Poisson count of rate u_n . v_l and its split over topics is
    multinomial with weights v_lk u_nk. A positive whose rate is zero gets one count of a topic
    drawn at random.

    Parameters
    ----------
    generator : Generator
    positives : Positives
    U : array of shape (n_rows, n_topics)
    V : array of shape (n_labels, n_topics)
    """
    by_row = np.zeros(U.shape)
    by_label = np.zeros((positives.n_labels, U.shape[1]))
    term = _split_positives(generator, positives.indptr, positives.indices, U, V, by_row, by_label)
    return SampledCounts(by_row, by_label, term)


@njit(cache=True)
def _is_listed(indices, start, stop, label):
    if start == stop:
        return False
    return indices[start + first_above(indices[start:stop], label - 1)] == label


@njit(cache=True)
def _place_unknown(generator, indptr, indices, listed_unknown, U, steps, by_label):
    n_topics, n_labels = steps.shape
    for n in range(indptr.size - 1):
        start, stop = indptr[n], indptr[n + 1]
        for k in range(n_topics):
            weight = U[n, k]
            if weight > n_labels:
                # more counts than labels: one draw per label bounds the cost
                below = 0.0
                for label in range(n_labels):
                    share = steps[k, label] - below
                    below = steps[k, label]
                    if share > 0 and _is_listed(indices, start, stop, label) == listed_unknown:
                        by_label[label, k] += generator.poisson(weight * share)
                continue
            for _ in range(generator.poisson(weight * steps[k, -1])):
                label = first_above(steps[k], generator.random() * steps[k, -1])
                if _is_listed(indices, start, stop, label) == listed_unknown:
                    by_label[label, k] += 1


def sample_unknown_counts(
    generator: np.random.Generator,
    entries: sparse.csr_array,
    listed_unknown: bool,
    U: np.ndarray,
    V: np.ndarray,
) -> np.ndarray:
    """Counts per label and topic at the unknown entries, m_nlk ~ Poisson(v_lk u_nk).

    Topic k of row n gives Poisson(u_nk) counts to labels drawn from v_k, and those at unknown
    entries are kept. Costs O(n K) plus the counts drawn, and never more than O(n K L).

    Parameters
    ----------
    generator : Generator
    entries : csr_array of shape (n_rows, n_labels)
        The unknown entries of the rows, or their observed entries.
    listed_unknown : bool
        Which of the two ``entries`` holds.
    U : array of shape (n_rows, n_topics)
    V : array of shape (n_labels, n_topics)
    """
    listed = entries if entries.has_sorted_indices else entries.sorted_indices()
    by_label = np.zeros(V.shape)
    steps = np.ascontiguousarray(np.cumsum(V, axis=0).T)
    _place_unknown(generator, listed.indptr, listed.indices, listed_unknown, U, steps, by_label)
    return by_label


@njit(cache=True)
def sample_tables(generator, counts, r):
    """Sums over rows of Chinese-restaurant-table counts, CRT(m_nk, r_k); shape (n_topics,).

    A CRT(m, r) count is the sum of independent Bernoulli(r / (r + i)), i = 0, ..., m - 1.
    """
    tables = np.zeros(counts.shape[1])
    for n in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            m = int(counts[n, k])
            if m > 0:
                tables[k] += 1
            for i in range(1, m):
                if generator.random() * (r[k] + i) < r[k]:
                    tables[k] += 1
    return tables


@njit(cache=True)
def unit_variance(psi):
    """Var[PG(1, psi)] = (2 tanh(psi/2) - psi sech(psi/2)^2) / (4 psi^3), 1/24 at psi = 0."""
    z = abs(psi)
    if z < 0.05:
        return 1.0 / 24.0 - z * z / 120.0 + 17.0 * z**4 / 13440.0
    tanh = math.tanh(0.5 * z)
    return (2.0 * tanh - z * (1.0 - tanh * tanh)) / (4.0 * z**3)


@njit(cache=True)
def inverse_gaussian(generator, mean, lam):
    """A draw from the inverse Gaussian distribution of that mean, with the variance mean^3 / lam.

    The smaller root of Michael, Schucany and Haas, in a form without cancellation.
    """
    w = 0.5 * mean * generator.standard_normal() ** 2 / lam
    root = mean / (1.0 + w + math.sqrt(w * (2.0 + w)))
    if generator.random() * (mean + root) <= mean:
        return root
    return mean * (mean / root)


@njit(cache=True)
def polya_gamma(generator, shape, psi):
    """A draw from PG(shape, psi) for any real shape above zero and finite psi.

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
    """Independent draws from PG(shape, psi), elementwise.

    Parameters
    ----------
    generator : Generator
    shape : array
        The first parameter, above zero; same shape as ``psi``.
    psi : array
        Finite.
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
