"""What one fit of Mend does: impute labels, learn from them, and validate that it helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone, is_regressor

from labelgap.imputers import Imputer, cross_fitted, draw_folds
from labelgap.kernels.probabilities import fit_sigmoid, mean_log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.mend._selection import (
    PLAIN,
    Candidate,
    CandidateScores,
    ValidationResult,
    hold_out,
    score_candidate,
    select_candidate,
)
from labelgap.one_vs_rest import (
    ConstantLabel,
    SoftLabel,
    are_fitted_together,
    fit_labels,
    known_entries,
    scores_of,
)
from labelgap.propensity import (
    calibration_shift,
    relevance_log_odds,
    top_scored_fraction,
    unlabeled_posterior,
)

__all__ = ["ImputedLabels", "SelfTraining"]

_NEVER = 1e-9
_SHIFT_TOLERANCE = 1e-4
_TINY = 1e-3
_WORTH_KEEPING = 0.01
_FEWEST_OF_EACH = 3
_PSEUDO_LABEL_FOLDS = 3
# a pseudo-label nearer to the prevalence than this is left out
_SMALLEST_PSEUDO_LABEL = 0.1

# learns labels from some rows and predicts them in others: one column of probabilities at a time
Predictor = Callable[[np.ndarray, Iterator[SoftLabel], np.ndarray], Iterator[np.ndarray]]


class ImputedLabels(NamedTuple):
    """The imputed values: probabilities of entries that were not known, and their weights.

    Attributes
    ----------
    probabilities : csr_array of shape (n_samples, n_labels)
        Those below 0.01 are not stored. Of unlabeled zeros they are what the label frequency,
        estimated or given, stands for, whatever the classifier was trained with.
    weights : array of shape (n_labels,)
        How much an imputed entry of each label counted, beside 1 for a known one.
    imputer : str
        The imputer as code that would make it again; empty where nothing was imputed.

    See Also
    --------
    labelgap.Mend : Has one as ``imputed_``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from labelgap.mend import ImputedLabels
    >>> ImputedLabels(sparse.csr_array([[0.0, 0.7]]), np.array([0.0, 1.0])).probabilities.nnz
    1
    """

    probabilities: sparse.csr_array
    weights: np.ndarray
    imputer: str = ""


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

    def __post_init__(self) -> None:
        # whether the sigmoid of a score is the probability
        has_probabilities = hasattr(self.estimator, "predict_proba")
        self.scores_are_logits = has_probabilities and not is_regressor(self.estimator)
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "device": self.device}
        self.learn: Callable[..., list] = partial(fit_labels, self.estimator, **options)

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
        folds = draw_folds(labels.n_samples, self.rng)
        if getattr(imputer, "is_of_forests", False):
            return imputer.held_out_columns(X, labels, wanted, folds, **given)
        # a start that was learned from all rows would give away those that are left out
        return cross_fitted(imputer, X, labels, wanted, folds, **given)

    # What is learned in the end

    def train(
        self, X: Any, labels: Labels, chosen: np.ndarray, candidate: Candidate, n_iter: int
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
        models = dict(zip(plain.tolist(), self.learn(X, known, prevalence[plain]), strict=True))
        start = [models[label] for label in chosen.tolist()] if both else None
        plain_models = {label: models[label] for label in chosen.tolist()} if self.ensemble else {}
        rows, columns, values = ([np.empty(0, dtype=t)] for t in (np.intp, np.intp, float))
        if chosen.size:
            pseudo_labels = None
            for iteration in range(n_iter):
                given = (candidate.imputer, start, pseudo_labels)
                imputed = self.impute(X, labels, chosen, *given)
                pairs = zip(chosen.tolist(), imputed, strict=True)
                soft = (impute_label(labels, *pair, candidate) for pair in pairs)
                if iteration < n_iter - 1:
                    pseudo_labels = self.pseudo_labels(X, labels, chosen, list(soft))

            frequencies = np.broadcast_to(self.label_frequency, labels.n_labels)

            def collected() -> Iterator[SoftLabel]:
                for label, one in zip(chosen.tolist(), soft, strict=True):
                    kept = _worth_keeping(one, labels, label, candidate, float(frequencies[label]))
                    rows.append(kept.rows)
                    columns.append(np.full(kept.rows.size, label))
                    values.append(kept.probabilities)
                    yield one

            found = self.learn(X, collected(), prevalence[chosen], start=start)
            models |= dict(zip(chosen.tolist(), found, strict=True))
        at = np.concatenate(rows), np.concatenate(columns)
        probabilities = sparse.csr_array((np.concatenate(values), at), shape=labels.shape)
        said_by = repr(self.imputers[candidate.imputer]) if chosen.size else ""
        ordered = [models[label] for label in range(labels.n_labels)]
        return Trained(ordered, plain_models, ImputedLabels(probabilities, weights, said_by))

    def pseudo_labels(
        self, X: Any, labels: Labels, wanted: np.ndarray, soft: list[SoftLabel]
    ) -> sparse.csr_array:
        """Return centred predictions of labels that are not known, by models of imputed labels."""
        prevalence = observed_prevalence(labels)[wanted]

        def predict(others: Any, part: Iterator[SoftLabel], rows: Any) -> Iterator[np.ndarray]:
            models = self.learn(X[others], part, prevalence)
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

        return held_out_pseudo_labels(predict, labels, wanted, soft, _PSEUDO_LABEL_FOLDS)

    # Validation

    def validate(
        self, X: Any, labels: Labels, wanted: np.ndarray, max_samples: int, max_labels: int
    ) -> tuple[ValidationResult, CandidateScores | None]:
        """Compare the classifier with and without imputed labels, on rows held out."""
        rows = np.sort(self.rng.permutation(labels.n_samples)[:max_samples])
        learned, held_out = (rows[part] for part in hold_out(rows.size, 0.25, self.rng))
        part, held = labels[learned], labels[held_out]
        some = measurable(part, held, wanted)
        if not (labels.unlabeled and self.per_label):
            some = np.sort(self.rng.permutation(some)[:max_labels])
        if not some.size:
            # labels stay as they are, unless the label frequency is given
            candidate = self.candidates(labels, 0)[0] if self.is_given else PLAIN
            unused, empty = np.zeros(labels.n_labels, dtype=bool), np.empty(0)
            return ValidationResult(candidate, unused, {}, {}, some, empty, empty), None
        X, X_held = X[learned], X[held_out]
        prevalence = observed_prevalence(part)[some]
        start = self.learn(X, (known_entries(part, one) for one in some.tolist()), prevalence)
        plain = self.score(X_held, held, some, start, PLAIN)
        columns = [
            list(self.impute(X, part, some, place, start)) for place in range(len(self.imputers))
        ]
        if not self.is_given and part.unlabeled:
            self.label_frequency = self._estimate_frequency(plain, part, some, columns)
        missing = not labels.unlabeled or self.is_given or self.label_frequency.min() < 1

        def attempt(candidate: Candidate, imputed: list[np.ndarray]) -> CandidateScores:
            pairs = zip(some.tolist(), imputed, strict=True)
            soft = (impute_label(part, *pair, candidate) for pair in pairs)
            models = self.learn(X, soft, prevalence, start=start)
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
                pseudo = self.pseudo_labels(X, part, some, soft)
                imputed = list(self.impute(X, part, some, candidate.imputer, None, pseudo))
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

    def held_out_sigmoid(self, X: Any, labels: Labels, max_labels: int) -> tuple[float, float]:
        """Return slope and offset for margins of complete labels, from a quarter of the rows."""
        learned, held_out = hold_out(labels.n_samples, 0.25, self.rng)
        part, held = labels[learned], labels[held_out]
        some = measurable(part, held, np.arange(labels.n_labels))[:max_labels]
        if not some.size:
            return 1.0, 0.0
        known = (known_entries(part, label) for label in some.tolist())
        models = self.learn(X[learned], known, observed_prevalence(part)[some])
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
        largest = float(found.max())
        common = largest if 0 < largest < 1 else 1.0
        if not self.per_label:
            return np.asarray(common)
        each = np.full(part.n_labels, common)
        each[some] = np.where(found > 0, (found + common) / 2, common)
        return each


def frequency_reached(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return a label frequency that the label surely reaches, 0 where there is too little to say."""
    top = top_scored_fraction(scores, hits, fewest=30, z=1.64) if hits.any() else None
    return 0.0 if top is None else top.low


