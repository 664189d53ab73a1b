"""Online EM: mini-batches of a fit, and of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgap.fitting import (
    LocalRows,
    Monitor,
    OnlineEM,
    Rows,
    Trace,
    fitting_settings,
    row_slices,
    run_online,
)
from labelgap.labels import Labels
from labelgap.models.bmlpl._calibration import intercept_shift
from labelgap.models.bmlpl._model import Params, Stats
from labelgap.models.bmlpl._prepare import Survey, block_maker, survey_block

if TYPE_CHECKING:
    from labelgap.models.bmlpl._estimator import BMLPL


def fit_online(
    estimator: BMLPL,
    settings: OnlineEM,
    source: Any,
    make: Any,
    params: Params,
    facts: Survey,
) -> tuple[Params, Trace]:
    """Passes over shuffled mini-batches of a source; blocks on disk are shuffled within."""
    model = estimator._model("cg", settings.n_cg)
    n_batches = settings.n_passes * sum(1 for _ in _batch_sizes(source, settings.batch_rows))
    monitor = Monitor(n_batches, 0.0, estimator.callback)
    rng = np.random.default_rng(estimator._seed)

    def watch(params: Params, running: Stats) -> bool:
        return monitor.record(model.objective(running, params))

    running, n_steps = None, 0
    for _ in range(settings.n_passes):
        for batch, n_rows in _shuffled_batches(source, settings.batch_rows, make, rng):
            params, running, n_steps = run_online(
                model,
                [batch],
                params,
                running,
                step_size=settings.step_size,
                first_step=n_steps,
                row_scale=facts.n_rows / n_rows,
                n_local=settings.n_local,
                after_batch=watch,
            )
            if monitor.trace.outcome != "running":
                return params, monitor.trace
    return params, monitor.finish()


def _batch_sizes(source: Any, batch_rows: int) -> Iterator[int]:
    for index in range(len(source)):
        n_rows = source[index][0].shape[0]
        yield from (part.stop - part.start for part in row_slices(n_rows, batch_rows))


def _shuffled_batches(
    source: Any, batch_rows: int, make: Any, rng: np.random.Generator
) -> Iterator[tuple[Rows, int]]:
    for index in rng.permutation(len(source)):
        X, labels = source[int(index)]
        order = rng.permutation(X.shape[0])
        for part in row_slices(X.shape[0], batch_rows):
            chosen = order[part]
            yield LocalRows([make(0, X[chosen], labels[chosen])]), chosen.size


def partial_fit(estimator: BMLPL, X: Any, Y: Any, classes: Any, total_rows: int | None) -> BMLPL:
    """One mini-batch of a stream."""
    first = not hasattr(estimator, "_online_state")
    X, labels = _validate(estimator, X, Y, classes, first)
    settings = fitting_settings(estimator.inference)
    if not isinstance(settings, OnlineEM):
        settings = OnlineEM()
    facts = survey_block((X, labels), None, None)
    if first:
        estimator._check_parameters(settings)
        estimator.samples_ = None
        params = estimator._starts(facts, None, X.dtype)(0)
        running, n_steps, n_seen = None, 0, 0
    else:
        params = estimator.params_
        running, n_steps, n_seen = estimator._online_state
    n_seen += X.shape[0]
    make = block_maker(None, estimator.unknown == "mask", X.dtype)
    model = estimator._model("cg", settings.n_cg)
    batch = LocalRows([make(0, X, labels)])
    params, running, n_steps = run_online(
        model,
        [batch],
        params,
        running,
        step_size=settings.step_size,
        first_step=n_steps,
        row_scale=(total_rows or n_seen) / X.shape[0],
        n_local=settings.n_local,
    )
    estimator.params_ = params
    estimator.intercept_shift_ = intercept_shift(params, batch, 1, n_products=3e7)
    estimator._online_state = (running, n_steps, n_seen)
    estimator._n_features_out = params.r.size
    return estimator


def _validate(estimator: BMLPL, X: Any, Y: Any, classes: Any, first: bool) -> tuple[Any, Labels]:
    if first:
        return estimator._validate_fit(X, Y, classes=classes)
    X = estimator._validate_predict(X)
    labels = estimator.target_.read(Y, n_rows=X.shape[0])
    if labels.n_labels != estimator.params_.topics.shape[0]:
        raise ValueError(
            f"y has {labels.n_labels} labels, earlier mini-batches had "
            f"{estimator.params_.topics.shape[0]}: give every mini-batch all label columns"
        )
    return X, labels
