"""One level of a beam search down a tree whose nodes have sparse linear models.

Rows that reached the same node are scored together: the coefficients of its children are spread out
once, side by side for each feature, and serve all these rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from labelgap.kernels.block_descent import row_scores

__all__ = ["child_margins", "most_probable"]


@njit(cache=True, nogil=True)
def child_margins(X, weights, intercepts, starts, parents, pairs, n_features, margins):
    """Write the margins of all children of the nodes that rows reached.

    Parameters
    ----------
    X, weights : (indptr, indices, data) of CSR matrices
        Rows of features, and one row of coefficients per child.
    intercepts : array of shape (n_children,)
    starts : int array of shape (n_parents + 1,)
        The children of parent p are ``starts[p]`` to ``starts[p + 1]``.
    parents : int array of shape (n_rows, width)
        Nodes that each row reached, or -1.
    pairs : int array
        Flat positions in ``parents`` in the order of the nodes there; those of -1 first.
    n_features : int
    margins : float32 array of shape (n_rows, width, most_children)
        Written where there are children.
    """
    indptr, indices, data = X
    weight_starts, weight_indices, weight_data = weights
    width = parents.shape[1]
    place_of = np.full(n_features, -1, np.int32)
    flat = parents.ravel()
    first = 0
    while first < pairs.size and flat[pairs[first]] < 0:
        first += 1
    while first < pairs.size:
        parent = flat[pairs[first]]
        low, high = starts[parent], starts[parent + 1]
        begin, end = weight_starts[low], weight_starts[high]
        n_used = 0
        for entry in range(begin, end):
            if place_of[weight_indices[entry]] < 0:
                place_of[weight_indices[entry]] = n_used
                n_used += 1
        W = np.zeros((n_used, high - low), np.float32)
        for child in range(low, high):
            for entry in range(weight_starts[child], weight_starts[child + 1]):
                W[place_of[weight_indices[entry]], child - low] = weight_data[entry]
        while first < pairs.size and flat[pairs[first]] == parent:
            row, rank = pairs[first] // width, pairs[first] % width
            size = indptr[row + 1] - indptr[row]
            own, values = np.empty(size, np.int32), np.empty(size, np.float32)
            n_own = 0
            for entry in range(indptr[row], indptr[row + 1]):
                if place_of[indices[entry]] >= 0:
                    own[n_own], values[n_own] = place_of[indices[entry]], data[entry]
                    n_own += 1
            out = margins[row, rank, : high - low]
            for child in range(low, high):
                out[child - low] = intercepts[child]
            row_scores(own[:n_own], values[:n_own], W, out)
            first += 1
        for entry in range(begin, end):
            place_of[weight_indices[entry]] = -1


@njit(cache=True, nogil=True)
def most_probable(margins, starts, parents, log_odds, mix, nodes, node_log_odds):
    """Keep the most probable children of each row, best first; -1 and -inf where there are fewer.

    The log-odds of a child are ``mix[0] + mix[1] * (its parent's) + mix[2] * margin``. Of equal ones the
    first node comes first.
    """
    width = nodes.shape[1]
    for row in range(parents.shape[0]):
        n_found = 0
        for rank in range(parents.shape[1]):
            parent = parents[row, rank]
            if parent < 0:
                continue
            above = mix[0] + mix[1] * log_odds[row, rank]
            for child in range(starts[parent], starts[parent + 1]):
                value = above + mix[2] * margins[row, rank, child - starts[parent]]
                if n_found == width and not (
                    value > node_log_odds[row, width - 1]
                    or (value == node_log_odds[row, width - 1] and child < nodes[row, width - 1])
                ):
                    continue
                place = min(n_found, width - 1)
                while place > 0 and (
                    value > node_log_odds[row, place - 1]
                    or (value == node_log_odds[row, place - 1] and child < nodes[row, place - 1])
                ):
                    nodes[row, place] = nodes[row, place - 1]
                    node_log_odds[row, place] = node_log_odds[row, place - 1]
                    place -= 1
                nodes[row, place], node_log_odds[row, place] = child, value
                n_found = min(n_found + 1, width)
        for place in range(n_found, width):
            nodes[row, place] = -1
            node_log_odds[row, place] = -np.inf
