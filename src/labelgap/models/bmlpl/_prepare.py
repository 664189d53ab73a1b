"""Blocks of the model from rows of features and labels, and what a start must know of them."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.fitting import Rows
from labelgap.kernels.counts import prepare_positives
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels
from labelgap.models.bmlpl._mask import prepare_mask
from labelgap.models.bmlpl._model import Block

Part = Literal["all", "held out", "rest"]


class Survey(NamedTuple):
    """Sums over rows before a fit."""

    n_rows: int
    label_counts: np.ndarray
    squared_norm: float
    n_unknown: int
    n_not_finite: int


def survey_block(block: tuple[Any, Labels], local: Any, argument: Any) -> Survey:
    """Counts and scale of some rows, for :meth:`labelgap.fitting.Rows.total`."""
    X, labels = block
    values = X.data if sparse.issparse(X) else X
    observed = labels.n_observed(ambiguous=True)
    return Survey(
        n_rows=labels.n_rows,
        label_counts=np.asarray(labels.n_positives(axis=0), dtype=np.float64),
        squared_norm=float(np.square(values, dtype=np.float64).sum()),
        n_unknown=labels.n_rows * labels.n_labels - observed,
        n_not_finite=int(np.count_nonzero(~np.isfinite(values))),
    )


def survey(rows: Rows) -> Survey:
    return rows.total(survey_block, None)


def working_dtype(X: Any) -> np.dtype:
    """Single precision stays; everything else is computed in double precision."""
    return X.dtype if X.dtype == np.float32 else np.dtype(np.float64)


HELD_OUT_EVERY = 5


def prepare_block(
    active: np.ndarray | None,
    use_mask: bool,
    dtype: Any,
    part: Part,
    index: int,
    X: Any,
    labels: Labels,
) -> Block:
    """One block: features ready for products, positives in both directions, and the mask.

    ``active`` are the columns of the labels that take part; None for all. ``part`` keeps all
    rows, every fifth ("held out"), or the others ("rest").
    """
    if part != "all":
        is_held_out = np.arange(X.shape[0]) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        kept = np.flatnonzero(is_held_out if part == "held out" else ~is_held_out)
        X, labels = X[kept], labels[kept]
    if active is not None:
        labels = labels[:, active]
    X = X.astype(dtype, copy=False)
    mask = prepare_mask(labels, dtype) if use_mask else None
    return Block(index, prepare_features(X), prepare_positives(labels.positives()), mask)


def labels_with_positives(facts: Survey) -> np.ndarray | None:
    """Columns that take part when labels without any positive are left out; None for all."""
    held = facts.label_counts > 0
    return None if held.all() else np.flatnonzero(held)


def with_empty_labels(topics: np.ndarray, active: np.ndarray, n_labels: int) -> np.ndarray:
    """Topics of all labels: those left out share what the topics lack of one."""
    rest = np.maximum(1 - topics.sum(axis=0), 0) / (n_labels - active.size)
    full = np.repeat(rest[None].astype(topics.dtype), n_labels, axis=0)
    full[active] = topics
    return full


def block_maker(active: np.ndarray | None, use_mask: bool, dtype: Any, part: Part = "all") -> Any:
    """:func:`prepare_block` with everything but the rows settled; can be sent elsewhere."""
    return partial(prepare_block, active, use_mask, dtype, part)
