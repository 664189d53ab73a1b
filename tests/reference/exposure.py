"""Slow twin of the E step of label entries: one entry at a time, from the probabilities."""

from __future__ import annotations

import math

import numpy as np

RELEVANT, NEGATIVE, UNKNOWN, UNLABELED = 1, 2, 3, 4


def log_sigmoid(psi: float) -> float:
    return -math.log1p(math.exp(-psi)) if psi >= 0 else psi - math.log1p(math.exp(psi))


def log_probability(psi: float, state: int, theta: float | None) -> float:
    """Of what is recorded: a look that found the label, a known zero, a zero perhaps unseen."""
    if state == UNKNOWN:
        return 0.0
    if state == RELEVANT:
        return log_sigmoid(psi) + (0.0 if theta is None else math.log(theta))
    if state == UNLABELED and theta is not None:
        # nobody looked, or somebody did and found nothing
        return math.log((1 - theta) + theta * math.exp(log_sigmoid(-psi)))
    return log_sigmoid(-psi)


def look_probability(psi: float, state: int, theta: float | None) -> float:
    """P(somebody looked | the record)."""
    if state == UNKNOWN:
        return 0.0
    if state == UNLABELED and theta is not None:
        looked = theta * math.exp(log_sigmoid(-psi))
        return looked / (looked + (1 - theta))
    return 1.0


def label_terms(psi, states, theta=None):
    """kappa, omega, log-likelihood, expected looks at unlabeled zeros per label."""
    psi = np.asarray(psi, dtype=float)
    kappa, omega = np.zeros(psi.shape), np.zeros(psi.shape)
    looked_at, total = np.zeros(psi.shape[1]), 0.0
    for n in range(psi.shape[0]):
        for j in range(psi.shape[1]):
            x, state = psi[n, j], states[n, j]
            rate = None if theta is None else float(theta[j])
            looked = look_probability(x, state, rate)
            kappa[n, j] = looked * (0.5 if state == RELEVANT else -0.5)
            omega[n, j] = looked * (0.25 if abs(x) < 1e-9 else math.tanh(x / 2) / (2 * x))
            total += log_probability(x, state, rate)
            if state == UNLABELED and rate is not None:
                looked_at[j] += looked
    return kappa, omega, total, looked_at
