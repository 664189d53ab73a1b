"""The three ways to fit BMLPL: EM from several starts, online EM, chains of Gibbs sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labelgap.fitting import (
    EM,
    ChainSamples,
    Checkpoint,
    Gibbs,
    Monitor,
    OnlineEM,
    Rows,
    Trace,
    n_batches,
    run_em,
    run_passes,
)
from labelgap.models.bmlpl._bmlpl_data import BMLPLSurvey
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal, BMLPLParams, TopicModel, topic_usage
from labelgap.models.bmlpl._bmlpl_gibbs import SampledTopicModel, draw_topic_chains

if TYPE_CHECKING:
    from labelgap.models.bmlpl._bmlpl import BMLPL


class BMLPLFit(NamedTuple):
    """What a loop found: parameters, trace, expected counts of each topic, draws of Gibbs."""

    params: BMLPLParams
    trace: Trace
    usage: np.ndarray
    samples: ChainSamples | None = None


def check_settings(estimator: BMLPL, settings: EM | OnlineEM | Gibbs) -> None:
    """Raise when parameters of the estimator do not go together with the way of fitting."""
    is_em, is_gibbs = isinstance(settings, EM), isinstance(settings, Gibbs)
    if not estimator.eta >= 1 and not is_gibbs:
        raise ValueError(
            f"eta={estimator.eta}: below 1 the most probable topics are unbounded; use 1 or more, "
            "or Gibbs sampling, which takes any positive value"
        )
    if estimator.weights != "map" and is_gibbs:
        raise ValueError("weights='mean' belongs to EM: Gibbs sampling draws the topic weights")
    if estimator.calibration == "holdout" and not is_em:
        raise ValueError("calibration='holdout' rehearses the fit by EM; use inference='em'")
    if estimator.checkpoint is not None and not is_em:
        raise ValueError("checkpoint: only a fit by EM can resume; use inference='em'")
    if estimator.checkpoint is not None and getattr(settings, "n_init", 1) > 1:
        raise ValueError("checkpoint: resume works with one start; set n_init=1")


def checkpoint_of(
    estimator: BMLPL, settings: EM, survey: BMLPLSurvey, seed: int
) -> Checkpoint | None:
    """Return the checkpoint that the estimator asks for, with all that shapes its fit."""
    if estimator.checkpoint is None:
        return None
    shaping = ("n_factors", "r", "tau", "eta", "weights", "unknown", "block_rows")
    identity = {name: getattr(estimator, name) for name in shaping}
    identity |= {"tol": settings.tol, "solver": settings.solver, "n_cg": settings.n_cg}
    init = estimator.init
    identity["init"] = init if isinstance(init, str) else [np.asarray(part) for part in init]
    # without a seed any start will do, also the one of the interrupted fit
    identity["seed"] = None if estimator.random_state is None else seed
    identity |= {"rows": survey.n_samples, "features": estimator.n_features_in_}
    identity |= {"norm": survey.squared_norm, "labels": survey.label_counts}
    every = estimator.checkpoint_every
    return Checkpoint(estimator.checkpoint, local_type=BMLPLLocal, every=every, identity=identity)


def fit_em(
    settings: EM,
    model: TopicModel,
    open_blocks: Callable[[], Rows],
    start: Callable[[int], BMLPLParams],
    checkpoint: Checkpoint | None = None,
    callback: Callable | None = None,
) -> BMLPLFit:
    """Return the fit with the best objective among ``n_init`` starts."""
    model = replace(model, solver=settings.solver, n_cg=settings.n_cg)
    fits = []
    for attempt in range(settings.n_init):
        monitor = Monitor(settings.max_iter, settings.tol, callback)
        rows = open_blocks()
        params, trace = run_em(model, rows, start(attempt), monitor, checkpoint)
        fits.append(BMLPLFit(params, trace, rows.total(topic_usage, None)))
    return max(fits, key=lambda fit: fit.trace.objective[-1])


def fit_online(
    settings: OnlineEM,
    model: TopicModel,
    source: Any,
    make: Any,
    params: BMLPLParams,
    seed: int,
    callback: Callable | None,
) -> BMLPLFit:
    """Return the fit of passes over shuffled mini-batches; blocks on disk are shuffled within."""
    model = replace(model, n_cg=settings.n_cg, keep_unseen=True)
    n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
    monitor = Monitor(n_steps, 0.0, callback)
    rng = np.random.default_rng(seed)
    params, running = run_passes(model, settings, source, make, params, monitor, rng)
    return BMLPLFit(params, monitor.finish(), running.by_label.sum(axis=0, dtype=np.float64))


def fit_gibbs(
    settings: Gibbs,
    model: TopicModel,
    rows: Rows,
    start: Callable[[int], BMLPLParams],
    seed: int,
    callback: Callable | None,
) -> BMLPLFit:
    """Return chains from starts of their own, each carried on by a few EM iterations first."""
    starts = []
    for chain in range(settings.n_chains):
        params = start(chain)
        if settings.start_iter:
            warm_up = replace(model, eta=max(model.eta, 1.0))
            params, _ = run_em(warm_up, rows, params, Monitor(settings.start_iter, 0.0))
        topics = (1 - 1e-3) * params.topics + 1e-3 / params.topics.shape[0]
        starts.append(params._replace(topics=topics / topics.sum(axis=0)))
    shared = {name: getattr(model, name) for name in ("eta", "learn_r", "learn_tau")}
    samples = draw_topic_chains(
        SampledTopicModel(**shared, solver=settings.solver),
        rows,
        starts,
        n_burn_in=settings.burn_in,
        n_draws=settings.n_draws,
        thin=settings.thin,
        seed=seed,
        dtype=np.float32,
        callback=callback,
    )
    trace = Trace(samples.log_posterior[0].tolist(), samples.seconds[0].tolist(), "sampled")
    return BMLPLFit(samples[samples.n_draws - 1], trace, rows.total(topic_usage, None), samples)
