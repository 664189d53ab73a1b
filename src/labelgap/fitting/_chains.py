"""Several chains of Gibbs sampling over the same rows, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelgap.fitting._diagnostics import Diagnosis, diagnose
from labelgap.fitting._loops import run_gibbs
from labelgap.fitting._monitor import FitDivergedError, Progress
from labelgap.fitting._rows import Rows

Keep = Callable[[int, int, Any], None]


class ChainRecord(NamedTuple):
    """The log posterior after every sweep of every chain, and when it was reached.

    ``log_posterior`` and ``seconds`` since the start of a chain: (n_chains, n_sweeps), burn-in
    included.
    """

    log_posterior: np.ndarray
    seconds: np.ndarray
    n_burn_in: int
    thin: int

    @classmethod
    def of(cls, n_chains: int, *, n_burn_in: int, n_draws: int, thin: int) -> ChainRecord:
        """An empty record for so many kept draws per chain."""
        for name, value, least in (("n_burn_in", n_burn_in, 0), ("n_draws", n_draws, 1)):
            if value < least:
                raise ValueError(f"{name}={value}: give at least {least}")
        if thin < 1:
            raise ValueError(f"thin={thin}: keep one draw every `thin` sweeps, at least 1")
        if not n_chains:
            raise ValueError("starts is empty: give the parameters of at least one chain")
        shape = n_chains, n_burn_in + n_draws * thin
        return cls(np.empty(shape), np.empty(shape), n_burn_in, thin)

    def diagnose(self) -> Diagnosis:
        """R-hat and effective sample sizes of the log posterior at the kept draws."""
        return diagnose(self.log_posterior[:, self.n_burn_in + self.thin - 1 :: self.thin])


def run_chains(
    model: Any,
    rows: Rows,
    starts: Sequence[Any],
    record: ChainRecord,
    keep: Keep,
    *,
    seed: int,
    callback: Callable[[Progress], object] | None = None,
) -> Any:
    """Run one chain from each start and fill the record; returns the last draw of all.

    A chain depends on its start, the seed and the blocks, not on where these lie. Local states of
    the rows are overwritten.

    Parameters
    ----------
    model : object with ``sample_step``, ``sample_global`` and ``log_posterior(stats, params)``
    starts : sequence of parameters
        One set per chain.
    keep : callable
        Called with chain, draw and parameters for every draw that is kept.
    callback : callable, optional
        Called with a :class:`Progress` after every sweep; ``objective`` is the log posterior, and
        sweeps are counted over all chains.

    Raises
    ------
    FitDivergedError
        When a log posterior is not finite.
    """
    chain_seeds = np.random.SeedSequence(seed).generate_state(len(starts), np.uint64)
    params = None
    for chain, (start, chain_seed) in enumerate(zip(starts, chain_seeds, strict=True)):
        collect = _Collector(model, record, keep, chain, start, callback)
        n_sweeps = record.log_posterior.shape[1]
        params = run_gibbs(
            model, rows, start, n_samples=n_sweeps, seed=int(chain_seed), collect=collect
        )
    return params


class _Collector:
    """Takes what :func:`run_gibbs` shows after every sweep of a chain."""

    def __init__(
        self,
        model: Any,
        record: ChainRecord,
        keep: Keep,
        chain: int,
        start: Any,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self.model = model
        self.record = record
        self.keep = keep
        self.chain = chain
        self.previous = start
        self.callback = callback
        self.started = time.perf_counter()

    def __call__(self, sweep: int, params: Any, stats: Any) -> None:
        record, chain = self.record, self.chain
        # the local draws of a sweep were made at the parameters that entered it
        value = self.model.log_posterior(stats, self.previous)
        if not np.isfinite(value):
            raise FitDivergedError(
                f"the log posterior of chain {chain} is {value} after {sweep + 1} sweeps: scale "
                "the features (StandardScaler, Normalizer) or regularise more"
            )
        self.previous = params
        record.log_posterior[chain, sweep] = value
        record.seconds[chain, sweep] = time.perf_counter() - self.started
        draw, rest = divmod(sweep - record.n_burn_in, record.thin)
        if draw >= 0 and rest == record.thin - 1:
            self.keep(chain, draw, params)
        if self.callback is not None:
            n_chains, n_sweeps = record.log_posterior.shape
            seconds = float(record.seconds[:chain, -1].sum() + record.seconds[chain, sweep])
            self.callback(Progress(chain * n_sweeps + sweep, n_chains * n_sweeps, value, seconds))
