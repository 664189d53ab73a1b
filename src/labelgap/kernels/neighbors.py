"""Graphs of nearest rows, how each row is put together from its neighbours, mean distances."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_chunked
from sklearn.neighbors import NearestNeighbors

from labelgap.memory import block_size

__all__ = [
    "APPROXIMATE_PACKAGE",
    "given_graph",
    "mean_distance_gamma",
    "nearest_rows",
    "reconstruction_weights",
]

APPROXIMATE_PACKAGE = "pynndescent"


def nearest_rows(
    X: Any,
    n_neighbors: int,
    *,
    method: str = "exact",
    metric: str = "euclidean",
    random_state: int = 0,
) -> sparse.csr_array:
    """Return the nearest other rows of every row.

    X : array or sparse matrix of shape (n, d); distances of shape (n, n) for "precomputed"
    n_neighbors : int. At most n - 1 are found. A row is never its own neighbour, its duplicates may
        be.
    method : {"exact", "approximate"}, default="exact". Approximate neighbours come from
        nearest-neighbour descent, which needs the package ``pynndescent``.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    random_state : int, default=0. For approximate neighbours.
    Returns csr_array of shape (n, n). Ones at the neighbours.
    """
    n = X.shape[0]
    wanted = min(n_neighbors, n - 1)
    if wanted < 1:
        return sparse.csr_array((n, n))
    if method == "exact":
        # a tree and brute force break ties in different orders: one search for every layout
        search = NearestNeighbors(n_neighbors=wanted, algorithm="brute", metric=metric)
        neighbors = search.fit(X).kneighbors(return_distance=False)
    elif metric == "precomputed":
        raise ValueError("method='approximate': distances are there already; use 'exact'")
    else:
        neighbors = _descent(X, wanted, random_state)
    return _graph(np.sort(neighbors, axis=1))


def _descent(X: Any, n_neighbors: int, random_state: int) -> np.ndarray:
    library = importlib.import_module(APPROXIMATE_PACKAGE)
    index = library.NNDescent(X, n_neighbors=n_neighbors + 1, random_state=random_state)
    found, _ = index.neighbor_graph
    others = np.empty((X.shape[0], n_neighbors), dtype=np.intp)
    for i, row in enumerate(found):
        others[i] = row[row != i][:n_neighbors]
    return others


def _graph(neighbors: np.ndarray) -> sparse.csr_array:
    n, width = neighbors.shape
    starts = np.arange(0, n * width + 1, width)
    ones = np.ones(n * width)
    return sparse.csr_array((ones, neighbors.ravel(), starts), shape=(n, n))


def given_graph(graph: Any, n_samples: int) -> sparse.csr_array:
    """Return a neighbour graph of the user: entries that are stored are neighbours, the diagonal is not.

    graph : sparse matrix of shape (n_samples, n_samples). As from
        :class:`sklearn.neighbors.KNeighborsTransformer`; values do not matter.
    n_samples : int
    """
    if graph.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph has the shape {tuple(graph.shape)}: it must be (n_samples, n_samples) = "
            f"({n_samples}, {n_samples}), rows x their neighbours"
        )
    entries = sparse.coo_array(graph)
    other = entries.row != entries.col
    places = (entries.row[other], entries.col[other])
    found = sparse.csr_array((np.ones(int(other.sum())), places), shape=graph.shape)
    found.sum_duplicates()
    found.data[:] = 1
    return found


def reconstruction_weights(
    X: Any, graph: sparse.csr_array, *, reg: float = 1e-3, kernel: bool = False
) -> sparse.csr_array:
    """Weights that sum to one and rebuild each row from its neighbours (locally linear embedding).

    For row i with neighbours N and local Gram matrix G_jk = (x_i - x_j) . (x_i - x_k),

        min_s  s'(G + reg tr(G) I) s   with  1's = 1,

    whose solution is proportional to (G + reg tr(G) I)^-1 1. The regularisation keeps the weights
    unique where neighbours are dependent, as they are when there are more of them than features;
    where all of them equal the row itself, they get equal weights.

    X : array or sparse matrix of shape (n, d). Or, with ``kernel``, inner products of shape (n, n).
    graph : csr_array of shape (n, n). Neighbours; a row without any is rebuilt from itself.
    reg : float, default=0.001
    kernel : bool, default=False
    Returns csr_array of shape (n, n)

    References
    ----------
    S. T. Roweis, L. K. Saul. "Nonlinear dimensionality reduction by locally linear embedding."
    Science 290, 2000.
    """
    n = graph.shape[0]
    widths = np.diff(graph.indptr)
    weights = np.zeros(graph.nnz)
    for width in np.unique(widths[widths > 0]):
        members = np.flatnonzero(widths == width)
        cells = int(width) * (int(width) if kernel else X.shape[1])
        size = block_size(cells)
        for start in range(0, len(members), size):
            rows = members[start : start + size]
            places = graph.indptr[rows][:, None] + np.arange(width)
            gram = _local_grams(X, rows, graph.indices[places], kernel)
            weights[places] = _solve_local(gram, reg)
    alone = np.flatnonzero(widths == 0)
    itself = sparse.csr_array((np.ones(len(alone)), (alone, alone)), shape=(n, n))
    return sparse.csr_array((weights, graph.indices, graph.indptr), shape=(n, n)) + itself


def _local_grams(X: Any, rows: np.ndarray, neighbors: np.ndarray, kernel: bool) -> np.ndarray:
    if kernel:
        cross = X[rows[:, None], neighbors]
        among = X[neighbors[:, :, None], neighbors[:, None, :]]
        own = X[rows, rows][:, None, None]
        return own - cross[:, :, None] - cross[:, None, :] + among
    shape = (*neighbors.shape, X.shape[1])
    if sparse.issparse(X):
        near = X[neighbors.ravel()].toarray().reshape(shape)
        difference = X[rows].toarray()[:, None, :] - near
    else:
        difference = X[rows][:, None, :] - X[neighbors]
    return difference @ difference.transpose(0, 2, 1)


def _solve_local(gram: np.ndarray, reg: float) -> np.ndarray:
    width = gram.shape[1]
    trace = np.trace(gram, axis1=1, axis2=2)
    ridge = np.where(trace > 0, reg * trace, 1.0)
    matrices = gram + ridge[:, None, None] * np.eye(width)
    solution = np.linalg.solve(matrices, np.ones((len(gram), width, 1)))[:, :, 0]
    return solution / solution.sum(axis=1, keepdims=True)


def mean_distance_gamma(X: Any) -> float:
    """Return 1 / (2 width^2), the width being the mean distance of two different rows."""
    n_samples = X.shape[0]
    total = sum(float(block.sum()) for block in pairwise_distances_chunked(X))
    if total == 0:
        return 1.0
    return 1 / (2 * (total / (n_samples * (n_samples - 1))) ** 2)
