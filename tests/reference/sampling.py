"""Slow twins of the sampling kernels: one obvious draw at a time, or the exact distribution."""

from __future__ import annotations

import numpy as np
from scipy import special, stats


def positive_poisson_pmf(rate: float, counts: np.ndarray) -> np.ndarray:
    """P(m | m >= 1) of a Poisson count."""
    return stats.poisson.pmf(counts, rate) / -np.expm1(-rate)


def sample_counts(generator, positives, U, V):
    """Counts of the positives by rejection, split topic by topic: (by_row, by_label)."""
    by_row, by_label = np.zeros(U.shape), np.zeros(V.shape)
    for n, label in zip(*np.nonzero(positives), strict=True):
        fractions = np.zeros(U.shape[1])
        while fractions.sum() == 0:
            fractions = generator.poisson(V[label] * U[n])
        by_row[n] += fractions
        by_label[label] += fractions
    return by_row, by_label


def sample_unknown_counts(generator, unknown, U, V):
    """Poisson counts at the unknown entries, summed over rows: (n_labels, n_topics)."""
    rates = U[:, None, :] * V[None, :, :]
    return (generator.poisson(rates) * unknown[:, :, None]).sum(axis=0)


def table_count_pmf(count: int, r: float) -> np.ndarray:
    """P(t), t = 0..count, of the number of tables: the convolution of its Bernoulli parts."""
    pmf = np.ones(1)
    for i in range(count):
        pmf = np.convolve(pmf, [i / (r + i), r / (r + i)])
    return pmf


def polya_gamma_laplace(shape: float, psi: float, t: float) -> float:
    """E[exp(-t omega)] = (cosh(psi/2) / cosh(sqrt(psi^2/4 + t/2)))^shape."""

    def log_cosh(x: float) -> float:
        return np.logaddexp(x, -x) - np.log(2)

    return float(np.exp(shape * (log_cosh(psi / 2) - log_cosh(np.sqrt(psi**2 / 4 + t / 2)))))


def log_counts_density(split: np.ndarray, V: np.ndarray) -> float:
    """Sum of m log v - log m! for counts of shape (n, L, K)."""
    return float((special.xlogy(split, V) - special.gammaln(split + 1)).sum())


def polya_gamma_unit_mean(psi: float) -> float:
    """E[PG(1, psi)] = tanh(psi/2) / (2 psi)."""
    return 0.25 if psi == 0 else float(np.tanh(psi / 2) / (2 * psi))
