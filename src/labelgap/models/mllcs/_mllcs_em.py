"""ML-LCS: labels and their co-occurrence counts from one set of label factors.

Model, for rows n, seen labels s and all labels t:

    y_ns ~ Bernoulli(sigmoid(u_n . v_s + b_s)),        u_n ~ N(W' x_n, 1/lambda_u),
    m_st ~ NB(r, sigmoid(v_s . beta_t + a_s + c_t)),   v_s ~ N(0, 1/lambda_v),

with beta_t ~ N(0, 1/lambda_beta) and w ~ N(0, 1/tau). With ``joint`` the mean of v_s is
Psi' (beta_s, 1) instead of zero. EM ascends the log posterior over U, V, b, a, beta, c, W, Psi, r;
every step is a ridge regression under the Polya-Gamma bound. docs/derivations/mllcs has the derivation.

Reference: Gaure, Gupta, Verma, Rai, "A probabilistic framework for zero-shot multi-label
learning", UAI 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from labelgap.fitting import Rows, blend_stats
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import transposed_times, with_intercept
from labelgap.kernels.weighted_ridge import packed_outer, solve_grams, weighted_grams
from labelgap.labels import State
from labelgap.models.mllcs._mllcs_counts import (
    BIAS_PRECISION,
    CooccurrenceCounts,
    CountTerms,
    best_dispersion,
    count_log_likelihood,
    count_terms,
)
from labelgap.models.mllcs._mllcs_rows import (
    MLLCSBlock,
    MLLCSRowSteps,
    MLLCSStats,
    feature_product,
    squared_features,
    with_ones,
)
from labelgap.propensity import label_frequency_mode


class MLLCSParams(NamedTuple):
    """V (S x K), b and a (S), beta (L x K), c (L), W (d + 1 x K), Psi (K + 1 x K), r, theta (S)."""

    factors: np.ndarray
    bias: np.ndarray
    count_bias: np.ndarray
    beta: np.ndarray
    column_bias: np.ndarray
    weights: np.ndarray
    psi_map: np.ndarray
    r: float
    label_frequency: np.ndarray | None


@dataclass(frozen=True, eq=False)
class CooccurrenceModel:
    """Settings, counts, and the steps for the loops of :mod:`labelgap.fitting`.

    counts : CooccurrenceCounts or None. None leaves the counts out: a factor model of the labels
        alone.
    lambda_u, lambda_v, lambda_beta, lambda_map : float. Precisions of the priors.
    tau : array of shape (n_features + 1,). Precisions of the regression weights, the intercept's
        last.
    learn_r, joint, learn_label_frequency : bool
    label_frequency_prior : pair of float. Of the beta distribution of theta, both above 1.
    solve_weights : callable, optional. Solves (lambda_u X'X + diag tau) D = G exactly; otherwise
        ``n_cg`` conjugate-gradient steps.
    """

    counts: CooccurrenceCounts | None
    tau: np.ndarray
    lambda_u: float = 1.0
    lambda_v: float = 1.0
    lambda_beta: float = 1.0
    lambda_map: float = 1.0
    learn_r: bool = False
    r_prior: tuple[float, float] = (1.0, 0.1)
    joint: bool = False
    learn_label_frequency: bool = False
    label_frequency_prior: tuple[float, float] = (2.0, 2.0)
    n_cg: int = 5
    solve_weights: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)

    @property
    def row_steps(self) -> MLLCSRowSteps:
        return MLLCSRowSteps(self.lambda_u)

    @property
    def step(self) -> Callable:
        """:meth:`MLLCSRowSteps.step`, which can be sent elsewhere without the counts."""
        return self.row_steps.step

    def maximise(
        self,
        stats: MLLCSStats,
        params: MLLCSParams,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> MLLCSParams:
        """V, b and a; beta and c; Psi; r; theta; W: one after the other."""
        params = self.labels_step(stats, params)
        if self.counts is not None:
            params = self.counts_step(params)
            if self.joint:
                params = params._replace(psi_map=self._map_step(params))
            if self.learn_r:
                psi = self.count_psi(params)
                params = params._replace(
                    r=best_dispersion(self.counts, psi, params.r, self.r_prior)
                )
        if self.learn_label_frequency:
            params = params._replace(label_frequency=self._label_frequency_step(stats))
        gradient = self.lambda_u * stats.gradient - self.tau[:, None] * params.weights
        correction = self.solve_regression(gradient, stats.curvature, rows, row_scale)
        return params._replace(weights=params.weights + step_size * correction)

    def objective(self, stats: MLLCSStats, params: MLLCSParams) -> float:
        """Log posterior at ``params``, up to a constant."""
        value = stats.log_posterior - 0.5 * float((self.tau @ params.weights**2).sum())
        off = params.factors - self.prior_mean(params)
        value -= 0.5 * self.lambda_v * _sum_of_squares(off)
        value -= 0.5 * BIAS_PRECISION * _sum_of_squares(params.bias)
        if self.learn_label_frequency and params.label_frequency is not None:
            a, b = self.label_frequency_prior
            theta = params.label_frequency.astype(np.float64)
            value += float(((a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta)).sum())
        return value + self._counts_objective(params)

    blend = staticmethod(blend_stats)

    def count_psi(self, params: MLLCSParams) -> np.ndarray:
        """The log odds behind every count, of shape (n_seen, n_labels)."""
        assert self.counts is not None
        bias = params.count_bias[:, None] + params.column_bias + self.counts.offset
        return params.factors @ params.beta.T + bias

    # -- the steps ----------------------------------------------------------------------------

    def label_systems(
        self, stats: MLLCSStats, params: MLLCSParams, terms: CountTerms | None = None
    ) -> LabelSystems:
        """Curvature and right sides of each seen label's (v, b, a), without their priors.

        ``terms`` are kappa and omega of the counts where they are drawn, not expected.
        """
        n_seen, k = params.factors.shape
        systems = LabelSystems.of(n_seen, k, params.factors.dtype)
        systems.add_labels(stats.grams, stats.right_side)
        if self.counts is not None:
            terms = terms or count_terms(self.counts, self.count_psi(params), params.r)
            beta = with_ones(params.beta)
            known = params.column_bias + self.counts.offset
            right = (terms.kappa - terms.omega * known) @ beta
            systems.add_counts(weighted_grams(terms.omega, beta), right)
        return systems

    def label_ridge(self, n_factors: int) -> np.ndarray:
        """Prior precisions of (v, b, a)."""
        return np.append(np.full(n_factors, self.lambda_v), [BIAS_PRECISION] * 2)

    def labels_step(
        self,
        stats: MLLCSStats,
        params: MLLCSParams,
        terms: CountTerms | None = None,
        noise: np.ndarray | None = None,
    ) -> MLLCSParams:
        """(v, b, a) of each seen label from entries and counts; a draw where there is noise."""
        k = params.factors.shape[1]
        packed, right = self.label_systems(stats, params, terms)
        right[:, :k] += self.lambda_v * self.prior_mean(params)
        solution = solve_grams(packed, right, self.label_ridge(k), noise=noise).z
        params = params._replace(
            factors=np.ascontiguousarray(solution[:, :k]), bias=solution[:, k].copy()
        )
        if self.counts is None:
            return params
        return params._replace(count_bias=solution[:, k + 1].copy())

    def counts_step(
        self,
        params: MLLCSParams,
        terms: CountTerms | None = None,
        noise: np.ndarray | None = None,
    ) -> MLLCSParams:
        """(beta, c) of every label, from its counts and, when joint, from its factors."""
        assert self.counts is not None
        dtype, k = params.factors.dtype, params.factors.shape[1]
        terms = terms or count_terms(self.counts, self.count_psi(params), params.r)
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
        solution = solve_grams(grams, right, ridge, noise=noise).z
        beta = np.ascontiguousarray(solution[:, :k])
        return params._replace(beta=beta, column_bias=solution[:, k].copy())

    def _map_step(self, params: MLLCSParams) -> np.ndarray:
        assert self.counts is not None
        features = self._map_features(params)
        gram = self.lambda_v * features.T @ features
        gram[np.diag_indices_from(gram)] += self.lambda_map
        return linalg.solve(gram, self.lambda_v * features.T @ params.factors, assume_a="pos")

    def _label_frequency_step(self, stats: MLLCSStats) -> np.ndarray:
        """The mode of theta under its beta prior: recorded over candidates."""
        relevant, unlabeled = stats.candidates.T
        exposed, candidates = stats.examined + relevant, relevant + unlabeled
        mode = label_frequency_mode(exposed, candidates, self.label_frequency_prior)
        return mode.astype(stats.grams.dtype)

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

    def _map_features(self, params: MLLCSParams) -> np.ndarray:
        assert self.counts is not None
        return with_ones(params.beta[self.counts.seen])

    def prior_mean(self, params: MLLCSParams) -> np.ndarray | float:
        """Mean of the label factors before any data: zero, or what the map says."""
        if not self.joint or self.counts is None:
            return 0.0
        return self._map_features(params) @ params.psi_map

    def _counts_objective(self, params: MLLCSParams) -> float:
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


class LabelSystems(NamedTuple):
    """Systems for (v, b, a): v has entries and counts as data, b entries alone, a counts alone."""

    packed: np.ndarray
    right_side: np.ndarray

    @classmethod
    def of(cls, n: int, k: int, dtype: np.dtype) -> LabelSystems:
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


def _sum_of_squares(array: Any) -> float:
    return float(np.square(array, dtype=np.float64).sum())


_NOISE = 0.05


class MLLCSMoments(NamedTuple):
    """Sums over rows: positives, known entries, and positives in common, per label or pair."""

    positives: np.ndarray
    known: np.ndarray
    together: np.ndarray


def label_moments(block: MLLCSBlock, local: None, argument: None) -> MLLCSMoments:
    """For :meth:`labelgap.fitting.Rows.total`."""
    states = to_numpy(block.states)
    relevant = (states == State.RELEVANT).astype(np.float32)
    known = (states != State.UNKNOWN).sum(axis=0).astype(np.float64)
    together = (relevant.T @ relevant).astype(np.float64)
    return MLLCSMoments(relevant.sum(axis=0, dtype=np.float64), known, together)


def starting_params(
    moments: MLLCSMoments,
    shapes: tuple[int, int, int],
    r: float,
    label_frequency: float | None,
    rng: np.random.Generator,
    dtype: np.dtype,
) -> MLLCSParams:
    """Label factors along the leading eigenvectors of the labels' correlations, plus noise.

    ``shapes`` are (n_features, n_labels, n_factors), of all labels, seen and unseen;
    ``label_frequency`` is where label frequencies start, None when every zero is a zero.
    """
    n_features, n_labels, n_factors = shapes
    n_seen = moments.positives.size
    fraction = np.clip(moments.positives / np.maximum(moments.known, 1), 1e-4, 1 - 1e-4)
    factors = _NOISE * rng.normal(size=(n_seen, n_factors))
    spectrum, directions = np.linalg.eigh(_correlations(moments, fraction))
    n_kept = min(n_factors, n_seen)
    leading = slice(-1, -n_kept - 1, -1)
    strength = np.sqrt(np.maximum(spectrum[leading], 0) / max(spectrum[-1], 1e-12))
    factors[:, :n_kept] += directions[:, leading] * strength
    theta = None if label_frequency is None else np.full(n_seen, label_frequency, dtype=dtype)
    return MLLCSParams(
        factors=factors.astype(dtype),
        bias=np.log(fraction / (1 - fraction)).astype(dtype),
        count_bias=np.zeros(n_seen, dtype=dtype),
        beta=(0.1 * rng.normal(size=(n_labels, n_factors))).astype(dtype),
        column_bias=np.zeros(n_labels, dtype=dtype),
        weights=np.zeros((n_features + 1, n_factors), dtype=dtype),
        psi_map=np.zeros((n_factors + 1, n_factors), dtype=dtype),
        r=r,
        label_frequency=theta,
    )


def first_weights(model: CooccurrenceModel, rows: Rows, params: MLLCSParams) -> MLLCSParams:
    """Regression weights for the rows' labels projected on the label factors.

    The targets are standardised labels times V, each factor over sqrt(1 + ||v_k||^2); unknown
    entries count as average.
    """
    fraction = 1 / (1 + np.exp(-params.bias))
    sizes = np.sqrt(1 + np.square(params.factors).sum(axis=0))
    projection = params.factors / sizes / np.sqrt(fraction * (1 - fraction))[:, None]
    total = rows.total(projected_labels, (projection, fraction))
    gradient = (model.lambda_u * total.product).astype(params.weights.dtype)
    return params._replace(weights=model.solve_regression(gradient, total.curvature, rows))


class MLLCSProjection(NamedTuple):
    """X'T for the projected labels T, and the squared features, with a column of ones in X."""

    product: np.ndarray
    curvature: np.ndarray


def projected_labels(
    block: MLLCSBlock, local: None, argument: tuple[np.ndarray, np.ndarray]
) -> MLLCSProjection:
    """For :meth:`labelgap.fitting.Rows.total`."""
    projection, fraction = argument
    states = to_numpy(block.states)
    off = np.where(states == State.UNKNOWN, 0, (states == State.RELEVANT) - fraction)
    targets = off.astype(projection.dtype) @ projection
    product = with_intercept(transposed_times(block.features, targets), targets)
    return MLLCSProjection(product, squared_features(block.features))


def _correlations(moments: MLLCSMoments, fraction: np.ndarray) -> np.ndarray:
    """Of the labels over rows; pairs known in few rows together lean towards zero."""
    n = np.maximum(np.minimum.outer(moments.known, moments.known), 1)
    spread = np.sqrt(fraction * (1 - fraction))
    return (moments.together / n - np.outer(fraction, fraction)) / np.outer(spread, spread)
