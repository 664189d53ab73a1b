"""GMFS: features that matter when a zero may be a missing label.

Model, for rows i and labels j:

    v_i ~ N(W' x_i, 1/lambda_v),   b_j ~ N(0, 1/lambda_b),   rho_ij ~ Bernoulli(theta_ij),
    y_ij ~ Bernoulli(sigmoid(v_i . b_j + a_j)) where rho_ij = 1, and 0 where rho_ij = 0,

with a spike-and-slab or Laplace prior on the rows of W; theta is the propensity, the probability
that a relevant entry is recorded, and rho tells which entries were examined. At fixed theta EM
ascends

    J = sum_{y=1} log(theta sigma) + sum_{y=0} log(1 - theta sigma)
        - lambda_v/2 ||V - XW||^2 - lambda_b/2 ||B||^2 + log prior(W),

and with one theta per label J plus the log prior of theta. One E step gives the weights of all
entries, kappa and omega, at the current factors; under them row n has the factors v_n that maximise
the expected log-likelihood of its entries minus lambda_v / 2 ||v_n - W' x_n||^2, a weighted ridge
regression, and the statistics take the same weights with the new factors. docs/derivations/gmfs has the
derivation.

Reference: Xu, Wang, Wei, "To avoid the pitfall of missing labels in feature selection: a generative
model gives the answer", AAAI 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from labelgap.extras import require
from labelgap.fitting import Rows, blend_stats
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.entry_likelihood import LabelTerms, label_terms
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import solve_grams, weighted_grams, weighted_ridge
from labelgap.labels import State
from labelgap.memory import block_size
from labelgap.models.gmfs._gmfs_features import Design, DeviceDesign, GMFSBlock
from labelgap.models.gmfs._gmfs_priors import (
    ExaminedStats,
    PlainPropensities,
    Propensities,
    PropensityModel,
    WeightPrior,
    excess_examined,
)

BIAS_PRECISION = 1e-2
_NOISE = 0.05


class GMFSParams(NamedTuple):
    """B (L x c), bias (L), W (d + 1 x c, the intercept last), theta.

    ``typical`` (L) are the gammas that sums over neighbours are stored relative to, or None.
    """

    factors: np.ndarray
    bias: np.ndarray
    weights: np.ndarray
    propensities: Propensities | None
    typical: np.ndarray | None = None


class GMFSLocal(NamedTuple):
    """The factors v_n of the rows; gammas beyond the typical ones, where neighbours need them."""

    factors: Any
    excess: Any = None


class GMFSStats(NamedTuple):
    """Sums over rows.

    ``grams`` (L x packed (c+1)(c+2)/2) weighted second moments of (v, 1) for each label;
    ``right_side`` (L x c + 1) sum of kappa (v, 1); ``gradient`` (d + 1 x c) of W, over lambda_v;
    ``curvature`` (d + 1) squared features; ``examined``; ``log_posterior`` of the rows.
    """

    grams: np.ndarray
    right_side: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    examined: ExaminedStats
    log_posterior: float


def entry_terms(states: np.ndarray, V: np.ndarray, params: GMFSParams, rows: slice) -> LabelTerms:
    """Return the E step: kappa, omega and the log-likelihood of the entries of some rows."""
    psi = V @ params.factors.T + params.bias
    theta = None if params.propensities is None else params.propensities.rows(rows)
    return label_terms(psi, states, theta)


def feature_product(block: GMFSBlock, local: Any, argument: tuple[Any, np.ndarray]) -> np.ndarray:
    """Return X'X P of standardised features, for :meth:`labelgap.fitting.Rows.total`."""
    design, direction = argument
    return design.transposed(block.features, design.linear(block.features, direction))


def feature_gram(block: GMFSBlock, local: Any, design: Any) -> np.ndarray:
    """Return X'X of standardised features, dense."""
    return design.gram(block.features)


