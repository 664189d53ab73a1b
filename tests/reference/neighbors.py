"""Slow twins of the neighbour graph and of the reconstruction weights: one row at a time."""

from __future__ import annotations

import numpy as np


def nearest_rows(X, n_neighbors):
    """Sets of the nearest other rows."""
    found = []
    for i, row in enumerate(X):
        distances = np.array([np.linalg.norm(row - other) for other in X])
        distances[i] = np.inf
        found.append(set(np.argsort(distances, kind="stable")[:n_neighbors].tolist()))
    return found


def reconstruction_weights(X, neighbors, reg):
    """Dense S; minimises |x_i - sum_j s_j x_j|^2 + reg tr(G) |s|^2 with 1's = 1 by Lagrange."""
    S = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbors):
        near = sorted(near)
        if not near:
            S[i, i] = 1
            continue
        k = len(near)
        G = np.array([[(X[i] - X[a]) @ (X[i] - X[b]) for b in near] for a in near])
        ridge = reg * np.trace(G) if np.trace(G) > 0 else 1.0
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = 2 * (G + ridge * np.eye(k))
        system[:k, k] = system[k, :k] = 1
        S[i, near] = np.linalg.solve(system, np.append(np.zeros(k), 1.0))[:k]
    return S
