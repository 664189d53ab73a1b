"""A beam search written row by row, node by node."""

from __future__ import annotations

import numpy as np


def advance(X, weights, intercepts, starts, parents, log_odds, mix, width):
    """The most probable children of each row, and their log-odds: dense X and weights."""
    nodes = np.full((X.shape[0], width), -1)
    found = np.full((X.shape[0], width), -np.inf)
    for row, x in enumerate(X):
        candidates = []
        for parent, above in zip(parents[row], log_odds[row], strict=True):
            if parent < 0:
                continue
            for child in range(starts[parent], starts[parent + 1]):
                margin = x @ weights[child] + intercepts[child]
                candidates.append((-(mix[0] + mix[1] * above + mix[2] * margin), child))
        for place, (value, child) in enumerate(sorted(candidates)[:width]):
            nodes[row, place], found[row, place] = child, -value
    return nodes, found
