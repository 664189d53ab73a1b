"""Gibbs sampling of BMLPL: the steps of the EM algorithm with draws for expectations.

One sweep, with u and omega integrated out of every step that does not name them:

1. u_nk ~ Gamma(r_k + m_nk, rate exp(-psi_nk) + s_nk),
2. m_nl given m_nl >= 1 from Poisson(v_l . u_n), and its split over topics, at the positives,
3. counts at the unknown entries from Poisson(v_lk u_nk), then v_k ~ Dirichlet(eta + counts),
4. r_k ~ Gamma(a + CRT counts, rate b + sum_n log(1 + s_nk exp(psi_nk))),
5. omega_nk ~ PG(m_nk + r_k, psi_nk + log s_nk),
6. w_k ~ N(A^-1 X'(kappa_k - omega_k log s_k), A^-1), A = X' Omega_k X + diag tau,
7. tau_d ~ Gamma(a + K/2, rate b + sum_k w_kd^2 / 2).

s_nk is the share of topic k on the observed labels of row n, 1 without a mask. The draws of r and w
integrate u out, so the u of step 2 must be drawn after them: a sweep begins with it. For the same
reason the counts at unknown entries serve the topics alone and are then forgotten.

The weights are drawn by perturbation: the solution of A w = X'(kappa - Omega log s + Omega^1/2 e)
+ tau^1/2 e' with standard normal e and e' has exactly the distribution of step 6, and needs a
linear solver only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg, special

from labelgap.fitting import FitDivergedError, Rows
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import (
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.kernels.sampling import (
    sample_counts,
    sample_polya_gamma,
    sample_tables,
    sample_unknown_counts,
)
from labelgap.models.bmlpl._mask import log_exposure
from labelgap.models.bmlpl._model import (
    Block,
    Local,
    Params,
    Stats,
    TopicModel,
)
from labelgap.models.bmlpl._regression import block_gram, factorise, topic_chunks

_LARGEST_WEIGHT = 1e15
_NOTHING = Stats(*(None,) * len(Stats._fields))  # type: ignore[arg-type]
_hessian_product = TopicModel().curvature_product


@dataclass(frozen=True)
class SampledTopicModel:
    """Settings of the sampler, and its steps for :func:`labelgap.fitting.run_gibbs`.

    Parameters
    ----------
    eta : float
        Dirichlet concentration of the topics, above zero.
    learn_r, learn_tau : bool
        Draw r, and the prior precisions of the weights; otherwise they stay as they are.
    r_prior, tau_prior : pairs of float
        Shape and rate of their gamma priors. That of tau must be proper: with any improper one
        the posterior is improper, all its mass at zero weights.
    solver : "cg" or "exact"
        Conjugate gradient on all topics at once, or one Cholesky factorisation per topic.
    cg_tol : float
        The residual of each topic's system, relative to its right side, where "cg" stops.
    max_cg : int
        Products "cg" may take to get there; more is an error.
    n_empty : int
        Labels without any positive that were left out of the blocks.
    """

    eta: float = 1.0
    learn_r: bool = False
    r_prior: tuple[float, float] = (1.0, 1.0)
    learn_tau: bool = False
    tau_prior: tuple[float, float] = (1.0, 0.1)
    solver: Literal["cg", "exact"] = "cg"
    cg_tol: float = 1e-6
    max_cg: int = 2000
    n_empty: int = 0

    def sample_step(
        self, block: Block, local: Local | None, argument: tuple[Params, tuple[int, int]]
    ) -> tuple[Local, Stats]:
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
        self, block: Block, counts: np.ndarray, params: Params, generator: np.random.Generator
    ) -> np.ndarray:
        """Step 1: topic weights u (n x K) of the rows, given their counts and all parameters."""
        psi = linear_part(block.features, params.weights)
        log_s = log_exposure(block.mask, params.topics, psi)
        scale = np.exp(psi - np.logaddexp(0, psi + log_s))
        u = scale * generator.standard_gamma(params.r + counts)
        if not u.max(initial=0) < _LARGEST_WEIGHT:
            raise FitDivergedError(
                f"a topic weight of {u.max():.3g} was drawn: scale the features "
                "(StandardScaler, Normalizer) or regularise more"
            )
        return u

    def draw_counts(
        self, block: Block, u: np.ndarray, params: Params, generator: np.random.Generator
    ) -> tuple[Local, Stats]:
        """Steps 2 and 3, without the draw of the topics.

        The log posterior is that of the new counts with the parameters given, u integrated out.
        """
        drawn = sample_counts(generator, block.positives, u, params.topics)
        by_label = drawn.by_label
        if block.mask is not None:
            if self.n_empty:
                raise ValueError(
                    f"n_empty={self.n_empty}: labels without positives must stay in the blocks "
                    "when entries are unknown"
                )
            by_label += sample_unknown_counts(
                generator, block.mask.entries.rows, block.mask.unknown, u, params.topics
            )
        psi = linear_part(block.features, params.weights)
        log_s = log_exposure(block.mask, params.topics, psi)
        shape = params.r + drawn.by_row
        term = special.gammaln(shape) - special.gammaln(params.r)
        term += drawn.by_row * psi - shape * np.logaddexp(0, psi + log_s)
        stats = _NOTHING._replace(
            by_label=by_label, log_posterior=drawn.log_density + float(term.sum())
        )
        return Local(drawn.by_row, np.empty((0, params.r.size))), stats

    def sample_global(
        self, stats: Stats, params: Params, rows: Rows, generator: np.random.Generator
    ) -> Params:
        """Steps 3 to 7, with one more round of draws on the blocks for r and one for omega."""
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

    def draw_tables(self, block: Block, local: Local, argument: tuple[Params, int]) -> Stats:
        """Step 4 on a block: table counts, and the sum of log(1 + s exp(psi))."""
        params, seed = argument
        generator = np.random.default_rng([seed, 1 + block.index])
        psi = linear_part(block.features, params.weights)
        log_s = log_exposure(block.mask, params.topics, psi)
        return _NOTHING._replace(
            tables=sample_tables(generator, local.counts, params.r),
            decay=np.logaddexp(0, psi + log_s).sum(axis=0),
        )

    def draw_omega(
        self, block: Block, local: Local, argument: tuple[Params, int]
    ) -> tuple[Local, Stats]:
        """Step 5 on a block, and the perturbed right side of step 6 at the current weights."""
        params, seed = argument
        generator = np.random.default_rng([seed, 1 + block.index])
        psi = linear_part(block.features, params.weights)
        x = psi + log_exposure(block.mask, params.topics, psi)
        seen = np.isfinite(x)
        x = np.where(seen, x, 0)
        omega = sample_polya_gamma(generator, local.counts + params.r, x) * seen
        residual = 0.5 * (local.counts - params.r) * seen - omega * x
        residual += np.sqrt(omega) * generator.standard_normal(omega.shape)
        stats = _NOTHING._replace(
            gradient=with_intercept(transposed_times(block.features, residual), residual),
            curvature=with_intercept(squared_transposed_times(block.features, omega), omega),
        )
        return Local(local.counts, omega), stats

    def log_posterior(self, stats: Stats, params: Params) -> float:
        """Log density of the counts of a step and the parameters it was taken at, up to a constant.

        It does not depend on the order of the topics, so that chains can be compared by it.
        """
        value = stats.log_posterior - 0.5 * float((params.tau @ params.weights**2).sum())
        if self.eta != 1:
            value += (self.eta - 1) * float(np.log(np.maximum(params.topics, 1e-300)).sum())
        if self.n_empty:
            rest = np.maximum(1 - params.topics.sum(axis=0), 1e-300)
            value += (self.n_empty * self.eta - 1) * float(np.log(rest).sum())
        if self.learn_r:
            value += _log_gamma_density(params.r, *self.r_prior)
        if self.learn_tau:
            free = params.tau[:-1]
            value += 0.5 * params.r.size * float(np.log(free).sum())
            value += _log_gamma_density(free, *self.tau_prior)
        return value

    def _draw_topics(self, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Dirichlet draws through logarithms of gamma draws, which do not underflow at small eta.

        The labels left out of the blocks share what the topics lack of one.
        """
        log_mass = _log_gamma_draw(self.eta + counts, generator)
        total = special.logsumexp(log_mass, axis=0)
        if self.n_empty:
            rest = np.full(counts.shape[1], self.n_empty * self.eta)
            total = np.logaddexp(total, _log_gamma_draw(rest, generator))
        return np.exp(log_mass - total)

    def _draw_regression(
        self, sums: Stats, params: Params, rows: Rows, generator: np.random.Generator
    ) -> np.ndarray:
        """Step 6, as a correction of the current weights."""
        tau = params.tau[:, None]
        noise = np.sqrt(tau) * generator.standard_normal(params.weights.shape)
        right_side = sums.gradient - tau * params.weights + noise
        if self.solver == "exact":
            return params.weights + _solve_exactly(right_side, params.tau, rows)
        return params.weights + self._solve_by_cg(right_side, sums.curvature + tau, tau, rows)

    def _solve_by_cg(
        self, right_side: np.ndarray, diagonal: np.ndarray, tau: np.ndarray, rows: Rows
    ) -> np.ndarray:
        n_products = 0

        def product(direction: np.ndarray) -> np.ndarray:
            nonlocal n_products
            n_products += 1
            return rows.total(_hessian_product, direction) + tau * direction

        correction = conjugate_gradient(
            product, right_side, diagonal, n_steps=self.max_cg, tol=self.cg_tol
        )
        if n_products == self.max_cg:
            raise FitDivergedError(
                f"conjugate gradient did not reach cg_tol={self.cg_tol} in max_cg={self.max_cg} "
                "products: raise either, scale the features, or take solver='exact'"
            )
        return correction


def _solve_exactly(right_side: np.ndarray, tau: np.ndarray, rows: Rows) -> np.ndarray:
    solution = np.empty_like(right_side)
    for topics in topic_chunks(*right_side.shape):
        hessians = rows.total(block_gram, topics)
        for hessian, k in zip(hessians, range(topics.start, topics.stop), strict=True):
            solution[:, k] = linalg.cho_solve(factorise(hessian, tau), right_side[:, k])
    return solution


def _new_seed(generator: np.random.Generator) -> int:
    """A seed for a round of draws on the blocks, which depends on seed and sweep alone."""
    return int(generator.integers(2**63))


def _log_gamma_draw(shape: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """log of Gamma(shape) = Gamma(shape + 1) U^(1/shape)."""
    uniform = 1 - generator.random(shape.shape)
    return np.log(generator.standard_gamma(shape + 1)) + np.log(uniform) / shape


def _log_gamma_density(values: np.ndarray, shape: float, rate: float) -> float:
    return float(((shape - 1) * np.log(values) - rate * values).sum())
