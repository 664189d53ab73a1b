"""What a fit asks of its settings and of the data before it starts."""

from __future__ import annotations

import importlib.util
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap._extras import require
from labelgap.fitting import Gibbs, OnlineEM
from labelgap.kernels.neighbors import APPROXIMATE_PACKAGE, given_graph, nearest_rows
from labelgap.labels import Labels, LabelWarning
from labelgap.models.gmfs._looks import LookModel, PlainRates, Rates, clipped

if TYPE_CHECKING:
    from labelgap.models.gmfs._estimator import GMFS

_MOST_ROWS_EXACT = 20_000


def check_settings(estimator: GMFS, settings: Any) -> None:
    """Settings that exclude each other."""
    if isinstance(settings, Gibbs):
        raise ValueError("inference: GMFS is fitted by EM() or OnlineEM(), not by Gibbs sampling")
    if estimator.prior == "spike-slab" and not estimator.sigma_0 < estimator.sigma_1:
        raise ValueError(
            f"sigma_0={estimator.sigma_0} and sigma_1={estimator.sigma_1}: the variance of the "
            "spike must be smaller than that of the slab; take sigma_0 about 1e-4 of sigma_1"
        )
    if estimator.n_features_to_select is not None and estimator.threshold is not None:
        raise ValueError(
            f"n_features_to_select={estimator.n_features_to_select} and "
            f"threshold={estimator.threshold}: give one of them"
        )
    check_number(estimator.n_features_to_select, estimator.n_features_in_)
    if isinstance(settings, OnlineEM):
        _check_batches(estimator)
    look = estimator.observability
    near = isinstance(look, str) and look == "neighbors"
    if estimator.n_components != 1 and (near or isinstance(settings, OnlineEM)):
        raise ValueError(
            f"n_components={estimator.n_components!r}: a mixture is fitted by EM() and without "
            "neighbours; use inference='em' and observability='labels', or one component"
        )
    if estimator.device is not None and (
        estimator.n_components != 1 or isinstance(settings, OnlineEM)
    ):
        raise ValueError(
            f"device={estimator.device!r}: a mixture and OnlineEM are fitted on the processor; "
            "leave device=None, or take one component and inference='em'"
        )


def _check_batches(estimator: GMFS) -> None:
    look = estimator.observability
    if isinstance(look, str) and look == "neighbors":
        raise ValueError(
            "observability='neighbors' with OnlineEM: rows of a mini-batch have their neighbours "
            "elsewhere; use 'labels', or inference='em'"
        )
    if not isinstance(look, str) and np.ndim(look) == 2:
        raise ValueError(
            "observability per row or entry with OnlineEM: mini-batches are shuffled; give one "
            "number or one per label, or use inference='em'"
        )


def check_number(n_features_to_select: Any, n_features: int) -> None:
    if n_features_to_select is not None and n_features_to_select > n_features:
        raise ValueError(
            f"n_features_to_select={n_features_to_select}: there are {n_features} features; take "
            "at most so many, or a share between 0 and 1"
        )


def check_data(labels: Labels, classes: Any) -> None:
    """Raise when nothing can be learned; warn of labels about which nothing can be learned."""
    counts = np.where(labels.unseen, 1, labels.n_positives(axis=0))
    empty = np.flatnonzero((counts == 0) & (labels.n_observed(axis=0, ambiguous=True) > 0))
    if not labels.n_positives():
        raise ValueError(
            "y has no positive entry at all: nothing tells features apart; check the coding of "
            "the labels (1 = relevant)"
        )
    if empty.size:
        warnings.warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}"
            + (f" and {empty.size - 1} others have" if empty.size > 1 else " has")
            + " no positive: no feature is chosen for it; leave it out, or give it a positive",
            LabelWarning,
            stacklevel=5,
        )


def look_model(
    estimator: GMFS, X: Any, labels: Labels, rate: float
) -> tuple[LookModel, Rates | None]:
    """What is learned about theta, and where it starts: at the mode of its prior."""
    look: Any = estimator.observability
    if not isinstance(look, str):
        return LookModel(), _given_rates(look, labels)
    start = PlainRates(np.full((1, 1), clipped(np.asarray(rate))))
    settings: dict[str, Any] = {
        "learn": look,
        "rate": rate,
        "weight": estimator.look_weight,
    }
    if look != "neighbors":
        n_rates = 1 if look == "global" else labels.n_labels
        return LookModel(**settings), PlainRates(np.full((1, n_rates), start.values[0, 0]))
    graph = neighbor_graph(estimator, X)
    weight = estimator.neighbor_weight
    return LookModel(**settings, graph=graph, neighbor_weight=weight), start


def _given_rates(look: Any, labels: Labels) -> PlainRates | None:
    values = np.asarray(look, dtype=np.float64)
    n, n_labels = labels.shape
    shapes = {(): (1, 1), (n_labels,): (1, n_labels), (n, 1): (n, 1), (n, n_labels): (n, n_labels)}
    if values.shape not in shapes:
        raise ValueError(
            f"observability has the shape {values.shape}: give a number, ({n_labels},) per label, "
            f"({n}, 1) per row or ({n}, {n_labels}) per entry"
        )
    values = values.reshape(shapes[values.shape])
    bad = np.argwhere(~((values > 0) & (values <= 1)))
    if bad.size:
        place = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"observability{list(place)} = {values[place]}: a probability of a look must be above "
            "0 and at most 1; where nobody looked, make the entry unknown in Y"
        )
    return None if (values == 1).all() else PlainRates(clipped(values))


def neighbor_graph(estimator: GMFS, X: Any) -> sparse.csr_array:
    """Ones at the neighbours of every row."""
    n, how = X.shape[0], estimator.neighbors
    if not isinstance(how, str):
        return given_graph(how, n)
    k = estimator.n_neighbors
    if k >= n:
        raise ValueError(
            f"n_neighbors={k}: there are {n} rows, and a row is not its own neighbour; take at "
            f"most {n - 1}"
        )
    if how == "auto":
        large = n > _MOST_ROWS_EXACT and importlib.util.find_spec(APPROXIMATE_PACKAGE) is not None
        how = "approximate" if large else "exact"
    if how == "approximate":
        require(APPROXIMATE_PACKAGE, extra="neighbors", purpose="neighbors='approximate'")
    return nearest_rows(X, k, method=how)


def support(scores: np.ndarray, selected: np.ndarray, number: Any, threshold: Any) -> np.ndarray:
    """The features that are kept."""
    if number is None and threshold is None:
        if selected.any():
            return selected
        threshold = "mean"
    if threshold is not None:
        if isinstance(threshold, str):
            threshold = np.mean(scores) if threshold == "mean" else np.median(scores)
        return scores >= threshold
    check_number(number, scores.size)
    is_share = not isinstance(number, (int, np.integer))
    n_kept = int(number * scores.size) if is_share else int(number)
    # of equal scores the first ones
    order = np.argsort(-scores, kind="stable")
    mask = np.zeros(scores.size, dtype=bool)
    mask[order[:n_kept]] = True
    return mask
