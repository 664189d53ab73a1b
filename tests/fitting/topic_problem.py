"""A small problem for the topic model, cut into blocks that every kind of rows must agree on."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from labelgap.fitting import Monitor, run_em
from labelgap.kernels.latent_counts import prepare_positives
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels, State
from labelgap.models.bmlpl._bmlpl_em import BMLPLBlock, BMLPLParams, Mask, TopicModel

N_ROWS, N_FEATURES, N_LABELS, N_TOPICS = 70, 6, 9, 3
BLOCK_ROWS = 16
MODEL = TopicModel()


def problem(*, dense: bool = False, gaps: bool = False, n_samples: int = N_ROWS):
    """Features and labels; with gaps, a tenth of the entries are unknown."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_samples, N_FEATURES)) * (rng.random((n_samples, N_FEATURES)) < 0.5)
    Y = (rng.random((n_samples, N_LABELS)) < 0.3).astype(float)
    Y[np.arange(n_samples), rng.integers(N_LABELS, size=n_samples)] = 1
    if gaps:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    names = [f"label {j}" for j in range(N_LABELS)]
    return X if dense else sparse.csr_array(X), Labels.from_dense(Y, names=names)


def prepare_rows(masked: bool, index: int, X, labels: Labels) -> BMLPLBlock:
    mask = None
    if masked:
        mask = Mask(prepare_features(labels.where(State.UNKNOWN).astype(float)), True)
    return BMLPLBlock(index, prepare_features(X), prepare_positives(labels.positives()), mask)


def prepare(gaps: bool):
    return partial(prepare_rows, gaps)


def start() -> BMLPLParams:
    rng = np.random.default_rng(3)
    topics = rng.random((N_LABELS, N_TOPICS))
    weights = np.zeros((N_FEATURES + 1, N_TOPICS))
    tau = np.full(N_FEATURES + 1, 1.0)
    return BMLPLParams(topics / topics.sum(axis=0), weights, np.full(N_TOPICS, 0.5), tau, None)


def fit(rows, *, max_iter=6, tol=0.0, callback=None, checkpoint=None, model=MODEL):
    """Parameters and trace of an EM fit."""
    return run_em(model, rows, start(), Monitor(max_iter, tol, callback), checkpoint)


def same(left: BMLPLParams, right: BMLPLParams) -> bool:
    """Bitwise equality of all parameters."""
    pairs = zip(left, right, strict=True)
    return all(a is b is None or np.array_equal(a, b) for a, b in pairs)
