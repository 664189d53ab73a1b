"""Out-of-fold scores of all entries, from the ridge model of the audit or from any imputer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from labelgap.auditing._audit_input import AuditInput, FeatureRows
from labelgap.auditing._score_counts import (
    Advance,
    ScoreBlocks,
    ScoreCounts,
    ScoreProbabilities,
    count_scores,
    frequency_of,
    probabilities_of,
)
from labelgap.imputers import Imputer, RidgeImputer, cross_fitted, draw_folds
from labelgap.propensity import FrequencyEstimate

_LABELS_AT_ONCE = 64
_DEFAULT_PENALTY = 10.0


class OutOfFold:
    """Scores in which no row had a part in the model that gave its scores.

    :class:`labelgap.imputers.RidgeImputer` leaves out one row at a time and gets the scaled
    features; all other imputers are cross-fitted on 2 to 5 folds and get the features as given.

    Parameters
    ----------
    imputer : Imputer or None
        None is the ridge imputer, with penalties chosen with ``rng``.
    checked : AuditInput
    rows : FeatureRows
    rng : Generator
    advance : callable
    """

    def __init__(
        self,
        imputer: Imputer | None,
        checked: AuditInput,
        rows: FeatureRows,
        rng: np.random.Generator,
        advance: Advance,
    ) -> None:
        self.labels, self.rows = checked.part, rows
        self.ridge: RidgeImputer | None = None
        if imputer is not None and not isinstance(imputer, Imputer):
            raise TypeError(
                f"imputer={imputer!r} is not an Imputer; "
                "labelgap.imputers.EstimatorImputer makes one of an estimator"
            )
        if imputer is None or isinstance(imputer, RidgeImputer):
            ridge = RidgeImputer(random_state=rng) if imputer is None else clone(imputer)
            self.X, self.imputer = rows.inputs, ridge
            self.ridge = ridge.fit(rows.inputs, self.labels, progress=advance)
            return
        self.X, self.imputer = _indexable(checked.X), imputer
        self._folds = draw_folds(self.labels.n_samples, rng)

    @property
    def feature_penalty(self) -> float:
        """A penalty for ridge regressions on the scaled features."""
        return _DEFAULT_PENALTY if self.ridge is None else self.ridge.penalties_[0]

    def blocks(self) -> ScoreBlocks:
        """Yield rows, labels and their scores, until every entry was given once."""
        if self.ridge is not None:
            return self.ridge.left_out_blocks(self.X, self.labels)
        return self._column_blocks()

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the weights of the inputs and of the other labels, where the imputer has some."""
        return None if self.ridge is None else self.ridge.weights(label)

    def held_out_scores(self, learned: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the scores of some rows, learned from others alone."""
        if self.ridge is not None:
            return self.ridge.held_out_scores(self.X, self.labels, learned, rows)
        fitted = clone(self.imputer).fit(self.X[learned], self.labels[learned])
        return np.column_stack(list(fitted.columns(self.X[rows], self.labels[rows])))

    def in_words(self) -> str:
        """Return what scored the entries, in a sentence."""
        if self.ridge is None:
            how = f"cross-fitted on {len(self._folds)} folds of the items"
            return f"{' '.join(repr(self.imputer).split())}, {how}"
        inputs = f"{self.rows.scaled.shape[1]:,} features"
        if self.rows.axes is not None:
            inputs += f" projected on {self.rows.axes.shape[1]} directions"
        return (
            f"ridge regressions of {self.labels.n_labels:,} labels on {inputs} and on each other, "
            "every item scored by regressions fitted without it"
        )

    def settings(self) -> dict[str, Any]:
        """Return what identifies the scores, for the provenance."""
        if self.ridge is None:
            return {"imputer": " ".join(repr(self.imputer).split())}
        feature_penalty, label_penalty = self.ridge.penalties_
        return {"feature_penalty": feature_penalty, "label_penalty": label_penalty}

    def _column_blocks(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        n_samples, n_labels = self.labels.shape
        columns = cross_fitted(self.imputer, self.X, self.labels, np.arange(n_labels), self._folds)
        for start in range(0, n_labels, _LABELS_AT_ONCE):
            stop = min(start + _LABELS_AT_ONCE, n_labels)
            scores = np.column_stack([next(columns) for _ in range(start, stop)])
            yield slice(0, n_samples), slice(start, stop), scores


def _indexable(X: Any) -> Any:
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)


def count_and_calibrate(
    model: OutOfFold, checked: AuditInput, n_wanted: int, advance: Advance
) -> tuple[ScoreCounts, FrequencyEstimate | None, ScoreProbabilities]:
    """Return counts by score, the label frequency where zeros are unlabeled, and probabilities."""
    part = checked.part
    counts = count_scores(model.blocks(), part, n_wanted, advance, checked.decided_part)
    estimate = frequency_of(counts) if part.unlabeled else None
    return counts, estimate, probabilities_of(counts, None if estimate is None else estimate.value)
