"""Gibbs sampling of ML-LCS: the ridge regressions of EM with draws for solutions.

One sweep, on the posterior whose logarithm EM ascends:

1. at ambiguous zeros, when exposure is modelled, whether somebody looked (a Bernoulli draw of the
   probability gamma); omega_ns ~ PG(1, psi_ns) at the entries that were looked at,
2. u_n ~ N(A^-1 b, A^-1), the weighted ridge regression of row n; then step 1 again,
3. tau_st ~ PG(w (m_st + r), psi_st) and (v_s, b_s, a_s) jointly, from entries and counts,
4. tau again and (beta_t, c_t); Psi when it is estimated jointly,
5. r by slice sampling, theta_s ~ Beta of looks, and W,
6. moves along which no likelihood changes (see ``_moves``), for chains that mix faster.

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
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from labelgap.fitting import FitDivergedError, Rows
from labelgap.kernels.exposure import AMBIGUOUS, RELEVANT, UNKNOWN, label_terms
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import linear_part, transposed_times, with_intercept
from labelgap.kernels.sampling import sample_polya_gamma
from labelgap.kernels.weighted_ridge import (
    packed_outer,
    solve_grams,
    weighted_grams,
    weighted_ridge,
)
from labelgap.models.mllcs._counts import Counts, CountTerms
from labelgap.models.mllcs._model import (
    BIAS_PRECISION,
    CooccurrenceModel,
    Joined,
    Params,
    with_ones,
)
from labelgap.models.mllcs._moves import (
    RowMove,
    move_rows,
    rescale_factors,
    shift_count_biases,
    shift_intercepts,
    slice_draw,
    squared_residuals,
)
from labelgap.models.mllcs._rows import (
    Block,
    Local,
    Stats,
    feature_product,
    squared_features,
)


class Entries(NamedTuple):
    """Draws for the entries of some rows: kappa and omega, zero where nobody looked, and looks."""

    kappa: np.ndarray
    omega: np.ndarray
    looked: np.ndarray


def draw_entries(
    generator: np.random.Generator,
    psi: np.ndarray,
    states: np.ndarray,
    theta: np.ndarray | None,
) -> Entries:
    """Step 1: the drawn twin of :func:`labelgap.kernels.exposure.label_terms`."""
    _check_finite(psi)
    looked = states != UNKNOWN
    if theta is not None:
        zero = theta * special.expit(-psi)
        seen_zero = generator.random(psi.shape) * (zero + 1 - theta) < zero
        looked &= (states != AMBIGUOUS) | seen_zero
    omega = np.zeros(psi.shape)
    omega[looked] = sample_polya_gamma(generator, np.ones(1), psi[looked])
    return Entries(np.where(states == RELEVANT, 0.5, -0.5) * looked, omega, looked)


@dataclass(frozen=True)
class SampledRowSteps:
    """The drawn twin of :class:`RowSteps`; small enough to be sent to every worker."""

    lambda_u: float = 1.0

    def step(
        self, block: Block, local: Local | None, argument: tuple[Params, tuple[int, int]]
    ) -> tuple[Local, Stats]:
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
        entries = draw_entries(generator, psi, block.states, params.looked_at)
        likelihood = label_terms(psi, block.states, params.looked_at).log_likelihood
        return Local(U), self._stats(block, entries, U, mean, likelihood, generator)

    def draw_factors(
        self,
        states: np.ndarray,
        U: np.ndarray,
        mean: np.ndarray,
        params: Params,
        generator: np.random.Generator,
    ) -> np.ndarray:
        """Step 2: factors of the rows given their entries, their prior means and the labels."""
        V, b = params.factors, params.bias
        entries = draw_entries(generator, U @ V.T + b, states, params.looked_at)
        right = (entries.kappa - entries.omega * b) @ V + self.lambda_u * mean
        noise = generator.standard_normal(U.shape)
        return weighted_ridge(entries.omega, V, right, self.lambda_u, noise=noise).z

    def _stats(
        self,
        block: Block,
        entries: Entries,
        U: np.ndarray,
        mean: np.ndarray,
        likelihood: float,
        generator: np.random.Generator,
    ) -> Stats:
        """As in EM; the gradient of W is perturbed, the log posterior is that of the draws."""
        extended, off = with_ones(U), U - mean
        perturbed = off + generator.standard_normal(off.shape) / np.sqrt(self.lambda_u)
        relevant, ambiguous = block.states == RELEVANT, block.states == AMBIGUOUS
        return Stats(
            grams=weighted_grams(entries.omega.T, extended),
            right_side=entries.kappa.T @ extended,
            gradient=with_intercept(transposed_times(block.features, perturbed), perturbed),
            curvature=squared_features(block.features),
            looked_at=(entries.looked & ambiguous).sum(axis=0).astype(np.float64),
            candidates=np.stack([relevant.sum(axis=0), ambiguous.sum(axis=0)], axis=1) * 1.0,
            n_rows=float(off.shape[0]),
            log_posterior=likelihood - 0.5 * self.lambda_u * float(np.square(off).sum()),
        )


@dataclass(frozen=True, eq=False)
class SampledCooccurrenceModel:
    """The sampler's steps for :func:`labelgap.fitting.run_gibbs`.

    Parameters
    ----------
    model : CooccurrenceModel
        Counts and settings. With ``solve_weights`` W is drawn with that solver, otherwise by
        conjugate gradient to high accuracy.
    cg_tol : float
        The residual, relative to the right side, where conjugate gradient stops.
    max_cg : int
        Products it may take to get there; more is an error.
    """

    model: CooccurrenceModel
    cg_tol: float = 1e-6
    max_cg: int = 2000

    def __post_init__(self) -> None:
        if self.model.counts is not None and self.model.counts.printed_kappa:
            raise ValueError(
                "printed_kappa belongs to no likelihood, so that there is nothing to sample: use EM"
            )

    @property
    def sample_step(self) -> Callable:
        """:meth:`SampledRowSteps.step`, which can be sent elsewhere without the counts."""
        return SampledRowSteps(self.model.lambda_u).step

    def sample_global(
        self, stats: Stats, params: Params, rows: Rows, generator: np.random.Generator
    ) -> Params:
        """Steps 3 to 6."""
        model = self.model
        params = self._draw_labels(stats, params, generator)
        if model.counts is not None:
            params = self._draw_count_factors(params, generator)
            if model.joint:
                params = params._replace(psi_map=self._draw_map(params, generator))
            if model.learn_r:
                params = params._replace(r=self._draw_dispersion(params, generator))
        if model.learn_looks:
            params = params._replace(looked_at=self._draw_looks(stats, generator))
        params = params._replace(weights=self._draw_weights(stats, params, rows, generator))
        return self._move(params, rows, generator)

    def _move(self, params: Params, rows: Rows, generator: np.random.Generator) -> Params:
        """Step 6; rows move with the parameters."""
        residuals = rows.total(squared_residuals, params.weights)
        if self.model.counts is not None:
            params = shift_count_biases(params, BIAS_PRECISION, generator)
        params, shift = shift_intercepts(self.model, params, BIAS_PRECISION, generator)
        params, scale = rescale_factors(self.model, params, residuals, generator)
        rows.update(move_rows, RowMove(scale, scale * shift))
        return params

    def log_posterior(self, stats: Stats, params: Params) -> float:
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

    def draw_count_terms(self, params: Params, generator: np.random.Generator) -> CountTerms:
        """tau of every count, and the kappa that belongs to it."""
        counts = self._counts
        shape = counts.weights.astype(np.float64) * (counts.values + params.r)
        omega, counted = np.zeros(shape.shape), shape > 0
        psi = self.model.count_psi(params)
        _check_finite(psi)
        omega[counted] = sample_polya_gamma(generator, shape[counted], psi[counted])
        return CountTerms(0.5 * counts.weights * (counts.values - params.r), omega)

    def _draw_labels(self, stats: Stats, params: Params, generator: np.random.Generator) -> Params:
        """(v, b, a) of each seen label; a stays as it is without counts."""
        n_seen, k = params.factors.shape
        joined = Joined.of(n_seen, k, np.dtype(np.float64))
        joined.add_labels(stats.grams, stats.right_side)
        if self.model.counts is not None:
            terms = self.draw_count_terms(params, generator)
            beta = with_ones(params.beta)
            known = params.column_bias + self._counts.offset
            right = (terms.kappa - terms.omega * known) @ beta
            joined.add_counts(weighted_grams(terms.omega, beta), right)
        joined.right_side[:, :k] += self.model.lambda_v * self.model.prior_mean(params)
        noise = generator.standard_normal((n_seen, k + 2))
        ridge = self.model.label_ridge(k)
        drawn = solve_grams(joined.packed, joined.right_side, ridge, noise=noise).z
        params = params._replace(
            factors=np.ascontiguousarray(drawn[:, :k]), bias=drawn[:, k].copy()
        )
        if self.model.counts is None:
            return params
        return params._replace(count_bias=drawn[:, k + 1].copy())

    def _draw_count_factors(self, params: Params, generator: np.random.Generator) -> Params:
        """(beta, c) of every label, from its counts and, when joint, from its factors."""
        model, k = self.model, params.factors.shape[1]
        terms = self.draw_count_terms(params, generator)
        known = params.count_bias[:, None] + self._counts.offset
        factors = with_ones(params.factors)
        right = (terms.kappa - terms.omega * known).T @ factors
        grams = weighted_grams(terms.omega.T, factors)
        if model.joint:
            slope, seen = params.psi_map[:k], self._counts.seen
            # v ~ N(Psi' (beta, 1), 1/lambda_v) is K more observations of beta
            outer = packed_outer(slope.T.copy()).sum(axis=0)
            grams[seen, : outer.size] += model.lambda_v * outer
            right[seen, :k] += model.lambda_v * (params.factors - params.psi_map[k]) @ slope.T
        ridge = np.append(np.full(k, model.lambda_beta), BIAS_PRECISION)
        noise = generator.standard_normal(right.shape)
        drawn = solve_grams(grams, right, ridge, noise=noise).z
        return params._replace(
            beta=np.ascontiguousarray(drawn[:, :k]), column_bias=drawn[:, k].copy()
        )

    def _draw_map(self, params: Params, generator: np.random.Generator) -> np.ndarray:
        """Psi: one regression of the label factors on (beta, 1) per factor, all of one matrix."""
        model = self.model
        features = with_ones(params.beta[self._counts.seen])
        precision = model.lambda_v * features.T @ features
        precision[np.diag_indices_from(precision)] += model.lambda_map
        lower = linalg.cholesky(precision, lower=True)
        mean = linalg.cho_solve((lower, True), model.lambda_v * features.T @ params.factors)
        noise = generator.standard_normal(mean.shape)
        return mean + linalg.solve_triangular(lower.T, noise, lower=False)

    def _draw_dispersion(self, params: Params, generator: np.random.Generator) -> float:
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

    def _draw_looks(self, stats: Stats, generator: np.random.Generator) -> np.ndarray:
        a, b = self.model.look_prior
        relevant, ambiguous = stats.candidates.T
        looked = relevant + stats.looked_at
        drawn = generator.beta(a + looked, b + ambiguous - stats.looked_at)
        return np.clip(drawn, 1e-12, 1 - 1e-12)

    def _draw_weights(
        self, stats: Stats, params: Params, rows: Rows, generator: np.random.Generator
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
        return params.weights + self._solve_by_cg(right_side, diagonal, tau, rows)

    def _solve_by_cg(
        self, right_side: np.ndarray, diagonal: np.ndarray, tau: np.ndarray, rows: Rows
    ) -> np.ndarray:
        n_products = 0

        def product(direction: np.ndarray) -> np.ndarray:
            nonlocal n_products
            n_products += 1
            return self.model.lambda_u * rows.total(feature_product, direction) + tau * direction

        correction = conjugate_gradient(
            product, right_side, diagonal, n_steps=self.max_cg, tol=self.cg_tol
        )
        if n_products == self.max_cg:
            raise FitDivergedError(
                f"conjugate gradient did not reach cg_tol={self.cg_tol} in max_cg={self.max_cg} "
                "products: raise either, scale the features, or take solver='exact'"
            )
        return correction

    @property
    def _counts(self) -> Counts:
        assert self.model.counts is not None
        return self.model.counts

    @cached_property
    def _tally(self) -> tuple[np.ndarray, np.ndarray]:
        """Every positive count that occurs, and the weight of its occurrences together."""
        values, place = np.unique(self._counts.values, return_inverse=True)
        weights = np.bincount(
            place.ravel(), weights=self._counts.weights.ravel(), minlength=values.size
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
