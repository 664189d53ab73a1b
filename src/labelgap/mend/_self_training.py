"""What one fit of Mend does: impute labels, learn from them, and validate that it helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone, is_regressor

from labelgap.imputers import Imputer, cross_fitted
from labelgap.kernels.probabilities import fit_sigmoid, mean_log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.mend._imputed_labels import (
    ImputedLabels,
    held_out_pseudo_labels,
    impute_label,
    worth_keeping,
)
from labelgap.mend._selection import (
    PLAIN,
    Candidate,
    CandidateScores,
    ValidationResult,
    score_candidate,
    select_candidate,
)
from labelgap.mend._training_rows import TrainingRows
from labelgap.one_vs_rest import (
    ConstantLabel,
    SoftLabel,
    are_fitted_together,
    fit_labels,
    known_entries,
    scores_of,
)
from labelgap.propensity import (
    relevance_log_odds,
    top_scored_fraction,
)

_FEWEST_OF_EACH = 3
_PSEUDO_LABEL_FOLDS = 3


class Trained(NamedTuple):
    """Models of all labels, those without imputed labels where both are averaged, and the values."""

    models: list
    plain_models: dict[int, Any]
    imputed: ImputedLabels


@dataclass(eq=False)
class SelfTraining:
    """A classifier or regressor of single labels that learns from imputed labels.

    ``label_frequency`` is one number, or one per label; :meth:`validate` estimates it unless it
    ``is_given``, for each label if ``per_label``. With ``ensemble`` predictions are averaged with
    those of a model without imputed labels, and labels are imputed with a frequency halfway to 1.
    """

    estimator: Any
    imputers: list[Imputer] = field(default_factory=list)
    imputed_weights: Sequence[float] = (1.0,)
    ensemble: bool = False
    label_frequency: np.ndarray = field(default_factory=lambda: np.asarray(1.0))
    is_given: bool = False
    per_label: bool = False
    max_iter: int = 1
    n_jobs: int | None = None
    device: str | None = None
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    class_weight: Any = None
    on_label: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        # whether the sigmoid of a score is the probability
        has_probabilities = hasattr(self.estimator, "predict_proba")
        self.scores_are_logits = has_probabilities and not is_regressor(self.estimator)
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "device": self.device}
        self._fit_labels: Callable[..., list] = partial(fit_labels, self.estimator, **options)

    def learn(
        self, rows: TrainingRows, X: Any, soft: Iterable[SoftLabel], prevalence: Any, **given: Any
    ) -> list:
        """Return a model of each label; ``rows`` are those of ``X``."""

        def weighted() -> Iterator[SoftLabel]:
            for one in soft:
                yield rows.weighted(one, self.class_weight)
                if self.on_label is not None:
                    self.on_label()

        return self._fit_labels(X, weighted(), prevalence, **given)

    @property
    def training_frequency(self) -> np.ndarray:
        """The label frequency that unlabeled zeros are imputed with."""
        return (1 + self.label_frequency) / 2 if self.ensemble else self.label_frequency

    def candidates(self, labels: Labels, imputer: int) -> list[Candidate]:
        """Return a candidate for each weight."""
        frequency: Any = 1.0
        if labels.unlabeled:
            frequency = self.training_frequency.tolist()
        frequency = tuple(frequency) if isinstance(frequency, list) else frequency
        return [Candidate(float(weight), frequency, imputer) for weight in self.imputed_weights]

    def impute(
        self,
        rows: TrainingRows,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        place: int,
        start: list | None = None,
        pseudo_labels: sparse.csr_array | None = None,
    ) -> Iterator[np.ndarray]:
        """Yield the probabilities of each wanted label in all rows, by one of the imputers.

        No value of a label has a part in its own probability: an unlabeled zero teaches, so where
        there are some each row is left out of what is learned for it. ``start`` are models of the
        wanted labels, ``pseudo_labels`` centred estimates of unknown ones, for imputers that take
        them.
        """
        imputer: Any = clone(self.imputers[place])
        given = {"pseudo_labels": pseudo_labels} if imputer.takes_pseudo_labels else {}
        if not labels.unlabeled:
            begun = {"start": start} if imputer.takes_start else {}
            return imputer.fit(X, labels, wanted, **begun, **given).columns(X, labels, **given)
        folds = rows.folds(self.rng)
        if getattr(imputer, "is_of_forests", False) and rows.groups is None:
            return imputer.held_out_columns(X, labels, wanted, folds, **given)
        # a start that was learned from all rows would give away those that are left out
        return cross_fitted(imputer, X, labels, wanted, folds, **given)

    # What is learned in the end

    def train(
        self,
        table: TrainingRows,
        X: Any,
        labels: Labels,
        chosen: np.ndarray,
        candidate: Candidate,
        n_iter: int,
    ) -> Trained:
        """Learn all labels, the chosen ones from imputed values.

        First without imputed labels, which is where the fits with them start from.
        """
        prevalence = observed_prevalence(labels)
        weights = np.zeros(labels.n_labels)
        weights[chosen] = candidate.weight
        both = self.ensemble or are_fitted_together(self.estimator)
        plain = np.arange(labels.n_labels) if both else np.flatnonzero(weights == 0)
        known = (known_entries(labels, label) for label in plain.tolist())
        found = self.learn(table, X, known, prevalence[plain])
        models = dict(zip(plain.tolist(), found, strict=True))
        start = [models[label] for label in chosen.tolist()] if both else None
        plain_models = {label: models[label] for label in chosen.tolist()} if self.ensemble else {}
        rows, columns, values = ([np.empty(0, dtype=t)] for t in (np.intp, np.intp, float))
        if chosen.size:
            pseudo_labels = None
            for iteration in range(n_iter):
                given = (candidate.imputer, start, pseudo_labels)
                imputed = self.impute(table, X, labels, chosen, *given)
                pairs = zip(chosen.tolist(), imputed, strict=True)
                soft = (impute_label(labels, *pair, candidate) for pair in pairs)
                if iteration < n_iter - 1:
                    pseudo_labels = self.pseudo_labels(table, X, labels, chosen, list(soft))

            frequencies = np.broadcast_to(self.label_frequency, labels.n_labels)

            def collected() -> Iterator[SoftLabel]:
                for label, one in zip(chosen.tolist(), soft, strict=True):
                    kept = worth_keeping(one, labels, label, candidate, float(frequencies[label]))
                    rows.append(kept.rows)
                    columns.append(np.full(kept.rows.size, label))
                    values.append(kept.probabilities)
                    yield one

            found = self.learn(table, X, collected(), prevalence[chosen], start=start)
            models |= dict(zip(chosen.tolist(), found, strict=True))
        at = np.concatenate(rows), np.concatenate(columns)
        probabilities = sparse.csr_array((np.concatenate(values), at), shape=labels.shape)
        said_by = repr(self.imputers[candidate.imputer]) if chosen.size else ""
        ordered = [models[label] for label in range(labels.n_labels)]
        return Trained(ordered, plain_models, ImputedLabels(probabilities, weights, said_by))

    def pseudo_labels(
        self,
        table: TrainingRows,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        soft: list[SoftLabel],
    ) -> sparse.csr_array:
        """Return centred predictions of labels that are not known, by models of imputed labels."""
        prevalence = observed_prevalence(labels)[wanted]

        def predict(others: Any, part: Iterator[SoftLabel], rows: Any) -> Iterator[np.ndarray]:
            models = self.learn(table.part(others), X[others], part, prevalence)
            asked, held = X[rows], labels[rows]
            for label, model in zip(wanted.tolist(), models, strict=True):
                scores = scores_of(model, asked)
                if not self.scores_are_logits and not isinstance(model, ConstantLabel):
                    # margins, or predictions of a regressor
                    known, values = held.column(label)
                    if 0 < values.sum() < values.size:
                        slope, offset = fit_sigmoid(scores[known], values)
                        scores = slope * scores + offset
                yield expit(scores)

        folds = table.systematic_folds(_PSEUDO_LABEL_FOLDS)
        return held_out_pseudo_labels(predict, labels, wanted, soft, folds)

    # Validation

    def validate(
        self,
        table: TrainingRows,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        max_samples: int,
        max_labels: int,
    ) -> tuple[ValidationResult, CandidateScores | None]:
        """Compare the classifier with and without imputed labels, on rows held out."""
        rows = np.sort(self.rng.permutation(labels.n_samples)[:max_samples])
        divided = table.part(rows).hold_out(0.25, self.rng)
        learned, held_out = (rows[part] for part in divided)
        part, held = labels[learned], labels[held_out]
        some = measurable(part, held, wanted)
        if not (labels.unlabeled and self.per_label):
            some = np.sort(self.rng.permutation(some)[:max_labels])
        if not some.size:
            # labels stay as they are, unless the label frequency is given
            candidate = self.candidates(labels, 0)[0] if self.is_given else PLAIN
            unused, empty = np.zeros(labels.n_labels, dtype=bool), np.empty(0)
            return ValidationResult(candidate, unused, (), (), (), some, empty, empty), None
        X, X_held, table = X[learned], X[held_out], table.part(learned)
        prevalence = observed_prevalence(part)[some]
        known = (known_entries(part, one) for one in some.tolist())
        start = self.learn(table, X, known, prevalence)
        plain = self.score(X_held, held, some, start, PLAIN)
        columns = [
            list(self.impute(table, X, part, some, place, start))
            for place in range(len(self.imputers))
        ]
        if not self.is_given and part.unlabeled:
            self.label_frequency = self._estimate_frequency(plain, part, some, columns)
        missing = not labels.unlabeled or self.is_given or self.label_frequency.min() < 1

        def attempt(candidate: Candidate, imputed: list[np.ndarray]) -> CandidateScores:
            pairs = zip(some.tolist(), imputed, strict=True)
            soft = (impute_label(part, *pair, candidate) for pair in pairs)
            models = self.learn(table, X, soft, prevalence, start=start)
            return self.score(X_held, held, some, models, candidate, plain)

        scored = [] if self.is_given else [plain]
        for place, imputed in enumerate(columns if missing else []):
            scored += [attempt(one, imputed) for one in self.candidates(labels, place)]
        result = select_candidate(scored, some, labels.n_labels)
        best = next(one for one in scored if one.candidate == result.candidate)
        candidate = best.candidate
        again = self.max_iter > 1 and self.imputers[candidate.imputer].takes_pseudo_labels
        if candidate.weight > 0 and again:
            iterations, imputed = [best], columns[candidate.imputer]
            while len(iterations) < self.max_iter:
                pairs = zip(some.tolist(), imputed, strict=True)
                soft = [impute_label(part, *pair, candidate) for pair in pairs]
                pseudo = self.pseudo_labels(table, X, part, some, soft)
                imputed = list(self.impute(table, X, part, some, candidate.imputer, None, pseudo))
                iterations.append(attempt(candidate, imputed))
                if iterations[-1].mean_loss >= iterations[-2].mean_loss:
                    break
            result = result._replace(iteration_losses=tuple(one.mean_loss for one in iterations))
            best = iterations[result.n_iter - 1]
        return result, best

    def score(
        self,
        X: Any,
        held: Labels,
        some: np.ndarray,
        models: list,
        candidate: Candidate,
        plain: CandidateScores | None = None,
    ) -> CandidateScores:
        """Score recorded entries of held-out rows; averaged with ``plain`` scores in an ensemble."""
        scores, values = [], []
        frequencies = np.broadcast_to(candidate.label_frequency, held.n_labels)
        for place, (label, model) in enumerate(zip(some.tolist(), models, strict=True)):
            rows, known = held.column(label)
            found = scores_of(model, X[rows])
            if plain is not None and self.ensemble:
                before = plain.scores[place]
                if self.scores_are_logits:
                    c = frequencies[label]
                    found = mean_log_odds(relevance_log_odds(before, c), found)
                else:
                    found = (before + found) / 2
            scores.append(found)
            values.append(known)
        are_logits = self.scores_are_logits
        return score_candidate(candidate, scores, values, some.tolist(), are_logits=are_logits)

    def held_out_sigmoid(
        self, table: TrainingRows, X: Any, labels: Labels, max_labels: int
    ) -> tuple[float, float]:
        """Return slope and offset for margins of complete labels, from a quarter of the rows."""
        learned, held_out = table.hold_out(0.25, self.rng)
        part, held = labels[learned], labels[held_out]
        some = measurable(part, held, np.arange(labels.n_labels))[:max_labels]
        if not some.size:
            return 1.0, 0.0
        known = (known_entries(part, label) for label in some.tolist())
        prevalence = observed_prevalence(part)[some]
        models = self.learn(table.part(learned), X[learned], known, prevalence)
        scored = self.score(X[held_out], held, some, models, PLAIN)
        return fit_sigmoid(np.concatenate(scored.scores), np.concatenate(scored.values))

    def _estimate_frequency(
        self, plain: CandidateScores, part: Labels, some: np.ndarray, columns: list
    ) -> np.ndarray:
        """Return the largest that the classifier on held-out rows, or an imputer, is evidence of."""
        found = np.array([frequency_reached(*pair) for pair in zip(*plain[1:3], strict=True)])
        for imputed in columns:
            for place, (label, column) in enumerate(zip(some.tolist(), imputed, strict=True)):
                rows, values = part.column(label)
                found[place] = max(found[place], frequency_reached(column[rows], values))
        reached = np.zeros(part.n_labels)
        reached[some] = found
        return frequency_of_labels(reached, per_label=self.per_label)


def frequency_reached(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return a label frequency that the label surely reaches, 0 where there is too little to say."""
    top = top_scored_fraction(scores, hits, fewest=30, z=1.64) if hits.any() else None
    return 0.0 if top is None else top.low


def frequency_of_labels(reached: np.ndarray, *, per_label: bool) -> np.ndarray:
    """Return the largest that is reached, 1 where none is; or for each label the mean with its own."""
    largest = float(reached.max())
    common = largest if 0 < largest < 1 else 1.0
    if not per_label:
        return np.asarray(common)
    return np.where(reached > 0, (reached + common) / 2, common)


def measurable(learned: Labels, held: Labels, wanted: np.ndarray) -> np.ndarray:
    """Return the labels with a few ones and zeros on both sides."""
    enough = np.ones(wanted.size, dtype=bool)
    for part in (learned, held):
        ones = part.n_positives(axis=0)[wanted]
        zeros = part.n_observed(axis=0, unlabeled=True)[wanted] - ones
        enough &= (ones >= _FEWEST_OF_EACH) & (zeros >= _FEWEST_OF_EACH)
    return wanted[enough]
