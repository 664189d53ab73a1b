"""BMLPL: topics over labels, learned from the positives alone.

Model, for rows n, labels l and topics k:

    y_nl = 1(m_nl >= 1),   m_nl ~ Poisson(sum_k v_lk u_nk),   v_k ~ Dirichlet(eta),
    u_nk ~ Gamma(r_k, scale exp(psi_nk)),   psi_nk = w_k . x_n + b_k,   w_k ~ N(0, diag(1/tau)).

``weights="map"`` ascends the log posterior over (V, log u, W); ``weights="mean"`` ascends a
variational lower bound in which each u_nk has a gamma distribution. See docs/derivations/bmlpl for the
derivation, and for the form with unknown entries: the fraction s_nk = sum of v_lk over the
observed labels of row n shifts the regression by log s_nk.

The order of the page: parameters, rows and statistics; the E step of the rows, the M step and the
objective (:class:`TopicModel`); then the parts of the M step: topics, regression, shapes r.

Reference: Rai, Hu, Henao, Carin, "Large-scale Bayesian multi-label learning via topic-based label
embeddings", NIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, special

from labelgap.fitting import FitDivergedError, Rows, blend_stats, row_slices
from labelgap.kernels import topics as kernel
from labelgap.kernels.latent_counts import Positives, expected_counts
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import (
    Features,
    linear_part,
    prepare_features,
    squared_transposed_times,
    times,
    transposed_times,
    weighted_gram,
    with_intercept,
)
from labelgap.labels import Labels, State
from labelgap.memory import block_size

_NO_SPREAD = np.empty((0, 0))


class BMLPLParams(NamedTuple):
    """V (L x K), W (d + 1 x K, the intercept last), r (K), tau (d + 1), and Var[W] or None."""

    topics: np.ndarray
    weights: np.ndarray
    r: np.ndarray
    tau: np.ndarray
    spread: np.ndarray | None


class Mask(NamedTuple):
    """The unknown entries as a sparse matrix of ones, or the observed ones where those are fewer."""

    entries: Features
    unknown: bool


class BMLPLBlock(NamedTuple):
    """Some rows of the problem."""

    index: int  # type: ignore[assignment]
    features: Features
    positives: Positives
    mask: Mask | None


class BMLPLLocal(NamedTuple):
    """Expected counts m_nk of the rows, and the Polya-Gamma means of the last step."""

    counts: np.ndarray
    omega: np.ndarray


class BMLPLStats(NamedTuple):
    """Sums over rows.

    ``by_label`` (L x K) expected counts; ``exposed`` (L x K) topic weight at observed entries,
    None without a mask; ``gradient`` and ``curvature`` (d + 1 x K) of the regression and the
    diagonal of its Hessian; ``tables`` and ``decay`` (K) for the update of r; ``n_samples``;
    ``log_posterior``.
    """

    by_label: np.ndarray
    exposed: np.ndarray | None
    gradient: np.ndarray
    curvature: np.ndarray
    tables: np.ndarray
    decay: np.ndarray
    n_samples: float
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

    def start(self, block: BMLPLBlock, params: BMLPLParams) -> BMLPLLocal:
        """No counts yet: the first step takes the topic weights at their prior mode.

        With ``weights="mean"`` the rates of a topic without counts are exp(digamma(r)), which is
        nothing at small r; there the counts start from the prior mode instead.
        """
        shape = (block.features.shape[0], params.r.size)
        zeros = np.zeros(shape, dtype=params.weights.dtype)
        if self.weights == "map":
            return BMLPLLocal(zeros, zeros)
        psi, log_s = shifted_parts(block, params)
        u, term = np.empty_like(psi), np.empty(len(psi))
        kernel.topic_weights(psi, log_s, zeros, params.r, u, term)
        return BMLPLLocal(expected_counts(block.positives, u, params.topics).by_row, zeros)

    def step(
        self, block: BMLPLBlock, local: BMLPLLocal | None, params: BMLPLParams
    ) -> tuple[BMLPLLocal, BMLPLStats]:
        """Topic weights from the last counts, new counts, and the statistics they give."""
        if local is None:
            local = self.start(block, params)
        psi, log_s = shifted_parts(block, params)
        u, rates, row_term = self.topic_weights(psi, log_s, local.counts, params.r)
        totals = expected_counts(block.positives, rates, params.topics)
        residual, omega = self._regression_terms(block, params, psi, log_s, totals.by_row)
        stats = BMLPLStats(
            by_label=totals.by_label,
            exposed=labels_exposed(block.mask, u),
            gradient=with_intercept(transposed_times(block.features, residual), residual),
            curvature=with_intercept(squared_transposed_times(block.features, omega), omega),
            tables=self._tables(totals.by_row, params.r),
            decay=np.logaddexp(0, psi + log_s).sum(axis=0) if self.learn_r else np.zeros(1),
            n_samples=float(psi.shape[0]),
            log_posterior=totals.log_expm1_rate + row_term,
        )
        return BMLPLLocal(totals.by_row, omega), stats

    def regress_again(
        self, block: BMLPLBlock, local: BMLPLLocal, params: BMLPLParams
    ) -> tuple[BMLPLLocal, np.ndarray]:
        """Gradient and Polya-Gamma means of the regression at other topics, for the same counts."""
        psi, log_s = shifted_parts(block, params)
        residual, omega = self._regression_terms(block, params, psi, log_s, local.counts)
        gradient = with_intercept(transposed_times(block.features, residual), residual)
        return BMLPLLocal(local.counts, omega), gradient

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
        stats: BMLPLStats,
        params: BMLPLParams,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> BMLPLParams:
        """Topics in closed form, W by linear systems, r and tau by their fixed points.

        Each sees what the ones before it have become wherever it shares a term with them: under
        a mask the regression is taken at the observed fractions of the new topics, and r at those and at
        the new weights.
        """
        topics = constrained_topics(stats.by_label, stats.exposed, self.eta, self.n_empty)
        if self.keep_unseen:
            topics = with_unseen_labels(topics, params.topics)
        moved = params._replace(topics=topics)
        if stats.exposed is not None:
            gradient = rows.update(self.regress_again, moved)
            stats = stats._replace(gradient=row_scale * gradient)
        change, variance = self._solve_regression(stats, moved, rows, row_scale)
        weights = params.weights + step_size * change
        moved = moved._replace(weights=weights)
        r, tau = params.r, params.tau
        if self.learn_r:
            decay = stats.decay + row_scale * rows.total(decay_change, (params, moved))
            r = best_shapes(self.weights, stats.tables, decay, stats.n_samples, self.r_prior)
        if self.learn_tau:
            fresh = params.r.size / np.maximum((weights**2 + variance).sum(axis=1), 1e-12)
            tau = np.append(np.minimum(fresh[:-1], 1e8), params.tau[-1]).astype(tau.dtype)
        spread = variance if self.learn_tau else None
        return moved._replace(r=r.astype(params.r.dtype), tau=tau, spread=spread)

    def objective(self, stats: BMLPLStats, params: BMLPLParams) -> float:
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

    blend = staticmethod(blend_stats)

    def _solve_regression(
        self, stats: BMLPLStats, params: BMLPLParams, rows: Rows, row_scale: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The change of the weights, and their approximate posterior variances (for tau).

        Solves (X' Omega_k X + diag tau) delta_k = X'(kappa_k - Omega_k psi_k) - tau o w_k for the
        correction of the current weights, exactly or by a few conjugate-gradient steps from zero.
        """
        tau = params.tau[:, None]
        gradient = stats.gradient - tau * params.weights
        if self.solver == "exact":
            return solve_exactly(
                gradient, params.tau, rows, row_scale, want_variance=self.learn_tau
            )

        def product(direction: np.ndarray) -> np.ndarray:
            return row_scale * rows.total(curvature_product, direction) + tau * direction

        diagonal = stats.curvature + tau
        change = conjugate_gradient(product, gradient, diagonal, n_steps=self.n_cg)
        return change, 1 / diagonal

    def _regression_terms(
        self,
        block: BMLPLBlock,
        params: BMLPLParams,
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

    def _spread(self, features: Features, params: BMLPLParams) -> np.ndarray:
        """x' Sigma_k x with the diagonal of Sigma_k, or nothing when tau is fixed."""
        if params.spread is None:
            return _NO_SPREAD
        X = features.rows
        squared = X.power(2) if hasattr(X, "power") else np.square(X)
        return squared @ params.spread[:-1] + params.spread[-1]

    def _empty_labels_term(self, params: BMLPLParams) -> float:
        """The Dirichlet prior of labels without any positive, which are left out of V."""
        if not self.n_empty:
            return 0.0
        # at the start nothing is left for them, which must not be minus infinity
        left = np.maximum(1 - params.topics.sum(axis=0, dtype=np.float64), 1e-12)
        fraction = left / self.n_empty
        return (self.eta - 1) * self.n_empty * float(np.log(fraction).sum())


def topic_usage(block: BMLPLBlock, local: BMLPLLocal, argument: None) -> np.ndarray:
    """Return the expected counts of each topic in a block."""
    return local.counts.sum(axis=0, dtype=np.float64)


def decay_change(
    block: BMLPLBlock, local: BMLPLLocal, params: tuple[BMLPLParams, BMLPLParams]
) -> np.ndarray:
    """Return how much sum_n log(1 + s exp(psi)) grows from the first parameters to the second."""
    before, after = (np.logaddexp(0, sum(shifted_parts(block, p))).sum(axis=0) for p in params)
    return after - before


def shifted_parts(block: BMLPLBlock, params: BMLPLParams) -> tuple[np.ndarray, np.ndarray]:
    """Return psi = X W + b and the logarithm of the observed fractions, which shifts it."""
    psi = linear_part(block.features, params.weights)
    return psi, log_observed_fraction(block.mask, params.topics, psi)


def prepare_mask(labels: Labels, dtype: np.dtype) -> Mask:
    """Return the mask of some rows; unlabeled zeros count as observed."""
    n_observed = labels.n_observed(unlabeled=True)
    unknown = 2 * n_observed > labels.n_samples * labels.n_labels
    matrix = labels.where(State.UNKNOWN) if unknown else labels.observed(unlabeled=True)
    return Mask(prepare_features(matrix.astype(dtype)), unknown)


def log_observed_fraction(mask: Mask | None, topics: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Return log s_nk, where s_nk is the fraction of topic k on the observed labels of row n.

    Minus infinity where the row says nothing about a topic; zeros without a mask.
    """
    if mask is None:
        return np.zeros_like(psi)
    fraction = times(mask.entries, topics)
    if mask.unknown:
        fraction = topics.sum(axis=0) - fraction
    # what is left of 1 - (1 - rounding) is noise, and 1 / s must stay a number in float32
    fraction[fraction < (1e-9 if mask.unknown else 1e-30)] = 0
    with np.errstate(divide="ignore"):
        return np.log(fraction)


def labels_exposed(mask: Mask | None, weights: np.ndarray) -> np.ndarray | None:
    """Return c_lk, the topic weight of the rows in which label l is observed."""
    if mask is None:
        return None
    part = transposed_times(mask.entries, weights)
    return weights.sum(axis=0) - part if mask.unknown else part


def constrained_topics(
    counts: np.ndarray, exposed: np.ndarray | None, eta: float, n_empty: int
) -> np.ndarray:
    """Return v_lk = (m_lk + eta - 1) / (c_lk + mu_k), with mu_k such that every topic sums to one.

    Without a mask c is the same for all labels of a topic and the formula is a normalisation.
    ``n_empty`` labels without any positive have been left out; each takes (eta - 1) of the total.
    Under a mask and with eta = 1 a label without counts stays at zero, although mass on a label
    that is hardly ever observed could raise the objective: it would only rescale the topic.
    """
    mass = counts + (eta - 1) if eta > 1 else counts
    total = mass.sum(axis=0) + n_empty * (eta - 1)
    if exposed is None:
        return mass / np.maximum(total, np.finfo(mass.dtype).tiny)
    return _solve_multipliers(mass, exposed)


def with_unseen_labels(topics: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return new topics in which a label without any weight keeps the one it had before.

    From zero the multiplicative updates could never lift a label that no mini-batch has shown yet.
    """
    unseen = ~topics.any(axis=1)
    if not unseen.any():
        return topics
    kept = before[unseen]
    topics = topics * np.maximum(1 - kept.sum(axis=0), 0)
    topics[unseen] = kept
    return topics / topics.sum(axis=0)


def _solve_multipliers(mass: np.ndarray, exposed: np.ndarray) -> np.ndarray:
    """Newton steps on 1/S(mu) = 1 for S(mu) = sum_l mass_l / (exposed_l + mu).

    1/S is concave and increasing above minus the least weight c of a label with mass. The search
    starts where that label alone makes S at least one, which is left of the root; tangents of a
    concave function lie above it, so no step passes the root.
    """
    dtype = mass.dtype
    mass, exposed = mass.astype(np.float64), exposed.astype(np.float64)
    held = mass > 0
    bound = np.where(held, exposed, np.inf).min(axis=0)
    least_exposed = np.where(held & (exposed <= bound), mass, 0).max(axis=0)
    offset = np.maximum(least_exposed, 1e-300)
    shifted = np.where(held, exposed - bound, np.inf)
    for _ in range(200):
        fraction = np.where(held, mass / (shifted + offset), 0)
        size = fraction.sum(axis=0)
        slope = np.where(held, fraction / (shifted + offset), 0).sum(axis=0)
        change = np.divide(size * (size - 1), slope, out=np.zeros_like(size), where=slope > 0)
        offset = np.maximum(offset + change, 1e-300)
        if (np.abs(size - 1) < 1e-12).all():
            break
    topics = np.where(held, mass / (shifted + offset), 0)
    return (topics / np.maximum(topics.sum(axis=0), 1e-300)).astype(dtype)


def best_shapes(
    weights: str,
    tables: np.ndarray,
    decay: np.ndarray,
    n_samples: float,
    prior: tuple[float, float],
) -> np.ndarray:
    """Return r from sums over rows, under a gamma prior on r; a step never lowers the objective.

    What is maximised here replaces one part of the objective by ``tables`` log r, with the same
    slope at the current r. A gain here is a gain of the objective; docs/derivations/bmlpl has the
    proofs.

    - ``"mean"``: tables = sum r (digamma(m + r) - digamma(r)), the expected numbers of tables of
      a Chinese restaurant; what is maximised is tables log r - decay r.
    - ``"map"``: tables = sum r log(1 + m/r); the bound has the further term
      n (r log r - r - log Gamma(r)), so that r solves
      (tables + a) / r + n (log r - digamma(r)) = decay + b.
    """
    shape, rate = prior
    mass, pull = tables + shape, decay + rate
    if weights == "mean":
        return mass / pull
    r = mass / pull
    for _ in range(60):
        value = mass + n_samples * r * (np.log(r) - special.digamma(r)) - pull * r
        slope = n_samples * (
            r * (np.log(r) - special.digamma(r) + 1) - r**2 * special.polygamma(1, r)
        )
        slope -= pull * r
        change = np.clip(value / np.minimum(slope, -1e-12), -1.0, 1.0)
        r = r * np.exp(-change)
        if np.abs(change).max() < 1e-12:
            break
    return r


# -- the regression of topic weights on features: K linear systems per global step ----------------


def curvature_product(block: BMLPLBlock, local: BMLPLLocal, direction: np.ndarray) -> np.ndarray:
    """Return X' (omega o (X P)): the Hessian of every topic's regression times its direction."""
    image = local.omega * linear_part(block.features, direction)
    return with_intercept(transposed_times(block.features, image), image)


def block_gram(block: BMLPLBlock, local: BMLPLLocal, topics: slice) -> np.ndarray:
    """Return X' Omega_k X with a column of ones in X, for some topics: (chunk, d + 1, d + 1)."""
    return weighted_gram(block.features, np.ascontiguousarray(local.omega[:, topics]))


def solve_exactly(
    right_side: np.ndarray,
    tau: np.ndarray,
    rows: Rows,
    row_scale: float = 1.0,
    *,
    want_variance: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the system of each topic by a Cholesky factor; the diagonals of inverses if wanted."""
    solution, variance = np.empty_like(right_side), np.zeros_like(right_side)
    n_weights, n_topics = right_side.shape
    for topics in row_slices(n_topics, block_size(n_weights**2, fraction=1 / 4)):
        hessians = row_scale * rows.total(block_gram, topics)
        for hessian, k in zip(hessians, range(topics.start, topics.stop), strict=True):
            factor = factorise(hessian, tau)
            solution[:, k] = linalg.cho_solve(factor, right_side[:, k])
            if want_variance:
                invert = linalg.lapack.get_lapack_funcs("potri", (factor[0],))
                variance[:, k] = np.diag(invert(factor[0], lower=factor[1])[0])
    return solution, variance


def factorise(hessian: np.ndarray, tau: np.ndarray) -> Any:
    """Return the Cholesky factor of a Hessian plus its prior precision."""
    hessian = hessian.copy()
    hessian[np.diag_indices_from(hessian)] += tau
    try:
        return linalg.cho_factor(hessian, lower=True)
    except (linalg.LinAlgError, ValueError) as error:
        raise FitDivergedError(
            f"the regression cannot be solved exactly ({error}): scale the features "
            "(StandardScaler, Normalizer), regularise more, or take solver='cg'"
        ) from error