def measurable(learned: Labels, held: Labels, wanted: np.ndarray) -> np.ndarray:
    """Return the labels with a few ones and zeros on both sides."""
    enough = np.ones(wanted.size, dtype=bool)
    for part in (learned, held):
        ones = part.n_positives(axis=0)[wanted]
        zeros = part.n_observed(axis=0, unlabeled=True)[wanted] - ones
        enough &= (ones >= _FEWEST_OF_EACH) & (zeros >= _FEWEST_OF_EACH)
    return wanted[enough]


def impute_label(
    labels: Labels, label: int, probabilities: np.ndarray, candidate: Candidate
) -> SoftLabel:
    """Return a label with the entries that are not known filled in, after those that are.

    ``probabilities`` are those that the label is recorded in each row. Of unlabeled zeros,
    with g that probability and c the label frequency, P(relevant) = (1 - c) p / (1 - c p) with
    p = g / c. Models of g do not know its ceiling c, and what exceeds it is cut off; log-odds of p
    are therefore shifted until (1 - c) / c missing labels are expected for each recorded one.
    """
    if candidate.weight == 0:
        return known_entries(labels, label)
    known, values = labels.column(label, unlabeled=False)
    unlabeled = unlabeled_rows(labels, label) if labels.unlabeled else known[:0]
    asked = np.ones(labels.n_samples, dtype=bool)
    asked[known] = asked[unlabeled] = False
    unknown = np.flatnonzero(asked)
    c = float(np.broadcast_to(candidate.label_frequency, labels.n_labels)[label])
    missing = np.zeros(unlabeled.size)
    if c < 1 and unlabeled.size:
        relevance = logit(np.clip(probabilities[unlabeled] / c, _NEVER, 1 - _NEVER))
        total = min((1 - c) / c * float(values.sum()), (1 - 1e-6) * unlabeled.size)
        shift = calibration_shift(relevance, total, label_frequency=c, xtol=_SHIFT_TOLERANCE)
        missing = unlabeled_posterior(relevance + shift, c)
    imputed = np.minimum(probabilities[unknown] / c, 1.0)
    weights = np.ones(known.size), np.full(unknown.size, candidate.weight), np.ones(unlabeled.size)
    return SoftLabel(
        np.concatenate([known, unknown, unlabeled]),
        np.concatenate([values.astype(float), imputed, missing]),
        np.concatenate(weights),
    )


