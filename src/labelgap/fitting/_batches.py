"""Passes of online EM over shuffled mini-batches of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labelgap.fitting._loops import run_online
from labelgap.fitting._model import RowModel
from labelgap.fitting._monitor import Monitor
from labelgap.fitting._rows import LocalRows, Rows, row_slices
from labelgap.fitting._settings import OnlineEM
from labelgap.fitting._sources import Prepare, RowSource


def n_batches(source: RowSource, batch_rows: int) -> int:
    """Mini-batches in one pass; every block of the source is cut by itself."""
    sizes = (source[index][0].shape[0] for index in range(len(source)))
    return sum(len(row_slices(size, batch_rows)) for size in sizes)


def shuffled_batches(
    source: RowSource, batch_rows: int, make: Prepare, rng: np.random.Generator
) -> Iterator[tuple[Rows, int]]:
    """Mini-batches with their numbers of rows: blocks in random order, shuffled within."""
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
    """Parameters, running statistics and number of steps after one more mini-batch."""
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
    """Parameters and running statistics after the passes, or where the monitor stopped them."""
    state: tuple = (params, None, 0)
    for _ in range(settings.n_passes):
        for batch, n_rows in shuffled_batches(source, settings.batch_rows, make, rng):
            state = take_batch(model, settings, batch, state, source.n_rows / n_rows, monitor)
            if monitor.trace.outcome != "running":
                return state[0], state[1]
    return state[0], state[1]
