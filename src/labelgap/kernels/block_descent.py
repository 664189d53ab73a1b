"""Squared-hinge regressions of a block of labels, by coordinate descent on the dual.

For every label of a block, with signed costs s_i of the rows (positive where the label is relevant,
negative where it is not, 0 where the row has no say), the coefficients w minimise

    1/2 ||w||^2 + sum_i |s_i| max(0, 1 - sign(s_i) x_i'w)^2,

where the last coefficient belongs to a constant feature of 1. The dual has one variable per row and
label; a step sets it to its minimum and moves w along the row (Hsieh et al., 2008). The labels of a
block take their steps at a row together: its features are read once for all of them, and the
coefficients of a feature lie side by side, so that a step is made of vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["BLOCK", "add_row", "descend", "local_rows", "row_scores"]

# labels of a block: its coefficients fit the second cache for some thousand features
BLOCK = 32
_FAST = {"contract", "reassoc", "nsz", "arcp"}
_LEAST_STEP = np.float32(1e-6)
_FIRST_STATE = np.uint64(88172645463325252)
_LEAST_COST = np.float32(1e-30)


@njit(cache=True, fastmath=_FAST, nogil=True)
def row_scores(indices, data, W, out):
    """Add x'W of one sparse row to ``out``."""
    k = W.shape[1]
    place = 0
    while place + 4 <= indices.size:
        # unsigned, so that no index needs a check for counting from the end
        j0, j1 = np.uint32(indices[place]), np.uint32(indices[place + 1])
        j2, j3 = np.uint32(indices[place + 2]), np.uint32(indices[place + 3])
        x0, x1, x2, x3 = data[place], data[place + 1], data[place + 2], data[place + 3]
        for c in range(k):
            out[c] += x0 * W[j0, c] + x1 * W[j1, c] + x2 * W[j2, c] + x3 * W[j3, c]
        place += 4
    while place < indices.size:
        j0, x0 = np.uint32(indices[place]), data[place]
        for c in range(k):
            out[c] += x0 * W[j0, c]
        place += 1


@njit(cache=True, fastmath=_FAST, nogil=True)
def add_row(indices, data, step, W):
    """Add x step' of one sparse row to ``W``."""
    for place in range(indices.size):
        j, x = np.uint32(indices[place]), data[place]
        for c in range(step.size):
            W[j, c] += x * step[c]


@njit(cache=True, fastmath=_FAST, nogil=True)
def _steps(costs, scores, alpha, bar, length, step, largest):
    """Minimise along the dual variables of one row; return whether w moves and the row matters.

    ``length`` is the squared length of the row, and ``bar`` the slope above which a variable at 0 is
    taken to stay there.
    """
    one, zero = np.float32(1), np.float32(0)
    moved, matters = zero, zero
    for c in range(costs.size):
        sign = np.sign(costs[c])
        flat = np.float32(0.5) / max(abs(costs[c]), _LEAST_COST)
        a = alpha[c]
        slope = sign * scores[c] - one + a * flat
        change = (max(a - slope / (length + flat), zero) - a) * abs(sign)
        violation = abs(slope * sign) if (a > zero or slope < zero) else zero
        largest[c] = max(largest[c], violation)
        alpha[c] = a + change
        step[c] = change * sign
        moved = max(moved, abs(change))
        keep = one if (a > zero or slope <= bar[c]) else zero
        matters = max(matters, keep * abs(sign))
    return moved > _LEAST_STEP, matters > zero


@njit(cache=True, fastmath=_FAST, nogil=True)
def _visit(own, values, costs, W, alpha, bar, scores, step, largest):
    """Take the steps of one row; return whether the row matters to a label."""
    constant = W.shape[0] - 1
    # loops, where an assignment of arrays would take numba a second to compile
    for c in range(costs.size):
        scores[c] = W[constant, c]
    row_scores(own, values, W, scores)
    length = np.float32(1)
    for value in values:
        length += value * value
    moved, matters = _steps(costs, scores, alpha, bar, length, step, largest)
    if moved:
        add_row(own, values, step, W)
        for c in range(costs.size):
            W[constant, c] += step[c]
    return matters


@njit(cache=True, nogil=True)
def _shuffle(order, n_open, state):
    """Draw a new order of the first rows; return the state of the generator."""
    for first in range(n_open - 1):
        # xorshift, with a remainder: near enough to uniform for an order of visits
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = first + np.int64(state % np.uint64(n_open - first))
        order[first], order[other] = order[other], order[first]
    return state


@njit(cache=True, fastmath=_FAST, nogil=True)
def descend(indptr, indices, data, costs, W, tol, max_iter, seed):
    """Minimise the objective of every label of a block, in place.

    Parameters
    ----------
    indptr, indices, data : arrays of a CSR matrix of shape (n_rows, n_features), float32
    costs : float32 array of shape (n_rows, k)
        The s of each row and label.
    W : float32 array of shape (n_features + 1, k)
        Zeros; becomes the coefficients, those of the constant feature last.
    tol : float32
        A label is done when no slope of its dual that could still fall exceeds this.
    max_iter : int
        Passes over the rows. A row that no label needs is left out, and looked at again at the end.
    seed : int
        Of the order of the rows.

    Returns
    -------
    n_iter : int
    """
    n, k = costs.shape
    alpha = np.zeros((n, k), np.float32)
    scores, step = np.empty(k, np.float32), np.empty(k, np.float32)
    largest = np.zeros(k, np.float32)
    bar = np.full(k, np.float32(np.inf))
    order, n_open = np.arange(n), n
    state = np.uint64(seed) + _FIRST_STATE
    for iteration in range(max_iter):
        for c in range(k):
            largest[c] = 0
        state = _shuffle(order, n_open, state)
        place = 0
        while place < n_open:
            row = order[place]
            own = indices[indptr[row] : indptr[row + 1]]
            values = data[indptr[row] : indptr[row + 1]]
            if _visit(own, values, costs[row], W, alpha[row], bar, scores, step, largest):
                place += 1
            else:
                n_open -= 1
                order[place], order[n_open] = order[n_open], row
        worst = np.float32(0)
        for c in range(k):
            worst = max(worst, largest[c])
        if worst > tol:
            for c in range(k):
                bar[c] = max(largest[c], _LEAST_STEP)
        elif n_open == n:
            return iteration + 1
        else:
            n_open = n
            for c in range(k):
                bar[c] = np.inf
    return max_iter


@njit(cache=True, nogil=True)
def local_rows(indptr, indices, data, rows, n_features):
    """Return some rows as a CSR matrix of the features that they have, and which these are."""
    place_of = np.full(n_features, -1, np.int32)
    starts = np.zeros(rows.size + 1, np.int64)
    for place in range(rows.size):
        starts[place + 1] = starts[place] + indptr[rows[place] + 1] - indptr[rows[place]]
    own = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], data.dtype)
    used = np.empty(min(n_features, starts[-1]), np.int32)
    n_used = 0
    for place in range(rows.size):
        begin = indptr[rows[place]]
        for offset in range(starts[place + 1] - starts[place]):
            j = indices[begin + offset]
            if place_of[j] < 0:
                place_of[j] = n_used
                used[n_used] = j
                n_used += 1
            own[starts[place] + offset] = place_of[j]
            values[starts[place] + offset] = data[begin + offset]
    return starts, own, values, used[:n_used]
