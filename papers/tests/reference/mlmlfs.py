"""The published code of MLMLFS step by step, with the identity where it has a one, or not."""

from __future__ import annotations

import numpy as np

EPS = np.finfo(float).eps


def step_map(X, Y, G0, G2, lap, alpha, weight, *, fault):
    """W for given weights; the intercept is eliminated by N and H."""
    n = len(X)
    ones = np.ones((n, n))
    m = G0.sum() + alpha * lap.sum()
    H = np.eye(n) - ones * G0 / m
    N = np.eye(n) - ones @ (np.diag(G0) + alpha * lap) / m
    both = np.diag(G0) + alpha * lap
    matrix = X.T @ N.T @ both @ N @ X + weight * np.diag(G2)
    wrong = alpha * lap @ (H - 1 if fault else H - np.eye(n))
    return np.linalg.pinv(matrix) @ X.T @ N.T @ (np.diag(G0) @ H + wrong) @ Y


def iterate(X, Y, W, b, lap, alpha, weight, p, n_iter, *, fault):
    """W, b and labels filled in; labels are -1 and 1, and 0 where they are missing."""
    given, Y = Y, Y.astype(float).copy()
    G2 = np.ones(X.shape[1])
    G0 = _row_weights(X @ W + b - Y)
    for _ in range(n_iter):
        W = step_map(X, Y, G0, G2, lap, alpha, weight, fault=fault)
        G2 = p / 2 * ((W**2).sum(axis=1) + EPS) ** (p / 2 - 1)
        G0 = _row_weights(X @ W + b - Y)
        m = G0.sum() + alpha * lap.sum()
        b = (Y.T @ G0 - W.T @ X.T @ (G0 + alpha * lap.sum(axis=1))) / m
        fitted = X @ W + b
        Y = np.where(given == 0, np.clip(fitted, -1, 1), given)
    return W, b, Y


def _row_weights(residual):
    return 0.5 / np.sqrt((residual**2).sum(axis=1) + EPS)
