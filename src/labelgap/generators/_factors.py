"""The logistic factor model that most generators share.

    u_n ~ N(W' x_n, noise^2 I),   P(y_nl = 1) = sigmoid(signal u_n . b_l + c_l)

with W zero in the rows of irrelevant features, and c_l such that label l has the asked density.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.generators._checks import check_count, check_density, check_positive
from labelgap.labels import Labels


class FactorModel(NamedTuple):
    """Sizes and scales of the model, validated."""

    n_rows: int
    n_features: int
    n_labels: int
    n_factors: int
    n_relevant: int
    density: np.ndarray
    signal: float
    noise: float


def check_model(
    n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise
) -> FactorModel:
    n_features = check_count("n_features", n_features)
    n_labels = check_count("n_labels", n_labels)
    if n_relevant is None:
        n_relevant = (n_features + 1) // 2
    return FactorModel(
        check_count("n_rows", n_rows),
        n_features,
        n_labels,
        check_count("n_factors", n_factors),
        check_count("n_relevant", n_relevant, most=n_features),
        check_density(density, n_labels),
        check_positive("signal", signal),
        check_positive("noise", noise, zero=True),
    )


def draw_features(model: FactorModel, rng: np.random.Generator):
    """Features, the relevant ones among them, W (n_features, n_factors) and U (n_rows, ...)."""
    X = rng.normal(size=(model.n_rows, model.n_features))
    relevant = np.zeros(model.n_features, dtype=bool)
    relevant[rng.choice(model.n_features, model.n_relevant, replace=False)] = True
    W = np.zeros((model.n_features, model.n_factors))
    W[relevant] = rng.normal(size=(model.n_relevant, model.n_factors)) / np.sqrt(model.n_relevant)
    U = X @ W + model.noise * rng.normal(size=(model.n_rows, model.n_factors))
    return X, relevant, W, U


def draw_labels(scores: np.ndarray, density: np.ndarray, rng: np.random.Generator):
    """Labels with logit ``scores + intercept``, the intercepts, and the probabilities."""
    intercept = calibrate(scores, density)
    probabilities = expit(scores + intercept)
    positives = rng.random(scores.shape) < probabilities
    return Labels.from_dense(positives.astype(np.int8)), intercept, probabilities


def calibrate(scores: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Intercepts with ``mean_n sigmoid(scores_nl + intercept_l) = density_l``, by bisection."""
    logit = np.log(density) - np.log1p(-density)
    low, high = logit - scores.max(axis=0), logit - scores.min(axis=0)
    for _ in range(60):
        middle = (low + high) / 2
        too_dense = expit(scores + middle).mean(axis=0) > density
        low, high = np.where(too_dense, low, middle), np.where(too_dense, middle, high)
    return (low + high) / 2
