"""The estimator's use of the Gibbs sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgap.fitting import CredibleInterval, Gibbs, Monitor, Rows, Trace, run_em
from labelgap.kernels.products import prepare_features
from labelgap.models.bmlpl._gibbs import SampledTopicModel
from labelgap.models.bmlpl._model import Params, topic_usage
from labelgap.models.bmlpl._posterior import (
    ChainSamples,
    align_topics,
    draw_chains,
    predictive_intervals,
    predictive_probabilities,
    topic_intervals,
)

if TYPE_CHECKING:
    from labelgap.models.bmlpl._estimator import BMLPL


def fit_gibbs(
    estimator: BMLPL, settings: Gibbs, rows: Rows, start: Callable[[int], Params]
) -> tuple[Params, Trace]:
    """Chains from starts of their own, each carried on by a few EM iterations first."""
    model = SampledTopicModel(
        eta=estimator.eta,
        learn_r=estimator.r == "learn",
        learn_tau=estimator.tau == "learn",
        solver=settings.solver,
    )
    starts = [_carried_on(estimator, settings, rows, start(c)) for c in range(settings.n_chains)]
    samples = draw_chains(
        model,
        rows,
        starts,
        n_burn_in=settings.burn_in,
        n_draws=settings.n_samples,
        thin=settings.thin,
        seed=estimator._seed,
        dtype=np.float32,
        callback=estimator.callback,
    )
    estimator.samples_ = samples
    estimator.topic_usage_ = rows.total(topic_usage, None)
    trace = Trace(samples.log_posterior[0].tolist(), samples.seconds[0].tolist(), "sampled")
    return samples.params(0, samples.n_draws - 1), trace


def _carried_on(estimator: BMLPL, settings: Gibbs, rows: Rows, params: Params) -> Params:
    if settings.start_iter:
        model = estimator._model("cg", 2, eta=max(estimator.eta, 1.0))
        params, _ = run_em(model, rows, params, Monitor(settings.start_iter, 0.0))
    floor = 1e-3 / params.topics.shape[0]
    topics = (1 - 1e-3) * params.topics + floor
    return params._replace(topics=topics / topics.sum(axis=0))


def predict_rates(samples: ChainSamples, X: Any) -> np.ndarray:
    """-log P(y = 0 | x) of the posterior predictive distribution, finite where P(y = 0) is not."""
    probabilities = predictive_probabilities(samples, prepare_features(X))
    return -np.log1p(-np.minimum(probabilities, 1 - 2.0**-53))


def predict_interval(samples: ChainSamples, X: Any, level: float) -> CredibleInterval:
    return predictive_intervals(samples, prepare_features(X), level)


def topic_interval(samples: ChainSamples, reference: np.ndarray, level: float) -> CredibleInterval:
    return topic_intervals(align_topics(samples, reference), level)
