"""What BMLPL asks of the rows around a fit: blocks, a survey, starting points, calibration."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.fitting import Rows
from labelgap.kernels.latent_counts import prepare_positives
from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.kernels.topics import surprise_rates
from labelgap.labels import Labels, LabelWarning
from labelgap.models.bmlpl._bmlpl_em import BMLPLBlock, BMLPLLocal, BMLPLParams, prepare_mask

Part = Literal["all", "holdout", "rest"]
HELD_OUT_EVERY = 5
_SEED_FRACTION = 0.9
_INTERCEPT_PRECISION = 1e-3
_SHIFTS = np.linspace(-4.0, 6.0, 21)


# -- blocks and what a fit must know of the rows before it starts ---------------------------------


class BMLPLSurvey(NamedTuple):
    """Sums over rows before a fit."""

    n_samples: int
    label_counts: np.ndarray
    squared_norm: float
    n_unknown: int
    n_not_finite: int


def survey_block(block: tuple[Any, Labels], local: Any, argument: Any) -> BMLPLSurvey:
    """Return counts and scale of some rows, for :meth:`labelgap.fitting.Rows.total`."""
    X, labels = block
    values = X.data if sparse.issparse(X) else X
    observed = labels.n_observed(unlabeled=True)
    return BMLPLSurvey(
        n_samples=labels.n_samples,
        label_counts=np.asarray(labels.n_positives(axis=0), dtype=np.float64),
        squared_norm=float(np.square(values, dtype=np.float64).sum()),
        n_unknown=labels.n_samples * labels.n_labels - observed,
        n_not_finite=int(np.count_nonzero(~np.isfinite(values))),
    )


def check_survey(survey: BMLPLSurvey, classes: Any) -> None:
    """Raise when nothing can be learned; warn of labels about which nothing can be learned."""
    if survey.n_not_finite:
        raise ValueError(
            f"X has {survey.n_not_finite} values that are NaN or infinite: impute them first"
        )
    empty = np.flatnonzero(survey.label_counts == 0)
    if empty.size == survey.label_counts.size:
        raise ValueError(
            "y has no positive entry at all: this model learns from positives; "
            "check the coding of the labels (1 = relevant)"
        )
    if empty.size:
        warnings.warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}"
            + (f" and {empty.size - 1} others have" if empty.size > 1 else " has")
            + " no positive: it is predicted with a probability of zero, or nearly",
            LabelWarning,
            stacklevel=6,
        )


def check_batch(labels: Labels, n_labels: int) -> None:
    """Raise when a mini-batch does not have the labels of the earlier ones."""
    if labels.n_labels != n_labels:
        raise ValueError(
            f"y has {labels.n_labels} labels, earlier mini-batches had {n_labels}: give every "
            "mini-batch all label columns"
        )


def block_maker(active: np.ndarray | None, use_mask: bool, dtype: Any, part: Part = "all") -> Any:
    """Return :func:`prepare_block` with everything but the rows given; it can be sent elsewhere.

    ``active`` are the columns of the labels that take part; None for all. ``part`` keeps all
    rows, every fifth ("holdout"), or the others ("rest").
    """
    return partial(prepare_block, active, use_mask, dtype, part)


def prepare_block(
    active: np.ndarray | None,
    use_mask: bool,
    dtype: Any,
    part: Part,
    index: int,
    X: Any,
    labels: Labels,
) -> BMLPLBlock:
    """Return a block: features ready for products, positives in both directions, and the mask."""
    if part != "all":
        is_held_out = np.arange(X.shape[0]) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        kept = np.flatnonzero(is_held_out if part == "holdout" else ~is_held_out)
        X, labels = X[kept], labels[kept]
    if active is not None:
        labels = labels[:, active]
    X = X.astype(dtype, copy=False)
    mask = prepare_mask(labels, dtype) if use_mask else None
    return BMLPLBlock(index, prepare_features(X), prepare_positives(labels.positives()), mask)


def with_empty_labels(topics: np.ndarray, active: np.ndarray, n_labels: int) -> np.ndarray:
    """Return topics of all labels: those left out share what the topics lack of one."""
    rest = np.maximum(1 - topics.sum(axis=0), 0) / (n_labels - active.size)
    full = np.repeat(rest[None].astype(topics.dtype), n_labels, axis=0)
    full[active] = topics
    return full


# -- starting points: where the topics begin decides which optimum EM finds -----------------------


def starting_params(
    survey: BMLPLSurvey,
    shape: tuple[int, int],
    r: float,
    tau: float,
    init: Any,
    rng: np.random.Generator,
    dtype: Any,
) -> BMLPLParams:
    """Return the parameters before the first step.

    ``init="labels"`` seeds one topic on each of the most frequent labels (each of them several
    times when there are more topics than labels); with as many topics as labels the fit starts
    from independent labels and shares strength from there. ``init="random"`` draws all topics
    around the prevalence of the labels. A pair ``(topics, weights)`` is taken as it is. ``shape``
    is (n_features, n_factors).
    """
    n_features, n_factors = shape
    weights = np.zeros((n_features + 1, n_factors), dtype=dtype)
    mean_labels = max(survey.label_counts.sum(), 1.0) / survey.n_samples
    weights[-1] = np.log(mean_labels / (n_factors * r))
    if isinstance(init, str):
        topics = _draw_topics(survey.label_counts, n_factors, init, rng)
    else:
        topics, given = _check_init(init, (survey.label_counts.size, n_factors), weights.shape)
        weights = given.astype(dtype)
    scale = survey.squared_norm / survey.n_samples or 1.0
    precision = np.full(n_features + 1, tau * scale, dtype=dtype)
    precision[-1] = _INTERCEPT_PRECISION
    shapes = np.full(n_factors, r, dtype=dtype)
    return BMLPLParams(topics.astype(dtype), weights, shapes, precision, None)


def continued_params(
    fitted: BMLPLParams,
    fresh: BMLPLParams,
    active: np.ndarray | None,
    n_labels: int,
    learned: tuple[bool, bool],
) -> BMLPLParams:
    """Return topics and weights of the last fit, hyper-parameters of this one unless ``learned``.

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
    return BMLPLParams(
        (topics / topics.sum(axis=0)).astype(fresh.topics.dtype),
        fitted.weights.astype(fresh.weights.dtype),
        fitted.r.astype(fresh.r.dtype) if learned[0] else fresh.r,
        fitted.tau.astype(fresh.tau.dtype) if learned[1] else fresh.tau,
        fitted.spread if learned[1] else None,
    )


