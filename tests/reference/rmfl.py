"""The objective of RMFL entry by entry, and its steps as written in the paper."""

from __future__ import annotations

import numpy as np


def objective(signed, S, K, penalties, U, V, Z, A, b):
    """Eq. 8 in kernel form and the ridge on V, by loops; ``signed`` is 0 where unknown."""
    lambda_1, lambda_2, lambda_3, lambda_4, ridge = penalties
    m, n_labels = signed.shape
    total = 0.0
    for i in range(m):
        for j in range(n_labels):
            if signed[i, j] != 0:
                total += (signed[i, j] - U[i] @ V[j]) ** 2 / 2
    for i in range(m):
        rebuilt = sum(S[i, j] * U[j] for j in range(m))
        total += lambda_1 / 2 * ((U[i] - rebuilt) ** 2).sum()
        fitted = sum(K[i, j] * A[j] for j in range(m)) + b
        total += lambda_3 / 2 * ((U[i] - fitted) ** 2).sum()
    for i in range(n_labels):
        for j in range(n_labels):
            total += lambda_2 / 2 * (Z[i] @ Z[j]) * (V[i] @ V[j])
        total += ridge / 2 * (V[i] ** 2).sum()
    return total + lambda_4 / 2 * np.trace(A.T @ K @ A)


def printed_regression(K, U, ratio):
    """Eq. 16."""
    m = len(K)
    ones = np.ones((m, m)) / m
    left = K.T @ K + ratio * K - K.T @ ones @ K
    A = np.linalg.solve(left, K.T @ U - K.T @ ones @ U)
    return A, (U - K @ A).mean(axis=0)


def row_sweeps(V, Z, n_sweeps):
    """Exact minimiser of each row of Z, the longest v first."""
    Z = np.array(Z, dtype=float)
    order = sorted(range(len(V)), key=lambda i: (-float((V[i] ** 2).sum()), i))
    for _ in range(n_sweeps):
        for i in order:
            pull = sum((V[i] @ V[j]) * Z[j] for j in range(len(V)) if j != i)
            length = np.linalg.norm(pull)
            if length > 1e-12:
                Z[i] = -pull / length
    return Z
