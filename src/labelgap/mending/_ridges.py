"""Ridge regressions of many labels in the same rows: one factorisation serves them all."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier

from labelgap.mending._soft_label import SoftLabel, rounded

__all__ = ["fit_ridges", "share_a_factorisation"]

_BATCH_CELLS = 2**24
_EXACT = ("auto", "cholesky", "svd")


def share_a_factorisation(estimator: Any) -> bool:
    """Whether the same rows and weights make the same system for every label."""
    if type(estimator) is KernelRidge:
        return np.ndim(estimator.alpha) == 0
    if type(estimator) not in (Ridge, RidgeClassifier):
        return False
    plain = np.ndim(estimator.alpha) == 0 and not estimator.positive
    weighted = getattr(estimator, "class_weight", None) is not None
    return plain and not weighted and estimator.solver in _EXACT


def fit_ridges(
    estimator: Any, X: Any, soft: Iterable[tuple[int, SoftLabel]]
) -> Iterator[tuple[int, Any]]:
    """Fitted clones, each with the place of its label; labels in the same rows are solved together.

    A classifier that learns from both values of an uncertain row, each with its weight, minimises
    the squares around the mean of the two, 2 q - 1.
    """
    waiting: dict[bytes, list[tuple[int, SoftLabel]]] = {}
    n_cells = 0
    for place, one in soft:
        order = np.argsort(one.rows, kind="stable")
        one = SoftLabel(one.rows[order], one.chances[order], one.weights[order])
        waiting.setdefault(one.rows.tobytes() + one.weights.tobytes(), []).append((place, one))
        n_cells += one.rows.size
        if n_cells >= _BATCH_CELLS:
            for batch in waiting.values():
                yield from _solved(estimator, X, batch)
            waiting, n_cells = {}, 0
    for batch in waiting.values():
        yield from _solved(estimator, X, batch)


def _solved(
    estimator: Any, X: Any, batch: list[tuple[int, SoftLabel]]
) -> Iterator[tuple[int, Any]]:
    first = batch[0][1]
    part = X[first.rows]
    targets = np.column_stack([one.chances for _, one in batch])
    weights = None if (first.weights == 1).all() else first.weights
    if isinstance(estimator, RidgeClassifier):
        given = estimator.get_params()
        given.pop("class_weight")
        both = Ridge(**given).fit(part, 2 * rounded(targets) - 1, sample_weight=weights)
        for column, (place, _) in enumerate(batch):
            # what it learned is written over
            model = clone(estimator).fit(part[[0, 0]], [0, 1])
            model.coef_ = both.coef_.reshape(len(batch), -1)[None, column]
            model.intercept_ = np.atleast_1d(np.broadcast_to(both.intercept_, len(batch))[column])
            yield place, model
        return
    both = clone(estimator).fit(part, targets, sample_weight=weights)
    for column, (place, _) in enumerate(batch):
        model = copy.copy(both)
        if isinstance(model, KernelRidge):
            model.dual_coef_ = both.dual_coef_.reshape(-1, len(batch))[:, column]
        else:
            model.coef_ = both.coef_.reshape(len(batch), -1)[column]
            model.intercept_ = float(np.broadcast_to(both.intercept_, len(batch))[column])
        yield place, model
