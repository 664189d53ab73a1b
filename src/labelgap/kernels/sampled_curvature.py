"""Newton's directions for many logistic regressions on sparse rows, each with rows drawn for it.

The curvature of a label that is seldom relevant lies in few rows: those whose probability is near
neither 0 nor 1. Its rows are drawn in proportion to their curvature c_i, and weighted so that the
expected matrix is the exact one: with t = (sum of c) / m a row of c_i >= t is taken as it is, and of
the others one for every t of their sum, with the weight t. About m rows stand for all. Where
the diagonal of the drawn ones falls short of what the others have in the mean, the difference is added.

A label's products cost as much as its own rows, a few hundred of many thousands; exact ones of all
labels together would read every row for each of them.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["newton_directions"]

_FAST = {"contract", "reassoc", "nsz", "arcp"}
_SMALLEST_FLAT = 1e-12


@njit(cache=True, fastmath=_FAST, nogil=True)
def _drawn_rows(curvature, threshold, offset, rows, weights):
    """Write the rows of a label and their weights; return how many are exact, how many there are.

    Exact rows come first; the others are drawn systematically, and follow from the end.
    """
    n_exact, place, passed = 0, rows.size, offset
    bulk = 0.0
    for i in range(curvature.size):
        c = curvature[i]
        if c >= threshold:
            rows[n_exact], weights[n_exact] = i, c
            n_exact += 1
        else:
            bulk += c
            passed += c / threshold
            if passed >= 1.0:
                passed -= 1.0
                place -= 1
                rows[place], weights[place] = i, threshold
    n_rows = n_exact
    for drawn in range(place, rows.size):
        rows[n_rows], weights[n_rows] = rows[drawn], weights[drawn]
        n_rows += 1
    return n_exact, n_rows, bulk


@njit(cache=True, fastmath=_FAST, nogil=True)
def _add_squares(X, rows, weights, out):
    indptr, indices, data = X
    for a in range(rows.size):
        for e in range(indptr[rows[a]], indptr[rows[a] + 1]):
            out[np.uint32(indices[e])] += weights[a] * data[e] * data[e]


@njit(cache=True, fastmath=_FAST, nogil=True)
def _product(X, rows, weights, penalty, p, out):
    """Write (penalty + sum of w_a x_a x_a') p; the last number belongs to a constant feature of 1."""
    indptr, indices, data = X
    last = p.size - 1
    for j in range(p.size):
        out[j] = penalty[j] * p[j]
    for a in range(rows.size):
        begin, end = indptr[rows[a]], indptr[rows[a] + 1]
        score = p[last]
        for e in range(begin, end):
            score += data[e] * p[np.uint32(indices[e])]
        score *= weights[a]
        for e in range(begin, end):
            out[np.uint32(indices[e])] += score * data[e]
        out[last] += score


@njit(cache=True, fastmath=_FAST, nogil=True)
def _solve(X, rows, weights, penalty, diagonal, slope, own, n_steps, tol, step):
    """Conjugate gradients from 0 for (penalty + curvature) step = -slope."""
    size = slope.size
    r, p, image = np.empty_like(slope), np.empty_like(slope), np.empty_like(slope)
    energy = 0.0
    for j in range(size):
        step[j] = 0
        r[j] = -slope[j]
        p[j] = r[j] / diagonal[j]
        energy += r[j] * p[j]
    first = energy
    for _ in range(n_steps):
        if energy <= tol * tol * first:
            break
        _product(X, rows, weights, penalty, p, image)
        if own >= 0:
            image[own] = 0
        curve = 0.0
        for j in range(size):
            curve += p[j] * image[j]
        if curve <= 0:
            break
        length, new = energy / curve, 0.0
        for j in range(size):
            step[j] += length * p[j]
            r[j] -= length * image[j]
            new += r[j] * r[j] / diagonal[j]
        for j in range(size):
            p[j] = r[j] / diagonal[j] + new / energy * p[j]
        energy = new


@njit(cache=True, parallel=True, fastmath=_FAST)
def newton_directions(
    X, mean_squares, curvature, slope, own, precision, most_rows, offset, n_steps, tol
):
    """Return about -(X'DX + penalty)^-1 slope of each label.

    Parameters
    ----------
    X : (indptr, indices, data) of a CSR matrix of shape (n_samples, n_features)
    mean_squares : array of shape (n_features,)
        Of each feature over the rows.
    curvature : array of shape (k, n_samples)
        The diagonal D of each label.
    slope : array of shape (k, n_features + 1)
        That of the intercept last.
    own : int array of shape (k,)
        A feature whose coefficient is not moved, or -1; its slope is 0.
    precision : float
        Penalty of the intercept; that of coefficients is 1.
    most_rows : array of shape (k,)
        The m above; all rows with n_samples or more.
    offset : float
        In [0, 1), where the systematic draw begins.
    n_steps, tol
        Conjugate gradients stop after so many steps, or when the preconditioned residual has
        shrunk to this fraction.

    Returns
    -------
    array of shape (k, n_features + 1)
    """
    k, size = slope.shape
    out = np.empty_like(slope)
    n_samples = curvature.shape[1]
    for label in prange(k):
        c = curvature[label]
        total = 0.0
        for i in range(n_samples):
            total += c[i]
        threshold = total / most_rows[label] if most_rows[label] < n_samples else 0.0
        rows, weights = np.empty(n_samples, np.int64), np.empty(n_samples, slope.dtype)
        n_exact, n_rows, bulk = _drawn_rows(c, threshold, offset, rows, weights)
        rows, weights = rows[:n_rows], weights[:n_rows]
        diagonal, drawn = np.zeros(size, slope.dtype), np.zeros(size, slope.dtype)
        penalty = np.empty(size, slope.dtype)
        _add_squares(X, rows[:n_exact], weights[:n_exact], diagonal)
        _add_squares(X, rows[n_exact:], weights[n_exact:], drawn)
        for j in range(size - 1):
            penalty[j] = 1 + max(bulk * mean_squares[j] - drawn[j], 0.0)
            diagonal[j] += drawn[j] + penalty[j]
        penalty[size - 1] = precision
        diagonal[size - 1] = precision
        for a in range(n_rows):
            diagonal[size - 1] += weights[a]
        # a label whose every entry is decided leaves its intercept without curvature
        if diagonal[size - 1] <= _SMALLEST_FLAT:
            diagonal[size - 1] = 1
        _solve(
            X, rows, weights, penalty, diagonal, slope[label], own[label], n_steps, tol, out[label]
        )
    return out
