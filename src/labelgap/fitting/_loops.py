"""Batch EM, online EM and Gibbs sampling over any rows of any model, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone

from labelgap.fitting._checkpoint import Checkpoint
from labelgap.fitting._monitor import Monitor, Trace
from labelgap.fitting._row_blocks import (
    LocalRows,
    Prepare,
    RowModel,
    Rows,
    RowSource,
    row_slices,
    scale,
)


class EM(BaseEstimator):
    """Settings of batch expectation maximisation, for ``inference=``.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-5
        Stop when the objective gains less than ``tol`` times its size; 0 to run ``max_iter``
        iterations on purpose.
    n_init : int, default=1
        Starts, of which the best objective is kept.
    solver : {"cg", "exact"}, default="cg"
        Conjugate gradient, or a factorisation per topic, for the linear systems of the M step.
    n_cg : int, default=2
        Conjugate-gradient steps per M step.

    See Also
    --------
    OnlineEM : Learns from mini-batches.
    Gibbs : Samples from the posterior.

    Examples
    --------
    >>> from labelgap import BMLPL
    >>> from labelgap.fitting import EM
    >>> model = BMLPL(20, inference=EM(max_iter=50, n_init=3))
    >>> model.set_params(inference__tol=1e-4).inference
    EM(max_iter=50, n_init=3, tol=0.0001)
    """

    def __init__(
        self,
        max_iter: int = 100,
        tol: float = 1e-5,
        *,
        n_init: int = 1,
        solver: Literal["cg", "exact"] = "cg",
        n_cg: int = 2,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.solver = solver
        self.n_cg = n_cg


class OnlineEM(BaseEstimator):
    """Settings of EM over shuffled mini-batches, with the global step after each of them.

    The t-th mini-batch has the weight (t + step_offset)^(-step_power).

    Parameters
    ----------
    batch_rows : int, default=250
        Samples in a mini-batch.
    n_passes : int, default=1
        Passes over all samples.
    step_offset : float, default=1.0
        At least 1.
    step_power : float, default=0.6
        In (0.5, 1] (Cappe and Moulines, 2009).
    n_local : int, default=4
        Local steps on a mini-batch before its statistics are used.
    n_cg : int, default=4
        Conjugate-gradient steps per mini-batch.

    See Also
    --------
    EM : Uses all samples in each iteration.

    Examples
    --------
    >>> from labelgap.fitting import OnlineEM
    >>> [round(OnlineEM().step_size(step), 2) for step in (0, 1, 10)]
    [1.0, 0.66, 0.24]
    """

    def __init__(
        self,
        batch_rows: int = 250,
        n_passes: int = 1,
        *,
        step_offset: float = 1.0,
        step_power: float = 0.6,
        n_local: int = 4,
        n_cg: int = 4,
    ) -> None:
        self.batch_rows = batch_rows
        self.n_passes = n_passes
        self.step_offset = step_offset
        self.step_power = step_power
        self.n_local = n_local
        self.n_cg = n_cg

    def step_size(self, step: int) -> float:
        """Return the weight of a mini-batch; the first one ever takes all."""
        return 1.0 if step == 0 else (step + self.step_offset) ** -self.step_power


class Gibbs(BaseEstimator):
    """Settings of Gibbs sampling, for ``inference=``.

    Parameters
    ----------
    n_draws : int, default=100
        Sweeps kept from each chain, after thinning.
    burn_in : int, default=100
        Sweeps thrown away at the start of each chain.
    thin : int, default=1
        Sweeps per kept sample.
    n_chains : int, default=2
        Chains, which run one after the other.
    start_iter : int, default=20
        EM iterations from a start of its own before each chain.
    solver : {"cg", "exact"}, default="cg"
        How Gaussian conditionals are drawn: a perturbed system solved by conjugate gradient to
        high accuracy, or a factorisation per topic.

    See Also
    --------
    EM : Finds the most probable parameters, much faster.

    Examples
    --------
    >>> from labelgap import BMLPL
    >>> from labelgap.fitting import Gibbs
    >>> BMLPL(5, inference=Gibbs(n_draws=200, n_chains=4)).inference.n_chains
    4
    """

    def __init__(
        self,
        n_draws: int = 100,
        burn_in: int = 100,
        *,
        thin: int = 1,
        n_chains: int = 2,
        start_iter: int = 20,
        solver: Literal["cg", "exact"] = "cg",
    ) -> None:
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.start_iter = start_iter
        self.solver = solver


Settings = EM | OnlineEM | Gibbs
_DEFAULTS: dict[str, Settings] = {"em": EM(), "online": OnlineEM(), "gibbs": Gibbs()}
_AT_LEAST_ONE = (
    *("max_iter", "n_init", "n_cg", "n_local", "n_passes"),
    *("batch_rows", "step_offset", "thin", "n_chains", "n_draws"),
)
_LEAST = dict.fromkeys(_AT_LEAST_ONE, 1) | dict.fromkeys(
    ("tol", "step_power", "burn_in", "start_iter"), 0
)


def fitting_settings(
    inference: Any,
    max_iter: int | None = None,
    tol: float | None = None,
    *,
    defaults: Mapping[str, Settings] | None = None,
) -> Settings:
    """Return the checked settings of a loop from what estimators take as ``inference=``.

    Parameters
    ----------
    inference : {"em", "online", "gibbs"}, EM, OnlineEM or Gibbs
    max_iter, tol : int and float, default=None
        The short form: ``inference="em"`` with these in place of its defaults.
    defaults : mapping, default=None
        What the names stand for where a model has defaults of its own.

    Examples
    --------
    >>> from labelgap.fitting import fitting_settings
    >>> fitting_settings("em", max_iter=50)
    EM(max_iter=50)
    """
    known = _DEFAULTS | dict(defaults or {})
    named = isinstance(inference, str)
    if named and inference not in known:
        raise ValueError(f"inference={inference!r}: use 'em', 'online' or 'gibbs'")
    settings = clone(known[inference]) if named else inference
    if not isinstance(settings, (EM, OnlineEM, Gibbs)):
        raise ValueError(f"inference={inference!r}: use a name or EM(), OnlineEM(), Gibbs()")
    given = {"max_iter": max_iter, "tol": tol}
    short = {name: value for name, value in given.items() if value is not None}
    for name, value in short.items():
        if inference != "em":
            remedy = f"write inference=EM({name}={value!r}, ...)"
            if not isinstance(settings, EM):
                remedy = f"it belongs to inference='em'; {type(settings).__name__} has its own"
            raise ValueError(f"{name}={value!r} with inference={inference!r}: {remedy}")
    settings.set_params(**short)
    for name, value in settings.get_params().items():
        if name in _LEAST and not value >= _LEAST[name]:
            raise ValueError(f"inference: {name}={value!r} must be at least {_LEAST[name]}")
    solver = getattr(settings, "solver", "cg")
    if solver not in ("cg", "exact"):
        raise ValueError(f"inference: solver={solver!r}: use 'cg' or 'exact'")
    return settings


def run_em(
    model: RowModel,
    rows: Rows,
    params: Any,
    monitor: Monitor,
    checkpoint: Checkpoint | None = None,
) -> tuple[Any, Trace]:
    """Run batch EM: a step on every block, then the global step, until the monitor says stop.

    The recorded objective is the one at the parameters that entered the iteration; when the fit
    converges, the parameters returned are those of the last recorded objective.
    Parameters
    ----------
    model, rows, params, monitor
    checkpoint : Checkpoint, default=None
        From which an interrupted fit goes on.
    """
    if checkpoint is not None:
        params = checkpoint.resume(params, rows, monitor.trace)
        monitor.go_on()
    while monitor.trace.outcome == "running" and monitor.trace.n_iter < monitor.max_iter:
        stats = rows.update(model.step, params)
        if monitor.record(model.objective(stats, params)):
            break
        params = model.maximise(stats, params, rows)
        if checkpoint is not None:
            checkpoint.offer(params, rows, monitor.trace)
    if checkpoint is not None:
        checkpoint.finish(params, rows, monitor.trace)
    return params, monitor.finish()


def run_online(
    model: RowModel,
    batches: Iterable[Rows],
    params: Any,
    running: Any,
    *,
    step_size: Callable[[int], float],
    first_step: int = 0,
    row_scale: float = 1.0,
    n_local: int = 1,
    after_batch: Callable[[Any, Any], bool | None] | None = None,
) -> tuple[Any, Any, int]:
    """Run online EM: the global step after every mini-batch, on exponentially weighted statistics.

    Parameters
    ----------
    batches : iterable of Rows
    running : statistics or None
        What earlier calls left.
    step_size : callable
        Weight of the t-th mini-batch, in (0, 1].
    first_step : int, default=0
        Number of mini-batches before these.
    row_scale : float, default=1.0
        How many rows of the whole each row of a mini-batch stands for.
    n_local : int, default=1
        Local steps on a mini-batch before its statistics are used.
    after_batch : callable, default=None
        Called with parameters and statistics; returning True ends the pass.

    Returns
    -------
    params, running, n_steps
    """
    n_steps = first_step
    for batch in batches:
        weight = step_size(n_steps)
        for _ in range(n_local):
            stats = batch.update(model.step, params)
        fresh = stats if row_scale == 1.0 else scale(stats, row_scale)
        running = fresh if running is None else model.blend(running, fresh, weight)
        params = model.maximise(running, params, batch, weight, row_scale)
        n_steps += 1
        if after_batch is not None and after_batch(params, running):
            break
    return params, running, n_steps


def run_gibbs(
    model: Any,
    rows: Rows,
    params: Any,
    *,
    n_draws: int,
    seed: int,
    collect: Callable[[int, Any, Any], None],
    first_sample: int = 0,
) -> Any:
    """Run Gibbs sampling: local draws on every block, then a global draw from their statistics.

    The generator of a block depends on the seed, the sweep and the block alone, so that chains
    do not depend on where the blocks lie.

    Parameters
    ----------
    model : object with ``sample_step`` and ``sample_global``
    collect : callable
        Called after every sweep with its number, the parameters and the statistics.
    first_sample : int, default=0
        Number of the first sweep.
    """
    for sweep in range(first_sample, first_sample + n_draws):
        stats = rows.update(model.sample_step, (params, (seed, sweep)))
        generator = np.random.default_rng([seed, sweep])
        params = model.sample_global(stats, params, rows, generator)
        collect(sweep, params, stats)
    return params


def n_batches(source: RowSource, batch_rows: int) -> int:
    """Return the number of mini-batches in one pass; every block of the source is cut by itself."""
    sizes = (source[index][0].shape[0] for index in range(len(source)))
    return sum(len(row_slices(size, batch_rows)) for size in sizes)


def shuffled_batches(
    source: RowSource, batch_rows: int, make: Prepare, rng: np.random.Generator
) -> Iterator[tuple[Rows, int]]:
    """Yield mini-batches with their numbers of rows: blocks in random order, shuffled within."""
    for index in rng.permutation(len(source)):
        X, labels = source[int(index)]
        order = rng.permutation(X.shape[0])
        for part in row_slices(X.shape[0], batch_rows):
            chosen = order[part]
            yield LocalRows([make(0, X[chosen], labels[chosen])]), chosen.size


def take_batch(
    model: RowModel,
    settings: OnlineEM,
    batch: Rows,
    state: tuple[Any, Any, int],
    row_scale: float,
    monitor: Monitor,
) -> tuple[Any, Any, int]:
    """Return parameters, running statistics and number of steps after one more mini-batch."""
    params, running, n_steps = state
    return run_online(
        model,
        [batch],
        params,
        running,
        step_size=settings.step_size,
        first_step=n_steps,
        row_scale=row_scale,
        n_local=settings.n_local,
        after_batch=lambda params, running: monitor.record(model.objective(running, params)),
    )


def run_passes(
    model: RowModel,
    settings: OnlineEM,
    source: RowSource,
    make: Prepare,
    params: Any,
    monitor: Monitor,
    rng: np.random.Generator,
) -> tuple[Any, Any]:
    """Return parameters and running statistics after the passes, or where the monitor stopped."""
    state: tuple = (params, None, 0)
    for _ in range(settings.n_passes):
        for batch, n_samples in shuffled_batches(source, settings.batch_rows, make, rng):
            state = take_batch(model, settings, batch, state, source.n_samples / n_samples, monitor)
            if monitor.trace.outcome != "running":
                return state[0], state[1]
    return state[0], state[1]
