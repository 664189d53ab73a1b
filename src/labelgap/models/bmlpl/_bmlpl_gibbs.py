"""Gibbs sampling of BMLPL: the steps of the EM algorithm with draws for expectations.

One sweep, with u and omega integrated out of every step that does not name them:

1. u_nk ~ Gamma(r_k + m_nk, rate exp(-psi_nk) + s_nk),
2. m_nl given m_nl >= 1 from Poisson(v_l . u_n), and its split over topics, at the positives,
3. counts at the unknown entries from Poisson(v_lk u_nk), then v_k ~ Dirichlet(eta + counts),
4. r_k ~ Gamma(a + CRT counts, rate b + sum_n log(1 + s_nk exp(psi_nk))),
5. omega_nk ~ PG(m_nk + r_k, psi_nk + log s_nk),
6. w_k ~ N(A^-1 X'(kappa_k - omega_k log s_k), A^-1), A = X' Omega_k X + diag tau,
7. tau_d ~ Gamma(a + K/2, rate b + sum_k w_kd^2 / 2).

s_nk is the fraction of topic k on the observed labels of row n, 1 without a mask. The draws of r and w
integrate u out, so the u of step 2 must be drawn after them: a sweep begins with it. For the same
reason the counts at unknown entries serve the topics alone and are then dropped.

The weights are drawn by perturbation: the solution of A w = X'(kappa - Omega log s + Omega^1/2 e)
+ tau^1/2 e' with standard normal e and e' has exactly the distribution of step 6, and needs a
linear solver only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import special
from scipy.optimize import linear_sum_assignment

from labelgap.fitting import (
    ChainSamples,
    CredibleInterval,
    Diagnosis,
    FitDivergedError,
    Rows,
    diagnose,
    draw_chains,
    interval_levels,
    row_slices,
    solve_to_tolerance,
)
from labelgap.kernels.latent_counts import sample_counts, sample_tables, sample_unknown_counts
from labelgap.kernels.polya_gamma import sample_polya_gamma
from labelgap.kernels.products import (
    Features,
    linear_part,
    prepare_features,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.kernels.topics import surprise_rates
from labelgap.memory import block_size
from labelgap.models.bmlpl._bmlpl_em import (
    BMLPLBlock,
    BMLPLLocal,
    BMLPLParams,
    BMLPLStats,
    curvature_product,
    shifted_parts,
    solve_exactly,
)

_LARGEST_WEIGHT = 1e15
_NOTHING = BMLPLStats(*(None,) * len(BMLPLStats._fields))  # type: ignore[arg-type]


@dataclass(frozen=True)
class SampledTopicModel:
    """Settings of the sampler, and its steps for :func:`labelgap.fitting.run_gibbs`.

    eta : float. Dirichlet concentration of the topics, above zero.
    learn_r, learn_tau : bool. Draw r, and the prior precisions of the weights; otherwise they stay
        as they are.
    r_prior, tau_prior : pairs of float. Shape and rate of their gamma priors. That of tau must be
        proper: with any improper one the posterior is improper, all its mass at zero weights.
    solver : "cg" or "exact". Conjugate gradient on all topics at once, or one Cholesky
        factorisation per topic.
    cg_tol : float. The residual of each topic's system, relative to its right side, where "cg"
        stops.
    max_cg : int. Products "cg" may take to get there; more is an error.
    """

    eta: float = 1.0
    learn_r: bool = False
    r_prior: tuple[float, float] = (1.0, 1.0)
    learn_tau: bool = False
    tau_prior: tuple[float, float] = (1.0, 0.1)
    solver: Literal["cg", "exact"] = "cg"
    cg_tol: float = 1e-6
    max_cg: int = 2000

    def sample_step(
        self,
        block: BMLPLBlock,
        local: BMLPLLocal | None,
        argument: tuple[BMLPLParams, tuple[int, int]],
    ) -> tuple[BMLPLLocal, BMLPLStats]:
        """Steps 1 to 3 on a block: new counts, and their sums by label.

        ``argument`` holds the parameters, the seed of the chain and the number of the sweep. The
        first sweep of a chain (number 0) starts without counts, whatever state the rows have.
        """
        params, (seed, sweep) = argument
        # 1 + index: trailing zeros do not change a seed, so index 0 would be the global generator
        generator = np.random.default_rng([seed, sweep, 1 + block.index])
        if local is None or sweep == 0:
            counts = np.zeros((block.features.shape[0], params.r.size))
        else:
            counts = local.counts
        u = self.draw_weights(block, counts, params, generator)
        return self.draw_counts(block, u, params, generator)

    def draw_weights(
        self,
        block: BMLPLBlock,
        counts: np.ndarray,
        params: BMLPLParams,
        generator: np.random.Generator,
    ) -> np.ndarray:
        """Step 1: topic weights u (n x K) of the rows, given their counts and all parameters."""
        psi, log_s = shifted_parts(block, params)
        scale = np.exp(psi - np.logaddexp(0, psi + log_s))
        u = scale * generator.standard_gamma(params.r + counts)
        if not u.max(initial=0) < _LARGEST_WEIGHT:
            raise FitDivergedError(
                f"a topic weight of {u.max():.3g} was drawn: scale the features "
                "(StandardScaler, Normalizer) or regularise more"
            )
        return u

    def draw_counts(
        self, block: BMLPLBlock, u: np.ndarray, params: BMLPLParams, generator: np.random.Generator
    ) -> tuple[BMLPLLocal, BMLPLStats]:
        """Steps 2 and 3, without the draw of the topics.

        The log posterior is that of the new counts with the parameters given, u integrated out.
        """
        drawn = sample_counts(generator, block.positives, u, params.topics)
        by_label = drawn.by_label
        if block.mask is not None:
            by_label += sample_unknown_counts(
                generator, block.mask.entries.rows, block.mask.unknown, u, params.topics
            )
        psi, log_s = shifted_parts(block, params)
        shape = params.r + drawn.by_row
        term = special.gammaln(shape) - special.gammaln(params.r)
        term += drawn.by_row * psi - shape * np.logaddexp(0, psi + log_s)
        stats = _NOTHING._replace(
            by_label=by_label, log_posterior=drawn.log_density + float(term.sum())
        )
        return BMLPLLocal(drawn.by_row, np.empty((0, params.r.size))), stats

    def sample_global(
        self, stats: BMLPLStats, params: BMLPLParams, rows: Rows, generator: np.random.Generator
    ) -> BMLPLParams:
        """Steps 3 to 7, with further draws on the blocks for r and one for omega."""
        params = params._replace(topics=self._draw_topics(stats.by_label, generator))
        if self.learn_r:
            shape, rate = self.r_prior
            sums = rows.total(self.draw_tables, (params, _new_seed(generator)))
            r = generator.standard_gamma(shape + sums.tables) / (rate + sums.decay)
            params = params._replace(r=np.maximum(r, 1e-8))
        sums = rows.update(self.draw_omega, (params, _new_seed(generator)))
        weights = self._draw_regression(sums, params, rows, generator)
        tau = params.tau
        if self.learn_tau:
            shape, rate = self.tau_prior
            drawn = generator.standard_gamma(shape + 0.5 * params.r.size, size=tau.size - 1)
            drawn /= rate + 0.5 * np.square(weights[:-1]).sum(axis=1)
            tau = np.append(drawn, tau[-1])
        return params._replace(weights=weights, tau=tau, spread=None)

    def draw_tables(
        self, block: BMLPLBlock, local: BMLPLLocal, argument: tuple[BMLPLParams, int]
    ) -> BMLPLStats:
        """Step 4 on a block: table counts, and the sum of log(1 + s exp(psi))."""
        params, seed = argument
        generator = np.random.default_rng([seed, 1 + block.index])
        psi, log_s = shifted_parts(block, params)
        return _NOTHING._replace(
            tables=sample_tables(generator, local.counts, params.r),
            decay=np.logaddexp(0, psi + log_s).sum(axis=0),
        )

    def draw_omega(
        self, block: BMLPLBlock, local: BMLPLLocal, argument: tuple[BMLPLParams, int]
    ) -> tuple[BMLPLLocal, BMLPLStats]:
        """Step 5 on a block, and the perturbed right side of step 6 at the current weights."""
        params, seed = argument
        generator = np.random.default_rng([seed, 1 + block.index])
        x = sum(shifted_parts(block, params))
        seen = np.isfinite(x)
        x = np.where(seen, x, 0)
        omega = sample_polya_gamma(generator, local.counts + params.r, x) * seen
        residual = 0.5 * (local.counts - params.r) * seen - omega * x
        residual += np.sqrt(omega) * generator.standard_normal(omega.shape)
        stats = _NOTHING._replace(
            gradient=with_intercept(transposed_times(block.features, residual), residual),
            curvature=with_intercept(squared_transposed_times(block.features, omega), omega),
        )
        return BMLPLLocal(local.counts, omega), stats

    def log_posterior(self, stats: BMLPLStats, params: BMLPLParams) -> float:
        """Log density of the counts of a step and the parameters it was taken at, up to a constant.

        It does not depend on the order of the topics, so that chains can be compared by it.
        """
        value = stats.log_posterior - 0.5 * float((params.tau @ params.weights**2).sum())
        if self.eta != 1:
            value += (self.eta - 1) * float(np.log(np.maximum(params.topics, 1e-300)).sum())
        if self.learn_r:
            value += _log_gamma_density(params.r, *self.r_prior)
        if self.learn_tau:
            free = params.tau[:-1]
            value += 0.5 * params.r.size * float(np.log(free).sum())
            value += _log_gamma_density(free, *self.tau_prior)
        return value

    def _draw_topics(self, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Dirichlet draws through logarithms of gamma draws, which do not underflow at small eta."""
        log_observed_fraction = _log_gamma_draw(self.eta + counts, generator)
        total = special.logsumexp(log_observed_fraction, axis=0)
        return np.exp(log_observed_fraction - total)

    def _draw_regression(
        self, sums: BMLPLStats, params: BMLPLParams, rows: Rows, generator: np.random.Generator
    ) -> np.ndarray:
        """Step 6, as a correction of the current weights."""
        tau = params.tau[:, None]
        noise = np.sqrt(tau) * generator.standard_normal(params.weights.shape)
        right_side = sums.gradient - tau * params.weights + noise
        if self.solver == "exact":
            return params.weights + solve_exactly(right_side, params.tau, rows)[0]

        def product(direction: np.ndarray) -> np.ndarray:
            return rows.total(curvature_product, direction) + tau * direction

        return params.weights + solve_to_tolerance(
            product, right_side, sums.curvature + tau, max_cg=self.max_cg, cg_tol=self.cg_tol
        )


