"""Gibbs sampling in several chains, what is kept of them, and whether they have mixed.

Rank-normalised split R-hat and effective sample sizes after A. Vehtari, A. Gelman, D. Simpson,
B. Carpenter and P.-C. Buerkner, "Rank-normalization, folding, and localization: an improved R-hat
for assessing convergence of MCMC", Bayesian Analysis 16(2), 2021.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import fft, special, stats

from labelgap.fitting._loops import run_gibbs
from labelgap.fitting._monitor import FitDivergedError, Progress
from labelgap.fitting._row_blocks import Rows
from labelgap.kernels.linear_solvers import conjugate_gradient


@dataclass(frozen=True, eq=False)
class ChainSamples:
    """The kept draws of all chains. ``samples[i]`` is one draw, counted chain after chain.

    Attributes
    ----------
    draws : named tuple of arrays of shape (n_chains, n_draws, ...)
        The drawn parameters, field by field; None where the model has no such parameter.
    log_posterior : array of shape (n_chains, n_burn_in + n_draws * thin)
        After every sweep, burn-in included.
    seconds : array of the same shape
        Since the start of the chain.
    n_burn_in, thin : int
    """

    draws: Any
    log_posterior: np.ndarray
    seconds: np.ndarray
    n_burn_in: int
    thin: int

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.log_posterior.shape[0]

    @property
    def n_draws(self) -> int:
        """Kept draws per chain."""
        return (self.log_posterior.shape[1] - self.n_burn_in) // self.thin

    def __len__(self) -> int:
        return self.n_chains * self.n_draws

    def __getitem__(self, index: int) -> Any:
        at = divmod(range(len(self))[index], self.n_draws)
        return type(self.draws)(*(None if part is None else part[at] for part in self.draws))

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def spaced(self, n_most: int) -> np.ndarray:
        """Return the indices of at most ``n_most`` draws, evenly spaced over all chains."""
        n = min(n_most, len(self))
        return ((np.arange(n) + 0.5) * len(self) / n).astype(np.intp)

    def diagnose_log_posterior(self) -> Diagnosis:
        """Return R-hat and effective sample sizes of the log posterior at the kept draws."""
        return diagnose(self.log_posterior[:, self.n_burn_in + self.thin - 1 :: self.thin])


def draw_chains(
    model: Any,
    rows: Rows,
    starts: Sequence[Any],
    kept: Any,
    *,
    n_burn_in: int,
    n_draws: int,
    seed: int,
    thin: int = 1,
    dtype: np.dtype | type = np.float64,
    callback: Callable[[Progress], object] | None = None,
) -> tuple[ChainSamples, Any]:
    """Run one Gibbs chain from each start over the same rows, one after the other.

    A chain depends on its start, the seed and the blocks, not on where these lie. Local states of
    the rows are overwritten.

    Parameters
    ----------
    model : object with ``sample_step``, ``sample_global`` and ``log_posterior(stats, params)``
    rows : Rows
    starts : sequence of parameters
        One named tuple per chain; chains run in double precision.
    kept : named tuple class
        Its fields are the parameters to keep of each draw.
    n_burn_in : int
        Sweeps whose draws are not kept.
    n_draws : int
        Draws to keep per chain, one every ``thin`` sweeps.
    seed : int
    thin : int, default=1
    dtype : dtype, default=float64
        In which kept draws are stored.
    callback : callable, default=None
        Called with a :class:`Progress` after every sweep; ``objective`` is the log posterior, and
        sweeps are counted over all chains.

    Returns
    -------
    samples : ChainSamples
    params : named tuple
        The last draw of the last chain, whole.

    Raises
    ------
    FitDivergedError
        When a log posterior is not finite.
    """
    for name, value, least in (("n_burn_in", n_burn_in, 0), ("n_draws", n_draws, 1)):
        if value < least:
            raise ValueError(f"{name}={value}: give at least {least}")
    if thin < 1:
        raise ValueError(f"thin={thin}: keep one draw every `thin` sweeps, at least 1")
    if not starts:
        raise ValueError("starts is empty: give the parameters of at least one chain")
    n_chains, n_sweeps = len(starts), n_burn_in + n_draws * thin
    values = {name: getattr(starts[0], name, None) for name in kept._fields}
    room = {
        name: None if value is None else np.empty((n_chains, n_draws, *np.shape(value)), dtype)
        for name, value in values.items()
    }
    record = np.empty((2, n_chains, n_sweeps))
    samples = ChainSamples(kept(**room), record[0], record[1], n_burn_in, thin)
    chain_seeds = np.random.SeedSequence(seed).generate_state(n_chains, np.uint64)
    params = None
    for chain, (start, chain_seed) in enumerate(zip(starts, chain_seeds, strict=True)):
        collect = _Collector(model, samples, chain, _in_double_precision(start), callback)
        params = run_gibbs(
            model, rows, collect.previous, n_draws=n_sweeps, seed=int(chain_seed), collect=collect
        )
    return samples, params


def _in_double_precision(params: Any) -> Any:
    arrays = (np.array(p, np.float64) if isinstance(p, np.ndarray) else p for p in params)
    return type(params)(*arrays)


class _Collector:
    """Takes what :func:`run_gibbs` shows after every sweep of a chain."""

    def __init__(
        self,
        model: Any,
        samples: ChainSamples,
        chain: int,
        start: Any,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self.model = model
        self.samples = samples
        self.chain = chain
        self.previous = start
        self.callback = callback
        self.started = time.perf_counter()

    def __call__(self, sweep: int, params: Any, stats: Any) -> None:
        samples, chain = self.samples, self.chain
        # the local draws of a sweep were made at the parameters that entered it
        value = self.model.log_posterior(stats, self.previous)
        if not np.isfinite(value):
            raise FitDivergedError(
                f"the log posterior of chain {chain} is {value} after {sweep + 1} sweeps: scale "
                "the features (StandardScaler, Normalizer) or regularise more"
            )
        self.previous = params
        samples.log_posterior[chain, sweep] = value
        samples.seconds[chain, sweep] = time.perf_counter() - self.started
        draw, rest = divmod(sweep - samples.n_burn_in, samples.thin)
        if draw >= 0 and rest == samples.thin - 1:
            for name, part in samples.draws._asdict().items():
                if part is not None:
                    part[chain, draw] = getattr(params, name)
        if self.callback is not None:
            n_chains, n_sweeps = samples.log_posterior.shape
            seconds = float(samples.seconds[:chain, -1].sum() + samples.seconds[chain, sweep])
            self.callback(Progress(chain * n_sweeps + sweep, n_chains * n_sweeps, value, seconds))


def solve_to_tolerance(
    product: Callable[[np.ndarray], np.ndarray],
    right_side: np.ndarray,
    diagonal: np.ndarray,
    *,
    max_cg: int,
    cg_tol: float,
) -> np.ndarray:
    """Solve the perturbed systems of a Gaussian draw by conjugate gradient, to high accuracy.

    Raises
    ------
    FitDivergedError
        When ``max_cg`` products do not reach ``cg_tol``: the draws would be biased.
    """
    n_products = 0

    def counted(direction: np.ndarray) -> np.ndarray:
        nonlocal n_products
        n_products += 1
        return product(direction)

    solution = conjugate_gradient(counted, right_side, diagonal, n_steps=max_cg, tol=cg_tol)
    if n_products == max_cg:
        raise FitDivergedError(
            f"conjugate gradient did not reach cg_tol={cg_tol} in max_cg={max_cg} "
            "products: raise either, scale the features, or take solver='exact'"
        )
    return solution


def interval_levels(level: float) -> list[float]:
    """Return the two quantiles of a central interval of this level, checked."""
    if not 0 < level < 1:
        raise ValueError(f"level={level}: a credible level lies between 0 and 1")
    return [(1 - level) / 2, (1 + level) / 2]


class Diagnosis(NamedTuple):
    """R-hat (good below 1.01), bulk and tail effective sample sizes of each quantity.

    A quantity that never moves, or is not finite, has no diagnosis: its values are NaN.
    """

    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray


class CredibleInterval(NamedTuple):
    """The lower and upper ends of central credible intervals."""

    lower: np.ndarray
    upper: np.ndarray


def diagnose(draws: np.ndarray) -> Diagnosis:
    """Return R-hat and effective sample sizes of every quantity that chains have drawn.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws, ...)
        At least four draws per chain.

    Returns
    -------
    Diagnosis
        Arrays of the trailing shape of ``draws``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import diagnose
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(diagnose(draws).r_hat < 1.01)
    True
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
