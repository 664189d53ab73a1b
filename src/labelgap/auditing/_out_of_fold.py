"""Out-of-fold probabilities that entries are recorded: from features alone, and with other labels.

The labels of an item help to predict its other labels, but not on an item that nobody opened: its
labels are absent, which looks as if none applied. Every entry therefore has two probabilities. Models
learn from the items that were opened; each kind of probability is a stack of their log-odds, fitted to
entries that had no part in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from labelgap.auditing._audit_input import AuditInput, FeatureRows
from labelgap.auditing._feature_scores import (
    FeatureModel,
    cross_fitted_scores,
    default_models,
    given_scores,
)
from labelgap.auditing._score_counts import Advance, ScoreBlocks
from labelgap.fitting import StoredFeatures, in_threads, take_rows
from labelgap.imputers import Imputer, RidgeImputer, cross_fitted, draw_folds
from labelgap.kernels.probabilities import bounded_log_odds
from labelgap.labels import Labels
from labelgap.memory import block_size
from labelgap.propensity import LabelCeilings, fit_ceilings
from labelgap.text import TextEntryModel, TextMatch

Result = TypeVar("Result")

_DEFAULT_PENALTY = 10.0
_FEWEST_STACKED, _MOST_STACKED = 300, 400_000
_MOST_ENTRIES = 4_000_000
_LEAST = 1e-3
_FITTING = "fitting models of the features"


class ScoreSource(NamedTuple):
    """What scores the entries: nothing given means the models of the audit."""

    imputer: Imputer | None = None
    estimator: Any = None
    pred_probs: Any = None
    text: TextMatch | None = None


class ScoredRows(NamedTuple):
    """Some rows with the probabilities that their entries are recorded, all labels at once.

    ``joint`` also uses the other labels of the row.
    """

    rows: slice
    features: np.ndarray
    joint: np.ndarray


class _Stack(NamedTuple):
    """A logistic regression on the log-odds of several scores, which levels off for each label."""

    weights: np.ndarray
    intercept: float
    curves: LabelCeilings

    @classmethod
    def fit(cls, odds: list[np.ndarray], truth: np.ndarray, where: np.ndarray) -> _Stack:
        """Learn from log-odds of rows and labels, and whether they are recorded, at some entries."""
        learned, n_labels = truth[where], truth.shape[1]
        nothing = LabelCeilings(0.0, 1.0, np.ones(n_labels))
        if not odds or not learned.any() or learned.all():
            return cls(np.full(len(odds), 1 / max(len(odds), 1)), 0.0, nothing)
        model = LogisticRegression(max_iter=300)
        model.fit(np.column_stack([score[where] for score in odds]), learned)
        stack = cls(model.coef_[0], float(model.intercept_[0]), nothing)
        labels = np.broadcast_to(np.arange(n_labels), truth.shape)[where]
        return stack._replace(
            curves=fit_ceilings(stack._log_odds(odds)[where], learned, labels, n_labels)
        )

    def probabilities(self, odds: list[np.ndarray]) -> np.ndarray:
        return self.curves.probabilities(self._log_odds(odds))

    def _log_odds(self, odds: list[np.ndarray]) -> np.ndarray:
        total: Any = self.intercept
        for weight, score in zip(self.weights, odds, strict=True):
            total = total + weight * score
        return np.asarray(total)


class OutOfFold:
    """Probabilities in which no row had a part in the models that gave its own.

    Parameters
    ----------
    source : ScoreSource
    checked : AuditInput
    rows : FeatureRows
    rng : Generator
    advance : callable
    """

    ridge: RidgeImputer | None

    def __init__(
        self,
        source: ScoreSource,
        checked: AuditInput,
        rows: FeatureRows,
        rng: np.random.Generator,
        advance: Advance,
    ) -> None:
        self.labels, self.rows, self.source = checked.part, rows, source
        self._checked, self._rng, self._advance = checked, rng, advance
        self._seed = int(rng.integers(2**31 - 1))
        if source.imputer is not None and not isinstance(source.imputer, Imputer):
            raise TypeError(
                f"imputer={source.imputer!r} is not an Imputer; "
                "labelgap.imputers.EstimatorImputer makes one of an estimator"
            )
        self.fit(np.ones(self.labels.n_samples, dtype=bool))

    def fit(self, opened: np.ndarray) -> None:
        """Learn from the rows that somebody opened."""
        self.opened = opened
        self._models = self._feature_models(opened)
        at = np.flatnonzero(opened)
        self._learned = self.labels[at]
        imputer = self.source.imputer
        self.ridge, self._left_out, self._stored = None, None, None
        self._place = np.cumsum(opened) - 1
        if imputer is None or isinstance(imputer, RidgeImputer):
            ridge = RidgeImputer(random_state=self._seed) if imputer is None else clone(imputer)
            inputs = take_rows(self.rows.inputs, at)
            self.ridge = ridge.fit(inputs, self._learned, progress=self._advance)
            self._left_out = self.ridge.left_out_scorer(inputs, self._learned)
        else:
            self._stored = self._imputed(imputer, at)
        self._fit_stacks()

    @property
    def feature_penalty(self) -> float:
        """A penalty for ridge regressions on the scaled features."""
        return _DEFAULT_PENALTY if self.ridge is None else self.ridge.penalties_[0]

    def each_block(self, function: Callable[[ScoredRows], Result]) -> Iterator[Result]:
        """Yield what a function says of rows with their probabilities, of all rows in their order.

        Several blocks are scored at once, each on its own thread, and the function runs there.
        """
        n = self.labels.n_samples
        size = block_size(8 * self.labels.n_labels + self.rows.inputs.shape[1])
        parts = [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
        return in_threads(lambda part: function(self._score(part)), parts)

    def _score(self, part: np.ndarray) -> ScoredRows:
        joint, features = self._joint_scores(part), [model.scores(part) for model in self._models]
        rows = slice(int(part[0]), int(part[-1]) + 1)
        alone, both = self._stacked(features, joint)
        return ScoredRows(rows, *self._with_text(rows, alone, both))

    def score_blocks(self) -> ScoreBlocks:
        """Yield rows, labels and the better of both probabilities: what other labels help to predict."""

        def better(block: ScoredRows) -> tuple[slice, slice, np.ndarray]:
            helped = helped_by_labels(self.labels, self.labels[block.rows])
            own = np.where(helped, block.joint, block.features)
            return block.rows, slice(0, self.labels.n_labels), own

        return self.each_block(better)

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the weights of the inputs and of the other labels, where the imputer has some."""
        return None if self.ridge is None else self.ridge.weights(label)

    def held_out_scores(self, learned: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the scores of some rows, learned from others alone, for the learning curve."""
        if self.ridge is not None:
            return self.ridge.held_out_scores(self.rows.inputs, self.labels, learned, rows)
        X = _in_memory(self._checked.X)
        fitted = clone(self.source.imputer).fit(X[learned], self.labels[learned])
        return np.column_stack(list(fitted.columns(X[rows], self.labels[rows])))

    def in_words(self) -> str:
        """Return what scored the entries, in a sentence."""
        source, n_labels = self.source, f"{self.labels.n_labels:,} labels"
        inputs = f"{self.rows.scaled.shape[1]:,} features"
        if self.rows.axes is not None:
            inputs += f" projected on {self.rows.axes.shape[1]} directions"
        if source.pred_probs is not None:
            alone = "the probabilities given"
        elif source.estimator is not None:
            alone = f"{' '.join(repr(source.estimator).split())}, cross-fitted"
        elif len(self._models) == 1:
            alone = "one model of the features"
        else:
            alone = "logistic regressions and trees of the features"
        if self.ridge is None:
            joint = f"{' '.join(repr(source.imputer).split())}, cross-fitted"
        else:
            joint = f"ridge regressions of {n_labels} on {inputs} and on each other"
        if source.text is not None:
            joint += "; words of items compared with labels"
        return f"{alone}; {joint}; every item scored by models fitted without it"

    def settings(self) -> dict[str, Any]:
        """Return what identifies the scores, for the provenance."""
        found: dict[str, Any] = {}
        for name in ("imputer", "estimator"):
            if getattr(self.source, name) is not None:
                found[name] = " ".join(repr(getattr(self.source, name)).split())
        if self.ridge is not None:
            found["feature_penalty"], found["label_penalty"] = self.ridge.penalties_
        if self.source.text is not None:
            found["text_encoder"] = " ".join(repr(self.source.text.encoder).split())
        return found

    def _stacked(
        self, features: list[np.ndarray], joint: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return both probabilities of some rows, without texts."""
        odds = [bounded_log_odds(score, _LEAST) for score in [*features, joint]]
        alone = np.broadcast_to(self._prevalence, joint.shape)
        if features:
            alone = self._features_stack.probabilities(odds[:-1])
        return alone, self._joint_stack.probabilities(odds)

    def _with_text(self, rows: Any, *scores: np.ndarray) -> Iterator[np.ndarray]:
        """Yield both probabilities of some rows with what the texts of items and labels add."""
        if self.source.text is None:
            yield from scores
            return
        match = self.source.text.rows(rows)
        for model, score in zip(self._text_models, scores, strict=True):
            yield expit(model.decision_function(bounded_log_odds(score, _LEAST), match))

    def _fit_text(
        self, at: np.ndarray, features: list[np.ndarray], joint: np.ndarray, helped: np.ndarray
    ) -> None:
        """Learn what texts add to the probabilities, from rows that were left out.

        How much they say is learned beside the features alone: other labels of an item were
        recorded by the same hand, and take from its words what they explain together.
        """
        if self.source.text is None:
            return
        match, labels = self.source.text.rows(at), self.labels[at]
        alone, both = (bounded_log_odds(score, _LEAST) for score in self._stacked(features, joint))
        first = TextEntryModel().fit(alone, labels, match)
        weight = first.weights_.text
        second = TextEntryModel().fit(both, labels, match, helped, text_weight=weight)
        self._text_models = first, second

    def _feature_models(self, opened: np.ndarray) -> list[FeatureModel]:
        source, labels = self.source, self.labels
        if source.pred_probs is not None:
            shape = (labels.n_samples, self._checked.labels.n_labels)
            return [given_scores(source.pred_probs, shape, self._checked.modelled)]

        def say(done: int, total: int) -> None:
            self._advance(_FITTING, done, total)

        if source.estimator is not None:
            X = _in_memory(self._checked.X)
            return [cross_fitted_scores(source.estimator, X, labels, opened, self._seed, say)]
        return default_models(self.rows, labels, opened, self._seed, say)

    def _imputed(self, imputer: Imputer, at: np.ndarray) -> np.ndarray:
        """Return what another imputer says of the rows that were opened."""
        X = _in_memory(self._checked.X)[at]
        folds = draw_folds(at.size, np.random.default_rng(self._seed))
        wanted = np.arange(self.labels.n_labels)
        values = np.zeros(self.labels.shape, dtype=np.float32)
        for label, column in enumerate(cross_fitted(imputer, X, self._learned, wanted, folds)):
            values[at, label] = column
        return values

    def _joint_scores(self, part: np.ndarray) -> np.ndarray:
        """Return the scores with other labels of some rows; 0 where nobody opened the row."""
        if self._left_out is None:
            assert self._stored is not None
            return self._stored[part]
        there = self.opened[part]
        scores = self._left_out(self._place[part[there]])
        if there.all():
            return scores
        found = np.zeros((part.size, self.labels.n_labels))
        found[there] = scores
        return found

    def _fit_stacks(self) -> None:
        """Fit both stacks to entries of some of the opened rows."""
        at, labels = np.flatnonzero(self.opened), self.labels
        n_rows = max(_FEWEST_STACKED, _MOST_STACKED // max(labels.n_labels, 1))
        if at.size > n_rows:
            some = np.random.default_rng(self._seed).permutation(at.size)[:n_rows]
            at = np.sort(at[some])
        truth = labels[at].to_dense(unlabeled=0.0)
        known = labels.n_observed(axis=0, unlabeled=True)
        self._prevalence = labels.n_positives(axis=0) / np.maximum(known, 1)
        features = [model.scores(at) for model in self._models]
        joint = self._joint_scores(at)
        alone = ~np.isnan(truth)
        if alone.size > _MOST_ENTRIES:
            rng = np.random.default_rng(self._seed)
            alone &= rng.random(alone.shape, dtype=np.float32) < _MOST_ENTRIES / alone.size
        helped = alone & helped_by_labels(labels, labels[at])
        odds = [bounded_log_odds(score, _LEAST) for score in [*features, joint]]
        self._features_stack = _Stack.fit(odds[:-1], truth > 0, alone)
        self._joint_stack = _Stack.fit(odds, truth > 0, helped)
        self._fit_text(at, features, joint, helped)


def helped_by_labels(table: Labels, labels: Labels) -> np.ndarray:
    """Return the entries of some rows whose joint probability means something.

    Where zeros are unlabeled these are the entries beside which another label is recorded: rows
    that were selected for a label must have one, and the last one left would seem certain.
    """
    if not table.unlabeled:
        return np.ones(labels.shape, dtype=bool)
    recorded = labels.positives().toarray()
    return (recorded.sum(axis=1)[:, None] - recorded) > 0


def _in_memory(X: Any) -> Any:
    if isinstance(X, StoredFeatures):
        raise ValueError(
            "features in blocks are audited by ridge regressions: leave out estimator and other "
            "imputers, or give X as an array"
        )
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
