"""Moves of a chain along which no likelihood changes, so that priors alone decide.

    a + d, c - d                               the biases of counts share a constant,
    u + d, w_0 + d, b - V d                    intercepts and biases of labels do as well,
    g u_k, g w_k, g beta_k, v_k / g            a factor has no scale of its own.

Gibbs draws of one block at a time creep along these directions. Each move draws d or g from its
density along the orbit through the current point, under the Haar measure of the group, and so
keeps the posterior as it is (J. S. Liu and C. Sabatti, "Generalised Gibbs sampler and multigrid
Monte Carlo for Bayesian computation", Biometrika 87, 2000).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from labelgap.fitting import FitDivergedError
from labelgap.kernels.products import linear_part
from labelgap.models.mllcs._model import CooccurrenceModel, Params
from labelgap.models.mllcs._rows import Block, Local

_LOG_RANGE = (-20.0, 20.0)


class RowMove(NamedTuple):
    """What becomes of the rows' factors: g u + d."""

    scale: np.ndarray
    shift: np.ndarray


def move_rows(block: Block, local: Local, move: RowMove) -> tuple[Local, float]:
    """For :meth:`labelgap.fitting.Rows.update`; there is nothing to sum."""
    return Local(move.scale * local.factors + move.shift), 0.0


def squared_residuals(block: Block, local: Local, weights: np.ndarray) -> np.ndarray:
    """sum_n (u_nk - w_k . x_n)^2 and, last, the number of rows, for the sum over rows."""
    off = local.factors - linear_part(block.features, weights)
    return np.append(np.square(off).sum(axis=0), off.shape[0])


def shift_count_biases(params: Params, precision: float, generator: np.random.Generator) -> Params:
    """a + d and c - d; both have the same prior precision."""
    a, c = params.count_bias, params.column_bias
    size = a.size + c.size
    shift = (c.sum() - a.sum()) / size + generator.standard_normal() / np.sqrt(precision * size)
    return params._replace(count_bias=a + shift, column_bias=c - shift)


def shift_intercepts(
    model: CooccurrenceModel, params: Params, precision: float, generator: np.random.Generator
) -> tuple[Params, np.ndarray]:
    """w_0 + d and b - V d, and the d that rows have to add."""
    V, b, first = params.factors, params.bias, params.weights[-1]
    tau = float(model.tau[-1])
    curvature = precision * V.T @ V
    curvature[np.diag_indices_from(curvature)] += tau
    lower = linalg.cholesky(curvature, lower=True)
    mean = linalg.cho_solve((lower, True), precision * V.T @ b - tau * first)
    noise = generator.standard_normal(first.size)
    shift = mean + linalg.solve_triangular(lower.T, noise, lower=False)
    weights = params.weights.copy()
    weights[-1] += shift
    return params._replace(weights=weights, bias=b - V @ shift), shift


def rescale_factors(
    model: CooccurrenceModel,
    params: Params,
    residuals: np.ndarray,
    generator: np.random.Generator,
) -> tuple[Params, np.ndarray]:
    """One g per factor, factor after factor, and the g that rows have to take.

    With x = log g the density is exp(D x - A e^2x/2 - B e^-2x/2 - C e^-4x/2).
    """
    scales = np.ones(params.factors.shape[1])
    for k in range(scales.size):
        terms = _orbit(model, params, residuals[:-1], residuals[-1], k)
        width = 4 / np.sqrt(4 + abs(terms.power))
        scales[k] = np.exp(slice_draw(terms.log_density, 0.0, generator, width))
        params = _scaled(model, params, k, scales[k])
    return params, scales


class _Terms(NamedTuple):
    power: float
    growing: float
    shrinking: float
    twice: float

    def log_density(self, x: float) -> float:
        up = np.exp(2 * x)
        return self.power * x - 0.5 * (self.growing * up + (self.shrinking + self.twice / up) / up)


def _orbit(model: CooccurrenceModel, params: Params, squares: Any, n_rows: float, k: int) -> _Terms:
    """What the priors say of the scale of factor k."""
    with_counts = model.counts is not None
    n_seen = params.factors.shape[0]
    off = (params.factors - model.prior_mean(params))[:, k]
    power = n_rows + model.tau.size - n_seen
    growing = model.lambda_u * squares[k] + float(model.tau @ params.weights[:, k] ** 2)
    shrinking, twice = model.lambda_v * float(off @ off), 0.0
    if with_counts:
        power += params.beta.shape[0]
        growing += model.lambda_beta * float(np.square(params.beta[:, k]).sum())
    if with_counts and model.joint:
        # Psi maps (beta, 1) to v: its row and its column k shrink, their crossing twice
        row, column = params.psi_map[k], params.psi_map[:, k]
        crossing = float(params.psi_map[k, k] ** 2)
        power -= row.size + column.size
        shrinking += model.lambda_map * (float(row @ row + column @ column) - 2 * crossing)
        twice = model.lambda_map * crossing
    return _Terms(power, growing, shrinking, twice)


def _scaled(model: CooccurrenceModel, params: Params, k: int, g: float) -> Params:
    factors, weights = params.factors.copy(), params.weights.copy()
    factors[:, k] /= g
    weights[:, k] *= g
    params = params._replace(factors=factors, weights=weights)
    if model.counts is None:
        return params
    beta = params.beta.copy()
    beta[:, k] *= g
    params = params._replace(beta=beta)
    if not model.joint:
        return params
    psi_map = params.psi_map.copy()
    psi_map[k] /= g
    psi_map[:, k] /= g
    return params._replace(psi_map=psi_map)


def slice_draw(
    log_density: Callable[[float], float], x: float, generator: Any, width: float = 1.0
) -> float:
    """A step of a slice sampler in one dimension, with stepping out and shrinkage (Neal, 2003).

    It leaves the density as it is, within a range of logarithms that is never left.
    """
    level = log_density(x) + np.log1p(-generator.random())
    if not np.isfinite(level):
        raise FitDivergedError(
            "a log density of the chain is not finite: scale the features (StandardScaler, "
            "Normalizer) or regularise more"
        )
    low = x - width * generator.random()
    high = low + width
    least, most = _LOG_RANGE
    while low > least and log_density(low) > level:
        low -= width
    while high < most and log_density(high) > level:
        high += width
    low, high = max(low, least), min(high, most)
    while True:
        candidate = low + (high - low) * generator.random()
        if log_density(candidate) > level or candidate == x:
            return candidate
        low, high = (candidate, high) if candidate < x else (low, candidate)
