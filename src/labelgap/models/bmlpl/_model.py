"""BMLPL: topics over labels, learned from the positives alone.

Model, for rows n, labels l and topics k:

    y_nl = 1(m_nl >= 1),   m_nl ~ Poisson(sum_k v_lk u_nk),   v_k ~ Dirichlet(eta),
    u_nk ~ Gamma(r_k, scale exp(psi_nk)),   psi_nk = w_k . x_n + b_k,   w_k ~ N(0, diag(1/tau)).

``weights="map"`` ascends the log posterior over (V, log u, W); ``weights="mean"`` ascends a
variational lower bound in which each u_nk has a gamma distribution. See docs/models/bmlpl for the
derivation, and for the form with unknown entries: the exposure s_nk = sum of v_lk over the observed
labels of row n shifts the regression by log s_nk.

Reference: Rai, Hu, Henao, Carin, "Large-scale Bayesian multi-label learning via topic-based label
embeddings", NIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from labelgap.fitting import Rows
from labelgap.kernels import topics as kernel
from labelgap.kernels.counts import Positives, expected_counts
from labelgap.kernels.products import (
    Features,
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.models.bmlpl._mask import Mask, labels_exposed, log_exposure
from labelgap.models.bmlpl._regression import solve_regression
from labelgap.models.bmlpl._shapes import best_shapes
from labelgap.models.bmlpl._simplex import constrained_topics, with_unseen_labels

_NO_SPREAD = np.empty((0, 0))


class Params(NamedTuple):
    """V (L x K), W (d + 1 x K, the intercept last), r (K), tau (d + 1), and Var[W] or None."""

    topics: np.ndarray
    weights: np.ndarray
    r: np.ndarray
    tau: np.ndarray
    spread: np.ndarray | None


class Block(NamedTuple):
    """Some rows of the problem."""

    index: int  # type: ignore[assignment]
    features: Features
    positives: Positives
    mask: Mask | None


class Local(NamedTuple):
    """Expected counts m_nk of the rows, and the Polya-Gamma means of the last step."""

    counts: np.ndarray
    omega: np.ndarray


class Stats(NamedTuple):
    """Sums over rows.

    ``by_label`` (L x K) expected counts; ``exposed`` (L x K) topic weight at observed entries,
    None without a mask; ``gradient`` and ``curvature`` (d + 1 x K) of the regression and the
    diagonal of its Hessian; ``tables`` and ``decay`` (K) for the update of r; ``n_rows``;
    ``log_posterior``.
    """

    by_label: np.ndarray
    exposed: np.ndarray | None
    gradient: np.ndarray
    curvature: np.ndarray
    tables: np.ndarray
    decay: np.ndarray
    n_rows: float
    log_posterior: float


@dataclass(frozen=True)
class TopicModel:
    """Settings of the model, and its steps for the loops of :mod:`labelgap.fitting`."""

    eta: float = 1.0
    weights: Literal["map", "mean"] = "map"
    learn_r: bool = False
    r_prior: tuple[float, float] = (1.0, 1.0)
    learn_tau: bool = False
    solver: Literal["cg", "exact"] = "cg"
    n_cg: int = 2
    n_empty: int = 0
    keep_unseen: bool = False

    def start(self, block: Block, params: Params) -> Local:
        """No counts yet: the first step takes the topic weights at their prior mode.

        With ``weights="mean"`` the rates of a topic without counts are exp(digamma(r)), which is
        nothing at small r; there the counts start from the prior mode instead.
        """
        shape = (block.features.shape[0], params.r.size)
        zeros = np.zeros(shape, dtype=params.weights.dtype)
        if self.weights == "map":
            return Local(zeros, zeros)
        psi, log_s = shifted_parts(block, params)
        u, term = np.empty_like(psi), np.empty(len(psi))
        kernel.topic_weights(psi, log_s, zeros, params.r, u, term)
        return Local(expected_counts(block.positives, u, params.topics).by_row, zeros)

    def step(self, block: Block, local: Local | None, params: Params) -> tuple[Local, Stats]:
        """Topic weights from the last counts, new counts, and the statistics they give."""
        if local is None:
            local = self.start(block, params)
        psi, log_s = shifted_parts(block, params)
        u, rates, row_term = self.topic_weights(psi, log_s, local.counts, params.r)
        totals = expected_counts(block.positives, rates, params.topics)
        residual, omega = self._regression_terms(block, params, psi, log_s, totals.by_row)
        stats = Stats(
            by_label=totals.by_label,
            exposed=labels_exposed(block.mask, u),
            gradient=with_intercept(transposed_times(block.features, residual), residual),
            curvature=with_intercept(squared_transposed_times(block.features, omega), omega),
            tables=self._tables(totals.by_row, params.r),
            decay=np.logaddexp(0, psi + log_s).sum(axis=0) if self.learn_r else np.zeros(1),
            n_rows=float(psi.shape[0]),
            log_posterior=totals.log_expm1_rate + row_term,
        )
        return Local(totals.by_row, omega), stats

    def regress_again(self, block: Block, local: Local, params: Params) -> tuple[Local, np.ndarray]:
        """Gradient and Polya-Gamma means of the regression at other topics, for the same counts."""
        psi, log_s = shifted_parts(block, params)
        residual, omega = self._regression_terms(block, params, psi, log_s, local.counts)
        gradient = with_intercept(transposed_times(block.features, residual), residual)
        return Local(local.counts, omega), gradient

    def topic_weights(
        self, psi: np.ndarray, log_s: np.ndarray, counts: np.ndarray, r: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """E[u], the weights that enter the Poisson rates, and the rows' term of the objective."""
        u, term = np.empty_like(psi), np.empty(len(psi))
        kernel.topic_weights(psi, log_s, counts, r, u, term)
        if self.weights == "map":
            return u, u, float(term.sum())
        shape = r + counts
        psi_shape = special.digamma(shape)
        rates = u * np.exp(psi_shape) / shape
        term = special.gammaln(shape) - special.gammaln(r) - counts * psi_shape
        term -= r * np.logaddexp(0, psi + log_s)
        return u, rates, float(term.sum())

    def maximise(
        self,
        stats: Stats,
        params: Params,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> Params:
        """Topics in closed form, W by linear systems, r and tau by their fixed points.

        Each sees what the ones before it have become wherever it shares a term with them: under
        a mask the regression is taken at the exposures of the new topics, and r at those and at
        the new weights.
        """
        topics = constrained_topics(stats.by_label, stats.exposed, self.eta, self.n_empty)
        if self.keep_unseen:
            topics = with_unseen_labels(topics, params.topics)
        moved = params._replace(topics=topics)
        if stats.exposed is not None:
            gradient = rows.update(self.regress_again, moved)
            stats = stats._replace(gradient=row_scale * gradient)
        weights, variance = solve_regression(self, stats, moved, rows, step_size, row_scale)
        moved = moved._replace(weights=weights)
        r, tau = params.r, params.tau
        if self.learn_r:
            decay = stats.decay + row_scale * rows.total(decay_change, (params, moved))
            r = best_shapes(self.weights, stats.tables, decay, stats.n_rows, self.r_prior)
        if self.learn_tau:
            fresh = params.r.size / np.maximum((weights**2 + variance).sum(axis=1), 1e-12)
            tau = np.append(np.minimum(fresh[:-1], 1e8), params.tau[-1]).astype(tau.dtype)
        spread = variance if self.learn_tau else None
        return moved._replace(r=r.astype(params.r.dtype), tau=tau, spread=spread)

    def objective(self, stats: Stats, params: Params) -> float:
        """Log posterior (or bound) at ``params``, up to a constant."""
        value = stats.log_posterior - 0.5 * float((params.tau @ params.weights**2).sum())
        if self.eta > 1:
            value += (self.eta - 1) * float(
                np.log(np.maximum(params.topics, np.float64(1e-300))).sum()
            )
            value += self._empty_labels_term(params)
        if self.learn_r:
            shape, rate = self.r_prior
            value += float((shape * np.log(params.r) - rate * params.r).sum())
        return value

    def blend(self, running: Stats, fresh: Stats, step_size: float) -> Stats:
        """Running sums of what adds up; the gradient belongs to the current weights alone."""
        mixed = {
            name: (1 - step_size) * getattr(running, name) + step_size * getattr(fresh, name)
            for name in ("by_label", "curvature", "tables", "decay", "n_rows", "log_posterior")
        }
        exposed = None
        if running.exposed is not None and fresh.exposed is not None:
            exposed = (1 - step_size) * running.exposed + step_size * fresh.exposed
        return Stats(exposed=exposed, gradient=fresh.gradient, **mixed)

    def curvature_product(self, block: Block, local: Local, direction: np.ndarray) -> np.ndarray:
        """X' (omega o (X P)): the Hessian of every topic's regression times its direction."""
        image = local.omega * linear_part(block.features, direction)
        return with_intercept(transposed_times(block.features, image), image)

    def _regression_terms(
        self,
        block: Block,
        params: Params,
        psi: np.ndarray,
        log_s: np.ndarray,
        counts: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        residual, omega = np.empty_like(psi), np.empty_like(psi)
        spread = self._spread(block.features, params)
        kernel.regression_terms(psi, log_s, counts, params.r, spread, residual, omega)
        return residual, omega

    def _tables(self, counts: np.ndarray, r: np.ndarray) -> np.ndarray:
        if not self.learn_r:
            return np.zeros(1)
        if self.weights == "map":
            return (r * np.log1p(counts / r)).sum(axis=0)
        return (r * (special.digamma(counts + r) - special.digamma(r))).sum(axis=0)

    def _spread(self, features: Features, params: Params) -> np.ndarray:
        """x' Sigma_k x with the diagonal of Sigma_k, or nothing when tau is fixed."""
        if params.spread is None:
            return _NO_SPREAD
        X = features.rows
        squared = X.power(2) if hasattr(X, "power") else np.square(X)
        return squared @ params.spread[:-1] + params.spread[-1]

    def _empty_labels_term(self, params: Params) -> float:
        """The Dirichlet prior of labels without any positive, which are left out of V."""
        if not self.n_empty:
            return 0.0
        # at the start nothing is left for them, which must not be minus infinity
        left = np.maximum(1 - params.topics.sum(axis=0, dtype=np.float64), 1e-12)
        share = left / self.n_empty
        return (self.eta - 1) * self.n_empty * float(np.log(share).sum())


def topic_usage(block: Block, local: Local, argument: None) -> np.ndarray:
    """Expected counts of each topic in a block, for :meth:`labelgap.fitting.Rows.total`."""
    return local.counts.sum(axis=0, dtype=np.float64)


def decay_change(block: Block, local: Local, params: tuple[Params, Params]) -> np.ndarray:
    """How much sum_n log(1 + s exp(psi)) grows from the first parameters to the second."""
    before, after = (np.logaddexp(0, sum(shifted_parts(block, p))).sum(axis=0) for p in params)
    return after - before


def shifted_parts(block: Block, params: Params) -> tuple[np.ndarray, np.ndarray]:
    """psi = X W + b and the logarithm of the exposures, which shifts it."""
    psi = linear_part(block.features, params.weights)
    return psi, log_exposure(block.mask, params.topics, psi)
