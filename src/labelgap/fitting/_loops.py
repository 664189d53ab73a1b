"""Batch EM, online EM and Gibbs sampling over any rows of any model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from labelgap.fitting._checkpoint import Checkpoint
from labelgap.fitting._model import RowModel
from labelgap.fitting._monitor import Monitor, Trace
from labelgap.fitting._rows import Rows
from labelgap.fitting._stats import scale


def run_em(
    model: RowModel,
    rows: Rows,
    params: Any,
    monitor: Monitor,
    checkpoint: Checkpoint | None = None,
) -> tuple[Any, Trace]:
    """Batch EM: a step on every block, then the global step, until the monitor says stop.

    The recorded objective is the one at the parameters that entered the iteration; when the fit
    converges, the parameters returned are those of the last recorded objective.
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
    """Online EM: the global step after every mini-batch, on exponentially weighted statistics.

    Parameters
    ----------
    batches : iterable of Rows
    running : statistics or None
        What earlier calls left.
    step_size : callable
        Weight of the t-th mini-batch, in (0, 1].
    row_scale : float
        How many rows of the whole each row of a mini-batch stands for.
    n_local : int
        Local steps on a mini-batch before its statistics are used.
    after_batch : callable, optional
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
    n_samples: int,
    seed: int,
    collect: Callable[[int, Any, Any], None],
    first_sample: int = 0,
) -> Any:
    """Gibbs sampling: local draws on every block, then a global draw from their statistics.

    The generator of a block depends on the seed, the sweep and the block alone, so that chains
    do not depend on where the blocks lie.

    Parameters
    ----------
    model : object with ``sample_step`` and ``sample_global``
    collect : callable
        Called after every sweep with its number, the parameters and the statistics.
    """
    for sweep in range(first_sample, first_sample + n_samples):
        stats = rows.update(model.sample_step, (params, (seed, sweep)))
        generator = np.random.default_rng([seed, sweep])
        params = model.sample_global(stats, params, rows, generator)
        collect(sweep, params, stats)
    return params
