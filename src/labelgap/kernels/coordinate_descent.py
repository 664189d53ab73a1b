"""Many small non-negative least squares problems, by exact steps along one coordinate at a time.

Row i of ``Z`` minimises

    q_i(z) = z' Q_p(i) z + sum_t w_t (f_t . z)^2 - 2 b_i . z      subject to z >= 0,

where the k x k matrix Q is shared by all rows of the same pattern p, and the sum runs over the
terms of the row alone. A factorisation with a mask has this form in both directions: Q is the Gram
matrix of the other factor over what is usually observed, the terms add entries that are observed
in this row only (w > 0) or take away those that are not (w < 0). With one pattern, no terms and
one sweep this is the HALS step of non-negative matrix factorisation.

Each coordinate is set to its minimiser, so that no step increases any q_i, whatever the signs of b
and f. Where many sweeps are allowed, every few of them are followed by a jump towards the minimum
over the coordinates that are above zero, which sweeps alone approach slowly.

:func:`row_sweeps` does the same for matrices with rows of length one, one row at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

__all__ = ["RowTerms", "coordinate_sweeps", "row_sweeps"]

_REORDER = {"reassoc", "contract"}
# curvature below this fraction of Q's is what subtraction leaves of none
_NO_CURVATURE = 1e-12
# sweeps between two jumps: a jump costs about as much as these
_SWEEPS_PER_JUMP = 16


class RowTerms(NamedTuple):
    """Rank-one terms of single rows.

    weights : CSR of shape (n_samples, n_terms), w of each term where a row has it
    factors : (n_terms, k), the f of each term
    """

    weights: sparse.csr_array
    factors: np.ndarray


def coordinate_sweeps(
    Z: np.ndarray,
    linear: np.ndarray,
    shared: np.ndarray,
    pattern: np.ndarray | None = None,
    terms: RowTerms | None = None,
    *,
    n_sweeps: int = 1,
    tol: float = 0.0,
) -> np.ndarray:
    """Improve every row of ``Z`` by sweeps over its coordinates.

    Z : array of shape (n_samples, k). The start, not negative; it is left alone.
    linear : array of shape (n_samples, k). The b_i.
    shared : array of shape (n_patterns, k, k). Symmetric and positive semi-definite.
    pattern : int array of shape (n_samples,), default=None. Which shared matrix a row has; the
        first by default.
    terms : RowTerms, default=None
    n_sweeps : int, default=1. Largest number of sweeps over the coordinates of a row.
    tol : float, default=0.0. A row is done when a sweep moves no coordinate by more than ``tol``
        times the largest one.
    Returns array of shape (n_samples, k)
    """
    n_samples, k = Z.shape
    Z = np.array(Z, dtype=np.float64, order="C")
    if pattern is None:
        pattern = np.zeros(n_samples, dtype=np.intp)
    if terms is None:
        terms = RowTerms(sparse.csr_array((n_samples, 1)), np.zeros((1, k)))
    weights = terms.weights
    # m terms cost 2 k m in every sweep, or k^2 m / 2 once to make them part of the matrix
    sweep = _sweep_rows if 4 * n_sweeps <= k else _sweep_matrices
    sweep(
        Z,
        np.ascontiguousarray(linear, dtype=np.float64),
        np.ascontiguousarray(shared, dtype=np.float64),
        np.asarray(pattern, dtype=np.intp),
        weights.indptr,
        weights.indices,
        np.asarray(weights.data, dtype=np.float64),
        np.ascontiguousarray(terms.factors.T, dtype=np.float64),
        n_sweeps,
        tol,
    )
    return Z


@njit(cache=True, parallel=True, fastmath=_REORDER)
def _sweep_rows(Z, linear, shared, pattern, indptr, indices, weights, factors, n_sweeps, tol):
    """``factors`` is (k, n_terms) here: one coordinate of all terms of a row lies together."""
    for i in prange(Z.shape[0]):
        z, Q = Z[i], shared[pattern[i]]
        w = weights[indptr[i] : indptr[i + 1]]
        own = _gather(factors, indices[indptr[i] : indptr[i + 1]])
        slope = _slope(z, linear[i], Q)
        curvature = _curvature(Q, own, w)
        _sweep_one(z, Q, slope, curvature, own, w, _image(z, own, w), n_sweeps, tol)


@njit(cache=True, parallel=True, fastmath=_REORDER)
def _sweep_matrices(Z, linear, shared, pattern, indptr, indices, weights, factors, n_sweeps, tol):
    """The same for many sweeps: the terms of a row become part of a matrix of its own."""
    for i in prange(Z.shape[0]):
        z, Q = Z[i], shared[pattern[i]]
        w = weights[indptr[i] : indptr[i + 1]]
        own = _gather(factors, indices[indptr[i] : indptr[i + 1]])
        curvature = _curvature(Q, own, w)
        if w.size:
            Q = _with_terms(Q, own, w)
        slope = _slope(z, linear[i], Q)
        left = n_sweeps
        while left > 0:
            n = min(left, _SWEEPS_PER_JUMP)
            if _sweep_one(z, Q, slope, curvature, own[:, :0], w[:0], w[:0], n, tol):
                break
            left -= n
            if left:
                _jump(z, Q, slope, curvature)


@njit(cache=True)
def _gather(factors, columns):
    """The factors of some terms, of shape (k, m)."""
    own = np.empty((factors.shape[0], columns.size))
    for j in range(own.shape[0]):
        for t in range(columns.size):
            own[j, t] = factors[j, columns[t]]
    return own


@njit(cache=True, fastmath=_REORDER)
def _slope(z, linear, Q):
    """Half the gradient without the terms."""
    slope = np.empty(z.size)
    for j in range(z.size):
        g = -linear[j]
        for c in range(z.size):
            g += Q[j, c] * z[c]
        slope[j] = g
    return slope


@njit(cache=True, fastmath=_REORDER)
def _curvature(Q, own, weights):
    """Of every coordinate, and 0 where there is none."""
    curvature = np.empty(own.shape[0])
    for j in range(curvature.size):
        h = Q[j, j]
        for t in range(weights.size):
            h += weights[t] * own[j, t] * own[j, t]
        curvature[j] = h if h > _NO_CURVATURE * Q[j, j] else 0.0
    return curvature


@njit(cache=True, fastmath=_REORDER)
def _image(z, own, weights):
    """w_t (f_t . z) of every term."""
    image = np.zeros(weights.size)
    for j in range(z.size):
        if z[j] != 0.0:
            for t in range(image.size):
                image[t] += z[j] * own[j, t]
    for t in range(image.size):
        image[t] *= weights[t]
    return image


@njit(cache=True, fastmath=_REORDER)
def _with_terms(Q, own, weights):
    """Q + sum_t w_t f_t f_t'."""
    matrix = np.empty(Q.shape)
    scaled = np.empty(weights.size)
    for j in range(Q.shape[0]):
        for t in range(weights.size):
            scaled[t] = weights[t] * own[j, t]
        for c in range(j + 1):
            total = Q[j, c]
            for t in range(weights.size):
                total += scaled[t] * own[c, t]
            matrix[j, c] = matrix[c, j] = total
    return matrix


