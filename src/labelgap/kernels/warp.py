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

    Parameters
    ----------
    generator : Generator
    X : csr_array of shape (n_rows, n_features)
    pairs : int array of shape (n_pairs, 2)
        Rows and labels.
    others : csr_array of shape (n_rows, n_labels)
        Stored entries are the labels that a relevant one is compared to.
    A, B : arrays of shape (n_features, k) and (n_labels, k)
    learning_rate, max_norm : float

    Returns
    -------
    int
        How many pairs were violated.
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

    Parameters
    ----------
    positives, others : csr_arrays of shape (n_rows, n_labels)
        Stored entries are the relevant labels, and those they are compared to.
    U, B : arrays of shape (n_rows, k) and (n_labels, k)
    """
    of_positives, of_others = (positives.indptr, positives.indices), (others.indptr, others.indices)
    return _loss(of_positives, of_others, np.ascontiguousarray(U), B, harmonic_sums(len(B)))


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
                _add(B[label], step, u)
                _add(B[other], -step, u)
                _shorten(B[label], max_norm)
                _shorten(B[other], max_norm)
                for q in range(starts[row], starts[row + 1]):
                    _add(A[columns[q]], values[q], towards)
                    _shorten(A[columns[q]], max_norm)
                n_violated += 1
                break
    return n_violated


@njit(cache=True)
def _loss(positives, others, U, B, weights):
    total = 0.0
    for row in range(U.shape[0]):
        labels = others[1][others[0][row] : others[0][row + 1]]
        scores = np.empty(labels.size)
        for j in range(labels.size):
            scores[j] = _dot(U[row], B[labels[j]])
        for p in range(positives[0][row], positives[0][row + 1]):
            own = _dot(U[row], B[positives[1][p]])
            n_violators, excess = 0, 0.0
            for j in range(labels.size):
                if scores[j] > own - 1:
                    n_violators += 1
                    excess += 1 + scores[j] - own
            if n_violators:
                total += weights[n_violators] * excess / n_violators
    return total


@njit(cache=True)
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


@njit(cache=True)
def _shorten(row, max_norm):
    size = math.sqrt(_dot(row, row))
    if size > max_norm:
        for i in range(row.size):
            row[i] *= max_norm / size
