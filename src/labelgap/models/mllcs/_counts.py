"""The negative binomial model of co-occurrence counts.

    m_st ~ NB(r, sigmoid(psi_st)),   psi_st = v_s . beta_t + a_s + c_t + offset,

for seen labels s and all labels t: the likelihood of a count is
Gamma(m + r) / (m! Gamma(r)) sigmoid(psi)^m sigmoid(-psi)^r. Polya-Gamma augmentation has a = m and
b = m + r, hence kappa = m - (m + r)/2 = (m - r)/2; the paper prints (m + r)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from labelgap.cooccurrence import Cooccurrence
from labelgap.kernels.polya_gamma import polya_gamma_mean


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of seen with all labels, and how much each of them weighs.

    Parameters
    ----------
    values : array of shape (n_seen, n_labels)
        Zero where a count is missing.
    weights : array of shape (n_seen, n_labels)
        Zero where a count is missing.
    seen : int array of shape (n_seen,)
        Column of each seen label.
    offset : float
        What psi is without any factors: log(mean count / r).
    printed_kappa : bool
        Take the paper's (m + r)/2, to see what it does.
    """

    values: np.ndarray
    weights: np.ndarray
    seen: np.ndarray
    offset: float
    printed_kappa: bool = False

    @property
    def kappa_sign(self) -> float:
        return 1.0 if self.printed_kappa else -1.0


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
    printed_kappa: bool = False,
) -> Counts:
    """Counts for the model.

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
    return Counts(values.astype(dtype), weights.astype(dtype), seen, offset, printed_kappa)


def count_offset(weights: np.ndarray, values: np.ndarray, r: float) -> float:
    """log(mean count / r), the psi at which a count of dispersion r has the mean of all."""
    total = weights.sum()
    mean = (weights * values).sum() / total if total > 0 else 0.0
    return float(np.log((mean + 1e-3) / r))


def count_terms(counts: Counts, psi: np.ndarray, r: float) -> CountTerms:
    """Linear and quadratic weights of psi under the Polya-Gamma bound at the current psi."""
    kappa = 0.5 * counts.weights * (counts.values + counts.kappa_sign * r)
    omega = counts.weights * polya_gamma_mean(counts.values + r, psi)
    return CountTerms(kappa, omega)


def count_log_likelihood(counts: Counts, psi: np.ndarray, r: float) -> float:
    """Weighted log-likelihood, without the terms that no parameter changes."""
    m = counts.values
    shape = special.gammaln(m + r) - special.gammaln(r)
    return float((counts.weights * (shape + m * psi - (m + r) * np.logaddexp(0, psi))).sum())


def best_dispersion(counts: Counts, psi: np.ndarray, r: float, prior: tuple[float, float]) -> float:
    """The next r: an EM step, whose latent variables are tables of a Chinese restaurant.

    r' = (a + sum E[tables]) / (b + sum log(1 + exp(psi))) with E[tables] =
    r (digamma(m + r) - digamma(r)). Counts are whole numbers, so the step never loses.
    """
    m = counts.values
    tables = r * (special.digamma(m + r) - special.digamma(r))
    shape, rate = prior
    above = float((counts.weights * np.logaddexp(0, psi)).sum())
    return (shape + float((counts.weights * tables).sum())) / (rate + above)