@njit(cache=True, fastmath=_REORDER)
def _sweep_one(z, Q, slope, curvature, own, weights, image, n_sweeps, tol):
    """Whether the last sweep moved no coordinate by more than ``tol`` allows."""
    k, m = z.size, weights.size
    for _ in range(n_sweeps):
        largest_move, largest = 0.0, 0.0
        for j in range(k):
            if curvature[j] == 0.0:
                continue
            g = slope[j]
            for t in range(m):
                g += own[j, t] * image[t]
            new = max(0.0, z[j] - g / curvature[j])
            move = new - z[j]
            if move != 0.0:
                z[j] = new
                for c in range(k):
                    slope[c] += move * Q[j, c]
                for t in range(m):
                    image[t] += move * weights[t] * own[j, t]
            largest_move = max(largest_move, abs(move))
            largest = max(largest, new)
        if largest_move <= tol * largest:
            return True
    return False


@njit(cache=True, fastmath=_REORDER)
def _jump(z, Q, slope, curvature):
    """To the minimum over the coordinates above zero.

    Where some of them would fall below, they become zero, if that is better than now; otherwise
    the way is gone as far as all stay above.
    """
    free = np.flatnonzero((z > 0.0) & (curvature > 0.0))
    L = _cholesky(Q, free)
    if L.size == 0:
        return
    step = np.empty(free.size)
    for a in range(free.size):
        total = -slope[free[a]]
        for c in range(a):
            total -= L[a, c] * step[c]
        step[a] = total / L[a, a]
    for a in range(free.size - 1, -1, -1):
        step[a] /= L[a, a]
        for c in range(a):
            step[c] -= L[a, c] * step[a]
    if _move_if_lower(z, Q, slope, free, np.maximum(step, -z[free])):
        return
    fraction, first = 1.0, 0
    for a in range(free.size):
        if z[free[a]] + fraction * step[a] < 0.0:
            fraction, first = -z[free[a]] / step[a], a
    if fraction < 1.0:
        step *= fraction
        step[first] = -z[free[first]]
        _move_if_lower(z, Q, slope, free, np.maximum(step, -z[free]))


