"""Weighted approximate-rank pairwise loss: stochastic steps on pairs of labels, and its value.

A row x is embedded as u = A'x, label l scores u . b_l. A label y of the row is violated by the
other labels that do not score at least 1 less. With V the set of violators and

    L(r) = 1 + 1/2 + ... + 1/r,

the loss of (x, y) is L(|V|) times the mean of 1 + u . b_l - u . b_y over V: the first ranks count
most. Steps draw labels until one violates and estimate |V| from the number of draws.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy import sparse

__all__ = ["warp_loss", "warp_steps"]

_BLOCK_CELLS = 2**22
# sums in any order, so that they are vectorised
_SUMS = {"reassoc", "contract"}


def warp_steps(
    generator: np.random.Generator,
    X: sparse.csr_array,
    pairs: np.ndarray,
    others: sparse.csr_array,
    A: np.ndarray,
    B: np.ndarray,
    *,
    learning_rate: float,
    max_norm: float,
) -> int:
    """One step for each pair of a row and a relevant label, in their order; A and B are changed.

    Labels are drawn from the others of the row, at most as often as there are of them, until
    one violates. If it took N draws, |V| is estimated by floor(n_others / N), at least 1, and A,
    b_y and b_l go down the gradient of ``L(|V|) (1 + u . b_l - u . b_y)``. Rows of A and B longer
    than ``max_norm`` are then brought back to it.

    generator : Generator
    X : csr_array of shape (n_samples, n_features)
    pairs : int array of shape (n_pairs, 2). Rows and labels.
    others : csr_array of shape (n_samples, n_labels). Stored entries are the labels that a relevant
        one is compared to.
    A, B : arrays of shape (n_features, k) and (n_labels, k)
    learning_rate, max_norm : float
    Returns int. How many pairs were violated.
    """
    return _steps(
        generator,
        (X.indptr, X.indices, X.data),
        np.ascontiguousarray(pairs, dtype=np.int64),
        (others.indptr, others.indices),
        A,
        B,
        learning_rate,
        max_norm,
    )


def warp_loss(positives: sparse.csr_array, others: sparse.csr_array, U: np.ndarray, B: np.ndarray):
    """The loss summed over all relevant entries, with all violators counted.

    positives, others : csr_arrays of shape (n_samples, n_labels). Stored entries are the relevant
        labels, and those they are compared to.
    U, B : arrays of shape (n_samples, k) and (n_labels, k)
    """
    weights = harmonic_sums(len(B))
    size = max(1, _BLOCK_CELLS // len(B))
    total = 0.0
    for first in range(0, len(U), size):
        scores = U[first : first + size] @ B.T
        some = slice(first, first + len(scores) + 1)
        starts = positives.indptr[some], others.indptr[some]
        total += _loss(*starts, positives.indices, others.indices, scores, weights)
    return total


def harmonic_sums(n: int) -> np.ndarray:
    """L(0), ..., L(n)."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])


@njit(cache=True)
def _steps(generator, features, pairs, others, A, B, learning_rate, max_norm):
    starts, columns, values = features
    other_starts, other_labels = others
    weights = np.zeros(B.shape[0] + 1)
    for r in range(1, weights.size):
        weights[r] = weights[r - 1] + 1 / r
    n_violated = 0
    u, towards = np.empty(A.shape[1]), np.empty(A.shape[1])
    for p in range(pairs.shape[0]):
        row, label = pairs[p]
        first, n_others = other_starts[row], other_starts[row + 1] - other_starts[row]
        u[:] = 0
        for q in range(starts[row], starts[row + 1]):
            _add(u, values[q], A[columns[q]])
        own = _dot(u, B[label])
        for n_draws in range(1, n_others + 1):
            other = other_labels[first + int(generator.random() * n_others)]
            if _dot(u, B[other]) > own - 1:
                step = learning_rate * weights[n_others // n_draws]
                towards[:] = 0
                _add(towards, step, B[label])
                _add(towards, -step, B[other])
                _add_within(B[label], step, u, max_norm)
                _add_within(B[other], -step, u, max_norm)
                for q in range(starts[row], starts[row + 1]):
                    _add_within(A[columns[q]], values[q], towards, max_norm)
                n_violated += 1
                break
    return n_violated


@njit(cache=True, fastmath=_SUMS)
def _loss(positive_starts, other_starts, positives, others, scores, weights):
    total = 0.0
    of_others = np.empty(scores.shape[1])
    for row in range(scores.shape[0]):
        first, n_others = other_starts[row], other_starts[row + 1] - other_starts[row]
        for j in range(n_others):
            of_others[j] = scores[row, others[first + j]]
        for p in range(positive_starts[row], positive_starts[row + 1]):
            above = 1 - scores[row, positives[p]]
            n_violators, excess = 0, 0.0
            for j in range(n_others):
                violation = of_others[j] + above
                n_violators += not violation <= 0  # NaN counts, and makes the loss NaN
                excess += max(violation, 0.0)
            if n_violators:
                total += weights[n_violators] * excess / n_violators
    return total


@njit(cache=True, fastmath=_SUMS)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _add(row, factor, other):
    """row += factor * other."""
    for i in range(row.size):
        row[i] += factor * other[i]


@njit(cache=True, fastmath=_SUMS)
def _add_within(row, factor, other, max_norm):
    """row += factor * other, brought back to ``max_norm`` if that is longer."""
    square = 0.0
    for i in range(row.size):
        row[i] += factor * other[i]
        square += row[i] * row[i]
    if square > max_norm**2:
        shrink = max_norm / math.sqrt(square)
        for i in range(row.size):
            row[i] *= shrink
