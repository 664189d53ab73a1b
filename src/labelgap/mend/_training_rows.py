"""What is known of the rows of a fit beside features and labels: weights, and what belongs together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from labelgap.imputers import draw_folds
from labelgap.mend._selection import hold_out
from labelgap.one_vs_rest import SoftLabel

# rows of weighted training at most, for each row that is given
_MOST_COPIES = 3


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Weights and groups of the rows of a fit; None where all count alike, or none belong together."""

    n_samples: int
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None

    @classmethod
    def read(cls, X: Any, sample_weight: Any, groups: Any) -> Self:
        """Check the arguments of ``fit``."""
        weights, codes = None, None
        if sample_weight is not None:
            try:
                weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            except (TypeError, ValueError) as error:
                raise ValueError(f"sample_weight: give a number for each row ({error})") from error
            if not weights.any():
                raise ValueError("sample_weight is zero in every row: there is nothing to learn")
            weights = None if (weights == 1).all() else weights
        if groups is not None:
            groups = column_or_1d(groups)
            if len(groups) != X.shape[0]:
                raise ValueError(f"groups has {len(groups)} rows, X has {X.shape[0]}")
            codes = np.unique(groups, return_inverse=True)[1]
            if codes.max() == 0:
                raise ValueError("groups: all rows are in one group; rows to check on are needed")
        return cls(X.shape[0], weights, codes)

    def with_class_weights(self, class_weight: Any, y: Any) -> TrainingRows:
        """Return the same with the weights of classes, for a vector of them."""
        if class_weight is None:
            return self
        weights = compute_sample_weight(class_weight, y)
        weights = weights if self.weights is None else weights * self.weights
        return replace(self, weights=weights)

    def part(self, rows: np.ndarray) -> TrainingRows:
        """Return what is known of some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return TrainingRows(len(rows), weights, None if self.groups is None else self.groups[rows])

    def hold_out(self, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return rows to learn from and rows held out; groups are not divided."""
        return hold_out(self.n_samples, fraction, rng, self.groups)

    def folds(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the rows of random folds; groups are not divided."""
        return draw_folds(self.n_samples, rng, self.groups)

    def systematic_folds(self, n_folds: int) -> list[np.ndarray]:
        """Return the rows of folds by their order; groups are not divided."""
        codes = np.arange(self.n_samples) if self.groups is None else self.groups
        return [np.flatnonzero(codes % n_folds == fold) for fold in range(n_folds)]

    def weighted(self, one: SoftLabel, class_weight: Any) -> SoftLabel:
        """Return a label with the weights of its rows and classes."""
        if self.weights is not None:
            one = one._replace(weights=one.weights * self.weights[one.rows])
        return one if class_weight is None else class_weighted(one, class_weight)

    def copies(self) -> np.ndarray:
        """Return rows, each as often as its weight says: whole numbers are exact where they are few."""
        assert self.weights is not None
        weights, most = self.weights, _MOST_COPIES * self.n_samples
        if not (np.array_equal(weights, np.round(weights)) and weights.sum() <= most):
            weights = weights * (2 * self.n_samples / weights.sum())
        # sums of copies follow those of the weights: small ones are not lost
        whole = np.floor(np.cumsum(weights) + 0.5)
        return np.repeat(np.arange(self.n_samples), np.diff(whole, prepend=0.0).astype(np.intp))

    def repeated(self, copies: np.ndarray) -> TrainingRows:
        """Return what is known of copies of rows: those of one row belong together."""
        groups = copies if self.groups is None else self.groups[copies]
        return TrainingRows(copies.size, None, groups)


def class_weighted(one: SoftLabel, class_weight: Any) -> SoftLabel:
    """Return a label whose relevant and irrelevant entries count as much as ``class_weight`` says.

    An entry with the probability p is a relevant one of weight p and an irrelevant one of weight
    1 - p. "balanced" gives both classes the same total.
    """
    p = one.probabilities
    if isinstance(class_weight, Mapping):
        irrelevant, relevant = float(class_weight.get(0, 1.0)), float(class_weight.get(1, 1.0))
    else:
        total, hits = float(one.weights.sum()), float((one.weights * p).sum())
        if not 0 < hits < total:
            return one
        irrelevant, relevant = total / (2 * (total - hits)), total / (2 * hits)
    weights = relevant * p + irrelevant * (1 - p)
    shifted = np.divide(relevant * p, weights, out=p.astype(float), where=weights > 0)
    return SoftLabel(one.rows, shifted, one.weights * weights)
