"""Tiny problems of the model, and its log posterior entry by entry from the formulas."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, gammaln

from labelgap import Labels, State
from labelgap.fitting import LocalRows, Monitor, run_em
from labelgap.models.mllcs._mllcs_counts import CooccurrenceCounts
from labelgap.models.mllcs._mllcs_em import (
    BIAS_PRECISION,
    CooccurrenceModel,
    MLLCSParams,
    exact_solver,
)
from labelgap.models.mllcs._mllcs_rows import block_maker, feature_gram

SETTINGS = {"lambda_u": 1.3, "lambda_v": 0.8, "lambda_beta": 1.7, "lambda_map": 0.6}


class Tiny(NamedTuple):
    """A problem, and a start that is no special point."""

    X: np.ndarray
    labels: Labels
    counts: CooccurrenceCounts | None
    params: MLLCSParams


def tiny_problem(
    seed=0,
    *,
    n=11,
    d=2,
    n_seen=4,
    n_unseen=2,
    k=2,
    unknown=0.2,
    missing=0.15,
    with_counts=True,
    label_frequency=None,
) -> Tiny:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (rng.random((n, n_seen)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < unknown] = np.nan
    labels = Labels.from_dense(Y, zeros="negative" if label_frequency is None else "unlabeled")
    n_labels = n_seen + n_unseen
    counts = None
    if with_counts:
        values = rng.negative_binomial(1.5, 0.25, size=(n_seen, n_labels)).astype(float)
        weights = rng.uniform(0.3, 1.2, size=values.shape)
        weights[rng.random(values.shape) < missing] = 0
        seen = rng.permutation(n_labels)[:n_seen]
        counts = CooccurrenceCounts(values * (weights > 0), weights, seen, -0.3)
    params = MLLCSParams(
        factors=rng.normal(size=(n_seen, k)),
        bias=rng.normal(size=n_seen),
        count_bias=0.3 * rng.normal(size=n_seen),
        beta=rng.normal(size=(n_labels, k)),
        column_bias=0.3 * rng.normal(size=n_labels),
        weights=rng.normal(size=(d + 1, k)),
        psi_map=0.2 * rng.normal(size=(k + 1, k)),
        r=2.5,
        label_frequency=None if label_frequency is None else rng.uniform(0.4, 0.8, n_seen),
    )
    return Tiny(X, labels, counts, params)


def rows_of(tiny: Tiny, sizes: Any = None) -> LocalRows:
    """The rows in blocks of these sizes; by default in one."""
    make = block_maker(tiny.X.dtype, None)
    ends = np.cumsum([len(tiny.X)] if sizes is None else sizes)
    assert ends[-1] == len(tiny.X)
    starts = [0, *ends[:-1]]
    parts = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    return LocalRows([make(i, tiny.X[part], tiny.labels[part]) for i, part in enumerate(parts)])


def model_of(tiny: Tiny, *, exact=True, **settings: Any) -> CooccurrenceModel:
    tau = np.append(np.full(tiny.X.shape[1], 0.7), 0.05)
    settings = {**SETTINGS, **settings}
    solve = None
    if exact:
        gram = rows_of(tiny).total(feature_gram, None)
        solve = exact_solver(gram, settings["lambda_u"], tau)
    return CooccurrenceModel(tiny.counts, tau, solve_weights=solve, **settings)


def fit(tiny: Tiny, model: CooccurrenceModel, n_iter: int, sizes: Any = None):
    """Parameters, the rows with their factors, and the trace after some iterations."""
    rows = rows_of(tiny, sizes)
    params, trace = run_em(model, rows, tiny.params, Monitor(n_iter, 0.0))
    return params, rows, trace


def row_factors(rows: LocalRows) -> np.ndarray:
    return np.concatenate([local.factors for local in rows.local_states()])


def log_posterior(tiny: Tiny, model: CooccurrenceModel, U: np.ndarray, p: MLLCSParams) -> float:
    """Of everything there is, up to a constant that no parameter changes."""
    value = _entries(tiny, U, p) + _factor_priors(tiny, model, U, p)
    if tiny.counts is not None:
        value += _counts(tiny.counts, p)
        value -= 0.5 * model.lambda_beta * sum(x**2 for x in p.beta.ravel())
        for bias in (p.count_bias, p.column_bias):
            value -= 0.5 * BIAS_PRECISION * sum(x**2 for x in bias)
        if model.joint:
            value -= 0.5 * model.lambda_map * sum(x**2 for x in p.psi_map.ravel())
        if model.learn_r:
            shape, rate = model.r_prior
            # the density of log r
            constant = shape * np.log(rate) - gammaln(shape)
            value += stats.gamma.logpdf(p.r, shape, scale=1 / rate) + np.log(p.r) - constant
    if model.learn_label_frequency:
        prior = stats.beta(*model.label_frequency_prior)
        constant = prior.logpdf(0.5) - np.log(0.5) * (sum(model.label_frequency_prior) - 2)
        value += sum(prior.logpdf(theta) - constant for theta in p.label_frequency)
    return float(value)


def _entries(tiny: Tiny, U: np.ndarray, p: MLLCSParams) -> float:
    value, states = 0.0, tiny.labels.states()
    for n, row in enumerate(states):
        for s, state in enumerate(row):
            positive = expit(U[n] @ p.factors[s] + p.bias[s])
            if state == State.RELEVANT:
                value += np.log(
                    positive if p.label_frequency is None else p.label_frequency[s] * positive
                )
            elif state == State.NEGATIVE or (
                state == State.UNLABELED and p.label_frequency is None
            ):
                value += np.log(1 - positive)
            elif state == State.UNLABELED:
                value += np.log(1 - p.label_frequency[s] * positive)
    return value


def _factor_priors(tiny: Tiny, model: CooccurrenceModel, U: np.ndarray, p: MLLCSParams) -> float:
    value = 0.0
    for x, u in zip(tiny.X, U, strict=True):
        mean = sum(x[j] * p.weights[j] for j in range(len(x))) + p.weights[-1]
        value -= 0.5 * model.lambda_u * ((u - mean) ** 2).sum()
    for row, precision in zip(p.weights, model.tau, strict=True):
        value -= 0.5 * precision * (row**2).sum()
    for s, v in enumerate(p.factors):
        mean = np.zeros_like(v)
        if model.joint and tiny.counts is not None:
            mean = np.append(p.beta[tiny.counts.seen[s]], 1.0) @ p.psi_map
        value -= 0.5 * model.lambda_v * ((v - mean) ** 2).sum()
    return value - 0.5 * BIAS_PRECISION * sum(b**2 for b in p.bias)


def _counts(counts: CooccurrenceCounts, p: MLLCSParams) -> float:
    value = 0.0
    for s in range(counts.values.shape[0]):
        for t in range(counts.values.shape[1]):
            psi = p.factors[s] @ p.beta[t] + p.count_bias[s] + p.column_bias[t] + counts.offset
            m = counts.values[s, t]
            # r failures of probability sigmoid(-psi); the model leaves m! out
            log_density = stats.nbinom.logpmf(m, p.r, expit(-psi)) + gammaln(m + 1)
            value += counts.weights[s, t] * log_density
    return value


def gradient(tiny: Tiny, model: CooccurrenceModel, U: np.ndarray, p: MLLCSParams) -> dict[str, Any]:
    """Of the log posterior by central differences, in every parameter that the fit moves."""

    def slope(change, step=1e-5):
        return (change(step) - change(-step)) / (2 * step)

    def along(array, put):
        out = np.empty(array.shape)
        for place in np.ndindex(*array.shape):

            def moved(step, place=place):
                other = array.copy()
                other[place] += step
                return log_posterior(tiny, model, *put(other))

            out[place] = slope(moved)
        return out

    found = {"U": along(U, lambda other: (other, p))}
    names = ["factors", "bias", "weights"]
    if tiny.counts is not None:
        names += ["count_bias", "beta", "column_bias"] + ["psi_map"] * model.joint
    names += ["label_frequency"] * model.learn_label_frequency
    for name in names:
        found[name] = along(getattr(p, name), lambda o, name=name: (U, p._replace(**{name: o})))
    if model.learn_r and tiny.counts is not None:
        found["log r"] = slope(
            lambda step: log_posterior(tiny, model, U, p._replace(r=p.r * np.exp(step)))
        )
    return found
