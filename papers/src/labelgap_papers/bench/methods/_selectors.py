"""The methods of GMFS's tables: everything that ranks features, as selectors with ``scores_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.preprocessing import MinMaxScaler

from labelgap.labels import Labels
from labelgap.models.gmfs import GMFS
from labelgap_papers.bench.methods._method import Method
from labelgap_papers.bench.protocols.protocol import Task
from labelgap_papers.methods import MIFS, SFUS
from labelgap_papers.registry import pairs

_MOST_FACTORS = 100
_TREES_HELD = 4

Scorer = Callable[[np.ndarray, Labels], np.ndarray]


class Ranker(BaseEstimator):
    """A score per feature, from a function of features and labels."""

    def __init__(self, score: Scorer, *, keeps_all: bool = False) -> None:
        self.score = score
        self.keeps_all = keeps_all

    def fit(self, X: np.ndarray, Y: Labels) -> Ranker:
        self.scores_ = np.asarray(self.score(X, Y))
        return self


class WithConstant(BaseEstimator):
    """A selector that also sees a constant feature, for want of an intercept."""

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    def fit(self, X: np.ndarray, Y: Labels) -> WithConstant:
        X = np.column_stack([X, np.ones(len(X))])
        self.scores_ = self.selector.fit(X, Y).scores_[:-1]
        return self


def _all_features(task: Task) -> Ranker:
    return Ranker(lambda X, Y: -np.arange(X.shape[1]), keeps_all=True)


def _filter(score: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Any]:
    """Filters look at one label at a time and are averaged over labels."""

    def make(task: Task) -> Ranker:
        return Ranker(lambda X, Y: _mean_over_labels(Y, lambda y: score(X, y)))

    return make


def _chi2(task: Task) -> Ranker:
    """Of features scaled to [0, 1]."""

    def score(X: np.ndarray, Y: Labels) -> np.ndarray:
        scaled = MinMaxScaler().fit_transform(X)
        return _mean_over_labels(Y, lambda y: chi2(scaled, y)[0])

    return Ranker(score)


def _mutual_information(task: Task) -> Ranker:
    """By nearest neighbours; by presence where features are mostly absent."""
    raw = task.extra["raw"][0]
    seed = task.extra["run"]

    def score(X: np.ndarray, Y: Labels) -> np.ndarray:
        if np.mean(raw == 0) > 0.5:
            present = raw != 0
            return _mean_over_labels(Y, lambda y: _information(present, y))
        return _mean_over_labels(Y, lambda y: mutual_info_classif(raw, y, random_state=seed))

    return Ranker(score)


def _information(present: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mutual information of two binary variables, from their table of counts."""
    n, ones = len(y), y.sum()
    both, seen = present[y == 1].sum(axis=0), present.sum(axis=0)
    total = np.zeros(present.shape[1])
    for count, first, second in (
        (both, seen, ones),
        (seen - both, seen, n - ones),
        (ones - both, n - seen, ones),
        (n - seen - ones + both, n - seen, n - ones),
    ):
        fraction, independent = count / n, first * second / n**2
        held = fraction > 0
        expected = np.broadcast_to(independent, held.shape)[held]
        total[held] += fraction[held] * np.log(fraction[held] / expected)
    return total


def _forest(task: Task) -> Ranker:
    """Impurity importances of a forest whose splits serve the mean over all labels."""
    return Ranker(lambda X, Y: forest_importances(X, Y.to_dense(), 200, task.extra["run"]))


def forest_importances(X: np.ndarray, Y: np.ndarray, n_trees: int, seed: int) -> np.ndarray:
    """``feature_importances_`` of a forest, of which a few trees are held at a time.

    A tree keeps the fractions of every label in every node: 250 MB with 13,000 rows and 983 labels.
    """
    forest = RandomForestClassifier(warm_start=True, random_state=seed)
    total, n_grown = np.zeros(X.shape[1]), 0
    while n_grown < n_trees:
        forest.set_params(n_estimators=min(n_grown + _TREES_HELD, n_trees)).fit(X, Y)
        for tree in forest.estimators_[n_grown:]:
            total += tree.feature_importances_
        n_grown = len(forest.estimators_)
        # a forest that grows on asks only how many trees there were before
        forest.estimators_ = [None] * n_grown
    return total / max(total.sum(), 1e-300)


def _random(task: Task) -> Ranker:
    rng = np.random.default_rng([task.extra["run"], 1])
    return Ranker(lambda X, Y: rng.random((X.shape[1],)))


def _mean_over_labels(Y: Labels, score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Mean over labels with both values; a constant feature scores nothing."""
    values = Y.to_dense()
    mixed = values[:, values.any(axis=0) & ~values.all(axis=0)].astype(int)
    return np.mean([np.nan_to_num(score(y)) for y in mixed.T], axis=0)


def _gmfs(task: Task, factors: float = 1.0, k: int = 20, **params: Any) -> GMFS:
    """``factors`` is a fraction of the number of labels, or of 100 if there are more.

    ``k`` neighbours, or one theta per label.
    """
    near = {"propensity": "neighbors", "n_neighbors": k} if k else {}
    n_factors = max(2, round(factors * min(task.Y.n_labels, _MOST_FACTORS)))
    common = {"n_factors": n_factors, "prior": "spike-slab"}
    return GMFS(**{**common, **near, "random_state": task.extra["run"], **params})


_PAIR = (1.0, 10.0, 30.0, 100.0)
_STRENGTHS = (0.1, 0.3, 1.0, 3.0)

METHODS: dict[str, Method] = {
    "all-features": Method(_all_features),
    "chi-squared": Method(_chi2),
    "anova": Method(_filter(lambda X, y: f_classif(X, y)[0])),
    "mutual-information": Method(_mutual_information),
    "forest": Method(_forest),
    "random-ranking": Method(_random),
    "sfus": Method(
        lambda task, **params: WithConstant(SFUS(**{"tol": 1e-4, **params})),
        pairs(alpha=_PAIR, beta=(1.0, 100.0)),
    ),
    "mifs": Method(
        lambda task, **params: WithConstant(MIFS(**{"alpha": 1.0, "tol": 1e-4, **params})),
        pairs(gamma=_PAIR, beta=(0.01, 1.0)),
    ),
    "gmfs": Method(_gmfs, pairs(sigma_0=_STRENGTHS, factors=(0.25, 1.0))),
    "gmfs-laplace": Method(
        lambda task, **params: _gmfs(task, prior="laplace", **params),
        pairs(laplace_rate=_STRENGTHS, factors=(0.25, 1.0)),
    ),
}