@njit(cache=True, fastmath=_REORDER)
def _move_if_lower(z, Q, slope, free, step):
    """Whether the step lowers q; if so it is taken, and all that would be negative is zero."""
    new = slope.copy()
    change = 0.0
    for a in range(free.size):
        change += step[a] * slope[free[a]]
        for c in range(z.size):
            new[c] += step[a] * Q[free[a], c]
    for a in range(free.size):
        change += step[a] * new[free[a]]
    if change >= 0.0:
        return False
    for a in range(free.size):
        z[free[a]] = max(0.0, z[free[a]] + step[a])
    slope[:] = new
    return True


@njit(cache=True, fastmath=_REORDER)
def _cholesky(Q, rows):
    """Of the part of Q in some rows and columns; empty where that is singular."""
    n = rows.size
    L = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1):
            total = Q[rows[a], rows[b]]
            for c in range(b):
                total -= L[a, c] * L[b, c]
            if b < a:
                L[a, b] = total / L[b, b]
            elif total > _NO_CURVATURE * Q[rows[a], rows[a]]:
                L[a, a] = np.sqrt(total)
            else:
                return np.zeros((0, 0))
    return L


def row_sweeps(V: np.ndarray, Z: np.ndarray, n_sweeps: int) -> np.ndarray:
    """Minimise tr(V'Z Z'V) over one row of Z at a time, all rows of length one.

    With all other rows fixed the trace is linear in z_i, apart from a constant:
    2 z_i . sum_{j != i} (v_i . v_j) z_j, so that the exact minimiser is minus that sum, scaled to
    length one; where the sum is zero every z_i is as good, and the row stays as it is.

    V : array of shape (n_labels, n_factors)
    Z : array of shape (n_labels, width). Rows of length one; not changed.
    n_sweeps : int. Passes over all rows, in the order of falling length of v_i, so that the result
        does not depend on the order of the labels.
    Returns array of shape (n_labels, width)
    """
    Z = np.array(Z, dtype=np.float64, order="C")
    V = np.ascontiguousarray(V, dtype=np.float64)
    order = np.argsort(-np.einsum("lk,lk->l", V, V), kind="stable")
    _sweep_directions(V, Z, V.T @ Z, order, n_sweeps)
    return Z


@njit(cache=True)
def _sweep_directions(V, Z, product, order, n_sweeps):
    """``product`` is V'Z (n_factors x width), kept up to date: a row costs k x width, not L."""
    k = V.shape[1]
    width = Z.shape[1]
    direction = np.empty(width)
    for _ in range(n_sweeps):
        for i in order:
            own = 0.0
            for f in range(k):
                own += V[i, f] * V[i, f]
            size, scale = 0.0, 0.0
            for w in range(width):
                total = 0.0
                for f in range(k):
                    total += V[i, f] * product[f, w]
                scale = max(scale, abs(total))
                direction[w] = own * Z[i, w] - total
                size += direction[w] * direction[w]
            size = np.sqrt(size)
            if size <= 1e-14 * max(scale, own) or size == 0.0:
                continue
            for w in range(width):
                new = direction[w] / size
                change = new - Z[i, w]
                Z[i, w] = new
                for f in range(k):
                    product[f, w] += V[i, f] * change
