"""Slow twins of the kernels of the topic model: one entry at a time, from the definitions."""

from __future__ import annotations

import math

import numpy as np


def expected_counts(positives, U, V):
    """E[m_nlk] of every positive entry: totals by row, by label, and sum log(exp(rate) - 1)."""
    by_row, by_label, term = np.zeros(U.shape), np.zeros(V.shape), 0.0
    for n, label in zip(*np.nonzero(positives), strict=True):
        parts = [float(V[label, k]) * float(U[n, k]) for k in range(U.shape[1])]
        rate = sum(parts)
        mean = rate / (1 - math.exp(-rate))
        for k, part in enumerate(parts):
            by_row[n, k] += mean * part / rate
            by_label[label, k] += mean * part / rate
        term += math.log(math.exp(rate) - 1)
    return by_row, by_label, term


def weighted_gram(X, weights):
    """sum_n g_nc x_n x_n' with a one appended to every x_n."""
    X = np.asarray(X, dtype=float)
    out = np.zeros((weights.shape[1], X.shape[1] + 1, X.shape[1] + 1))
    for c in range(weights.shape[1]):
        for n, row in enumerate(X):
            extended = np.append(row, 1.0)
            out[c] += float(weights[n, c]) * np.outer(extended, extended)
    return out


def topic_weights(psi, exposure, counts, r):
    """u = (r + m) / (exp(-psi) + s), and r (log(r + m) - log(1 + s exp(psi))) - ... by row."""
    weights, term = np.zeros(psi.shape), np.zeros(psi.shape[0])
    for n, k in np.ndindex(*psi.shape):
        shape = float(r[k]) + float(counts[n, k])
        x, s = float(psi[n, k]), float(exposure[n, k])
        weights[n, k] = shape / (math.exp(-x) + s)
        term[n] += r[k] * (math.log(shape) - math.log(1 + s * math.exp(x)))
        term[n] -= shape + math.lgamma(r[k])
    return weights, term


def polya_gamma_mean(shape, psi):
    """b tanh(psi/2) / (2 psi) for psi other than zero."""
    return shape * math.tanh(psi / 2) / (2 * psi)


def regression_terms(psi, exposure, counts, r, spread):
    """kappa - omega x and omega, x = psi + log s, with omega at sqrt(x^2 + spread)."""
    residual, omega = np.zeros(psi.shape), np.zeros(psi.shape)
    for n, k in np.ndindex(*psi.shape):
        if exposure[n, k] == 0:
            continue
        x = float(psi[n, k]) + math.log(exposure[n, k])
        total = float(counts[n, k]) + float(r[k])
        omega[n, k] = polya_gamma_mean(total, math.sqrt(x * x + float(spread[n, k])))
        residual[n, k] = (float(counts[n, k]) - float(r[k])) / 2 - omega[n, k] * x
    return residual, omega


def surprise_rates(psi, topics, r):
    """-log prod_k (1 + V_lk exp(psi_nk))^(-r_k), factor by factor."""
    out = np.zeros((psi.shape[0], topics.shape[0]))
    for n, label, k in np.ndindex(*out.shape, psi.shape[1]):
        out[n, label] += r[k] * math.log1p(float(topics[label, k]) * math.exp(psi[n, k]))
    return out
