"""Gibbs sampling of ML-LCS: the ridge regressions of EM with draws for solutions.

One sweep, on the posterior whose logarithm EM ascends:

1. at unlabeled zeros, when label frequencies are modelled, whether somebody looked (a Bernoulli
   draw of the probability gamma); omega_ns ~ PG(1, psi_ns) at the entries that were looked at,
2. u_n ~ N(A^-1 b, A^-1), the weighted ridge regression of row n; then step 1 again,
3. tau_st ~ PG(w (m_st + r), psi_st) and (v_s, b_s, a_s) jointly, from entries and counts,
4. tau again and (beta_t, c_t); Psi when it is estimated jointly,
5. r by slice sampling, theta_s ~ Beta of looks, and W,
6. moves along which no likelihood changes, for chains that mix faster.

Steps 3 and 4 are exact for counts of any weight w: the likelihood to the power w is
exp(psi)^(w m) / (1 + exp(psi))^(w (m + r)), whose kappa is w (m - r)/2. For r, tables of a
Chinese restaurant would do for w = 1 only, since Gamma(m + r)/Gamma(r) to a power is no
polynomial of r; its density given psi is known for all w, and has one dimension. The tau of
step 4 do not know r, so they are drawn anew before they are used again.

W is drawn by perturbation: (lambda_u X'X + diag t) W = lambda_u X'U + lambda_u^1/2 X'e + t^1/2 e'
with standard normal e and e' has exactly its conditional distribution, and needs a solver only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from labelgap.fitting import FitDivergedError, Rows, solve_to_tolerance
from labelgap.kernels.entry_likelihood import RELEVANT, UNKNOWN, UNLABELED, LabelTerms, label_terms
from labelgap.kernels.polya_gamma import sample_polya_gamma
from labelgap.kernels.products import linear_part, transposed_times, with_intercept
from labelgap.kernels.weighted_ridge import (
    weighted_ridge,
)
from labelgap.models.mllcs._mllcs_counts import BIAS_PRECISION, CooccurrenceCounts, CountTerms
from labelgap.models.mllcs._mllcs_em import CooccurrenceModel, MLLCSParams
from labelgap.models.mllcs._mllcs_rows import (
    MLLCSBlock,
    MLLCSLocal,
    MLLCSRowSteps,
    MLLCSStats,
    feature_product,
    with_ones,
)

_LOG_RANGE = (-20.0, 20.0)


class DrawnEntries(NamedTuple):
    """Draws for the entries of some rows: kappa and omega, zero where nobody looked, and looks."""

    kappa: np.ndarray
    omega: np.ndarray
    looked: np.ndarray


def draw_entries(
    generator: np.random.Generator,
    psi: np.ndarray,
    states: np.ndarray,
    theta: np.ndarray | None,
) -> DrawnEntries:
    """Step 1: the drawn twin of :func:`label_terms`."""
    _check_finite(psi)
    looked = states != UNKNOWN
    if theta is not None:
        zero = theta * special.expit(-psi)
        seen_zero = generator.random(psi.shape) * (zero + 1 - theta) < zero
        looked &= (states != UNLABELED) | seen_zero
    omega = np.zeros(psi.shape)
    omega[looked] = sample_polya_gamma(generator, np.ones(1), psi[looked])
    return DrawnEntries(np.where(states == RELEVANT, 0.5, -0.5) * looked, omega, looked)


@dataclass(frozen=True)
class SampledRowSteps:
    """The drawn twin of :class:`MLLCSRowSteps`; small enough to be sent to every worker."""

    lambda_u: float = 1.0

    def step(
        self,
        block: MLLCSBlock,
        local: MLLCSLocal | None,
        argument: tuple[MLLCSParams, tuple[int, int]],
    ) -> tuple[MLLCSLocal, MLLCSStats]:
        """Steps 1 and 2 on a block: new factors of its rows, and the statistics they give.

        ``argument`` holds the parameters, the seed of the chain and the number of the sweep. The
        first sweep of a chain (number 0) starts from what the features say, whatever state the
        rows have.
        """
        params, (seed, sweep) = argument
        # 1 + index: trailing zeros do not change a seed, so index 0 would be the global generator
        generator = np.random.default_rng([seed, sweep, 1 + block.index])
        mean = linear_part(block.features, params.weights)
        U = mean if local is None or sweep == 0 else local.factors
        U = self.draw_factors(block.states, U, mean, params, generator)
        psi = U @ params.factors.T + params.bias
        entries = draw_entries(generator, psi, block.states, params.label_frequency)
        likelihood = label_terms(psi, block.states, params.label_frequency).log_likelihood
        examined = (entries.looked & (block.states == UNLABELED)).sum(axis=0).astype(np.float64)
        terms = LabelTerms(entries.kappa, entries.omega, likelihood, examined)
        # as in EM, but for the perturbed gradient of W
        stats = MLLCSRowSteps(self.lambda_u).stats(np, block, terms, U, mean)
        noise = generator.standard_normal(mean.shape) / np.sqrt(self.lambda_u)
        perturbed = U - mean + noise
        gradient = with_intercept(transposed_times(block.features, perturbed), perturbed)
        return MLLCSLocal(U), stats._replace(gradient=gradient)

    def draw_factors(
        self,
        states: np.ndarray,
        U: np.ndarray,
        mean: np.ndarray,
        params: MLLCSParams,
        generator: np.random.Generator,
    ) -> np.ndarray:
        """Step 2: factors of the rows given their entries, their prior means and the labels."""
        V, b = params.factors, params.bias
        entries = draw_entries(generator, U @ V.T + b, states, params.label_frequency)
        right = (entries.kappa - entries.omega * b) @ V + self.lambda_u * mean
        noise = generator.standard_normal(U.shape)
        return weighted_ridge(entries.omega, V, right, self.lambda_u, noise=noise).z


@dataclass(frozen=True, eq=False)
class SampledCooccurrenceModel:
    """The sampler's steps for :func:`labelgap.fitting.run_gibbs`.

    model : CooccurrenceModel. Counts and settings. With ``solve_weights`` W is drawn with that
        solver, otherwise by conjugate gradient to high accuracy.
    cg_tol : float. The residual, relative to the right side, where conjugate gradient stops.
    max_cg : int. Products it may take to get there; more is an error.
    """

    model: CooccurrenceModel
    cg_tol: float = 1e-6
    max_cg: int = 2000

    @property
    def sample_step(self) -> Callable:
        """:meth:`SampledRowSteps.step`, which can be sent elsewhere without the counts."""
        return SampledRowSteps(self.model.lambda_u).step

    def sample_global(
        self, stats: MLLCSStats, params: MLLCSParams, rows: Rows, generator: np.random.Generator
    ) -> MLLCSParams:
        """Steps 3 to 6."""
        model = self.model
        params = self._draw_labels(stats, params, generator)
        if model.counts is not None:
            params = self._draw_count_factors(params, generator)
            if model.joint:
                params = params._replace(psi_map=self._draw_map(params, generator))
            if model.learn_r:
                params = params._replace(r=self._draw_dispersion(params, generator))
        if model.learn_label_frequency:
            params = params._replace(label_frequency=self._draw_label_frequency(stats, generator))
        params = params._replace(weights=self._draw_weights(stats, params, rows, generator))
        return self._move(params, rows, generator)

    def _move(self, params: MLLCSParams, rows: Rows, generator: np.random.Generator) -> MLLCSParams:
        """Step 6; rows move with the parameters."""
        residuals = rows.total(squared_residuals, params.weights)
        if self.model.counts is not None:
            params = shift_count_biases(params, BIAS_PRECISION, generator)
        params, shift = shift_intercepts(self.model, params, BIAS_PRECISION, generator)
        params, scale = rescale_factors(self.model, params, residuals, generator)
        rows.update(move_rows, RowMove(scale, scale * shift))
        return params

    def log_posterior(self, stats: MLLCSStats, params: MLLCSParams) -> float:
        """Log density of the factors of a step and the parameters it was taken at.

        Up to a constant, and with everything else integrated out. Rotations of the factors do
        not change it, so that chains can be compared by it.
        """
        value = self.model.objective(stats, params)
        # EM takes r's mode on the logarithmic scale
        return value - float(np.log(params.r)) if self._learns_r else value

    @property
    def _learns_r(self) -> bool:
        return self.model.learn_r and self.model.counts is not None

    # -- the steps ----------------------------------------------------------------------------

    def draw_count_terms(self, params: MLLCSParams, generator: np.random.Generator) -> CountTerms:
        """tau of every count, and the kappa that belongs to it."""
        counts = self._counts
        shape = counts.weights.astype(np.float64) * (counts.values + params.r)
        omega, counted = np.zeros(shape.shape), shape > 0
        psi = self.model.count_psi(params)
        _check_finite(psi)
        omega[counted] = sample_polya_gamma(generator, shape[counted], psi[counted])
        return CountTerms(0.5 * counts.weights * (counts.values - params.r), omega)

    def _draw_labels(
        self, stats: MLLCSStats, params: MLLCSParams, generator: np.random.Generator
    ) -> MLLCSParams:
        """(v, b, a) of each seen label; a stays as it is without counts."""
        n_seen, k = params.factors.shape
        has_counts = self.model.counts is not None
        terms = self.draw_count_terms(params, generator) if has_counts else None
        noise = generator.standard_normal((n_seen, k + 2))
        return self.model.labels_step(stats, params, terms, noise)

    def _draw_count_factors(
        self, params: MLLCSParams, generator: np.random.Generator
    ) -> MLLCSParams:
        """(beta, c) of every label, from its counts and, when joint, from its factors."""
        terms = self.draw_count_terms(params, generator)
        n_labels, k = params.beta.shape
        noise = generator.standard_normal((n_labels, k + 1))
        return self.model.counts_step(params, terms, noise)

    def _draw_map(self, params: MLLCSParams, generator: np.random.Generator) -> np.ndarray:
        """Psi: one regression of the label factors on (beta, 1) per factor, all of one matrix."""
        model = self.model
        features = with_ones(params.beta[self._counts.seen])
        precision = model.lambda_v * features.T @ features
        precision[np.diag_indices_from(precision)] += model.lambda_map
        lower = linalg.cholesky(precision, lower=True)
        mean = linalg.cho_solve((lower, True), model.lambda_v * features.T @ params.factors)
        noise = generator.standard_normal(mean.shape)
        return mean + linalg.solve_triangular(lower.T, noise, lower=False)

    def _draw_dispersion(self, params: MLLCSParams, generator: np.random.Generator) -> float:
        """r given psi, all tau integrated out."""
        shape, rate = self.model.r_prior
        counts = self._counts
        above = np.logaddexp(0, self.model.count_psi(params))
        rate = rate + float((counts.weights * above).sum())
        values, weights = self._tally

        def log_density(x: float) -> float:
            r = np.exp(x)
            rising = special.gammaln(values + r) - special.gammaln(r)
            return float(weights @ rising) + shape * x - rate * r

        return float(np.exp(slice_draw(log_density, float(np.log(params.r)), generator)))

    def _draw_label_frequency(
        self, stats: MLLCSStats, generator: np.random.Generator
    ) -> np.ndarray:
        a, b = self.model.label_frequency_prior
        relevant, unlabeled = stats.candidates.T
        looked = relevant + stats.examined
        drawn = generator.beta(a + looked, b + unlabeled - stats.examined)
        return np.clip(drawn, 1e-12, 1 - 1e-12)

    def _draw_weights(
        self, stats: MLLCSStats, params: MLLCSParams, rows: Rows, generator: np.random.Generator
    ) -> np.ndarray:
        """W, as a correction of the current one."""
        model = self.model
        tau = model.tau.astype(np.float64)[:, None]
        noise = np.sqrt(tau) * generator.standard_normal(params.weights.shape)
        right_side = model.lambda_u * stats.gradient - tau * params.weights + noise
        if model.solve_weights is not None:
            return params.weights + model.solve_weights(right_side)
        diagonal = np.broadcast_to(
            model.lambda_u * stats.curvature[:, None] + tau, right_side.shape
        )

        def product(direction: np.ndarray) -> np.ndarray:
            return model.lambda_u * rows.total(feature_product, direction) + tau * direction

        return params.weights + solve_to_tolerance(
            product, right_side, diagonal, max_cg=self.max_cg, cg_tol=self.cg_tol
        )

    @property
    def _counts(self) -> CooccurrenceCounts:
        assert self.model.counts is not None
        return self.model.counts

    @cached_property
    def _tally(self) -> tuple[np.ndarray, np.ndarray]:
        """Every positive count that occurs, and the weight of its occurrences together."""
        values, positions = np.unique(self._counts.values, return_inverse=True)
        weights = np.bincount(
            positions.ravel(), weights=self._counts.weights.ravel(), minlength=values.size
        )
        used = (values > 0) & (weights > 0)
        return values[used].astype(np.float64), weights[used]


def _check_finite(psi: np.ndarray) -> None:
    """The sampler of Polya-Gamma variables would not come back from anything else."""
    if not np.isfinite(psi).all():
        raise FitDivergedError(
            "psi of the chain is not finite any more: scale the features (StandardScaler, "
            "Normalizer) or regularise more"
        )


# -- moves along which no likelihood changes, so that priors alone decide -------------------------
#
#     a + d, c - d                               the biases of counts share a constant,
#     u + d, w_0 + d, b - V d                    intercepts and biases of labels do as well,
#     g u_k, g w_k, g beta_k, v_k / g            a factor has no scale of its own.
#
# Gibbs draws of one block at a time creep along these directions. Each move draws d or g from its
# density along the orbit through the current point, under the Haar measure of the group, and so
# keeps the posterior as it is (J. S. Liu and C. Sabatti, "Generalised Gibbs sampler and multigrid
# Monte Carlo for Bayesian computation", Biometrika 87, 2000).


class RowMove(NamedTuple):
    """What becomes of the rows' factors: g u + d."""

    scale: np.ndarray
    shift: np.ndarray