def _examined_stats(terms: LabelTerms, states: Any) -> ExaminedStats:
    counts = ((states == code).sum(axis=0) for code in (State.RELEVANT, State.UNLABELED))
    arrays = (to_numpy(part).astype(np.float64) for part in (terms.examined, *counts))
    return ExaminedStats(*arrays)


class ExactSolver:
    """Solves (lambda_v X'X + diag a) D = G; factors again only when the precisions change."""

    def __init__(self, gram: np.ndarray, lambda_v: float) -> None:
        self.gram = lambda_v * gram
        self._last: tuple[bytes, list[Any]] | None = None

    def __call__(self, gradient: np.ndarray, precisions: np.ndarray) -> np.ndarray:
        key = precisions.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, [self._factor(column) for column in precisions.T]
        factors = self._last[1]
        if len(factors) == 1:
            return linalg.cho_solve(factors[0], gradient)
        columns = zip(factors, gradient.T, strict=True)
        return np.column_stack([linalg.cho_solve(factor, column) for factor, column in columns])

    def _factor(self, precisions: np.ndarray) -> Any:
        matrix = self.gram.copy()
        matrix[np.diag_indices_from(matrix)] += precisions
        return linalg.cho_factor(matrix, lower=True, overwrite_a=True)


class DeviceSolver:
    """Solves the same systems on a device of torch, those of all columns of a together."""

    def __init__(self, gram: np.ndarray, lambda_v: float, device: str) -> None:
        torch = require("torch", extra="gpu", purpose="device=")
        self.gram = lambda_v * torch.asarray(gram, dtype=torch.float64, device=device)

    def __call__(self, gradient: np.ndarray, precisions: np.ndarray) -> np.ndarray:
        xp = array_namespace(self.gram)
        right = array_like(xp, gradient, self.gram)
        if precisions.shape[1] == 1:
            L = self._factors(xp, precisions)[0]
            return to_numpy(xp.cholesky_solve(right, L))
        found = np.empty_like(gradient, dtype=np.float64)
        size = block_size(self.gram.shape[0] ** 2, fraction=2)
        for start in range(0, gradient.shape[1], size):
            some = slice(start, start + size)
            L = self._factors(xp, precisions[:, some])
            part = xp.matrix_transpose(right[:, some])[:, :, None]
            found[:, some] = to_numpy(xp.cholesky_solve(part, L)[:, :, 0]).T
        return found

    def _factors(self, xp: Any, precisions: np.ndarray) -> Any:
        diagonals = array_like(xp, np.ascontiguousarray(precisions.T), self.gram)
        return xp.linalg.cholesky(self.gram + xp.diag_embed(diagonals))


