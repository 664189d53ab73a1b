"""Graphs of similar rows, and how much a function of the rows varies along them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.kernels.neighbors import nearest_rows

__all__ = ["heat_graph", "laplacian"]


def heat_graph(X: Any, n_neighbors: int) -> sparse.csr_array:
    """Similarities exp(-||x - z||^2 / (2 t^2)) of rows that are neighbours either way.

    t^2 is the mean of ||x - z||^2 over the pairs of the graph; rows that all coincide have the
    similarity 1.

    X : array or sparse matrix of shape (n, d)
    n_neighbors : int
    Returns csr_array of shape (n, n). Symmetric, with an empty diagonal.
    """
    graph = nearest_rows(X, n_neighbors)
    pairs = (graph + graph.T).tocoo()
    rows, others = pairs.coords
    squares = np.empty(len(rows))
    step = max(1, 2**22 // max(1, X.shape[1]))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        difference = X[rows[part]] - X[others[part]]
        if sparse.issparse(difference):
            difference = difference.toarray()
        squares[part] = np.einsum("pd,pd->p", difference, difference)
    width = squares.mean() if len(squares) else 0.0
    values = np.exp(-squares / (2 * width)) if width > 0 else np.ones(len(squares))
    return sparse.csr_array((values, (rows, others)), shape=graph.shape)


def laplacian(similarity: Any) -> sparse.csr_array:
    """D - S for similarities S with row sums D: tr(F'(D - S)F) = 1/2 sum S_ij ||f_i - f_j||^2.

    S is made symmetric; its diagonal cancels.
    """
    S = sparse.csr_array(similarity, dtype=np.float64)
    S = (S + S.T) / 2
    return sparse.csr_array(sparse.diags_array(np.asarray(S.sum(axis=1)).ravel()) - S)