def move_rows(block: MLLCSBlock, local: MLLCSLocal, move: RowMove) -> tuple[MLLCSLocal, float]:
    """For :meth:`labelgap.fitting.Rows.update`; there is nothing to sum."""
    return MLLCSLocal(move.scale * local.factors + move.shift), 0.0


def squared_residuals(block: MLLCSBlock, local: MLLCSLocal, weights: np.ndarray) -> np.ndarray:
    """sum_n (u_nk - w_k . x_n)^2 and, last, the number of rows, for the sum over rows."""
    off = local.factors - linear_part(block.features, weights)
    return np.append(np.square(off).sum(axis=0), off.shape[0])


def shift_count_biases(
    params: MLLCSParams, precision: float, generator: np.random.Generator
) -> MLLCSParams:
    """a + d and c - d; both have the same prior precision."""
    a, c = params.count_bias, params.column_bias
    size = a.size + c.size
    shift = (c.sum() - a.sum()) / size + generator.standard_normal() / np.sqrt(precision * size)
    return params._replace(count_bias=a + shift, column_bias=c - shift)


def shift_intercepts(
    model: CooccurrenceModel, params: MLLCSParams, precision: float, generator: np.random.Generator
) -> tuple[MLLCSParams, np.ndarray]:
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
    params: MLLCSParams,
    residuals: np.ndarray,
    generator: np.random.Generator,
) -> tuple[MLLCSParams, np.ndarray]:
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


def _orbit(
    model: CooccurrenceModel, params: MLLCSParams, squares: Any, n_samples: float, k: int
) -> _Terms:
    """What the priors say of the scale of factor k."""
    with_counts = model.counts is not None
    n_seen = params.factors.shape[0]
    off = (params.factors - model.prior_mean(params))[:, k]
    power = n_samples + model.tau.size - n_seen
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


def _scaled(model: CooccurrenceModel, params: MLLCSParams, k: int, g: float) -> MLLCSParams:
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