def _new_seed(generator: np.random.Generator) -> int:
    """A seed for a round of draws on the blocks, which depends on seed and sweep alone."""
    return int(generator.integers(2**63))


def _log_gamma_draw(shape: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """log of Gamma(shape) = Gamma(shape + 1) U^(1/shape)."""
    uniform = 1 - generator.random(shape.shape)
    return np.log(generator.standard_gamma(shape + 1)) + np.log(uniform) / shape


def _log_gamma_density(values: np.ndarray, shape: float, rate: float) -> float:
    return float(((shape - 1) * np.log(values) - rate * values).sum())


# -- what the chains say about predictions and topics ---------------------------------------------


def draw_topic_chains(
    model: SampledTopicModel, rows: Rows, starts: Sequence[BMLPLParams], **settings: Any
) -> ChainSamples:
    """Run :func:`labelgap.fitting.draw_chains`; draws are of the type :class:`BMLPLParams`."""
    starts = [start._replace(spread=None) for start in starts]
    return draw_chains(model, rows, starts, BMLPLParams, **settings)[0]


def predictive_probabilities(samples: ChainSamples, features: Features) -> np.ndarray:
    """Return the posterior predictive P(y_l = 1 | x), averaged over all kept draws, one draw at a time.

    Each draw gives 1 - prod_k (1 + V_lk exp(psi_k))^(-r_k).
    """
    total = np.zeros((features.shape[0], samples.draws.topics.shape[2]))
    for params in samples:
        total += _probabilities(params, features)
    return total / len(samples)


def predictive_intervals(
    samples: ChainSamples, features: Features, level: float = 0.9
) -> CredibleInterval:
    """Return central credible intervals of each P(y_l = 1 | x, parameters) over the kept draws.

    They say how well the probability is known, not whether the label is there.
    """
    bounds = interval_levels(level)
    n_samples, n_labels = features.shape[0], samples.draws.topics.shape[2]
    out = np.empty((2, n_samples, n_labels))
    size = block_size(n_labels * len(samples), fraction=1 / 4)
    for chunk in row_slices(n_samples, size) if n_samples else []:
        part = prepare_features(features.rows[chunk])
        draws = np.stack([_probabilities(params, part) for params in samples])
        out[:, chunk] = np.quantile(draws, bounds, axis=0)
    return CredibleInterval(*out)


def diagnose_predictions(samples: ChainSamples, features: Features) -> Diagnosis:
    """Return R-hat and effective sample sizes of predicted probabilities, (n_samples, n_labels) each.

    Predictions do not depend on the order of the topics, which may differ between chains. Give a
    few rows: all their draws are held at once.
    """
    draws = np.stack([_probabilities(params, features) for params in samples])
    return diagnose(draws.reshape(samples.n_chains, samples.n_draws, *draws.shape[1:]))


def align_topics(samples: ChainSamples, reference: np.ndarray | None = None) -> ChainSamples:
    """Return the same draws with the topics of each permuted to match a reference.

    The order of the topics means nothing and may change within and between chains. The match
    maximises the summed Bhattacharyya coefficients sum_l sqrt(v_lk v*_lj). The reference
    (n_labels x n_topics) is the last draw of the first chain by default.
    """
    draws = samples.draws
    if reference is None:
        reference = draws.topics[0, -1]
    roots = np.sqrt(reference)
    topics, weights, r = (np.empty_like(part) for part in (draws.topics, draws.weights, draws.r))
    for at in np.ndindex(samples.n_chains, samples.n_draws):
        _, order = linear_sum_assignment(roots.T @ np.sqrt(draws.topics[at]), maximize=True)
        topics[at] = draws.topics[at][:, order]
        weights[at] = draws.weights[at][:, order]
        r[at] = draws.r[at][order]
    return replace(samples, draws=draws._replace(topics=topics, weights=weights, r=r))


def topic_intervals(samples: ChainSamples, level: float = 0.9) -> CredibleInterval:
    """Return central credible intervals of V (n_labels x n_topics), over draws aligned beforehand.

    See :func:`align_topics`; a topic that does not keep its identity has wide intervals.
    """
    draws = samples.draws.topics.reshape(-1, *samples.draws.topics.shape[2:])
    return CredibleInterval(*np.quantile(draws, interval_levels(level), axis=0))


def _probabilities(params: BMLPLParams, features: Features) -> np.ndarray:
    psi = linear_part(features, params.weights)
    return -np.expm1(-surprise_rates(psi, params.topics, params.r))
