"""Which entries of some rows are observed, stored as the smaller of observed and unknown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.kernels.products import Features, prepare_features, times, transposed_times
from labelgap.labels import Labels, State


class Mask(NamedTuple):
    """``entries`` (a sparse matrix of ones) are the unknown entries, or the observed ones."""

    entries: Features
    unknown: bool


def prepare_mask(labels: Labels, dtype: np.dtype) -> Mask:
    """The mask of some rows; ambiguous zeros count as observed."""
    n_observed = labels.n_observed(ambiguous=True)
    unknown = 2 * n_observed > labels.n_rows * labels.n_labels
    matrix = labels.where(State.UNKNOWN) if unknown else labels.observed(ambiguous=True)
    return Mask(prepare_features(matrix.astype(dtype)), unknown)


def log_exposure(mask: Mask | None, topics: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """log s_nk, where s_nk is the share of topic k on the observed labels of row n.

    Minus infinity where the row says nothing about a topic; zeros without a mask.
    """
    if mask is None:
        return np.zeros_like(psi)
    share = times(mask.entries, topics)
    if mask.unknown:
        share = topics.sum(axis=0) - share
    # what is left of 1 - (1 - rounding) is noise, and 1 / s must stay a number in float32
    share[share < (1e-9 if mask.unknown else 1e-30)] = 0
    with np.errstate(divide="ignore"):
        return np.log(share)


def labels_exposed(mask: Mask | None, weights: np.ndarray) -> np.ndarray | None:
    """c_lk: the topic weight of the rows in which label l is observed."""
    if mask is None:
        return None
    part = transposed_times(mask.entries, weights)
    return weights.sum(axis=0) - part if mask.unknown else part