def _draw_topics(
    label_counts: np.ndarray, n_factors: int, init: str, rng: np.random.Generator
) -> np.ndarray:
    fraction = (label_counts + 0.1) / (label_counts + 0.1).sum()
    topics = fraction[:, None] * rng.gamma(1.0, size=(label_counts.size, n_factors))
    topics /= np.maximum(topics.sum(axis=0), 1e-300)
    if init == "labels":
        most_frequent = np.argsort(-label_counts, kind="stable")
        seeds = most_frequent[np.arange(n_factors) % label_counts.size]
        topics *= 1 - _SEED_FRACTION
        topics[seeds, np.arange(n_factors)] += _SEED_FRACTION
    return topics


def _check_init(init: Any, topics_shape: tuple, weights_shape: tuple) -> tuple:
    try:
        topics, weights = (np.asarray(part) for part in init)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "init: use 'labels', 'random' or a pair of arrays (topics, weights)"
        ) from error
    parts = (("topics", topics, topics_shape), ("weights", weights, weights_shape))
    for name, part, shape in parts:
        if part.shape != shape:
            raise ValueError(f"init {name} has shape {part.shape}, this problem needs {shape}")
        if not np.isfinite(part).all():
            raise ValueError(f"init {name} has values that are NaN or infinite")
    if (topics < 0).any():
        raise ValueError("init topics has negative values: topics are distributions over labels")
    return topics, weights


# -- calibration: from fitted parameters to honest probabilities ----------------------------------
#
# Learning takes topic weights at their most probable values, prediction integrates them out. The
# two agree about which labels come first but not about how many there are: for small r predicted
# probabilities come out too small. A shift of all intercepts makes the expected number of positives
# among observed training entries the actual one. Rows that the fit has not seen can tell more: a
# slope too, since shrunken weights make predictions underconfident.


