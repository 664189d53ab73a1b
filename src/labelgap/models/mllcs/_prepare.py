"""Blocks of the model, and what a fit must know of the rows before it starts."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap._extras import require
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.labels import Labels, State
from labelgap.models.mllcs._constrained import Teacher
from labelgap.models.mllcs._rows import Block
from labelgap.models.mllcs._unseen import Anchors

# states and three arrays of their shape are held for a block
_BLOCK_CELLS = 2**24


class Survey(NamedTuple):
    """Sums over rows before a fit."""

    n_rows: int
    squared_norm: float


def survey_block(block: tuple[Any, Labels], local: Any, argument: Any) -> Survey:
    """Scale of some rows, for :meth:`labelgap.fitting.Rows.total`."""
    X = block[0]
    values = X.data if sparse.issparse(X) else X
    return Survey(X.shape[0], float(np.square(values, dtype=np.float64).sum()))


def default_block_rows(n_labels: int) -> int:
    """Rows whose entries fit the memory of one block."""
    return max(256, _BLOCK_CELLS // max(n_labels, 1))


def prepare_block(
    dtype: Any, device: str | None, teacher: Teacher | None, index: int, X: Any, labels: Labels
) -> Block:
    """One block: features ready for products, states of the seen labels, perhaps on a device."""
    states: Any = labels.states()
    features = prepare_features(X.astype(dtype, copy=False))
    soft: Any = None
    if teacher is not None:
        factors = linear_part(features, teacher.weights)
        soft = teacher.soft_labels(factors, labels.where(State.RELEVANT)).astype(dtype)
    if device is not None:
        torch = require("torch", extra="gpu", purpose="device=")
        states = torch.asarray(states, device=device)
        soft = None if soft is None else torch.asarray(soft, device=device)
    return Block(index, features, states, soft)


def block_maker(dtype: Any, device: str | None, teacher: Teacher | None = None) -> Any:
    """:func:`prepare_block` with everything but the rows settled; can be sent elsewhere."""
    return partial(prepare_block, dtype, device, teacher)


def gather_anchors(source: Any, weights: np.ndarray, n_most: int) -> Anchors:
    """Predicted factors and seen labels of at most ``n_most`` evenly spaced rows."""
    step = max(1, -(-source.n_rows // n_most))
    factors, positives = [], []
    for index in range(len(source)):
        X, labels = source[index]
        chosen = np.arange(0, X.shape[0], step)
        X, labels = X[chosen].astype(weights.dtype, copy=False), labels[chosen]
        factors.append(linear_part(prepare_features(X), weights))
        positives.append(labels.where(State.RELEVANT))
    matrix = sparse.csr_array(sparse.vstack(positives))
    return Anchors(np.concatenate(factors), matrix)