def unlabeled_rows(labels: Labels, label: int) -> np.ndarray:
    """Return the rows in which the label is an unlabeled zero."""
    known, _ = labels.column(label, unlabeled=False)
    return np.setdiff1d(labels.column(label)[0], known, assume_unique=True)


def _worth_keeping(
    one: SoftLabel, labels: Labels, label: int, candidate: Candidate, c: float
) -> SoftLabel:
    """Return the imputed entries, as they are with the label frequency c in place of another.

    Of unlabeled zeros (1 - c) / c for each recorded label are expected to be relevant, of unknown
    entries 1 / c times those that would be recorded.
    """
    known, values = labels.column(label, unlabeled=False)
    before = float(np.broadcast_to(candidate.label_frequency, labels.n_labels)[label])
    probabilities = one.probabilities
    if before != c:
        unlabeled = np.isin(one.rows, unlabeled_rows(labels, label))
        probabilities = np.minimum(before / c * one.probabilities, 1.0)
        total = (1 - c) / c * float(values.sum())
        probabilities[unlabeled] = with_sum(one.probabilities[unlabeled], total)
    kept = ~np.isin(one.rows, known) & (probabilities >= _WORTH_KEEPING)
    return SoftLabel(one.rows[kept], probabilities[kept], one.weights[kept])


def with_sum(probabilities: np.ndarray, total: float) -> np.ndarray:
    """Return probabilities with their log-odds shifted until they add up; tiny ones stay."""
    found = probabilities.copy()
    some = np.flatnonzero(probabilities > _TINY)
    odds = logit(np.minimum(probabilities[some], 1 - _NEVER))
    rest = float(probabilities.sum() - probabilities[some].sum())
    total = min(total - rest, (1 - _TINY) * some.size)
    shift = calibration_shift(odds, total, xtol=_SHIFT_TOLERANCE) if some.size else 0.0
    if shift:
        found[some] = expit(odds + shift)
    return found


def held_out_pseudo_labels(
    predict: Predictor, labels: Labels, wanted: np.ndarray, soft: Sequence[SoftLabel], n_folds: int
) -> sparse.csr_array:
    """Return p - f at the entries of the wanted labels that are not known, f the prevalence.

    ``predict(others, soft, rows)`` gives the probabilities p of each label in some rows from soft
    labels of others: rows are left out of what predicts them, so that nothing known of a row comes
    back as its pseudo-label. Of the shape of the labels; small values are left out.
    """
    prevalence = observed_prevalence(labels)[wanted]
    known = [labels.column(label, unlabeled=False)[0] for label in wanted.tolist()]
    at, columns, values = [], [], []
    for fold in range(n_folds):
        rows = np.arange(fold, labels.n_samples, n_folds)
        others = np.setdiff1d(np.arange(labels.n_samples), rows, assume_unique=True)
        part = (_in_rows(one, others) for one in soft)
        for place, probabilities in enumerate(predict(others, part, rows)):
            off = np.where(np.isin(rows, known[place]), 0.0, probabilities - prevalence[place])
            far = np.abs(off) >= _SMALLEST_PSEUDO_LABEL
            at.append(rows[far])
            columns.append(np.full(int(far.sum()), wanted[place]))
            values.append(off[far])
    where = np.concatenate(at), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), where), shape=labels.shape)


def _in_rows(one: SoftLabel, rows: np.ndarray) -> SoftLabel:
    """Return the part of a label in some rows, which are numbered anew."""
    kept = np.isin(one.rows, rows)
    places = np.searchsorted(rows, one.rows[kept])
    return SoftLabel(places, one.probabilities[kept], one.weights[kept])