class LinearCalibration(NamedTuple):
    """Predictions use slope * psi + shift in place of psi."""

    slope: float
    shift: float

    def apply(self, params: BMLPLParams) -> BMLPLParams:
        """Return parameters whose weights and intercepts give the calibrated psi."""
        weights = self.slope * params.weights
        weights[-1] += self.shift
        return params._replace(weights=weights.astype(params.weights.dtype))


class _Balance(NamedTuple):
    """Positives of some rows, and how many are expected under each shift."""

    actual: float
    expected: np.ndarray


def balancing_shift(
    params: BMLPLParams, rows: Rows, n_blocks: int, n_products: float = 3e8
) -> LinearCalibration:
    """Return a shift alone, with which as many positives are expected as there are.

    Looks at rows spread evenly over all blocks, as many as ``n_products`` products of a topic
    with a row and a label allow.
    """
    per_row = params.topics.size * _SHIFTS.size
    n_samples = max(1, int(n_products / per_row / n_blocks))
    balance = rows.total(_balance, (params, max(n_samples, 10 // n_blocks + 1)))
    if not balance.actual > 0:
        return LinearCalibration(1.0, 0.0)
    wanted = np.clip(balance.actual, balance.expected[0], balance.expected[-1])
    shift = np.interp(np.log(wanted), np.log(balance.expected), _SHIFTS)
    return LinearCalibration(1.0, float(shift))


def best_calibration(params: BMLPLParams, rows: Rows, n_blocks: int) -> LinearCalibration:
    """Return the slope and the shift with the largest likelihood on rows the fit has not seen."""
    best = LinearCalibration(1.0, 0.0)
    for width in (1.0, 0.25):
        slopes = best.slope * np.exp(0.6 * width * np.linspace(-1, 1, 7))
        shifts = best.shift + 3.0 * width * np.linspace(-1, 1, 13)
        grid = [LinearCalibration(float(a), float(b)) for a in slopes for b in shifts]
        n_samples = int(2e9 / params.topics.size / len(grid) / n_blocks)
        values = rows.total(_log_likelihoods, (params, grid, max(n_samples, 10 // n_blocks + 1)))
        best = grid[int(values.argmax())]
    return best


def _balance(
    block: BMLPLBlock, local: BMLPLLocal | None, argument: tuple[BMLPLParams, int]
) -> _Balance:
    params, n_samples = argument
    chosen, psi, observed = _spread_rows(block, params, n_samples)
    actual = float(np.diff(block.positives.indptr)[chosen].sum())
    expected = np.zeros(_SHIFTS.size)
    for position, shift in enumerate(_SHIFTS):
        probability = -np.expm1(-surprise_rates(psi + shift, params.topics, params.r))
        expected[position] = probability[observed].sum()
    return _Balance(actual, np.maximum(expected, 1e-300))


def _log_likelihoods(
    block: BMLPLBlock,
    local: BMLPLLocal | None,
    argument: tuple[BMLPLParams, list[LinearCalibration], int],
) -> np.ndarray:
    """Summed log-likelihood of the observed entries of some rows, one entry at a time."""
    params, grid, n_samples = argument
    chosen, psi, observed = _spread_rows(block, params, n_samples)
    positive = np.zeros((chosen.size, block.positives.n_labels), dtype=bool)
    for position, row in enumerate(chosen):
        start, stop = block.positives.indptr[row : row + 2]
        positive[position, block.positives.indices[start:stop]] = True
    values = np.empty(len(grid))
    for position, (slope, shift) in enumerate(grid):
        rates = surprise_rates(slope * psi + shift, params.topics, params.r)
        # a positive has log(1 - exp(-rate)), a zero -rate
        terms = np.where(positive, np.log(np.maximum(-np.expm1(-rates), 1e-12)), -rates)
        values[position] = terms[observed].sum()
    return values


def _spread_rows(
    block: BMLPLBlock, params: BMLPLParams, n_samples: int
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Evenly spaced rows of a block, their psi, and which of their entries are observed."""
    n_block = block.features.shape[0]
    chosen = np.unique(np.linspace(0, n_block - 1, min(n_samples, n_block)).astype(np.intp))
    psi = linear_part(Features(block.features.rows[chosen], None), params.weights)
    if block.mask is None:
        return chosen, psi, ...
    stored = block.mask.entries.rows[chosen].toarray() > 0
    return chosen, psi, ~stored if block.mask.unknown else stored
