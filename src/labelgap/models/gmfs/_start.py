"""Where EM starts: label factors from the correlations of the labels, weights in the slab."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap.fitting import Rows
from labelgap.labels import State
from labelgap.models.gmfs._model import SelectionModel
from labelgap.models.gmfs._rows import Block, Params

_NOISE = 0.05


class LabelMoments(NamedTuple):
    """Sums over rows: positives, known entries, and positives in common, per label or pair."""

    positives: np.ndarray
    known: np.ndarray
    together: np.ndarray


def label_moments(block: Block, local: None, argument: None) -> LabelMoments:
    """For :meth:`labelgap.fitting.Rows.total`."""
    relevant = block.labels.positives().astype(np.float64)
    known = block.labels.n_observed(axis=0, ambiguous=True).astype(np.float64)
    together = (relevant.T @ relevant).toarray()
    return LabelMoments(np.asarray(relevant.sum(axis=0)).ravel(), known, together)


def starting_params(
    moments: LabelMoments,
    n_features: int,
    n_factors: int,
    rates: Any,
    rng: np.random.Generator,
    dtype: np.dtype,
) -> Params:
    """Label factors along the leading eigenvectors of the labels' correlations, plus noise."""
    n_labels = moments.positives.size
    share = np.clip(moments.positives / np.maximum(moments.known, 1), 1e-4, 1 - 1e-4)
    factors = _NOISE * rng.normal(size=(n_labels, n_factors))
    spectrum, directions = np.linalg.eigh(_correlations(moments, share))
    n_kept = min(n_factors, n_labels)
    leading = slice(-1, -n_kept - 1, -1)
    strength = np.sqrt(np.maximum(spectrum[leading], 0) / max(spectrum[-1], 1e-12))
    factors[:, :n_kept] += directions[:, leading] * strength
    return Params(
        factors=factors.astype(dtype),
        bias=np.log(share / (1 - share)).astype(dtype),
        weights=np.zeros((n_features + 1, n_factors), dtype=dtype),
        rates=rates,
    )


def first_weights(model: SelectionModel, rows: Rows, params: Params) -> Params:
    """Weights for the rows' standardised labels projected on the label factors, in the slab."""
    share = 1 / (1 + np.exp(-params.bias.astype(np.float64)))
    sizes = np.sqrt(1 + np.square(params.factors).sum(axis=0))
    projection = params.factors / sizes / np.sqrt(share * (1 - share))[:, None]
    design = model.row_steps.design
    total = rows.total(projected_labels, (design, projection.astype(params.factors.dtype), share))
    precisions = model.prior.starting_precisions(params.weights.shape[0] - 1)
    gradient = model.row_steps.lambda_v * total.product
    found = model.solve_regression(gradient, precisions, total.curvature, rows)
    return params._replace(weights=found.astype(params.weights.dtype))


class Projected(NamedTuple):
    """X'T for the projected labels T, and the diagonal of X'X."""

    product: np.ndarray
    curvature: np.ndarray


def projected_labels(
    block: Block, local: None, argument: tuple[Any, np.ndarray, np.ndarray]
) -> Projected:
    """For :meth:`labelgap.fitting.Rows.total`; unknown entries count as average."""
    design, projection, share = argument
    states = block.labels.states()
    off = np.where(states == State.UNKNOWN, 0, (states == State.RELEVANT) - share)
    targets = off.astype(projection.dtype) @ projection
    return Projected(design.transposed(block.features, targets), design.squares(block.features))


def _correlations(moments: LabelMoments, share: np.ndarray) -> np.ndarray:
    """Of the labels over rows; pairs known in few rows together lean towards zero."""
    n = np.maximum(np.minimum.outer(moments.known, moments.known), 1)
    spread = np.sqrt(share * (1 - share))
    return (moments.together / n - np.outer(share, share)) / np.outer(spread, spread)
