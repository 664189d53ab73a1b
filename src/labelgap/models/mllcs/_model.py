"""ML-LCS: labels and their co-occurrence counts from one set of label factors.

Model, for rows n, seen labels s and all labels t:

    y_ns ~ Bernoulli(sigmoid(u_n . v_s + b_s)),        u_n ~ N(W' x_n, 1/lambda_u),
    m_st ~ NB(r, sigmoid(v_s . beta_t + a_s + c_t)),   v_s ~ N(0, 1/lambda_v),

with beta_t ~ N(0, 1/lambda_beta) and w ~ N(0, 1/tau). With ``joint`` the mean of v_s is
Psi' (beta_s, 1) instead of zero. EM ascends the log posterior over U, V, b, a, beta, c, W, Psi, r;
every step is a ridge regression under the Polya-Gamma bound. docs/models/mllcs has the derivation.

Reference: Gaure, Gupta, Verma, Rai, "A probabilistic framework for zero-shot multi-label
learning", UAI 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from labelgap.fitting import Rows
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import packed_outer, solve_grams, weighted_grams
from labelgap.models.mllcs._counts import (
    Counts,
    best_dispersion,
    count_log_likelihood,
    count_terms,
)
from labelgap.models.mllcs._rows import RowSteps, Stats, feature_product

BIAS_PRECISION = 1e-2


class Params(NamedTuple):
    """V (S x K), b and a (S), beta (L x K), c (L), W (d + 1 x K), Psi (K + 1 x K), r, theta (S)."""

    factors: np.ndarray
    bias: np.ndarray
    count_bias: np.ndarray
    beta: np.ndarray
    column_bias: np.ndarray
    weights: np.ndarray
    psi_map: np.ndarray
    r: float
    looked_at: np.ndarray | None


@dataclass(frozen=True, eq=False)
class CooccurrenceModel:
    """Settings, counts, and the steps for the loops of :mod:`labelgap.fitting`.

    Parameters
    ----------
    counts : Counts or None
        None leaves the counts out: a factor model of the labels alone.
    lambda_u, lambda_v, lambda_beta, lambda_map : float
        Precisions of the priors.
    tau : array of shape (n_features + 1,)
        Precisions of the regression weights, the intercept's last.
    learn_r, joint, learn_looks : bool
    look_prior : pair of float
        Of the beta distribution of theta, both above 1.
    solve_weights : callable, optional
        Solves (lambda_u X'X + diag tau) D = G exactly; otherwise ``n_cg`` conjugate-gradient
        steps.
    """

    counts: Counts | None
    tau: np.ndarray
    lambda_u: float = 1.0
    lambda_v: float = 1.0
    lambda_beta: float = 1.0
    lambda_map: float = 1.0
    learn_r: bool = False
    r_prior: tuple[float, float] = (1.0, 0.1)
    joint: bool = False
    learn_looks: bool = False
    look_prior: tuple[float, float] = (2.0, 2.0)
    n_cg: int = 5
    solve_weights: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)

    @property
    def row_steps(self) -> RowSteps:
        return RowSteps(self.lambda_u)

    @property
    def step(self) -> Callable:
        """:meth:`RowSteps.step`, which can be sent elsewhere without the counts."""
        return self.row_steps.step

    def maximise(
        self,
        stats: Stats,
        params: Params,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> Params:
        """V, b and a; beta and c; Psi; r; theta; W: one after the other."""
        params = self._labels_step(stats, params)
        if self.counts is not None:
            params = self._counts_step(params)
            if self.joint:
                params = params._replace(psi_map=self._map_step(params))
            if self.learn_r:
                psi = self.count_psi(params)
                params = params._replace(
                    r=best_dispersion(self.counts, psi, params.r, self.r_prior)
                )
        if self.learn_looks:
            params = params._replace(looked_at=self._looks_step(stats))
        gradient = self.lambda_u * stats.gradient - self.tau[:, None] * params.weights
        correction = self.solve_regression(gradient, stats.curvature, rows, row_scale)
        return params._replace(weights=params.weights + step_size * correction)

    def objective(self, stats: Stats, params: Params) -> float:
        """Log posterior at ``params``, up to a constant."""
        value = stats.log_posterior - 0.5 * float((self.tau @ params.weights**2).sum())
        off = params.factors - self.prior_mean(params)
        value -= 0.5 * self.lambda_v * _sum_of_squares(off)
        value -= 0.5 * BIAS_PRECISION * _sum_of_squares(params.bias)
        if self.learn_looks and params.looked_at is not None:
            a, b = self.look_prior
            theta = params.looked_at.astype(np.float64)
            value += float(((a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta)).sum())
        return value + self._counts_objective(params)

    def blend(self, running: Stats, fresh: Stats, step_size: float) -> Stats:
        """Running sums of what adds up; the gradient belongs to the current weights alone."""
        mixed = {
            name: (1 - step_size) * getattr(running, name) + step_size * getattr(fresh, name)
            for name in Stats._fields
            if name != "gradient"
        }
        return Stats(gradient=fresh.gradient, **mixed)

    def count_psi(self, params: Params) -> np.ndarray:
        """The log odds behind every count, of shape (n_seen, n_labels)."""
        assert self.counts is not None
        bias = params.count_bias[:, None] + params.column_bias + self.counts.offset
        return params.factors @ params.beta.T + bias

    # -- the steps ----------------------------------------------------------------------------

    def label_systems(self, stats: Stats, params: Params) -> Joined:
        """Curvature and right sides of each seen label's (v, b, a), without their priors."""
        n_seen, k = params.factors.shape
        joined = Joined.of(n_seen, k, params.factors.dtype)
        joined.add_labels(stats.grams, stats.right_side)
        if self.counts is not None:
            terms = count_terms(self.counts, self.count_psi(params), params.r)
            beta = with_ones(params.beta)
            known = params.column_bias + self.counts.offset
            right = (terms.kappa - terms.omega * known) @ beta
            joined.add_counts(weighted_grams(terms.omega, beta), right)
        return joined

    def label_ridge(self, n_factors: int) -> np.ndarray:
        """Prior precisions of (v, b, a)."""
        return np.append(np.full(n_factors, self.lambda_v), [BIAS_PRECISION] * 2)

    def _labels_step(self, stats: Stats, params: Params) -> Params:
        """(v, b, a) of each seen label, from its entries and from its counts."""
        k = params.factors.shape[1]
        joined = self.label_systems(stats, params)
        joined.right_side[:, :k] += self.lambda_v * self.prior_mean(params)
        solution = solve_grams(joined.packed, joined.right_side, self.label_ridge(k)).z
        factors = np.ascontiguousarray(solution[:, :k])
        bias, count_bias = solution[:, k].copy(), solution[:, k + 1].copy()
        return params._replace(factors=factors, bias=bias, count_bias=count_bias)

    def _counts_step(self, params: Params) -> Params:
        """(beta, c) of every label, from its counts and, when joint, from its factors."""
        assert self.counts is not None
        dtype, k = params.factors.dtype, params.factors.shape[1]
        terms = count_terms(self.counts, self.count_psi(params), params.r)
        known = params.count_bias[:, None] + self.counts.offset
        factors = with_ones(params.factors)
        right = (terms.kappa - terms.omega * known).T @ factors
        grams = weighted_grams(terms.omega.T, factors)
        if self.joint:
            slope, seen = params.psi_map[:k], self.counts.seen
            inner = k * (k + 1) // 2
            # v ~ N(Psi' (beta, 1), 1/lambda_v) is K more observations of beta
            grams[seen, :inner] += self.lambda_v * packed_outer(slope.T.copy()).sum(axis=0)
            right[seen, :k] += self.lambda_v * (params.factors - params.psi_map[k]) @ slope.T
        ridge = np.append(np.full(k, self.lambda_beta), BIAS_PRECISION).astype(dtype)
        solution = solve_grams(grams, right, ridge).z
        beta = np.ascontiguousarray(solution[:, :k])
        return params._replace(beta=beta, column_bias=solution[:, k].copy())

    def _map_step(self, params: Params) -> np.ndarray:
        assert self.counts is not None
        features = self._map_features(params)
        gram = self.lambda_v * features.T @ features
        gram[np.diag_indices_from(gram)] += self.lambda_map
        return linalg.solve(gram, self.lambda_v * features.T @ params.factors, assume_a="pos")

    def _looks_step(self, stats: Stats) -> np.ndarray:
        """The mode of theta under its beta prior: looks over candidates."""
        a, b = self.look_prior
        relevant, ambiguous = stats.candidates.T
        looks = stats.looked_at + relevant + a - 1
        return (looks / (relevant + ambiguous + a + b - 2)).astype(stats.grams.dtype)

    def solve_regression(
        self, gradient: np.ndarray, curvature: np.ndarray, rows: Rows, row_scale: float = 1.0
    ) -> np.ndarray:
        """D with (lambda_u X'X + diag tau) D = gradient, exactly or by conjugate gradient.

        ``curvature`` is the diagonal of X'X.
        """
        if self.solve_weights is not None:
            return self.solve_weights(gradient).astype(gradient.dtype)
        tau = self.tau[:, None]

        def product(direction: np.ndarray) -> np.ndarray:
            total = rows.total(feature_product, direction)
            return self.lambda_u * row_scale * total + tau * direction

        diagonal = self.lambda_u * curvature[:, None] + tau
        diagonal = np.broadcast_to(diagonal, gradient.shape).astype(gradient.dtype)
        return conjugate_gradient(product, gradient, diagonal, n_steps=self.n_cg)

    # -- their parts --------------------------------------------------------------------------

    def _map_features(self, params: Params) -> np.ndarray:
        assert self.counts is not None
        return with_ones(params.beta[self.counts.seen])

    def prior_mean(self, params: Params) -> np.ndarray | float:
        """Mean of the label factors before any data: zero, or what the map says."""
        if not self.joint or self.counts is None:
            return 0.0
        return self._map_features(params) @ params.psi_map

    def _counts_objective(self, params: Params) -> float:
        if self.counts is None:
            return 0.0
        value = count_log_likelihood(self.counts, self.count_psi(params), params.r)
        value -= 0.5 * self.lambda_beta * _sum_of_squares(params.beta)
        for bias in (params.count_bias, params.column_bias):
            value -= 0.5 * BIAS_PRECISION * _sum_of_squares(bias)
        if self.joint:
            value -= 0.5 * self.lambda_map * _sum_of_squares(params.psi_map)
        if self.learn_r:
            shape, rate = self.r_prior
            value += shape * float(np.log(params.r)) - rate * params.r
        return value


class Joined(NamedTuple):
    """Systems for (v, b, a): v has entries and counts as data, b entries alone, a counts alone."""

    packed: np.ndarray
    right_side: np.ndarray

    @classmethod
    def of(cls, n: int, k: int, dtype: np.dtype) -> Joined:
        width = (k + 2) * (k + 3) // 2
        return cls(np.zeros((n, width), dtype=dtype), np.zeros((n, k + 2), dtype=dtype))

    def add_labels(self, grams: np.ndarray, right_side: np.ndarray) -> None:
        """Entries: features (u, 1, 0)."""
        self.packed[:, : grams.shape[1]] += grams
        self.right_side[:, :-1] += right_side

    def add_counts(self, grams: np.ndarray, right_side: np.ndarray) -> None:
        """Counts: features (beta, 0, 1), so that their last row moves down by one."""
        k = right_side.shape[1] - 1
        inner, last = k * (k + 1) // 2, (k + 1) * (k + 2) // 2
        self.packed[:, :inner] += grams[:, :inner]
        self.packed[:, last : last + k] += grams[:, inner : inner + k]
        self.packed[:, last + k + 1] += grams[:, inner + k]
        self.right_side[:, :k] += right_side[:, :k]
        self.right_side[:, k + 1] += right_side[:, k]


def exact_solver(gram: np.ndarray, lambda_u: float, tau: np.ndarray) -> Callable:
    """Solutions of (lambda_u X'X + diag tau) D = G by one factorisation."""
    matrix = lambda_u * gram
    matrix[np.diag_indices_from(matrix)] += tau
    factor = linalg.cho_factor(matrix, lower=True)
    return lambda gradient: linalg.cho_solve(factor, gradient)


def with_ones(factors: np.ndarray) -> np.ndarray:
    """Factors with a column of ones, for a bias."""
    return np.column_stack([factors, np.ones(len(factors), dtype=factors.dtype)])


def _sum_of_squares(array: Any) -> float:
    return float(np.square(array, dtype=np.float64).sum())
