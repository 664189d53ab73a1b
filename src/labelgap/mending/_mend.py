"""Complete the labels, then train the user's own classifier on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed

from labelgap.estimator import LabelGapClassifier
from labelgap.labels import Labels, State
from labelgap.mending._completers import Completer, cross_fitted
from labelgap.mending._labelwise import LabelwiseCompleter
from labelgap.mending._neighbors import NeighborsCompleter
from labelgap.mending._recording import recording_rate, relevant_though_unrecorded
from labelgap.mending._soft_targets import SoftLabel, fit_soft, scores_of
from labelgap.mending._thresholds import expected_f1_helps, expected_f1_threshold
from labelgap.mending._trust import Plan, Trial, Verdict, chances_from, judge, set_aside
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, readable_by_workers

__all__ = ["Completed", "Mend"]

_WORTH_KEEPING = 0.01
_PLAIN = Plan(0.0, 1.0)
_FEWEST_OF_EACH = 3


class Completed(NamedTuple):
    """What was filled in: chances (rows x labels, sparse) of entries that were not known.

    Chances below 0.01 are not stored. ``weights`` says how much a completed entry of each label
    counted, beside 1 for a known one.
    """

    chances: sparse.csr_array
    weights: np.ndarray


class Mend(LabelGapClassifier):
    """The user's classifier, one per label, trained on labels whose gaps were completed.

    A completer estimates, for every entry nobody looked at, the chance that it is relevant given
    the features of the row *and its other observed labels*. The classifier of a label is then
    trained on all rows: on those where the label is known, and on the others with these chances.
    Whether that helps is tried first, on rows set aside, by the log-loss at their known entries;
    where it does not, labels are left as they are, and the result is that of
    :class:`labelgap.BinaryRelevance`.

    Zeros that may mean "nobody looked" (``zeros="ambiguous"``, or labels that say so): with c the
    chance that a relevant label is recorded and g that it is recorded in this row,
    P(relevant | not recorded) = (1 - c) / c * g / (1 - g). Predictions are then those of relevance,
    not of being recorded.

    Parameters
    ----------
    classifier : classifier or regressor, optional
        Any single-label one of scikit-learn; by default ``LogisticRegression(solver="liblinear")``.
    completer : Completer or sequence of them, optional
        Where there are several, the trials choose. By default a :class:`LabelwiseCompleter` of the
        classifier itself and a :class:`NeighborsCompleter`.
    weights : sequence of float
        What a completed entry may count, beside 1 for a known one; the best is kept.
    recorded : float or "estimate"
        Of ambiguous zeros: c. A number is taken as known, and all labels are completed; trials then
        choose among completers only. The estimate is the
        largest share of recorded entries among those that are most surely recorded, which can be
        too small and never (but for chance) too large: the rate of labels that are hard to predict
        is not identified.
    zeros : {"irrelevant", "ambiguous"}
        What a zero of a plain array means.
    threshold : {"auto", "half", "expected f1"}
        Where ``predict`` decides: at 0.5, or per label where the F1 score that the probabilities
        themselves promise on the training rows is largest. "auto" does the latter for labels that
        were mended, where the trials say that it raises F1 at recorded entries or zeros are
        ambiguous, and the former for all others.
    trial_rows, trial_labels : int
        At most so many rows and labels take part in the trials.
    n_jobs : int, optional
    random_state : int, RandomState or None
        Of the rows that are set aside.

    Attributes
    ----------
    estimators_ : list
        The classifier of each label.
    verdict_ : Verdict or None
        What the trials said; None when there was nothing to complete or nothing to try.
    completed_ : Completed
    recorded_ : float
        c; 1 without ambiguous zeros.
    thresholds_ : ndarray of shape (n_labels,)
    classes_, n_features_in_, feature_names_in_
        As in every estimator.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "classifier": [HasMethods(["fit", "predict"]), None],
        "completer": [Completer, list, tuple, None],
        "weights": ["array-like"],
        "recorded": [Interval(Real, 0, 1, closed="neither"), StrOptions({"estimate"})],
        "zeros": [StrOptions({"irrelevant", "ambiguous"})],
        "threshold": [StrOptions({"auto", "half", "expected f1"})],
        "trial_rows": [Interval(Integral, 10, None, closed="left")],
        "trial_labels": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any = None,
        completer: Completer | Sequence[Completer] | None = None,
        *,
        weights: Sequence[float] = (0.3, 1.0),
        recorded: float | Literal["estimate"] = "estimate",
        zeros: Literal["irrelevant", "ambiguous"] = "irrelevant",
        threshold: Literal["auto", "half", "expected f1"] = "auto",
        trial_rows: int = 4000,
        trial_labels: int = 30,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.classifier = classifier
        self.completer = completer
        self.weights = weights
        self.recorded = recorded
        self.zeros = zeros
        self.threshold = threshold
        self.trial_rows = trial_rows
        self.trial_labels = trial_labels
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _zeros(self) -> Any:  # type: ignore[override]
        return self.zeros

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        X = readable_by_workers(X)
        self._rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.verdict_: Verdict | None = None
        self._sigmoid: tuple[float, float] | None = None
        self._f1_helps = False
        plan, used_for = _PLAIN, np.zeros(labels.n_labels, dtype=bool)
        wanted = _with_gaps(labels)
        self._candidates = self._completers()
        is_given = labels.ambiguous and self.recorded != "estimate"
        if wanted.size and is_given and len(self._candidates) == 1:
            plan = Plan(1.0, float(self.recorded))
        elif wanted.size:
            self.verdict_ = self._try(X, labels, wanted)
            plan, used_for = self.verdict_.plan, self.verdict_.used_for
        if is_given:
            used_for = np.ones(labels.n_labels, dtype=bool)
        self.recorded_ = plan.recorded
        mended = wanted[used_for[wanted]]
        soft = self._soft_labels(X, labels, mended, plan)
        self.estimators_, pieces = self._train(X, labels, soft)
        weights = np.zeros(labels.n_labels)
        weights[mended] = plan.weight
        self.completed_ = Completed(_stack(pieces, labels.shape), weights)
        if not self._gives_probabilities() and self._sigmoid is None:
            self._sigmoid = self._held_out_sigmoid(X, labels)
        useful = labels.ambiguous or self._f1_helps
        self.thresholds_ = self._choose_thresholds(X, mended if useful else mended[:0])

    def _soft_labels(
        self, X: Any, labels: Labels, mended: np.ndarray, plan: Plan
    ) -> Iterator[tuple[int, SoftLabel]]:
        """Every label with its completion, or as it is."""
        columns: Iterator[np.ndarray] = iter(())
        if mended.size:
            columns = self._columns(X, labels, mended, plan.completer)
        completed = set(mended.tolist())
        for label in range(labels.n_labels):
            if label in completed:
                yield label, _mended(labels, label, next(columns), plan)
            else:
                rows, values = labels.column(label)
                yield label, SoftLabel(rows, values.astype(float), np.ones(rows.size))

    def _columns(
        self, X: Any, labels: Labels, wanted: np.ndarray, which: int
    ) -> Iterator[np.ndarray]:
        """Chances of all rows. An ambiguous zero teaches, so that its row must be left out."""
        completer = clone(self._candidates[which])
        if not labels.ambiguous:
            return completer.fit(X, labels, wanted).columns(X, labels)
        order = self._rng.permutation(labels.n_rows)
        folds = [np.sort(part) for part in np.array_split(order, min(3, labels.n_rows))]
        return cross_fitted(completer, X, labels, wanted, folds)

    def _train(
        self, X: Any, labels: Labels, soft: Iterator[tuple[int, SoftLabel]]
    ) -> tuple[list, list]:
        template, frequency = self._template(), observed_frequency(labels)
        pieces: list[tuple[int, SoftLabel]] = []

        def tasks() -> Iterator:
            for label, one in soft:
                n_known = labels.column(label)[0].size
                if one.rows.size > n_known or (one.weights < 1).any() or labels.ambiguous:
                    pieces.append((label, _only_completed(one, labels, label)))
                yield delayed(_fit_one)(template, X, one, float(frequency[label]))

        return list(Parallel(n_jobs=self.n_jobs)(tasks())), pieces

    # -- trials -------------------------------------------------------------------------------

    def _try(self, X: Any, labels: Labels, wanted: np.ndarray) -> Verdict:
        """The classifier with and without completion, on rows set aside."""
        rng = self._rng
        rows = np.sort(rng.permutation(labels.n_rows)[: self.trial_rows])
        learn, aside = (rows[part] for part in set_aside(rows.size, 0.25, rng))
        some = _measurable(labels[learn], labels[aside], wanted)
        some = np.sort(rng.permutation(some)[: self.trial_labels])
        if not some.size:
            return self._untried(labels, some)
        part = labels[learn]
        columns: list[np.ndarray] = [np.zeros(learn.size)] * some.size
        trials = []
        if not labels.ambiguous or self.recorded == "estimate":
            trials.append(self._trial(X, labels, learn, aside, some, columns, _PLAIN))
        for which in range(len(self._candidates)):
            columns = list(self._columns(X[learn], part, some, which))
            for plan in self._plans(part, some, columns, which):
                trials.append(self._trial(X, labels, learn, aside, some, columns, plan))
        verdict = judge(trials, some, labels.n_labels, are_logits=self._scores_are_logits())
        best = next(trial for trial in trials if trial.plan == verdict.plan)
        if not self._gives_probabilities():
            self._sigmoid = fit_sigmoid(np.concatenate(best.scores), np.concatenate(best.values))
        chances = chances_from(best, are_logits=self._scores_are_logits())
        self._f1_helps = expected_f1_helps([chances(one) for one in best.scores], best.values)
        return verdict

    def _untried(self, labels: Labels, some: np.ndarray) -> Verdict:
        """With nothing to measure on, labels stay as they are, unless the rate is given."""
        given = labels.ambiguous and self.recorded != "estimate"
        plan = Plan(1.0, float(self.recorded)) if given else _PLAIN
        empty, nothing = np.empty(0), np.zeros(labels.n_labels, dtype=bool)
        return Verdict(plan, nothing, {}, some, empty, empty)

    def _plans(
        self, labels: Labels, some: np.ndarray, columns: list[np.ndarray], which: int
    ) -> list[Plan]:
        if not labels.ambiguous:
            return [Plan(float(weight), 1.0, which) for weight in self.weights]
        if self.recorded != "estimate":
            return [Plan(1.0, float(self.recorded), which)]
        rates = []
        for label, column in zip(some, columns, strict=True):
            rows, values = labels.column(label)
            rates.append(recording_rate(column[rows], values))
        rate = max(rates)
        return [Plan(1.0, c, which) for c in (rate, (1 + rate) / 2) if 0 < c < 1]

    def _trial(
        self,
        X: Any,
        labels: Labels,
        learn: np.ndarray,
        aside: np.ndarray,
        some: np.ndarray,
        columns: list[np.ndarray],
        plan: Plan,
    ) -> Trial:
        part, held = labels[learn], labels[aside]
        frequency = observed_frequency(part)
        scores, values = [], []
        for label, column in zip(some, columns, strict=True):
            one = _mended(part, label, column, plan)
            model = _fit_one(self._template(), X[learn], one, float(frequency[label]))
            rows, known = held.column(label)
            scores.append(scores_of(model, X[aside[rows]]))
            values.append(known)
        return Trial(plan, scores, values)

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        scores = np.column_stack([scores_of(one, X) for one in self.estimators_])
        if self._sigmoid is None:
            return scores
        slope, offset = self._sigmoid
        fixed = [isinstance(one, ConstantLabel) for one in self.estimators_]
        return np.where(fixed, scores, slope * scores + offset)

    def _predict_proba(self, X: Any) -> np.ndarray:
        if self._sigmoid is not None or self._scores_are_logits():
            return expit(self._decision_function(X))
        return np.column_stack([one.predict_proba(X)[:, 1] for one in self.estimators_])

    def predict(self, X: Any) -> np.ndarray:
        """Labels of 0 and 1, of shape (n_rows, n_labels); classes for a vector target."""
        probabilities = self._predict_proba(self._validate_predict(X))
        thresholds = self.thresholds_ if self.target_.kind == "multilabel" else 0.5
        return self.target_.decide(probabilities, threshold=thresholds)

    # -- internals ----------------------------------------------------------------------------

    def _template(self) -> Any:
        if self.classifier is None:
            return LogisticRegression(solver="liblinear")
        return self.classifier

    def _completers(self) -> list[Completer]:
        if self.completer is None:
            return [LabelwiseCompleter(clone(self._template())), NeighborsCompleter()]
        if isinstance(self.completer, Completer):
            return [self.completer]
        for place, one in enumerate(self.completer):
            if not isinstance(one, Completer):
                raise TypeError(
                    f"completer[{place}] is {one!r}, not a Completer; "
                    "labelgap.mending.ScoreCompleter makes one of an estimator"
                )
        if not self.completer:
            raise ValueError("completer is empty; give at least one Completer, or None")
        return list(self.completer)

    def _gives_probabilities(self) -> bool:
        return hasattr(self._template(), "predict_proba")

    def _scores_are_logits(self) -> bool:
        """Whether the sigmoid of a score is the probability."""
        template = self._template()
        if is_regressor(template) or not hasattr(template, "predict_proba"):
            return False
        return isinstance(template, LogisticRegression) or not hasattr(
            template, "decision_function"
        )

    def _held_out_sigmoid(self, X: Any, labels: Labels) -> tuple[float, float]:
        """For margins of complete labels: from a quarter of the rows, set aside."""
        learn, aside = set_aside(labels.n_rows, 0.25, self._rng)
        everything = np.arange(labels.n_labels)
        some = _measurable(labels[learn], labels[aside], everything)[: self.trial_labels]
        if not some.size:
            return 1.0, 0.0
        columns = [np.zeros(learn.size)] * some.size
        trial = self._trial(X, labels, learn, aside, some, columns, _PLAIN)
        return fit_sigmoid(np.concatenate(trial.scores), np.concatenate(trial.values))

    def _choose_thresholds(self, X: Any, mended: np.ndarray) -> np.ndarray:
        thresholds = np.full(len(self.estimators_), 0.5)
        if self.threshold == "half" or (self.threshold == "auto" and not mended.size):
            return thresholds
        probabilities = self._predict_proba(X)
        some = mended if self.threshold == "auto" else np.arange(thresholds.size)
        thresholds[some] = [expected_f1_threshold(probabilities[:, label]) for label in some]
        return thresholds

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        accepted = get_tags(self._template()).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags


