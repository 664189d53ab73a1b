"""Predictions in closed form, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labelgap.fitting import row_slices
from labelgap.kernels.products import prepare_features
from labelgap.kernels.topics import surprise_rates
from labelgap.models.bmlpl._model import Params, linear_part

_BLOCK_CELLS = 2**24


def rate_blocks(params: Params, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """-log P(y = 0 | x) for consecutive rows, few enough to keep the blocks small."""
    n_cells = max(params.topics.shape)
    for part in row_slices(X.shape[0], max(1, _BLOCK_CELLS // n_cells)):
        psi = linear_part(prepare_features(X[part]), params.weights)
        yield part, surprise_rates(psi, params.topics, params.r)


def predict_rates(params: Params, X: Any) -> np.ndarray:
    """-log P(y = 0 | x) of shape (n_rows, n_labels)."""
    rates = np.empty((X.shape[0], params.topics.shape[0]))
    for part, block in rate_blocks(params, X):
        rates[part] = block
    return rates


def predict_topk(params: Params, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k labels of each row with the largest probability, best first, and these."""
    labels = np.empty((X.shape[0], k), dtype=np.intp)
    probabilities = np.empty((X.shape[0], k))
    for part, rates in rate_blocks(params, X):
        best = np.argpartition(-rates, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(rates, best, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        labels[part] = np.take_along_axis(best, order, axis=1)
        probabilities[part] = -np.expm1(-np.take_along_axis(values, order, axis=1))
    return labels, probabilities


def log_odds(rates: np.ndarray) -> np.ndarray:
    """log P(y = 1) / P(y = 0) = log(exp(rate) - 1), finite for a rate of zero."""
    with np.errstate(over="ignore"):
        return np.where(rates > 30, rates, np.log(np.maximum(np.expm1(rates), 1e-300)))


def topic_weights(params: Params, X: Any) -> np.ndarray:
    """E[u | x] = r exp(psi): how much of each topic a row is expected to have."""
    psi = linear_part(prepare_features(X), params.weights)
    return params.r * np.exp(np.minimum(psi, 80.0))
