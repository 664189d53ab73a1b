"""One fit of GMFS by EM: of one model, by batches or mini-batches, or of a mixture; and its checks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labelgap.fitting import (
    Gibbs,
    Monitor,
    OnlineEM,
    Trace,
    n_batches,
    run_em,
    run_passes,
)
from labelgap.kernels.array_namespace import to_numpy
from labelgap.labels import Labels, LabelWarning
from labelgap.models.gmfs._gmfs_em import GMFSParams, SelectionModel
from labelgap.models.gmfs._gmfs_missing import FittedRows, KnownRows
from labelgap.models.gmfs._gmfs_mixture import AssignedRows, MixtureModel, MixtureParams

if TYPE_CHECKING:
    from labelgap.models.gmfs._gmfs import GMFS

# iterations in which theta follows the neighbours, before it is frozen
_MOVING = 10


class GMFSFit(NamedTuple):
    """Parameters and fractions of the components, the training rows, and how the fit went."""

    components: list[GMFSParams]
    fractions: np.ndarray
    rows: KnownRows
    trace: Trace
    propensity_trace: Trace | None = None


def fit_one(
    model: Any,
    rows: Any,
    params: GMFSParams,
    settings: Any,
    labels: Labels,
    callback: Callable | None,
    mini_batches: tuple[Any, Any, np.random.Generator],
) -> GMFSFit:
    """Fit one model; ``mini_batches`` are a source of rows, what makes blocks of them, and draws."""
    moves = None
    if isinstance(settings, OnlineEM):
        source, make, rng = mini_batches
        n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
        monitor = Monitor(n_steps, 0.0, callback)
        params, _ = run_passes(model, settings, source, make, params, monitor, rng)
        trace = monitor.finish()
    else:
        if model.propensity_model.learn == "neighbors":
            typical = np.full(params.bias.size, model.propensity_model.label_frequency)
            moving = Monitor(min(_MOVING, settings.max_iter), 0.0, callback)
            params, moves = run_em(model, rows, params._replace(typical=typical), moving)
            frozen = replace(model.propensity_model, learn=None)
            model, params = replace(model, propensity_model=frozen), params._replace(typical=None)
        monitor = Monitor(settings.max_iter, settings.tol, callback)
        params, trace = run_em(model, rows, params, monitor)
    rows.update(model.step, params._replace(typical=None))
    factors = np.concatenate([to_numpy(local.factors) for local in rows.local_states()])
    linear = model.design.linear
    means = np.concatenate([to_numpy(linear(b.features, params.weights)) for b in rows.blocks])
    fitted = FittedRows(model.lambda_v, params, factors, means, labels)
    return GMFSFit([params], np.ones(1), fitted, trace, moves)


def fit_mixture(
    model: SelectionModel,
    rows: Any,
    params: MixtureParams,
    settings: Any,
    labels: Labels,
    callback: Callable | None,
) -> GMFSFit:
    """Fit a mixture of models."""
    mixture: Any = MixtureModel(replace(model, solver=None))
    params, trace = run_em(
        mixture, rows, params, Monitor(settings.max_iter, settings.tol, callback)
    )
    rows.update(mixture.step, params)
    states, fitted = list(rows.local_states()), []
    for m, component in enumerate(params.components):
        factors = np.concatenate([local.factors[m] for local in states])
        linear = model.design.linear
        means = np.concatenate([linear(b.features, component.weights) for b in rows.blocks])
        fitted.append(FittedRows(model.lambda_v, component, factors, means, labels))
    assigned = AssignedRows(fitted, np.concatenate([local.assigned for local in states]))
    return GMFSFit(list(params.components), params.fractions, assigned, trace)


def check_settings(estimator: GMFS, settings: Any, learned: str | None) -> None:
    """Raise for settings that exclude each other."""
    if isinstance(settings, Gibbs):
        raise ValueError("inference: GMFS is fitted by EM() or OnlineEM(), not by Gibbs sampling")
    if estimator.prior == "spike-slab" and not estimator.sigma_0 < estimator.sigma_1:
        raise ValueError(
            f"sigma_0={estimator.sigma_0} and sigma_1={estimator.sigma_1}: the variance of the "
            "spike must be smaller than that of the slab; take sigma_0 about 1e-4 of sigma_1"
        )
    number, threshold = estimator.n_features_to_select, estimator.threshold
    if number is not None and threshold is not None:
        raise ValueError(
            f"n_features_to_select={number} and threshold={threshold}: give one of them"
        )
    check_number(number, estimator.n_features_in_)
    online = isinstance(settings, OnlineEM)
    if not isinstance(estimator.label_frequency, str) and np.ndim(estimator.label_frequency):
        if learned is not None:
            raise ValueError(
                f"propensity={estimator.propensity!r} with an array of label frequencies: they are "
                "taken as they are; use 'fixed', or one number to learn around"
            )
        if online and np.ndim(estimator.label_frequency) == 2:
            raise ValueError(
                "label_frequency per row or entry with OnlineEM: mini-batches are shuffled; "
                "give one number or one per label, or use inference='em'"
            )
    if online and learned == "neighbors":
        raise ValueError(
            "propensity='neighbors' with OnlineEM: rows of a mini-batch have their neighbours "
            "elsewhere; use 'per_label', or inference='em'"
        )
    if estimator.n_components != 1 and (learned == "neighbors" or online):
        raise ValueError(
            f"n_components={estimator.n_components!r}: a mixture is fitted by EM() and without "
            "neighbours; use inference='em' and propensity='per_label', or one component"
        )
    if estimator.device is not None and (estimator.n_components != 1 or online):
        raise ValueError(
            f"device={estimator.device!r}: a mixture and OnlineEM are fitted on the processor; "
            "leave device=None, or take one component and inference='em'"
        )


def selection_mask(
    scores: np.ndarray, selected: np.ndarray, number: Any, threshold: Any
) -> np.ndarray:
    """Return which features are kept: a number of them, those above a threshold, or the selected."""
    if number is None and threshold is None:
        if selected.any():
            return selected
        threshold = "mean"
    if threshold is not None:
        if isinstance(threshold, str):
            threshold = np.mean(scores) if threshold == "mean" else np.median(scores)
        return scores >= threshold
    check_number(number, scores.size)
    is_fraction = not isinstance(number, (int, np.integer))
    n_kept = int(number * scores.size) if is_fraction else int(number)
    # of equal scores the first ones
    order = np.argsort(-scores, kind="stable")
    mask = np.zeros(scores.size, dtype=bool)
    mask[order[:n_kept]] = True
    return mask


def check_number(n_features_to_select: Any, n_features: int) -> None:
    if n_features_to_select is not None and n_features_to_select > n_features:
        raise ValueError(
            f"n_features_to_select={n_features_to_select}: there are {n_features} features; take "
            "at most so many, or a fraction between 0 and 1"
        )


def check_positives(labels: Labels, classes: Any) -> None:
    """Raise when nothing can be learned; warn of labels about which nothing can be learned."""
    if not labels.n_positives():
        raise ValueError(
            "y has no positive entry at all: nothing tells features apart; check the coding of "
            "the labels (1 = relevant)"
        )
    counts = np.where(labels.unseen, 1, labels.n_positives(axis=0))
    empty = np.flatnonzero((counts == 0) & (labels.n_observed(axis=0, unlabeled=True) > 0))
    if empty.size:
        warnings.warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}"
            + (f" and {empty.size - 1} others have" if empty.size > 1 else " has")
            + " no positive: no feature is chosen for it; leave it out, or give it a positive",
            LabelWarning,
            stacklevel=5,
        )
