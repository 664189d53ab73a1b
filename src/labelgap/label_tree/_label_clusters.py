"""Labels in clusters of equal size, by the features of the rows that carry them."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelgap.memory import block_size

_MOST_STEPS = 10
_LEAST_GAIN = 1e-4
# nested halvings of the labels from one level of the tree to the next: at most 64 children
_HALVINGS = 6


def positive_means(X: sparse.csr_array, positives: sparse.csr_array) -> sparse.csr_array:
    """Return the mean of the rows that carry a label, scaled to unit length, for every label.

    Of labels with very many rows some stand for all, so that the means fit the working memory.
    """
    carried = sparse.csr_array(positives.T.astype(X.dtype))
    per_row = max(1.0, X.nnz / max(1, X.shape[0]))
    most = max(1, int(block_size(2, fraction=1 / 4) / per_row))
    return normalize(sparse.csr_array(_fewer(carried, most) @ X))


def _fewer(carried: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return at most so many entries in all, evenly spaced ones of the longest rows."""
    lengths = np.diff(carried.indptr)
    ranked = np.sort(lengths)
    # with at most c of each row there are sum(min(length, c)) entries
    below = np.concatenate([[0], np.cumsum(ranked)[:-1]])
    room = (most - below) // np.arange(lengths.size, 0, -1)
    cut = np.flatnonzero(room < ranked)
    if not cut.size:
        return carried
    limit = max(1, int(room[cut[0]]))
    rank = np.arange(carried.nnz) - np.repeat(carried.indptr[:-1], lengths)
    step = np.repeat(np.maximum(lengths / limit, 1.0), lengths)
    kept = np.floor(rank / step) != np.floor((rank - 1) / step)
    fewer = carried.copy()
    fewer.data = np.where(kept, carried.data, 0)
    fewer.eliminate_zeros()
    return fewer


def level_edges(n_labels: int, max_leaf: int) -> list[np.ndarray]:
    """Return where the nodes of each level above the labels begin and end in the order of labels.

    The labels are halved until no part has more than ``max_leaf``; a level has the parts after some
    of these halvings, spread evenly.
    """
    depth = 0
    while -(-n_labels // 2**depth) > max_leaf:
        depth += 1
    n_levels = -(-depth // _HALVINGS)
    edges = _nested_edges(n_labels, depth)
    cuts = [round(depth * (level + 1) / n_levels) for level in range(n_levels)]
    return [edges[:: 2 ** (depth - cut)] for cut in cuts]


def _nested_edges(n_labels: int, depth: int) -> np.ndarray:
    edges = np.array([0, n_labels])
    for _ in range(depth):
        middle = (edges[:-1] + edges[1:] + 1) // 2
        edges = np.sort(np.concatenate([edges, middle]))
    return edges


def cluster_labels(
    means: sparse.csr_array, max_leaf: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return an order of the labels in which similar ones are neighbours.

    Halved by spherical k-means with two clusters of equal size, again and again, until no part has
    more than ``max_leaf`` labels; the parts are those of :func:`level_edges`.
    """
    parts = [np.arange(means.shape[0])]
    while parts[0].size > max_leaf:
        parts = [half for part in parts for half in _halves(means, part, rng)]
    return np.concatenate(parts)


def _halves(
    means: sparse.csr_array, part: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    rows = means[part]
    size = (part.size + 1) // 2
    first, second = rng.choice(part.size, 2, replace=False)
    direction = rows[[first, second]].toarray()
    before = -np.inf
    for _ in range(_MOST_STEPS):
        likeness = rows @ (direction[0] - direction[1])
        order = np.argsort(-likeness, kind="stable")
        halves = order[:size], order[size:]
        gain = likeness[halves[0]].sum() - likeness[halves[1]].sum()
        if gain <= before + _LEAST_GAIN * abs(before):
            break
        before = gain
        direction = normalize(np.vstack([np.ravel(rows[half].sum(axis=0)) for half in halves]))
    return part[np.sort(halves[0])], part[np.sort(halves[1])]