@dataclass(frozen=True, eq=False)
class SelectionModel:
    """Settings, and the steps for the loops of :mod:`labelgap.fitting`.

    Without a ``solver`` W takes ``n_cg`` conjugate-gradient steps.
    """

    design: Design | DeviceDesign
    prior: WeightPrior
    propensity_model: PropensityModel
    lambda_v: float = 1.0
    lambda_b: float = 1.0
    n_cg: int = 5
    solver: ExactSolver | DeviceSolver | None = field(default=None, repr=False)

    def step(
        self, block: GMFSBlock, local: GMFSLocal | None, params: GMFSParams
    ) -> tuple[GMFSLocal, GMFSStats]:
        """Return new factors of the rows, and the statistics they give."""
        mean = self.design.linear(block.features, params.weights)
        xp = array_namespace(mean)
        V = mean if local is None else local.factors
        states = block.states()
        B, bias = (array_like(xp, part, mean) for part in (params.factors, params.bias))
        there = params._replace(factors=B, bias=bias)
        terms = entry_terms(states, V, there, block.rows)
        off = _sum_of_squares(to_numpy(V - mean))
        right = (terms.kappa - terms.omega * bias) @ B + self.lambda_v * mean
        V = weighted_ridge(terms.omega, B, right, self.lambda_v).z
        extended = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)
        stats = GMFSStats(
            grams=to_numpy(weighted_grams(terms.omega.T, extended)),
            right_side=to_numpy(terms.kappa.T @ extended),
            gradient=self.design.transposed(block.features, V - mean),
            curvature=self.design.squares(block.features),
            examined=_examined_stats(terms, states),
            log_posterior=terms.log_likelihood - 0.5 * self.lambda_v * off,
        )
        if params.typical is None:
            return GMFSLocal(V), stats
        return GMFSLocal(V, excess_examined(to_numpy(terms.kappa), params.typical)), stats

    def maximise(
        self,
        stats: GMFSStats,
        params: GMFSParams,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> GMFSParams:
        """Return B and the biases, theta, then W: one after the other."""
        params = self._labels_step(stats, params)
        params = self._propensity_step(stats, params, rows)
        precisions = self.prior.precisions(params.weights)
        gradient = self.lambda_v * stats.gradient - precisions * params.weights
        correction = self.solve_regression(gradient, precisions, stats.curvature, rows, row_scale)
        weights = params.weights + step_size * correction
        return params._replace(weights=weights.astype(params.weights.dtype))

    def objective(self, stats: GMFSStats, params: GMFSParams) -> float:
        """Return J at ``params``, plus the log prior of theta where it is learned per label."""
        value = stats.log_posterior + self.parameter_prior(params)
        if isinstance(params.propensities, PlainPropensities):
            value += self.propensity_model.log_prior(stats.examined, params.propensities.values)
        return value

    def parameter_prior(self, params: GMFSParams) -> float:
        """Return log prior of W, B and the biases."""
        value = self.prior.log_density(params.weights)
        value -= 0.5 * self.lambda_b * _sum_of_squares(params.factors)
        return value - 0.5 * BIAS_PRECISION * _sum_of_squares(params.bias)

    blend = staticmethod(blend_stats)

    # -- the steps ----------------------------------------------------------------------------

    def _labels_step(self, stats: GMFSStats, params: GMFSParams) -> GMFSParams:
        c = params.factors.shape[1]
        ridge = np.append(np.full(c, self.lambda_b), BIAS_PRECISION)
        solution = solve_grams(stats.grams, stats.right_side, ridge.astype(stats.grams.dtype)).z
        return params._replace(
            factors=np.ascontiguousarray(solution[:, :c]), bias=solution[:, c].copy()
        )

    def _propensity_step(self, stats: GMFSStats, params: GMFSParams, rows: Rows) -> GMFSParams:
        learn = self.propensity_model.learn
        if learn is None:
            return params
        if learn != "neighbors":
            mode = self.propensity_model.mode(stats.examined)
            return params._replace(propensities=PlainPropensities(mode))
        excess = sparse.vstack([local.excess for local in rows.local_states()], format="csr")
        assert params.typical is not None
        near = self.propensity_model.neighbor_propensities(stats.examined, params.typical, excess)
        typical = self.propensity_model.mode(stats.examined)[0]
        return params._replace(propensities=near, typical=typical)

    def solve_regression(
        self,
        gradient: np.ndarray,
        precisions: np.ndarray,
        curvature: np.ndarray,
        rows: Rows,
        row_scale: float = 1.0,
    ) -> np.ndarray:
        """Return D with (lambda_v X'X + diag a) D = gradient, exactly or by conjugate gradient.

        ``precisions`` a has one column, or one per column of the gradient; ``curvature`` is the
        diagonal of X'X.
        """
        if self.solver is not None:
            return self.solver(gradient, precisions)
        lambda_v, design = self.lambda_v, self.design

        def product(direction: np.ndarray) -> np.ndarray:
            total = rows.total(feature_product, (design, direction))
            return lambda_v * row_scale * total + precisions * direction

        diagonal = np.broadcast_to(lambda_v * curvature[:, None] + precisions, gradient.shape)
        return conjugate_gradient(product, gradient, diagonal, n_steps=self.n_cg)


def _sum_of_squares(array: Any) -> float:
    return float(np.square(array, dtype=np.float64).sum())


class GMFSMoments(NamedTuple):
    """Sums over rows: positives, known entries, and positives in common, per label or pair."""

    positives: np.ndarray
    known: np.ndarray
    together: np.ndarray


def label_moments(block: GMFSBlock, local: None, argument: None) -> GMFSMoments:
    """Return the sums over a block, for :meth:`labelgap.fitting.Rows.total`."""
    relevant = block.labels.positives().astype(np.float64)
    known = block.labels.n_observed(axis=0, unlabeled=True).astype(np.float64)
    together = (relevant.T @ relevant).toarray()
    return GMFSMoments(np.asarray(relevant.sum(axis=0)).ravel(), known, together)


def starting_params(
    moments: GMFSMoments,
    n_features: int,
    n_factors: int,
    propensities: Any,
    rng: np.random.Generator,
    dtype: np.dtype,
) -> GMFSParams:
    """Return label factors along the leading eigenvectors of the labels' correlations, plus noise."""
    n_labels = moments.positives.size
    fraction = np.clip(moments.positives / np.maximum(moments.known, 1), 1e-4, 1 - 1e-4)
    factors = _NOISE * rng.normal(size=(n_labels, n_factors))
    spectrum, directions = np.linalg.eigh(_correlations(moments, fraction))
    n_kept = min(n_factors, n_labels)
    leading = slice(-1, -n_kept - 1, -1)
    strength = np.sqrt(np.maximum(spectrum[leading], 0) / max(spectrum[-1], 1e-12))
    factors[:, :n_kept] += directions[:, leading] * strength
    return GMFSParams(
        factors=factors.astype(dtype),
        bias=np.log(fraction / (1 - fraction)).astype(dtype),
        weights=np.zeros((n_features + 1, n_factors), dtype=dtype),
        propensities=propensities,
    )


def first_weights(model: SelectionModel, rows: Rows, params: GMFSParams) -> GMFSParams:
    """Return weights for the rows' standardised labels projected on the label factors, in the slab."""
    fraction = 1 / (1 + np.exp(-params.bias.astype(np.float64)))
    sizes = np.sqrt(1 + np.square(params.factors).sum(axis=0))
    projection = params.factors / sizes / np.sqrt(fraction * (1 - fraction))[:, None]
    design = model.design
    total = rows.total(
        projected_labels, (design, projection.astype(params.factors.dtype), fraction)
    )
    precisions = model.prior.starting_precisions(params.weights.shape[0] - 1)
    gradient = model.lambda_v * total.product
    found = model.solve_regression(gradient, precisions, total.curvature, rows)
    return params._replace(weights=found.astype(params.weights.dtype))


class ProjectedLabels(NamedTuple):
    """X'T for the projected labels T, and the diagonal of X'X."""

    product: np.ndarray
    curvature: np.ndarray


def projected_labels(
    block: GMFSBlock, local: None, argument: tuple[Any, np.ndarray, np.ndarray]
) -> ProjectedLabels:
    """Return the sums over a block, in which unknown entries count as average."""
    design, projection, fraction = argument
    states = block.labels.states()
    off = np.where(states == State.UNKNOWN, 0, (states == State.RELEVANT) - fraction)
    targets = off.astype(projection.dtype) @ projection
    return ProjectedLabels(
        design.transposed(block.features, targets), design.squares(block.features)
    )


def _correlations(moments: GMFSMoments, fraction: np.ndarray) -> np.ndarray:
    """Of the labels over rows; pairs known in few rows together lean towards zero."""
    n = np.maximum(np.minimum.outer(moments.known, moments.known), 1)
    spread = np.sqrt(fraction * (1 - fraction))
    return (moments.together / n - np.outer(fraction, fraction)) / np.outer(spread, spread)
