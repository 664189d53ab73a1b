"""Latent counts behind binary labels: the Bernoulli-Poisson link at the positives only.

For y = 1(m >= 1) with m ~ Poisson(lambda), lambda_nl = u_n . v_l, the expected count of a positive
entry is lambda / (1 - exp(-lambda)) and its part of topic k is v_lk u_nk / lambda. Zeros have no
counts, so everything costs O(number of positives x number of topics).

Draws come from a generator that is passed in, on one thread: their order is part of the result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

__all__ = [
    "CountTotals",
    "Positives",
    "SampledCounts",
    "expected_counts",
    "prepare_positives",
    "sample_counts",
    "sample_tables",
    "sample_unknown_counts",
]


class Positives(NamedTuple):
    """The ones of a label matrix, compressed by rows, with the way to read them by columns.

    ``order`` lists the entries column by column, as positions in the row-compressed arrays.
    """

    indptr: np.ndarray
    indices: np.ndarray
    column_indptr: np.ndarray
    column_rows: np.ndarray
    order: np.ndarray
    n_labels: int


class CountTotals(NamedTuple):
    """Expected counts per row and topic, per label and topic, and the log-likelihood term."""

    by_row: np.ndarray
    by_label: np.ndarray
    log_expm1_rate: float


def prepare_positives(matrix: sparse.csr_array) -> Positives:
    """Return both directions of a boolean CSR matrix of positives."""
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    order = np.argsort(indices, kind="stable")
    column_indptr = np.zeros(matrix.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(indices, minlength=matrix.shape[1]), out=column_indptr[1:])
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(indptr))
    return Positives(indptr, indices, column_indptr, rows[order], order, matrix.shape[1])


def expected_counts(positives: Positives, U: np.ndarray, V: np.ndarray) -> CountTotals:
    """Return expected latent counts given topic weights ``U`` (n x K) and topics ``V`` (L x K).

    Returns the totals m_nk = sum_l m_nlk and m_lk = sum_n m_nlk, and the sum over positives of
    log(exp(lambda) - 1) = lambda + log P(y = 1).
    """
    by_row = np.empty_like(U)
    smallest = 1e-30 if U.dtype == np.float32 else 1e-200
    ratio = np.empty(positives.indices.size, dtype=U.dtype)
    term = np.zeros(U.shape[0])
    _row_counts(positives.indptr, positives.indices, U, V, smallest, by_row, ratio, term)
    by_label = np.empty((positives.n_labels, V.shape[1]), dtype=V.dtype)
    _label_counts(
        positives.column_indptr, positives.column_rows, positives.order, ratio, U, V, by_label
    )
    return CountTotals(by_row, by_label, float(term.sum()))


@njit(cache=True)
def truncated_ratio(rate, smallest):
    """Return E[m | m >= 1] / rate = 1 / (1 - exp(-rate)) for a Poisson count.

    Rates below ``smallest`` count as that: sums of ratios must stay finite, since they are
    multiplied by topic weights that may be zero.
    """
    return 1.0 / max(-math.expm1(-rate), smallest)


@njit(cache=True)
def log_expm1(rate):
    """Return log(exp(rate) - 1) without overflow or cancellation."""
    if rate > 30.0:
        return rate + math.log1p(-math.exp(-rate))
    return math.log(max(math.expm1(rate), 1e-300))


# reassociation only: sums over topics may be vectorised, NaN and infinity keep their meaning
@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _row_counts(indptr, indices, U, V, smallest, by_row, ratio, term):
    n_topics = U.shape[1]
    for n in prange(indptr.size - 1):
        for k in range(n_topics):
            by_row[n, k] = 0
        total = 0.0
        for position in range(indptr[n], indptr[n + 1]):
            label = indices[position]
            rate = 0.0
            for k in range(n_topics):
                rate += V[label, k] * U[n, k]
            fraction = truncated_ratio(rate, smallest)
            ratio[position] = fraction
            total += log_expm1(rate)
            for k in range(n_topics):
                by_row[n, k] += fraction * V[label, k]
        term[n] = total
        for k in range(n_topics):
            by_row[n, k] *= U[n, k]


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _label_counts(column_indptr, column_rows, order, ratio, U, V, by_label):
    n_topics = U.shape[1]
    for label in prange(column_indptr.size - 1):
        for k in range(n_topics):
            by_label[label, k] = 0
        for position in range(column_indptr[label], column_indptr[label + 1]):
            fraction = ratio[order[position]]
            n = column_rows[position]
            for k in range(n_topics):
                by_label[label, k] += fraction * U[n, k]
        for k in range(n_topics):
            by_label[label, k] *= V[label, k]


class SampledCounts(NamedTuple):
    """Counts per row and topic, per label and topic, and sum of m log v - log m! over (n, l, k)."""

    by_row: np.ndarray
    by_label: np.ndarray
    log_density: float


@njit(cache=True)
def positive_poisson(generator, rate):
    """Return a Poisson count given that it is at least one, for any rate from 0 (which gives 1) to 1e15.

    In a Poisson process on [0, rate] that has an event, the first one falls at
    -log(1 - U (1 - exp(-rate))); the events after it are Poisson again.
    """
    first = -math.log1p(generator.random() * math.expm1(-rate))
    return 1 + generator.poisson(max(rate - first, 0.0))


@njit(cache=True)
def first_above(steps, target):
    """Return index of the first entry of an increasing array above ``target``; the last if none is."""
    low, high = 0, steps.size - 1
    while low < high:
        middle = (low + high) // 2
        if steps[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def split_count(generator, count, steps, fractions):
    """A multinomial draw of ``count`` over weights with the cumulative sums ``steps``.

    Costs O(K + min(count, K) log K): few counts are placed one by one, many by binomials.
    """
    n_parts = steps.size
    fractions[:] = 0
    if count <= n_parts:
        for _ in range(count):
            fractions[first_above(steps, generator.random() * steps[-1])] += 1
        return
    left = count
    for k in range(n_parts - 1, 0, -1):
        if left == 0:
            return
        fraction = 1.0 - steps[k - 1] / steps[k] if steps[k] > 0.0 else 0.0
        fractions[k] = generator.binomial(left, min(max(fraction, 0.0), 1.0))
        left -= fractions[k]
    fractions[0] = left


@njit(cache=True)
def _split_positives(generator, indptr, indices, U, V, by_row, by_label):
    n_topics = U.shape[1]
    steps = np.empty(n_topics)
    fractions = np.empty(n_topics, dtype=np.int64)
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
            split_count(generator, count, steps, fractions)
            for k in range(n_topics):
                m = fractions[k]
                if m > 0:
                    by_row[n, k] += m
                    by_label[label, k] += m
                    term += m * math.log(max(V[label, k], 1e-300)) - math.lgamma(m + 1.0)
    return term


def sample_counts(
    generator: np.random.Generator, positives: Positives, U: np.ndarray, V: np.ndarray
) -> SampledCounts:
    """Return latent counts of the positives given topic weights and topics: the drawn twin of
    :func:`expected_counts`.

    m_nl is a zero-truncated Poisson count of rate u_n . v_l and its split over topics is
    multinomial with weights v_lk u_nk. A positive whose rate is zero gets one count of a topic
    drawn at random.

    generator : Generator
    positives : Positives
    U : array of shape (n_samples, n_topics)
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
                    fraction = steps[k, label] - below
                    below = steps[k, label]
                    if fraction > 0 and _is_listed(indices, start, stop, label) == listed_unknown:
                        by_label[label, k] += generator.poisson(weight * fraction)
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
    """Return counts per label and topic at the unknown entries, m_nlk ~ Poisson(v_lk u_nk).

    Topic k of row n gives Poisson(u_nk) counts to labels drawn from v_k, and those at unknown
    entries are kept. Costs O(n K) plus the counts drawn, and never more than O(n K L).

    generator : Generator
    entries : csr_array of shape (n_samples, n_labels). The unknown entries of the rows, or their
        observed entries.
    listed_unknown : bool. Which of the two ``entries`` holds.
    U : array of shape (n_samples, n_topics)
    V : array of shape (n_labels, n_topics)
    """
    listed = entries if entries.has_sorted_indices else entries.sorted_indices()
    by_label = np.zeros(V.shape)
    steps = np.ascontiguousarray(np.cumsum(V, axis=0).T)
    _place_unknown(generator, listed.indptr, listed.indices, listed_unknown, U, steps, by_label)
    return by_label


@njit(cache=True)
def sample_tables(generator, counts, r):
    """Return sums over rows of Chinese-restaurant-table counts, CRT(m_nk, r_k); shape (n_topics,).

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
