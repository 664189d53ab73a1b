"""One forest of extremely randomised trees for all labels, used as weights between rows.

A tree splits by a few combinations of the labels; what a leaf says of all labels is the mean of the
training rows in it. So a forest costs about the same for ten labels and for thousands.

References
----------
Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.
Joly, A., Geurts, P., Wehenkel, L. (2014). Random forests with random projections of the output space
for high dimensional multi-label classification. ECML PKDD.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils.extmath import randomized_svd

from labelgap.labels import observed_prevalence
from labelgap.memory import block_size
from labelgap.mend._member import Member, Teaching

# combinations of labels that trees split by, where there are more labels
_MOST_OUTPUTS = 16
_MOST_LABELS = 2000
_TREES_TO_MEASURE = 4
# without each fold
_FEWEST_TREES = 4


class ForestMember(Member):
    """Extremely randomised trees for all labels, on imputed labels.

    Out-of-fold probabilities are those of smaller forests, each without a fold.
    """

    name = "trees"
    learns_from_imputed = True

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_labels = teaching.labels.n_labels
        if n_labels > _MOST_LABELS:
            return f"{n_labels:,} labels are too many for splits by {_MOST_OUTPUTS} combinations"
        return ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        assert teaching.imputed is not None
        self.prevalence = observed_prevalence(teaching.labels)
        self.label_frequency = np.asarray(teaching.imputed.label_frequency, dtype=np.float32)
        limit = self.limits.tree_seconds
        limit = limit if seconds is None else min(limit, seconds / 2)
        self.n_trees = self._affordable(teaching, limit)
        n_each = self.n_trees // teaching.n_folds
        if n_each < _FEWEST_TREES:
            self.gave_up = f"trees would take longer than {limit:.0f} s"
            return None
        found = np.empty(teaching.labels.shape, dtype=np.float32)
        for fold in range(teaching.n_folds):
            held = np.flatnonzero(teaching.folds == fold)
            mean = self._without(fold, teaching, n_each).predict(teaching.X[held])
            found[held] = self._smoothed(mean, n_each)
        return found

    def refit(self, teaching: Teaching, seconds: float | None) -> None:
        self.forest = self._without(-1, teaching, self.n_trees)

    def _affordable(self, teaching: Teaching, limit: float) -> int:
        """Return how many trees fit the limit, from the seconds of a few."""
        begin = time.perf_counter()
        self._without(-1, teaching, _TREES_TO_MEASURE)
        seconds = (time.perf_counter() - begin) / _TREES_TO_MEASURE
        # once for all rows, once for the folds
        return int(min(self.limits.n_trees, limit / max(2 * seconds, 1e-9)))

    def _without(self, fold: int, teaching: Teaching, n_trees: int) -> _ForestWeights:
        learned = np.flatnonzero(teaching.folds != fold)
        X, targets = teaching.X[learned], teaching.imputed_without(fold)
        forest = ExtraTreesRegressor(
            n_trees,
            min_samples_leaf=2,
            max_features="sqrt" if sparse.issparse(X) else 1 / 3,
            n_jobs=self.limits.n_jobs,
            random_state=self.seed + 1 + fold,
        )
        forest.fit(X, _combinations(targets, self.seed))
        return _ForestWeights.of(forest, X, targets)

    def _smoothed(self, mean: np.ndarray, n_trees: int) -> np.ndarray:
        """No forest is certain: one imaginary tree says the prevalence."""
        return self.label_frequency * (n_trees * mean + self.prevalence) / (n_trees + 1)

    def predict(self, X: Any) -> np.ndarray:
        return self._smoothed(self.forest.predict(X), self.forest.n_trees)


class _ForestWeights(NamedTuple):
    """Trees, the training rows in each leaf (rows x leaves of all trees), and their targets."""

    forest: ExtraTreesRegressor
    members: sparse.csr_array
    leaf_sizes: np.ndarray
    targets: np.ndarray

    @classmethod
    def of(cls, forest: ExtraTreesRegressor, X: Any, targets: np.ndarray) -> _ForestWeights:
        members = _leaves(forest, X)
        return cls(forest, members, np.asarray(members.sum(axis=0)).ravel(), targets)

    @property
    def n_trees(self) -> int:
        return len(self.forest.estimators_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean over trees of the mean targets in the leaf of each row."""
        found = np.empty((X.shape[0], self.targets.shape[1]), dtype=np.float32)
        step = block_size(self.n_trees * 8 + self.targets.shape[1])
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            leaves = _leaves(self.forest, X[rows])
            leaves.data /= self.leaf_sizes[leaves.indices]
            found[rows] = (leaves @ self.members.T) @ self.targets / self.n_trees
        return found


def _leaves(forest: ExtraTreesRegressor, X: Any) -> sparse.csr_array:
    """Rows x nodes of all trees, ones at the leaf of the row in each tree."""
    counts = [tree.tree_.node_count for tree in forest.estimators_]
    at = forest.apply(X) + np.cumsum([0, *counts[:-1]])
    starts = np.arange(0, at.size + 1, at.shape[1])
    ones = np.ones(at.size, dtype=np.float32)
    return sparse.csr_array((ones, at.ravel(), starts), shape=(len(at), sum(counts)))


def _combinations(targets: np.ndarray, seed: int) -> np.ndarray:
    """Return the targets, or where they are many their principal components."""
    if targets.shape[1] <= _MOST_OUTPUTS:
        return targets[:, 0] if targets.shape[1] == 1 else targets
    centred = targets - targets.mean(axis=0)
    U, scale, _ = randomized_svd(centred, _MOST_OUTPUTS, random_state=seed)
    return U * scale
