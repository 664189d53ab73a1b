"""Latent counts behind binary labels: the Bernoulli-Poisson link at the positives only.

For y = 1(m >= 1) with m ~ Poisson(lambda), lambda_nl = u_n . v_l, the expected count of a positive
entry is lambda / (1 - exp(-lambda)) and its share of topic k is v_lk u_nk / lambda. Zeros have no
counts, so everything costs O(number of positives x number of topics).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse


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
    """Both directions of a boolean CSR matrix of positives."""
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    order = np.argsort(indices, kind="stable")
    column_indptr = np.zeros(matrix.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(indices, minlength=matrix.shape[1]), out=column_indptr[1:])
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(indptr))
    return Positives(indptr, indices, column_indptr, rows[order], order, matrix.shape[1])


def expected_counts(positives: Positives, U: np.ndarray, V: np.ndarray) -> CountTotals:
    """Expected latent counts given topic weights ``U`` (n x K) and topics ``V`` (L x K).

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
    """E[m | m >= 1] / rate = 1 / (1 - exp(-rate)) for a Poisson count.

    Rates below ``smallest`` count as that: sums of ratios must stay finite, since they are
    multiplied by topic weights that may be zero.
    """
    return 1.0 / max(-math.expm1(-rate), smallest)


@njit(cache=True)
def log_expm1(rate):
    """log(exp(rate) - 1) without overflow or cancellation."""
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
            share = truncated_ratio(rate, smallest)
            ratio[position] = share
            total += log_expm1(rate)
            for k in range(n_topics):
                by_row[n, k] += share * V[label, k]
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
            share = ratio[order[position]]
            n = column_rows[position]
            for k in range(n_topics):
                by_label[label, k] += share * U[n, k]
        for k in range(n_topics):
            by_label[label, k] *= V[label, k]
