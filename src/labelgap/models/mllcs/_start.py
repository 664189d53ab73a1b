"""Where EM starts: label factors from the correlations of the labels, everything else small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.fitting import Rows
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.products import transposed_times, with_intercept
from labelgap.labels import State
from labelgap.models.mllcs._model import CooccurrenceModel, Params
from labelgap.models.mllcs._rows import Block, squared_features

_NOISE = 0.05


class LabelMoments(NamedTuple):
    """Sums over rows: positives, known entries, and positives in common, per label or pair."""

    positives: np.ndarray
    known: np.ndarray
    together: np.ndarray


def label_moments(block: Block, local: None, argument: None) -> LabelMoments:
    """For :meth:`labelgap.fitting.Rows.total`."""
    states = to_numpy(block.states)
    relevant = (states == State.RELEVANT).astype(np.float32)
    known = (states != State.UNKNOWN).sum(axis=0).astype(np.float64)
    together = (relevant.T @ relevant).astype(np.float64)
    return LabelMoments(relevant.sum(axis=0, dtype=np.float64), known, together)


def starting_params(
    moments: LabelMoments,
    shapes: tuple[int, int, int],
    r: float,
    looked_at: float | None,
    rng: np.random.Generator,
    dtype: np.dtype,
) -> Params:
    """Label factors along the leading eigenvectors of the labels' correlations, plus noise.

    Parameters
    ----------
    moments : LabelMoments
    shapes : (n_features, n_labels, n_factors)
        All labels, seen and unseen.
    r : float
    looked_at : float or None
        First probability of a look, None when exposure is not modelled.
    """
    n_features, n_labels, n_factors = shapes
    n_seen = moments.positives.size
    share = np.clip(moments.positives / np.maximum(moments.known, 1), 1e-4, 1 - 1e-4)
    factors = _NOISE * rng.normal(size=(n_seen, n_factors))
    spectrum, directions = np.linalg.eigh(_correlations(moments, share))
    n_kept = min(n_factors, n_seen)
    leading = slice(-1, -n_kept - 1, -1)
    strength = np.sqrt(np.maximum(spectrum[leading], 0) / max(spectrum[-1], 1e-12))
    factors[:, :n_kept] += directions[:, leading] * strength
    return Params(
        factors=factors.astype(dtype),
        bias=np.log(share / (1 - share)).astype(dtype),
        count_bias=np.zeros(n_seen, dtype=dtype),
        beta=(0.1 * rng.normal(size=(n_labels, n_factors))).astype(dtype),
        column_bias=np.zeros(n_labels, dtype=dtype),
        weights=np.zeros((n_features + 1, n_factors), dtype=dtype),
        psi_map=np.zeros((n_factors + 1, n_factors), dtype=dtype),
        r=r,
        looked_at=None if looked_at is None else np.full(n_seen, looked_at, dtype=dtype),
    )


def first_weights(model: CooccurrenceModel, rows: Rows, params: Params) -> Params:
    """Regression weights for the rows' labels projected on the label factors.

    The targets are standardised labels times V, each factor over sqrt(1 + ||v_k||^2); unknown
    entries count as average.
    """
    share = 1 / (1 + np.exp(-params.bias))
    sizes = np.sqrt(1 + np.square(params.factors).sum(axis=0))
    projection = params.factors / sizes / np.sqrt(share * (1 - share))[:, None]
    total = rows.total(projected_labels, (projection, share))
    gradient = (model.lambda_u * total.product).astype(params.weights.dtype)
    return params._replace(weights=model.solve_regression(gradient, total.curvature, rows))


class Projected(NamedTuple):
    """X'T for the projected labels T, and the squared features, with a column of ones in X."""

    product: np.ndarray
    curvature: np.ndarray


def projected_labels(
    block: Block, local: None, argument: tuple[np.ndarray, np.ndarray]
) -> Projected:
    """For :meth:`labelgap.fitting.Rows.total`."""
    projection, share = argument
    states = to_numpy(block.states)
    off = np.where(states == State.UNKNOWN, 0, (states == State.RELEVANT) - share)
    targets = off.astype(projection.dtype) @ projection
    product = with_intercept(transposed_times(block.features, targets), targets)
    return Projected(product, squared_features(block.features))


def _correlations(moments: LabelMoments, share: np.ndarray) -> np.ndarray:
    """Of the labels over rows; pairs known in few rows together lean towards zero."""
    n = np.maximum(np.minimum.outer(moments.known, moments.known), 1)
    spread = np.sqrt(share * (1 - share))
    return (moments.together / n - np.outer(share, share)) / np.outer(spread, spread)


def survey_labels(rows: Rows) -> LabelMoments:
    return rows.total(label_moments, None)