def _with_gaps(labels: Labels) -> np.ndarray:
    """Labels with something to complete and something to complete it from."""
    n_known = labels.n_observed(axis=0, ambiguous=False)
    return np.flatnonzero((n_known < labels.n_rows) & (labels.n_positives(axis=0) > 0))


def _measurable(learn: Labels, aside: Labels, wanted: np.ndarray) -> np.ndarray:
    """Labels with a few ones and zeros on both sides."""
    enough = np.ones(wanted.size, dtype=bool)
    for part in (learn, aside):
        ones = part.n_positives(axis=0)[wanted]
        zeros = part.n_observed(axis=0, ambiguous=True)[wanted] - ones
        enough &= (ones >= _FEWEST_OF_EACH) & (zeros >= _FEWEST_OF_EACH)
    return wanted[enough]


def _mended(labels: Labels, label: int, chances: np.ndarray, plan: Plan) -> SoftLabel:
    """A label with the entries that are not known filled in, after those that are."""
    if plan.weight == 0:
        rows, values = labels.column(label)
        return SoftLabel(rows, values.astype(float), np.ones(rows.size))
    states = labels[:, [label]].states()[:, 0]
    known = np.flatnonzero((states == State.RELEVANT) | (states == State.IRRELEVANT))
    unknown = np.flatnonzero(states == State.UNKNOWN)
    unsure = np.flatnonzero(states == State.AMBIGUOUS)
    c, n_recorded = plan.recorded, int((states == State.RELEVANT).sum())
    forgotten = relevant_though_unrecorded(chances[unsure], c, n_recorded)
    filled = np.concatenate([np.minimum(chances[unknown] / c, 1.0), forgotten])
    weights = np.concatenate(
        [np.ones(known.size), np.full(unknown.size, plan.weight), np.ones(unsure.size)]
    )
    values = (states[known] == State.RELEVANT).astype(float)
    rows = np.concatenate([known, unknown, unsure])
    return SoftLabel(rows, np.concatenate([values, filled]), weights)


def _only_completed(one: SoftLabel, labels: Labels, label: int) -> SoftLabel:
    """The filled-in entries that are worth keeping."""
    known = np.zeros(labels.n_rows, dtype=bool)
    known[labels.column(label, ambiguous=False)[0]] = True
    kept = ~known[one.rows] & (one.chances >= _WORTH_KEEPING)
    return SoftLabel(one.rows[kept], one.chances[kept], one.weights[kept])


def _stack(pieces: list[tuple[int, SoftLabel]], shape: tuple[int, int]) -> sparse.csr_array:
    if not pieces:
        return sparse.csr_array(shape)
    rows = np.concatenate([one.rows for _, one in pieces])
    columns = np.concatenate([np.full(one.rows.size, label) for label, one in pieces])
    values = np.concatenate([one.chances for _, one in pieces])
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def _fit_one(template: Any, X: Any, one: SoftLabel, frequency: float) -> Any:
    return ConstantLabel(frequency) if one.is_constant else fit_soft(template, X, one)
