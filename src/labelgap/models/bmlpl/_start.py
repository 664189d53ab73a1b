"""Starting points: where the topics begin decides which optimum EM finds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap.models.bmlpl._model import Params

_SEED_SHARE = 0.9
_INTERCEPT_PRECISION = 1e-3


class DataFacts(NamedTuple):
    """What a start must know of the rows: label frequencies, sizes and the scale of X."""

    n_rows: int
    n_features: int
    label_counts: np.ndarray
    mean_squared_norm: float
    dtype: Any


def starting_params(
    facts: DataFacts, n_factors: int, r: float, tau: float, init: Any, rng: np.random.Generator
) -> Params:
    """Parameters before the first step.

    ``init="labels"`` seeds one topic on each of the most frequent labels (each of them several
    times when there are more topics than labels); with as many topics as labels the fit starts
    from independent labels and shares strength from there. ``init="random"`` draws all topics
    around the label frequencies. A pair ``(topics, weights)`` is taken as it is.
    """
    weights = np.zeros((facts.n_features + 1, n_factors), dtype=facts.dtype)
    mean_labels = max(facts.label_counts.sum(), 1.0) / facts.n_rows
    weights[-1] = np.log(mean_labels / (n_factors * r))
    if isinstance(init, str):
        topics = _draw_topics(facts.label_counts, n_factors, init, rng)
    else:
        topics, given = _check_init(init, (facts.label_counts.size, n_factors), weights.shape)
        weights = given.astype(facts.dtype)
    precision = np.full(facts.n_features + 1, tau * facts.mean_squared_norm, dtype=facts.dtype)
    precision[-1] = _INTERCEPT_PRECISION
    shapes = np.full(n_factors, r, dtype=facts.dtype)
    return Params(topics.astype(facts.dtype), weights, shapes, precision, None)


def continued_params(
    fitted: Params,
    fresh: Params,
    active: np.ndarray | None,
    n_labels: int,
    learned: tuple[bool, bool],
) -> Params:
    """Topics and weights of the last fit, hyper-parameters of this one unless ``learned``.

    ``active`` are the labels that take part, None for all ``n_labels``; ``learned`` says whether
    r and tau are.
    """
    if fitted.topics.shape[0] != n_labels:
        raise ValueError(
            f"warm_start: the last fit had {fitted.topics.shape[0]} labels, y has {n_labels}"
        )
    if fitted.weights.shape != fresh.weights.shape:
        raise ValueError(
            "warm_start: the last fit had other features or topics (weights of shape "
            f"{fitted.weights.shape}, now {fresh.weights.shape})"
        )
    topics = np.maximum(fitted.topics if active is None else fitted.topics[active], 1e-12)
    return Params(
        (topics / topics.sum(axis=0)).astype(fresh.topics.dtype),
        fitted.weights.astype(fresh.weights.dtype),
        fitted.r.astype(fresh.r.dtype) if learned[0] else fresh.r,
        fitted.tau.astype(fresh.tau.dtype) if learned[1] else fresh.tau,
        fitted.spread if learned[1] else None,
    )


def _draw_topics(
    label_counts: np.ndarray, n_factors: int, init: str, rng: np.random.Generator
) -> np.ndarray:
    frequency = (label_counts + 0.1) / (label_counts + 0.1).sum()
    topics = frequency[:, None] * rng.gamma(1.0, size=(label_counts.size, n_factors))
    topics /= np.maximum(topics.sum(axis=0), 1e-300)
    if init == "random":
        return topics
    if init != "labels":
        raise ValueError(f"init={init!r}: use 'labels', 'random' or a pair (topics, weights)")
    by_frequency = np.argsort(-label_counts, kind="stable")
    seeds = by_frequency[np.arange(n_factors) % label_counts.size]
    topics *= 1 - _SEED_SHARE
    topics[seeds, np.arange(n_factors)] += _SEED_SHARE
    return topics


def _check_init(init: Any, topics_shape: tuple, weights_shape: tuple) -> tuple:
    try:
        topics, weights = (np.asarray(part) for part in init)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "init: use 'labels', 'random' or a pair of arrays (topics, weights)"
        ) from error
    for name, part, shape in (
        ("topics", topics, topics_shape),
        ("weights", weights, weights_shape),
    ):
        if part.shape != shape:
            raise ValueError(f"init {name} has shape {part.shape}, this problem needs {shape}")
        if not np.isfinite(part).all():
            raise ValueError(f"init {name} has values that are NaN or infinite")
    if (topics < 0).any():
        raise ValueError("init topics has negative values: topics are distributions over labels")
    return topics, weights
