"""Online EM: mini-batches of a fit, and of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelgap.fitting import (
    LocalRows,
    Monitor,
    OnlineEM,
    Trace,
    fitting_settings,
    n_batches,
    run_passes,
    take_batch,
)
from labelgap.labels import Labels
from labelgap.models.bmlpl._calibration import Calibration, intercept_shift
from labelgap.models.bmlpl._checks import check_settings
from labelgap.models.bmlpl._model import Params
from labelgap.models.bmlpl._prepare import block_maker, survey_block

if TYPE_CHECKING:
    from labelgap.models.bmlpl._estimator import BMLPL


def fit_online(
    estimator: BMLPL,
    settings: OnlineEM,
    source: Any,
    make: Any,
    params: Params,
) -> tuple[Params, Trace]:
    """Passes over shuffled mini-batches of a source; blocks on disk are shuffled within."""
    model = estimator._model("cg", settings.n_cg, keep_unseen=True)
    n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
    monitor = Monitor(n_steps, 0.0, estimator.callback)
    rng = np.random.default_rng(estimator._seed)
    params, running = run_passes(model, settings, source, make, params, monitor, rng)
    estimator.topic_usage_ = running.by_label.sum(axis=0, dtype=np.float64)
    return params, monitor.finish()


def partial_fit(estimator: BMLPL, X: Any, Y: Any, classes: Any, total_rows: int | None) -> BMLPL:
    """One mini-batch of a stream."""
    first = not hasattr(estimator, "_online_state")
    X, labels = _validate(estimator, X, Y, classes, first)
    settings = fitting_settings(estimator.inference)
    if not isinstance(settings, OnlineEM):
        settings = OnlineEM()
    if first:
        check_settings(estimator, settings)
        estimator.samples_ = None
        estimator.trace_ = Trace()
        facts = survey_block((X, labels), None, None)
        params = estimator._starts(facts, None, X.dtype)(0)
        running, n_steps, n_seen = None, 0, 0
    else:
        params = estimator.params_
        running, n_steps, n_seen = estimator._online_state
    n_seen += X.shape[0]
    monitor = Monitor(n_steps + 1, 0.0, estimator.callback, estimator.trace_)
    make = block_maker(None, estimator.unknown == "mask", X.dtype)
    model = estimator._model("cg", settings.n_cg, keep_unseen=True)
    batch = LocalRows([make(0, X, labels)])
    row_scale = (total_rows or n_seen) / X.shape[0]
    state = (params, running, n_steps)
    params, running, n_steps = take_batch(model, settings, batch, state, row_scale, monitor)
    estimator.params_ = params
    estimator.topic_usage_ = running.by_label.sum(axis=0, dtype=np.float64)
    shift = intercept_shift(params, batch, 1, n_products=3e7)
    estimator.calibration_ = Calibration(1.0, shift)
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
    if labels.names is not None and list(labels.names) != list(estimator.classes_):
        raise ValueError(
            "y has other label names, or another order, than earlier mini-batches: "
            f"{list(estimator.classes_)[:5]} ... came first"
        )
    return X, labels
