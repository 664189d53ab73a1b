"""Predictions in closed form, a block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.fitting import row_slices
from labelgap.kernels.products import Features, linear_part
from labelgap.kernels.topics import surprise_rates
from labelgap.models.bmlpl._model import Params

_BLOCK_CELLS = 2**22


def row_blocks(params: Params, n_rows: int) -> list[slice]:
    """Consecutive rows, few enough for all labels and all topics of a block to fit in memory."""
    return row_slices(n_rows, max(1, _BLOCK_CELLS // max(params.topics.shape)))


def predict_rates(params: Params, X: Any) -> np.ndarray:
    """-log P(y = 0 | x) of shape (n_rows, n_labels)."""
    rates = np.empty((X.shape[0], params.topics.shape[0]))
    for part in row_blocks(params, X.shape[0]):
        psi = linear_part(Features(X[part], None), params.weights)
        rates[part] = surprise_rates(psi, params.topics, params.r)
    return rates


def best_columns(scores: np.ndarray, k: int) -> np.ndarray:
    """The k columns of each row with the largest scores, best first."""
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def log_odds(rates: np.ndarray) -> np.ndarray:
    """log P(y = 1) / P(y = 0) = log(exp(rate) - 1), finite for a rate of zero."""
    with np.errstate(over="ignore"):
        return np.where(rates > 30, rates, np.log(np.maximum(np.expm1(rates), 1e-300)))


def topic_weights(params: Params, X: Any) -> np.ndarray:
    """E[u | x] = r exp(psi): how much of each topic a row is expected to have."""
    psi = linear_part(Features(X, None), params.weights)
    return params.r * np.exp(np.minimum(psi, 80.0))
