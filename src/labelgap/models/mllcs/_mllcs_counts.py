"""The negative binomial model of co-occurrence counts.

    m_st ~ NB(r, sigmoid(psi_st)),   psi_st = v_s . beta_t + a_s + c_t + offset,

for seen labels s and all labels t: the likelihood of a count is
Gamma(m + r) / (m! Gamma(r)) sigmoid(psi)^m sigmoid(-psi)^r. Polya-Gamma augmentation has a = m and
b = m + r, hence kappa = m - (m + r)/2 = (m - r)/2; the paper prints (m + r)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from labelgap.cooccurrence import Cooccurrence
from labelgap.kernels.polya_gamma import polya_gamma_mean
from labelgap.kernels.weighted_ridge import solve_grams, weighted_grams
from labelgap.models.mllcs._mllcs_rows import with_ones

if TYPE_CHECKING:
    from labelgap.models.mllcs._mllcs_em import MLLCSParams

BIAS_PRECISION = 1e-2
_COUNT_STEPS = 25


@dataclass(frozen=True, eq=False)
class CooccurrenceCounts:
    """Counts of seen with all labels, and how much each of them weighs.

    ``values`` and ``weights`` (n_seen x n_labels) are zero where a count is missing; ``seen`` are
    the columns of the seen labels; ``offset`` is what psi is without any factors:
    log(mean count / r).
    """

    values: np.ndarray
    weights: np.ndarray
    seen: np.ndarray
    offset: float


class CountTerms(NamedTuple):
    """kappa and omega of every count (n_seen, n_labels), already weighted."""

    kappa: np.ndarray
    omega: np.ndarray


def prepare_counts(
    cooccurrence: Cooccurrence,
    weight: float,
    r: float,
    *,
    diagonal: bool,
    dtype: np.dtype,
) -> CooccurrenceCounts:
    """Return the counts for the model.

    A pair of seen labels stands in the counts twice, as (s, t) and as (t, s); it has the weight
    1/2 each time, so that it counts once. The diagonal, how often a label occurs, is no
    co-occurrence: it is left out unless ``diagonal``, and then has the weight 1/2 like the rest
    of the block.
    """
    values = cooccurrence.dense(missing=0.0)
    weights = weight * cooccurrence.observed.astype(np.float64)
    seen = cooccurrence.seen
    weights[:, seen] *= 0.5
    if not diagonal:
        weights[np.arange(seen.size), seen] = 0.0
    offset = count_offset(weights, values, r)
    return CooccurrenceCounts(values.astype(dtype), weights.astype(dtype), seen, offset)


def count_offset(weights: np.ndarray, values: np.ndarray, r: float) -> float:
    """log(mean count / r), the psi at which a count of dispersion r has the mean of all."""
    total = weights.sum()
    mean = (weights * values).sum() / total if total > 0 else 0.0
    return float(np.log((mean + 1e-3) / r))


def count_terms(counts: CooccurrenceCounts, psi: np.ndarray, r: float) -> CountTerms:
    """Linear and quadratic weights of psi under the Polya-Gamma bound at the current psi."""
    kappa = 0.5 * counts.weights * (counts.values - r)
    omega = counts.weights * polya_gamma_mean(counts.values + r, psi)
    return CountTerms(kappa, omega)


def count_log_likelihood(counts: CooccurrenceCounts, psi: np.ndarray, r: float) -> float:
    """Weighted log-likelihood, without the terms that no parameter changes."""
    m = counts.values
    shape = special.gammaln(m + r) - special.gammaln(r)
    return float((counts.weights * (shape + m * psi - (m + r) * np.logaddexp(0, psi))).sum())


def best_dispersion(
    counts: CooccurrenceCounts, psi: np.ndarray, r: float, prior: tuple[float, float]
) -> float:
    """The next r: an EM step, whose latent variables are tables of a Chinese restaurant.

    r' = (a + sum E[tables]) / (b + sum log(1 + exp(psi))) with E[tables] =
    r (digamma(m + r) - digamma(r)). CooccurrenceCounts are whole numbers, so the step never loses.
    """
    m = counts.values
    tables = r * (special.digamma(m + r) - special.digamma(r))
    shape, rate = prior
    above = float((counts.weights * np.logaddexp(0, psi)).sum())
    return (shape + float((counts.weights * tables).sum())) / (rate + above)


def count_factors(
    counts: CooccurrenceCounts, params: MLLCSParams, lambda_beta: float
) -> np.ndarray:
    """(beta, c) of new labels given the seen labels' factors; shape (n_labels, K + 1)."""
    k = params.factors.shape[1]
    factors = with_ones(params.factors.astype(np.float64))
    ridge = np.append(np.full(k, lambda_beta), BIAS_PRECISION)
    known = params.count_bias[:, None] + counts.offset
    solution = np.zeros((counts.values.shape[1], k + 1))
    for _ in range(_COUNT_STEPS):
        terms = count_terms(counts, factors @ solution.T + known, params.r)
        right = (terms.kappa - terms.omega * known).T @ factors
        solution = solve_grams(weighted_grams(terms.omega.T, factors), right, ridge).z
    return solution


def with_count_factors(
    params: MLLCSParams,
    cooccurrence: Cooccurrence,
    offset: float,
    lambda_beta: float,
    *,
    diagonal: bool,
) -> MLLCSParams:
    """Parameters with the (beta, c) of all labels that are most probable given the rest."""
    weights = cooccurrence.observed.astype(np.float64)
    if not diagonal:
        weights[np.arange(cooccurrence.n_seen), cooccurrence.seen] = 0.0
    counts = CooccurrenceCounts(cooccurrence.dense(missing=0.0), weights, cooccurrence.seen, offset)
    found = count_factors(counts, params, lambda_beta).astype(params.beta.dtype)
    return params._replace(beta=found[:, :-1].copy(), column_bias=found[:, -1].copy())
