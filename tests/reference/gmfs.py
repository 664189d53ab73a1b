"""Slow twin of an EM iteration of GMFS: one row, one label, one entry at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from reference.exposure import log_probability, look_probability

RELEVANT, NEGATIVE, UNKNOWN, UNLABELED = 1, 2, 3, 4
INTERCEPT_PRECISION, BIAS_PRECISION = 1e-3, 1e-2


class State(NamedTuple):
    """V (n x c), B (L x c), a (L), W (d + 1 x c), theta (n x L) or None."""

    V: np.ndarray
    B: np.ndarray
    a: np.ndarray
    W: np.ndarray
    theta: Any


def psi(state: State, i: int, j: int) -> float:
    return float(state.V[i] @ state.B[j] + state.a[j])


def gammas(states: np.ndarray, state: State) -> np.ndarray:
    """P(looked | record) of every entry, 0 where it is unknown."""
    out = np.zeros(states.shape)
    for i, j in np.ndindex(*states.shape):
        theta = None if state.theta is None else float(state.theta[i, j])
        out[i, j] = look_probability(psi(state, i, j), states[i, j], theta)
    return out


def in_slab(w: np.ndarray, spike: float, slab: float) -> bool:
    """Whether the Gaussian of the slab is the larger one at this row, by their densities."""

    def log_density(variance):
        return sum(-0.5 * (x * x / variance + math.log(2 * math.pi * variance)) for x in w)

    return log_density(slab) >= log_density(spike)


def objective(X, states, state: State, *, lambda_v, lambda_b, spike, slab) -> float:
    """J, up to the constants of the Gaussians."""
    value = 0.0
    for i, j in np.ndindex(*states.shape):
        theta = None if state.theta is None else float(state.theta[i, j])
        value += log_probability(psi(state, i, j), states[i, j], theta)
    for x, v in zip(X, state.V, strict=True):
        value -= 0.5 * lambda_v * sum((v - np.append(x, 1.0) @ state.W) ** 2)
    value -= 0.5 * lambda_b * sum(b**2 for b in state.B.ravel())
    value -= 0.5 * BIAS_PRECISION * sum(a**2 for a in state.a)
    for w in state.W[:-1]:
        variance = slab if in_slab(w, spike, slab) else spike
        value -= 0.5 * sum(x * x / variance + math.log(variance) for x in w)
    return float(value - 0.5 * INTERCEPT_PRECISION * sum(state.W[-1] ** 2))


def iterate(X, states, state: State, *, lambda_v, lambda_b, spike, slab) -> State:
    """E step, then V, B with a, and W, each given what came before it; theta stays."""
    n, n_labels = states.shape
    gamma = gammas(states, state)
    zeta = np.array([[pg_mean(psi(state, i, j)) for j in range(n_labels)] for i in range(n)])
    kappa = np.where(states == RELEVANT, 0.5, -0.5)
    ones = np.column_stack([X, np.ones(n)])
    c = state.B.shape[1]
    V = np.empty_like(state.V)
    for i in range(n):
        left, right = lambda_v * np.eye(c), lambda_v * (ones[i] @ state.W)
        for j in range(n_labels):
            b, weight = state.B[j], gamma[i, j]
            left = left + weight * zeta[i, j] * np.outer(b, b)
            right = right + weight * (kappa[i, j] - zeta[i, j] * state.a[j]) * b
        V[i] = np.linalg.solve(left, right)
    B, a = np.empty_like(state.B), np.empty_like(state.a)
    for j in range(n_labels):
        left = np.diag(np.append(np.full(c, lambda_b), BIAS_PRECISION))
        right = np.zeros(c + 1)
        for i in range(n):
            v, weight = np.append(V[i], 1.0), gamma[i, j]
            left = left + weight * zeta[i, j] * np.outer(v, v)
            right = right + weight * kappa[i, j] * v
        solution = np.linalg.solve(left, right)
        B[j], a[j] = solution[:-1], solution[-1]
    precision = [1 / (slab if in_slab(w, spike, slab) else spike) for w in state.W[:-1]]
    A = np.diag([*precision, INTERCEPT_PRECISION])
    W = np.linalg.solve(lambda_v * ones.T @ ones + A, lambda_v * ones.T @ V)
    return State(V, B, a, W, state.theta)


def pg_mean(x: float) -> float:
    return 0.25 if abs(x) < 1e-9 else math.tanh(x / 2) / (2 * x)


def neighbor_theta(gamma, told, neighbors, *, rate, weight, s) -> np.ndarray:
    """theta of every entry from its neighbours' gammas, by the formula of the beta mode."""
    out = np.empty(gamma.shape)
    for i, j in np.ndindex(*gamma.shape):
        n_j = told[:, j].sum()
        around = sum(gamma[e, j] for e in neighbors[i])
        total = sum(g for g, t in zip(gamma[:, j], told[:, j], strict=True) if t)
        top = weight * n_j * rate + total + (s - 1) * around
        out[i, j] = top / (weight * n_j + n_j + (s - 1) * around)
    return out
