"""Fit a model to one soft label: weights, copies of rows, trees of probabilities, ridges."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.validation import has_fit_parameter

from labelgap.memory import block_size
from labelgap.one_vs_rest._fit_labels import SoftLabel, rounded

_EXACT = ("auto", "cholesky", "svd")
_REGRESSORS = {
    RandomForestClassifier: RandomForestRegressor,
    ExtraTreesClassifier: ExtraTreesRegressor,
    DecisionTreeClassifier: DecisionTreeRegressor,
    ExtraTreeClassifier: ExtraTreeRegressor,
}
# copies of a known row where rows cannot be weighted
_COPIES = 4


def fit_soft(estimator: Any, X: Any, label: SoftLabel) -> Any:
    """Return a clone of the estimator, fitted to the probabilities of one label.

    A regressor takes them as targets. A classifier sees an uncertain row twice, as relevant with
    the weight of its probability and as irrelevant with the rest; of a pipeline, its last step does. One
    that takes no weights sees it as often as the weights say. Trees and forests that split by
    Gini's impurity see it once, with its probability.

    Examples
    --------
    >>> from labelgap.one_vs_rest import fit_soft
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from labelgap.one_vs_rest import SoftLabel
    >>> soft = SoftLabel(np.arange(2), np.array([0.2, 0.7]), np.ones(2))
    >>> fit_soft(Ridge(alpha=1e-9), np.array([[0.0], [1.0]]), soft).coef_.round(3).tolist()
    [0.5]
    """
    model = clone(estimator)
    weighted = _weight_name(model)
    if is_regressor(model):
        part = X[label.rows]
        if (label.weights == 1).all():
            return model.fit(part, label.probabilities)
        if weighted:
            return model.fit(part, label.probabilities, **{weighted: label.weights})
        copies = _repeats(label.weights)
        return model.fit(_rows(X, label.rows, copies), np.repeat(label.probabilities, copies))
    if split_by_gini(model) and not label.is_certain:
        # nodes of certain rows are not split further
        return SoftLabelTrees(model).fit(X[label.rows], rounded(label.probabilities), label.weights)
    rows, values, weights = _both_ways(label)
    if (weights == 1).all():
        return model.fit(X[rows], values)
    if weighted:
        return model.fit(X[rows], values, **{weighted: weights})
    copies = _repeats(weights)
    return model.fit(_rows(X, rows, copies), np.repeat(values, copies))


def _weight_name(model: Any) -> str | None:
    """The argument of ``fit`` that takes weights of rows: of a pipeline, that of its last step."""
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = model.steps[-1]
        inner = None if last in (None, "passthrough") else _weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return None


def _both_ways(label: SoftLabel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, values of 0 and 1 and weights: known rows first, in their order."""
    probabilities = rounded(label.probabilities)
    certain = (probabilities == 0) | (probabilities == 1)
    unsure = ~certain
    rows = np.concatenate([label.rows[certain], label.rows[unsure], label.rows[unsure]])
    n_unsure = int(unsure.sum())
    values = np.concatenate([probabilities[certain], np.ones(n_unsure), np.zeros(n_unsure)])
    fractions = label.weights[unsure]
    weights = np.concatenate(
        [
            label.weights[certain],
            fractions * probabilities[unsure],
            fractions * (1 - probabilities[unsure]),
        ]
    )
    kept = weights > 0
    return rows[kept], values[kept].astype(np.intp), weights[kept]


def _repeats(weights: np.ndarray) -> np.ndarray:
    """Whole numbers of copies, whose sums follow those of the weights: small ones are not lost."""
    whole = np.floor(_COPIES * np.cumsum(weights) + 0.5)
    return np.diff(whole, prepend=0.0).astype(np.intp)


def _rows(X: Any, rows: np.ndarray, copies: np.ndarray) -> Any:
    chosen = X[np.repeat(rows, copies)]
    return sparse.csr_array(chosen) if sparse.issparse(X) else chosen


def split_by_gini(estimator: Any) -> bool:
    """Whether the estimator is a tree or a forest that :class:`SoftLabelTrees` can stand for."""
    if type(estimator) not in _REGRESSORS:
        return False
    return estimator.criterion == "gini" and estimator.class_weight is None


class SoftLabelTrees(ClassifierMixin, BaseEstimator):
    """Learn a tree or forest classifier of two classes from probabilities of the second.

    With the mean p of probabilities q, Gini's impurity of a node is 2 p (1 - p), whether an uncertain row
    stands in it as two weighted rows or as one with q. The variance of the q is half of
    that less the mean of q (1 - q), and the sum of the latter is the same however rows are split:
    the splits that lower one most lower the other most. Trees of regression, then, with each row
    once, so that the smallest leaf and the bootstrap count rows and not halves of them.

    Parameters
    ----------
    estimator : tree or forest of scikit-learn
        Its parameters are taken over.

    Examples
    --------
    >>> from labelgap.one_vs_rest import SoftLabelTrees
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0]])
    >>> model = SoftLabelTrees(DecisionTreeClassifier()).fit(X, np.array([0.2, 0.7]))
    >>> model.predict_proba(X)[:, 1].tolist()
    [0.2, 0.7]
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(
        self, X: Any, probabilities: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> Self:
        regressor = _REGRESSORS[type(self.estimator)]()
        settings = self.estimator.get_params(deep=False)
        settings |= {"criterion": "squared_error", "oob_score": False}
        for name in ("min_impurity_decrease", "ccp_alpha"):
            settings[name] /= 2
        known = regressor.get_params(deep=False)
        regressor.set_params(**{name: settings[name] for name in known if name in settings})
        self.trees_ = regressor.fit(X, probabilities, sample_weight=sample_weight)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = self.trees_.n_features_in_
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importances of the classifier: fractions of what splits lower the impurity by."""
        return self.trees_.feature_importances_

    def predict_proba(self, X: Any) -> np.ndarray:
        relevant = self.trees_.predict(X)
        return np.column_stack([1 - relevant, relevant])

    def predict(self, X: Any) -> np.ndarray:
        return (self.trees_.predict(X) > 0.5).astype(np.intp)


def have_one_factorisation(estimator: Any) -> bool:
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
        one = SoftLabel(one.rows[order], one.probabilities[order], one.weights[order])
        waiting.setdefault(one.rows.tobytes() + one.weights.tobytes(), []).append((place, one))
        n_cells += one.rows.size
        if n_cells >= block_size(1, fraction=1 / 8):
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
    targets = np.column_stack([one.probabilities for _, one in batch])
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
