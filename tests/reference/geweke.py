"""Geweke's joint-distribution test: two simulators of (parameters, data) that must agree.

The marginal-conditional simulator draws parameters from the prior and labels given them. The
successive-conditional one alternates labels given topic weights and a sweep of the sampler given
labels; if the sweep leaves the posterior as it is, its parameters have the prior as well.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelgap.fitting import LocalRows
from labelgap.fitting._chains import mean_ess
from labelgap.kernels.latent_counts import prepare_positives
from labelgap.kernels.products import prepare_features
from labelgap.models.bmlpl._bmlpl_em import BMLPLBlock, BMLPLParams, Mask
from labelgap.models.bmlpl._bmlpl_gibbs import SampledTopicModel

N_LABELS, N_TOPICS = 3, 2
FEATURES = np.array([[1.0], [-1.0], [0.5], [0.0]])
TAU = np.array([2.0, 1.0])
FIXED_R = np.array([0.8, 1.5])
UNKNOWN = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)


def draw_prior(model: SampledTopicModel, rng: np.random.Generator) -> BMLPLParams:
    tau, r = TAU.copy(), FIXED_R
    if model.learn_tau:
        tau[0] = rng.gamma(model.tau_prior[0], 1 / model.tau_prior[1])
    if model.learn_r:
        r = rng.gamma(model.r_prior[0], 1 / model.r_prior[1], size=N_TOPICS)
    topics = rng.dirichlet(np.full(N_LABELS, model.eta), size=N_TOPICS).T
    weights = rng.normal(size=(2, N_TOPICS)) / np.sqrt(tau)[:, None]
    return BMLPLParams(topics, weights, r, tau, None)


def draw_weights(params: BMLPLParams, rng: np.random.Generator) -> np.ndarray:
    psi = FEATURES @ params.weights[:-1] + params.weights[-1]
    return rng.gamma(params.r, np.exp(psi))


def draw_labels(params: BMLPLParams, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random((len(u), N_LABELS)) < -np.expm1(-u @ params.topics.T)


def make_block(labels: np.ndarray, unknown: np.ndarray | None, listed_unknown: bool) -> BMLPLBlock:
    mask = None
    if unknown is not None:
        labels = labels & ~unknown
        listed = unknown if listed_unknown else ~unknown
        mask = Mask(prepare_features(sparse.csr_array(listed.astype(float))), listed_unknown)
    positives = prepare_positives(sparse.csr_array(labels))
    return BMLPLBlock(0, prepare_features(FEATURES), positives, mask)


def statistics(model: SampledTopicModel, params: BMLPLParams) -> np.ndarray:
    """First and second moments, bounded where a prior has heavy tails."""
    values = [params.weights, params.weights**2, params.topics, params.topics**2]
    values.append(np.prod(params.topics, axis=1))
    if model.learn_r:
        values += [np.log(params.r), params.r, params.r[None] * params.weights]
    if model.learn_tau:
        values += [np.log(params.tau[:1]), params.tau[:1]]
    return np.concatenate([value.ravel() for value in values])


def marginal_draws(model: SampledTopicModel, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([statistics(model, draw_prior(model, rng)) for _ in range(n)])


def successive_draws(
    model: SampledTopicModel,
    n: int,
    seed: int,
    *,
    unknown: np.ndarray | None = None,
    listed_unknown: bool = True,
    stale_weights: bool = False,
) -> np.ndarray:
    """``stale_weights`` draws u before r and w instead of after them: a wrong sampler."""
    rng = np.random.default_rng(seed)
    params = draw_prior(model, rng)
    u = draw_weights(params, rng)
    out = []
    for _ in range(n):
        block = make_block(draw_labels(params, u, rng), unknown, listed_unknown)
        local, stats = model.draw_counts(block, u, params, rng)
        before = params
        rows = LocalRows([block])
        rows.restore(iter([local]))
        params = model.sample_global(stats, params, rows, rng)
        given = before if stale_weights else params
        u = model.draw_weights(block, local.counts, given, rng)
        out.append(statistics(model, params))
    return np.array(out)


def z_scores(marginal: np.ndarray, successive: np.ndarray) -> np.ndarray:
    """Differences of means in standard errors, with effective sample sizes for the chain."""
    effective = np.array([mean_ess(column[None]) for column in successive.T])
    variance = marginal.var(axis=0) / len(marginal) + successive.var(axis=0) / effective
    return (marginal.mean(axis=0) - successive.mean(axis=0)) / np.sqrt(variance)
