"""Have the chains mixed, and how many independent draws are theirs worth.

Rank-normalised split R-hat and effective sample sizes after A. Vehtari, A. Gelman, D. Simpson,
B. Carpenter and P.-C. Buerkner, "Rank-normalization, folding, and localization: an improved R-hat
for assessing convergence of MCMC", Bayesian Analysis 16(2), 2021.

Draws come as arrays of shape (n_chains, n_draws, ...), one quantity per trailing position. A
quantity that never moves, or is not finite, has no diagnosis: its values are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import fft, special, stats


class Diagnosis(NamedTuple):
    """Per quantity: R-hat (good below 1.01), bulk and tail effective sample sizes."""

    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray


class CredibleInterval(NamedTuple):
    """Lower and upper ends of central credible intervals."""

    lower: np.ndarray
    upper: np.ndarray


def diagnose(draws: np.ndarray) -> Diagnosis:
    """All three diagnostics of every quantity.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws, ...)
        At least four draws per chain.

    Returns
    -------
    Diagnosis
        Arrays of the trailing shape of ``draws``.
    """
    return Diagnosis(split_r_hat(draws), bulk_ess(draws), tail_ess(draws))


def split_r_hat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat: the larger of the bulk's and, folded at the median, the tails'.

    sqrt of the variance of all draws over the mean variance within half chains, on normal scores
    of the ranks; 1 when the halves agree in place and in scale.
    """
    return _per_quantity(draws, _r_hat)


def bulk_ess(draws: np.ndarray) -> np.ndarray:
    """Effective sample size for the centre of the distribution, from rank-normalised draws."""
    return _per_quantity(draws, lambda halves: mean_ess(_normal_scores(halves)))


def tail_ess(draws: np.ndarray) -> np.ndarray:
    """The smaller effective sample size of the 5% and 95% quantiles."""
    return _per_quantity(draws, _tail_ess)


def mean_ess(chains: np.ndarray) -> float:
    """Effective sample size for the mean of one quantity, from chains (n_chains, n_draws) as given.

    S / (1 + 2 sum of autocorrelations), which are combined over chains and summed in pairs while
    these are positive and decreasing (Geyer's initial monotone sequence).
    """
    n_chains, n_draws = chains.shape
    covariances = _autocovariances(chains)
    within = covariances[:, 0].mean() * n_draws / (n_draws - 1)
    if not within > 0:
        return np.nan
    total = within * (n_draws - 1) / n_draws
    if n_chains > 1:
        total += chains.mean(axis=1).var(ddof=1)
    correlations = 1 - (within - covariances.mean(axis=0)) / total
    correlations[0] = 1
    n_pairs = n_draws // 2
    pairs = correlations[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else n_pairs
    kept = np.minimum.accumulate(pairs[:stop])
    # the odd term after the last pair lowers the variance of the estimate for antithetic chains
    last = max(correlations[2 * stop], 0) if 2 * stop < n_draws else 0
    time = max(2 * kept.sum() - 1 + last, 1 / np.log10(n_chains * n_draws))
    return n_chains * n_draws / time


def _per_quantity(draws: np.ndarray, statistic: Callable[[np.ndarray], float]) -> np.ndarray:
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim < 2 or draws.shape[1] < 4:
        raise ValueError(
            f"draws of shape {draws.shape}: give (n_chains, n_draws, ...) with at least 4 draws"
        )
    flat = draws.reshape(*draws.shape[:2], -1)
    out = np.full(flat.shape[2], np.nan)
    for position in range(out.size):
        chains = flat[:, :, position]
        if np.isfinite(chains).all() and np.ptp(chains) > 0:
            out[position] = statistic(_halves(chains))
    return out.reshape(draws.shape[2:])


def _halves(chains: np.ndarray) -> np.ndarray:
    """Each chain cut in two; the middle draw of an odd number is left out."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: np.ndarray) -> np.ndarray:
    ranks = stats.rankdata(chains, axis=None).reshape(chains.shape)
    return special.ndtri((ranks - 0.375) / (chains.size + 0.25))


def _r_hat(halves: np.ndarray) -> float:
    folded = np.abs(halves - np.median(halves))
    values = [_variance_ratio(_normal_scores(h)) for h in (halves, folded) if np.ptp(h) > 0]
    return float(np.max(values))


def _variance_ratio(chains: np.ndarray) -> float:
    n_draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    if within == 0:
        return np.inf
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def _tail_ess(halves: np.ndarray) -> float:
    below = [halves <= np.quantile(halves, level) for level in (0.05, 0.95)]
    return min(mean_ess(indicator.astype(np.float64)) for indicator in below)


def _autocovariances(chains: np.ndarray) -> np.ndarray:
    """Biased autocovariances (divided by the number of draws) at every lag, chain by chain."""
    n_draws = chains.shape[1]
    size = fft.next_fast_len(2 * n_draws)
    spectrum = fft.rfft(chains - chains.mean(axis=1, keepdims=True), size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return fft.irfft(power, size, axis=1)[:, :n_draws] / n_draws
