"""Geweke's joint-distribution test of the ML-LCS sampler; see :mod:`reference.geweke`.

Biases have the precision BIAS_PRECISION here, which tests must set in the sampler as well: with the
library's 1e-2 counts would reach exp(30), and chains would take ages to move among them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from labelgap.fitting import LocalRows
from labelgap.kernels.products import prepare_features
from labelgap.models.mllcs._mllcs_counts import CooccurrenceCounts
from labelgap.models.mllcs._mllcs_em import CooccurrenceModel, MLLCSParams
from labelgap.models.mllcs._mllcs_gibbs import SampledCooccurrenceModel
from labelgap.models.mllcs._mllcs_rows import MLLCSBlock, MLLCSLocal

BIAS_PRECISION = 2.0
N_FACTORS = 2
SEEN = np.array([2, 0])
N_LABELS = 3
FEATURES = np.array([[1.0], [-1.0], [0.5]])
UNKNOWN = np.array([[0, 1], [0, 0], [1, 0]], dtype=bool)
COUNTED = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
OFFSET = 0.3
FIXED_R, FIXED_LOOKS = 1.5, np.array([0.6, 0.8])


def make_model(**settings) -> CooccurrenceModel:
    counts = CooccurrenceCounts(np.zeros((2, N_LABELS)), COUNTED, SEEN, OFFSET)
    defaults = {"lambda_u": 1.5, "lambda_v": 2.0, "lambda_beta": 1.2, "lambda_map": 3.0}
    return CooccurrenceModel(counts, np.array([2.0, 1.0]), **{**defaults, **settings})


def draw_prior(model: CooccurrenceModel, exposed: bool, rng: np.random.Generator) -> MLLCSParams:
    def normal(precision, *shape):
        return rng.normal(size=shape) / np.sqrt(precision)

    k = N_FACTORS
    beta, psi_map = normal(model.lambda_beta, N_LABELS, k), np.zeros((k + 1, k))
    factors = normal(model.lambda_v, 2, k)
    if model.joint:
        psi_map = normal(model.lambda_map, k + 1, k)
        factors += np.column_stack([beta[SEEN], np.ones(2)]) @ psi_map
    looks = FIXED_LOOKS if exposed else None
    if model.learn_label_frequency:
        looks = rng.beta(*model.label_frequency_prior, size=2)
    return MLLCSParams(
        factors=factors,
        bias=normal(BIAS_PRECISION, 2),
        count_bias=normal(BIAS_PRECISION, 2),
        beta=beta,
        column_bias=normal(BIAS_PRECISION, N_LABELS),
        weights=normal(model.tau[:, None], 2, k),
        psi_map=psi_map,
        r=rng.gamma(model.r_prior[0], 1 / model.r_prior[1]) if model.learn_r else FIXED_R,
        label_frequency=looks,
    )


def draw_factors(
    model: CooccurrenceModel, params: MLLCSParams, rng: np.random.Generator
) -> np.ndarray:
    mean = FEATURES @ params.weights[:-1] + params.weights[-1]
    return mean + rng.normal(size=mean.shape) / np.sqrt(model.lambda_u)


def draw_block(params: MLLCSParams, U: np.ndarray, rng: np.random.Generator) -> MLLCSBlock:
    relevant = rng.random((len(U), 2)) < expit(U @ params.factors.T + params.bias)
    states = np.where(relevant, 1, 2)
    if params.label_frequency is not None:
        looked = rng.random(relevant.shape) < params.label_frequency
        states = np.where(relevant & looked, 1, 4)
    return MLLCSBlock(0, prepare_features(FEATURES), np.where(UNKNOWN, 3, states).astype(np.int8))


def draw_counts(
    model: CooccurrenceModel, params: MLLCSParams, rng: np.random.Generator
) -> CooccurrenceCounts:
    psi = params.factors @ params.beta.T + params.count_bias[:, None] + params.column_bias + OFFSET
    values = rng.poisson(np.exp(psi) * rng.standard_gamma(params.r, size=psi.shape))
    return replace(model.counts, values=values * COUNTED)


def statistics(model: CooccurrenceModel, params: MLLCSParams, U: np.ndarray) -> np.ndarray:
    """Moments; products that rotations of the factors leave as they are among them."""
    V, b, a, beta, c, W, psi_map, r, looks = params
    counts_psi = V @ beta.T + a[:, None] + c
    labels_psi = np.tanh((U @ V.T + b) / 2)
    values = [b, b**2, a, a**2, c, c**2, V**2, beta**2, W**2, U**2, V[0] * V[1], U[0] * U[1]]
    values += [U * W[-1], np.tanh(counts_psi), np.tanh(counts_psi) ** 2, labels_psi, labels_psi**2]
    if model.joint:
        values += [psi_map**2, V * (beta[SEEN] @ psi_map[:-1]), V * psi_map[-1]]
    if model.learn_r:
        values += [np.array([r, r**2, np.log(r)]), r * np.tanh(counts_psi)]
    if model.learn_label_frequency:
        values += [looks, looks**2, looks * labels_psi.mean(axis=0)]
    return np.concatenate([np.asarray(value).ravel() for value in values])


def marginal_draws(model: CooccurrenceModel, n: int, seed: int, exposed: bool = False):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        params = draw_prior(model, exposed, rng)
        out.append(statistics(model, params, draw_factors(model, params, rng)))
    return np.array(out)


def library_sweep(sampler, block, local, params, seed, rng):
    """One sweep as :func:`labelgap.fitting.run_gibbs` makes it; number 1, since 0 starts anew."""
    rows = LocalRows([block])
    rows.restore([local])
    stats = rows.update(sampler.sample_step, (params, (seed, 1)))
    params = sampler.sample_global(stats, params, rows, rng)
    # the last step moves rows, too
    (local,) = rows.local_states()
    return local, params


def successive_draws(
    model: CooccurrenceModel,
    n: int,
    seed: int,
    exposed: bool = False,
    sampler: type[SampledCooccurrenceModel] = SampledCooccurrenceModel,
) -> np.ndarray:
    """``exposed`` without ``learn_label_frequency`` keeps theta fixed."""
    rng = np.random.default_rng(seed)
    params = draw_prior(model, exposed, rng)
    local = MLLCSLocal(draw_factors(model, params, rng))
    out = []
    for step in range(n):
        block = draw_block(params, local.factors, rng)
        drawn = sampler(replace(model, counts=draw_counts(model, params, rng)))
        local, params = library_sweep(drawn, block, local, params, step, rng)
        out.append(statistics(model, params, local.factors))
    return np.array(out)
