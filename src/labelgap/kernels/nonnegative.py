"""Many small non-negative least squares problems, by exact steps along one coordinate at a time.

Row i of ``Z`` minimises

    q_i(z) = z' Q_p(i) z + sum_t w_t (f_t . z)^2 - 2 b_i . z      subject to z >= 0,

where the k x k matrix Q is shared by all rows of the same pattern p, and the sum runs over the
terms of the row alone. A factorisation with a mask has this form in both directions: Q is the Gram
matrix of the other factor over what is usually observed, the terms add entries that are observed
in this row only (w > 0) or take away those that are not (w < 0). With one pattern, no terms and
one sweep this is the HALS step of non-negative matrix factorisation.

Each coordinate is set to its minimiser, so that no step increases any q_i, whatever the signs of b
and f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

__all__ = ["Terms", "coordinate_sweeps"]

_REORDER = {"reassoc", "contract"}
# curvature below this share of Q's is what subtraction leaves of none
_NO_CURVATURE = 1e-12


class Terms(NamedTuple):
    """Rank-one terms of single rows.

    weights : CSR of shape (n_rows, n_terms), w of each term where a row has it
    factors : (n_terms, k), the f of each term
    """

    weights: sparse.csr_array
    factors: np.ndarray


def coordinate_sweeps(
    Z: np.ndarray,
    linear: np.ndarray,
    shared: np.ndarray,
    pattern: np.ndarray | None = None,
    terms: Terms | None = None,
    *,
    n_sweeps: int = 1,
    tol: float = 0.0,
) -> np.ndarray:
    """Improve every row of ``Z`` by sweeps over its coordinates.

    Parameters
    ----------
    Z : array of shape (n_rows, k)
        The start, not negative; it is left alone.
    linear : array of shape (n_rows, k)
        The b_i.
    shared : array of shape (n_patterns, k, k)
        Symmetric and positive semi-definite.
    pattern : int array of shape (n_rows,), optional
        Which shared matrix a row has; the first by default.
    terms : Terms, optional
    n_sweeps : int
        Largest number of sweeps over the coordinates of a row.
    tol : float
        A row is done when a sweep moves no coordinate by more than ``tol`` times the largest one.

    Returns
    -------
    array of shape (n_rows, k)
    """
    n_rows, k = Z.shape
    Z = np.array(Z, dtype=np.float64, order="C")
    if pattern is None:
        pattern = np.zeros(n_rows, dtype=np.intp)
    if terms is None:
        terms = Terms(sparse.csr_array((n_rows, 1)), np.zeros((1, k)))
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
        _sweep_one(z, Q, slope, curvature, own[:, :0], w[:0], w[:0], n_sweeps, tol)


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
            break
