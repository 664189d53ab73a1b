"""Starts for estimators with ``init=``, and the same starts for permuted data.

A start is made for X and Y; a permuted one takes indices of rows, labels and features, or
``slice(None)`` for what stays.
"""

from __future__ import annotations

import numpy as np


def topic_start(X, Y):
    """Topics and weights for one topic per label, the intercept in the last row of the weights."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(Y.shape[1]), Y.shape[1]).T
    return topics, 0.1 * rng.normal(size=(X.shape[1] + 1, Y.shape[1]))


def permute_topic_start(init, rows, labels, features):
    topics, weights = init
    return topics[labels], np.vstack([weights[:-1][features], weights[-1:]])


def factor_start(X, Y):
    """Row factors and label directions for two factors."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(X.shape[0], 2)), rng.normal(size=(Y.shape[1], 3))


def permute_factor_start(init, rows, labels, features):
    U, Z = init
    return U[rows], Z[labels]


def two_factor_start(X, Y):
    """Factors of rows and labels."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(X.shape[0], 2)), rng.normal(size=(Y.shape[1], 2))


def row_start(X, Y):
    """Two numbers for every row."""
    return np.random.default_rng(0).normal(size=(X.shape[0], 2))


def permute_row_start(init, rows, labels, features):
    return init[rows]


def exposure_start(X, Y):
    """Label factors, weights with the intercept last, and rates."""
    rng = np.random.default_rng(0)
    k = Y.shape[1]
    return rng.normal(size=(k, k)), rng.normal(size=(X.shape[1] + 1, k)), np.linspace(0.5, 0.9, k)


def permute_exposure_start(init, rows, labels, features):
    V, W, mu = init
    return V[labels], np.vstack([W[:-1][features], W[-1:]]), mu[labels]


def subspace_start(X, Y):
    """Loadings of the features on as many factors."""
    return np.random.default_rng(0).gamma(2.0, size=(X.shape[1], X.shape[1]))


def permute_subspace_start(init, rows, labels, features):
    return init[features]


def direction_start(n_groups):
    """Row factors, label factors and label directions of every group, two columns each."""

    def start(X, Y):
        rng = np.random.default_rng(0)
        sizes = ((X.shape[0], 2), (Y.shape[1], 2), (n_groups, Y.shape[1], 2))
        return tuple(rng.normal(size=size) for size in sizes)

    return start


def permute_direction_start(init, rows, labels, features):
    V, U, Z = init
    return V[rows], U[labels], Z[:, labels]
