"""What the nodes of a level learn: which rows are relevant, and how much each entry counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, State

_MOST_PREVALENT = 0.999


class NodeTargets(NamedTuple):
    """Targets of the nodes of one level, all others zeros of weight 1.

    positives : CSC of shape (n_samples, n_nodes), the weights of the relevant entries
    negatives : CSC of the same shape or None, stored weights of irrelevant entries, 0 to 1
    """

    positives: sparse.csc_array
    negatives: sparse.csc_array | None

    def take(self, rows: np.ndarray) -> NodeTargets:
        """The targets of some rows."""
        negatives = None if self.negatives is None else self.negatives[rows]
        return NodeTargets(self.positives[rows], negatives)

    def costs(self, rows: np.ndarray, nodes: slice, place_of: np.ndarray) -> np.ndarray:
        """Signed weights of some rows and nodes; ``place_of`` says where a row is, or -1."""
        out = np.full((rows.size, nodes.stop - nodes.start), -1.0, dtype=np.float32)
        for part, sign in ((self.negatives, -1), (self.positives, 1)):
            if part is None:
                continue
            for column, node in enumerate(range(nodes.start, nodes.stop)):
                entries = slice(part.indptr[node], part.indptr[node + 1])
                places = place_of[part.indices[entries]]
                out[places[places >= 0], column] = sign * part.data[entries][places >= 0]
        return out


def label_targets(labels: Labels, order: np.ndarray, weights: np.ndarray) -> NodeTargets:
    """Return the targets of the labels themselves: an unknown entry has no weight."""
    positives = labels.positives()[:, order].astype(np.float32)
    positives = sparse.csc_array(positives.multiply(weights[order].astype(np.float32)))
    if not labels.has_unknown:
        return NodeTargets(positives, None)
    unknown = sparse.csc_array(labels.where(State.UNKNOWN)[:, order].astype(np.float32))
    unknown.data[:] = 0.0
    return NodeTargets(positives, unknown)


def node_targets(
    labels: Labels, order: np.ndarray, edges: np.ndarray, prevalence: np.ndarray, weight: float
) -> NodeTargets:
    """Return the targets of nodes above labels, relevant entries with one weight.

    A node is relevant where a known label below is. Elsewhere it is irrelevant with the probability
    that no unknown label below is relevant, the product of 1 - prevalence, and that is the weight of
    the entry: the rest of it says nothing.
    """
    node_of = np.repeat(np.arange(edges.size - 1), np.diff(edges))
    ones = np.ones(order.size, dtype=np.float32)
    member = sparse.csr_array((ones, (order, node_of)), shape=(labels.n_labels, edges.size - 1))
    positives = sparse.csc_array(labels.positives().astype(np.float32) @ member)
    positives.data[:] = weight
    if not labels.has_unknown:
        return NodeTargets(positives, None)
    unknown = labels.where(State.UNKNOWN).astype(np.float32)
    irrelevant = np.log1p(-np.minimum(prevalence, _MOST_PREVALENT)).astype(np.float32)
    left = sparse.csc_array(sparse.csr_array(unknown.multiply(irrelevant)) @ member)
    left.data = np.exp(left.data)
    return NodeTargets(positives, left)
