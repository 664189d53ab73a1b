"""Slow twins of the WARP kernels: one label at a time, as the loss is defined."""

from __future__ import annotations

import numpy as np


def harmonic(n):
    return sum(1 / i for i in range(1, n + 1))


def warp_steps(generator, X, pairs, others, A, B, learning_rate, max_norm):
    """Dense X (n, d) and others (n, L); returns new A, B and the number of violated pairs."""
    A, B, n_violated = A.copy(), B.copy(), 0
    for row, label in pairs:
        candidates = np.flatnonzero(others[row])
        u = A.T @ X[row]
        own = u @ B[label]
        for n_draws in range(1, len(candidates) + 1):
            other = candidates[int(generator.random() * len(candidates))]
            if 1 + u @ B[other] - own <= 0:
                continue
            step = learning_rate * harmonic(len(candidates) // n_draws)
            change = np.outer(X[row], step * (B[label] - B[other]))
            B[label] = shortened(B[label] + step * u, max_norm)
            B[other] = shortened(B[other] - step * u, max_norm)
            for f in np.flatnonzero(X[row]):
                A[f] = shortened(A[f] + change[f], max_norm)
            n_violated += 1
            break
    return A, B, n_violated


def shortened(v, max_norm):
    return v * min(1.0, max_norm / np.linalg.norm(v))


def warp_loss(positives, others, U, B):
    total = 0.0
    for row, label in zip(*np.nonzero(positives), strict=True):
        margins = 1 + U[row] @ B[others[row]].T - U[row] @ B[label]
        violated = margins[margins > 0]
        if violated.size:
            total += harmonic(violated.size) * violated.mean()
    return total
