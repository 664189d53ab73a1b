"""The published code of MIFS: gradient steps of a fixed length on V, B and W."""

from __future__ import annotations

import numpy as np

EPS = np.finfo(float).eps


def gradients(X, Y, lap, W, V, B, D, alpha, beta, gamma, *, fault=False):
    """Half the gradients for V, B and W, with row norms of W as squares weighted by D.

    The fault is the lack of alpha in the second.
    """
    for_V = (V - X @ W) + alpha * (V @ B - Y) @ B.T + beta * lap @ V
    for_B = (1.0 if fault else alpha) * V.T @ (V @ B - Y)
    for_W = X.T @ (X @ W - V) + gamma * D[:, None] * W
    return for_V, for_B, for_W


def iterate(X, Y, lap, W, V, B, alpha, beta, gamma, step, n_iter, *, fault):
    D = np.ones(len(W))
    for _ in range(n_iter):
        weights = (alpha, beta, gamma)
        V = V - step * gradients(X, Y, lap, W, V, B, D, *weights, fault=fault)[0]
        B = B - step * gradients(X, Y, lap, W, V, B, D, *weights, fault=fault)[1]
        W = W - step * gradients(X, Y, lap, W, V, B, D, *weights, fault=fault)[2]
        D = 0.5 / np.sqrt((W**2).sum(axis=1) + EPS)
    return W, V, B


def objective(X, Y, lap, W, V, B, alpha, beta, gamma):
    value = ((X @ W - V) ** 2).sum() + alpha * ((Y - V @ B) ** 2).sum()
    return value + beta * np.trace(V.T @ lap @ V) + gamma * np.sqrt((W**2).sum(axis=1)).sum()
