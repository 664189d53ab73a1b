"""Complete the labels, then train the user's own classifier on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.labels import Labels
from labelgap.mending._completers import Completer, cross_fitted
from labelgap.mending._filling import (
    Completed,
    measurable,
    mended_label,
    only_completed,
    stacked,
    told_on,
    with_gaps,
)
from labelgap.mending._forests import is_forest
from labelgap.mending._labelwise import LabelwiseCompleter
from labelgap.mending._recording import recording_rate, relevance_log_odds
from labelgap.mending._soft_targets import (
    SoftLabel,
    all_scores,
    fit_labels,
    mean_log_odds,
    scores_of,
)
from labelgap.mending._thresholds import expected_f1_helps, expected_f1_threshold
from labelgap.mending._trust import Plan, Trial, Verdict, chances_from, judge, set_aside
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, known_entries, readable_by_workers
from labelgap.yardsticks._together import are_fitted_together, check_device

__all__ = ["Completed", "Mend"]

_PLAIN = Plan(0.0, 1.0)
# with few rows, what is said of one hangs much on which others it was learned from
_FEWEST_FOLDS, _MOST_FOLDS, _ROWS_FITTED = 2, 5, 10_000


class Mend(LabelGapClassifier):
    """The user's classifier, one per label, trained on labels whose gaps were completed.

    A completer estimates, for every entry nobody looked at, the chance that it is relevant given
    the features of the row *and its other observed labels*. The classifier of a label is then
    trained on all rows: on those where the label is known, and on the others with these chances.
    Whether that hurts is tried first, on rows set aside, by the order of their known entries and
    by the log-loss of each label; where it does, labels are left as they are, and the result is
    that of :class:`labelgap.BinaryRelevance`.

    Zeros that may mean "nobody looked" (``zeros="ambiguous"``, or labels that say so): with c the
    chance that a relevant label is recorded and g that it is recorded in this row,
    P(relevant | not recorded) = (1 - c) / c * g / (1 - g). Predictions are those of relevance, not
    of being recorded, for all labels, mended or not.

    Parameters
    ----------
    classifier : classifier or regressor, optional
        Any single-label one of scikit-learn; by default ``LogisticRegression()``, which is fitted
        for all labels together (see :class:`labelgap.BinaryRelevance`).
    completer : Completer or sequence of them, optional
        Where there are several, the trials choose. By default a :class:`LabelwiseCompleter` of the
        classifier itself.
    weights : sequence of float
        What a completed unknown entry may count, beside 1 for a known one and for an ambiguous
        zero; the best is kept.
    hedge : bool or "auto"
        Whether mended labels are predicted by the mean of two probabilities (of two margins, or
        two predictions of a regressor), of what was learned with completion and without; otherwise
        by the former alone. "auto" does so for forests, of which one is too timid and the other too
        bold, and where zeros are ambiguous: how many of them are wrong is then an assumption that
        nothing checks. They are then also completed with a rate halfway between c and 1, and
        predictions corrected for that.
    recorded : float or "estimate"
        Of ambiguous zeros: c. A number is taken as known, and all labels are completed; trials then
        choose among completers only. The estimate is the
        largest share of recorded entries among those that are most surely recorded, which can be
        too small and never (but for chance) too large: the rate of labels that are hard to predict
        is not identified.
    zeros : {"irrelevant", "ambiguous"}
        What a zero means. Labels with ambiguous zeros among them say so themselves.
    threshold : {"auto", "half", "expected f1"}
        Where ``predict`` decides: at 0.5, or per label where the F1 score that the probabilities
        themselves promise on the training rows is largest. "auto" does the latter where zeros are
        ambiguous, and for labels that were mended if the trials say that it raises F1 at recorded
        entries; and the former for all others.
    trial_rows, trial_labels : int
        At most so many rows and labels take part in the trials.
    n_jobs : int, optional
        Processes, for classifiers that are not fitted together.
    device : str, optional
        Device of torch ("cuda", "cpu"), for classifiers that are, and the default completer.
    random_state : int, RandomState or None
        Of the rows that are set aside.

    Attributes
    ----------
    estimators_ : list
        The classifier of each label. Of trees and forests that split by Gini's impurity, without
        weights of classes, a mended label has one of regression trees on chances, with
        ``predict_proba``, ``feature_importances_`` and the trees as ``trees_``.
    unmended_ : dict
        By label, the classifier that was trained without completion, of mended labels where
        predictions are hedged.
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
        "hedge": ["boolean", StrOptions({"auto"})],
        "recorded": [Interval(Real, 0, 1, closed="neither"), StrOptions({"estimate"})],
        "zeros": [StrOptions({"irrelevant", "ambiguous"})],
        "threshold": [StrOptions({"auto", "half", "expected f1"})],
        "trial_rows": [Interval(Integral, 10, None, closed="left")],
        "trial_labels": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "device": [str, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any = None,
        completer: Completer | Sequence[Completer] | None = None,
        *,
        weights: Sequence[float] = (1.0,),
        hedge: bool | Literal["auto"] = "auto",
        recorded: float | Literal["estimate"] = "estimate",
        zeros: Literal["irrelevant", "ambiguous"] = "irrelevant",
        threshold: Literal["auto", "half", "expected f1"] = "auto",
        trial_rows: int = 4000,
        trial_labels: int = 30,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.classifier = classifier
        self.completer = completer
        self.weights = weights
        self.hedge = hedge
        self.recorded = recorded
        self.zeros = zeros
        self.threshold = threshold
        self.trial_rows = trial_rows
        self.trial_labels = trial_labels
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    @property
    def _zeros(self) -> Any:  # type: ignore[override]
        return self.zeros

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        X = readable_by_workers(X)
        if self.zeros == "ambiguous" and self.target_.kind == "multilabel" and not labels.ambiguous:
            labels = labels.with_zeros("ambiguous")
        check_device(self._template(), self.device)
        self._rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.verdict_: Verdict | None = None
        self._sigmoid: tuple[float, float] | None = None
        self._f1_helps, self._rate = False, 1.0
        plan, used_for = _PLAIN, np.zeros(labels.n_labels, dtype=bool)
        wanted = with_gaps(labels)
        self._candidates = self._completers()
        is_given = labels.ambiguous and self.recorded != "estimate"
        if wanted.size and is_given and len(self._candidates) == len(self.weights) == 1:
            plan = self._given_plan(labels)
        elif wanted.size:
            self.verdict_ = self._try(X, labels, wanted)
            plan, used_for = self.verdict_.plan, self.verdict_.used_for
        if is_given:
            used_for, self._rate = np.ones(labels.n_labels, dtype=bool), float(self.recorded)
        self.recorded_ = self._rate
        self._taught = self._cautious(labels, self._rate)
        mended = wanted[used_for[wanted]]
        self._train(X, labels, mended, plan)
        if not self._gives_probabilities() and self._sigmoid is None:
            self._sigmoid = self._held_out_sigmoid(X, labels)
        if labels.ambiguous:
            self.thresholds_ = self._choose_thresholds(X, wanted)
        else:
            self.thresholds_ = self._choose_thresholds(X, mended if self._f1_helps else mended[:0])

    def _train(self, X: Any, labels: Labels, mended: np.ndarray, plan: Plan) -> None:
        """First without completion, which is where the fits with completion start from."""
        weights = np.zeros(labels.n_labels)
        weights[mended] = plan.weight
        hedged = self._is_hedged(labels)
        begins = hedged or are_fitted_together(self._template())
        plain = np.arange(labels.n_labels) if begins else np.flatnonzero(weights == 0)
        found = dict(zip(plain.tolist(), self._learn_plain(X, labels, plain), strict=True))
        start = [found[label] for label in mended.tolist()] if begins else None
        self.unmended_ = dict(zip(mended.tolist(), start or [], strict=True)) if hedged else {}
        pieces: list[tuple[int, SoftLabel]] = []

        def filled() -> Iterator[SoftLabel]:
            columns = self._columns(X, labels, mended, plan.completer, start)
            for label, column in zip(mended.tolist(), columns, strict=True):
                one = mended_label(labels, label, column, plan)
                told = told_on(one, labels, label, plan.recorded, self.recorded_)
                pieces.append((label, only_completed(told, labels, label)))
                yield one

        if mended.size:
            models = self._learn(X, filled(), observed_frequency(labels)[mended], start)
            found |= dict(zip(mended.tolist(), models, strict=True))
        self.estimators_ = [found[label] for label in range(labels.n_labels)]
        self.completed_ = Completed(stacked(pieces, labels.shape), weights)

    def _columns(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        which: int,
        start: list | None = None,
    ) -> Iterator[np.ndarray]:
        """Chances of all rows. An ambiguous zero teaches, so that its row must be left out."""
        completer = clone(self._candidates[which])
        if not labels.ambiguous:
            options = {"start": start} if isinstance(completer, LabelwiseCompleter) else {}
            return completer.fit(X, labels, wanted, **options).columns(X, labels)
        order = self._rng.permutation(labels.n_rows)
        n_folds = np.clip(_ROWS_FITTED // labels.n_rows, _FEWEST_FOLDS, _MOST_FOLDS)
        folds = [np.sort(part) for part in np.array_split(order, min(n_folds, labels.n_rows))]
        if isinstance(completer, LabelwiseCompleter) and completer.is_of_forests:
            return completer.held_out_columns(X, labels, wanted, folds)
        # a start that was learned from all rows would tell of those that are left out
        return cross_fitted(completer, X, labels, wanted, folds)

    def _learn_plain(self, X: Any, labels: Labels, some: np.ndarray) -> list:
        known = (SoftLabel(*known_entries(labels, label)) for label in some.tolist())
        return self._learn(X, known, observed_frequency(labels)[some])

    def _learn(
        self,
        X: Any,
        soft: Iterator[SoftLabel],
        frequency: np.ndarray,
        start: list | None = None,
    ) -> list:
        return fit_labels(
            self._template(),
            X,
            soft,
            frequency,
            start=start,
            n_jobs=self.n_jobs,
            device=self.device,
        )

    # -- trials -------------------------------------------------------------------------------

    def _try(self, X: Any, labels: Labels, wanted: np.ndarray) -> Verdict:
        """The classifier with and without completion, on rows set aside."""
        rng = self._rng
        rows = np.sort(rng.permutation(labels.n_rows)[: self.trial_rows])
        learn, aside = (rows[part] for part in set_aside(rows.size, 0.25, rng))
        some = measurable(labels[learn], labels[aside], wanted)
        some = np.sort(rng.permutation(some)[: self.trial_labels])
        if not some.size:
            return self._untried(labels, some)
        part = labels[learn]
        begun = self._learn_plain(X[learn], part, some)
        plain = self._trial(X, labels[aside], aside, some, begun, _PLAIN)
        trials = []
        if not labels.ambiguous or self.recorded == "estimate":
            trials.append(plain)
        choices = range(len(self._candidates))
        every = [list(self._columns(X[learn], part, some, one, begun)) for one in choices]
        self._rate = self._estimated_rate(plain, part, some, every)
        for which, columns in enumerate(every):
            for plan in self._plans(labels, which):
                models = self._learn_filled(X[learn], part, some, columns, plan, begun)
                trial = self._trial(X, labels[aside], aside, some, models, plan)
                trials.append(self._hedged(plain, trial) if self._is_hedged(labels) else trial)
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
        plan = self._given_plan(labels) if given else _PLAIN
        empty, nothing = np.empty(0), np.zeros(labels.n_labels, dtype=bool)
        return Verdict(plan, nothing, {}, {}, some, empty, empty)

    def _given_plan(self, labels: Labels) -> Plan:
        """Without trials, where the rate is known: the first weight, the first completer."""
        return Plan(float(self.weights[0]), self._cautious(labels, float(self.recorded)))

    def _plans(self, labels: Labels, which: int) -> list[Plan]:
        rate = 1.0
        if labels.ambiguous:
            rate = self._rate if self.recorded == "estimate" else float(self.recorded)
            if not 0 < rate < 1:
                return []
            rate = self._cautious(labels, rate)
        return [Plan(float(weight), rate, which) for weight in self.weights]

    def _estimated_rate(
        self, plain: Trial, part: Labels, some: np.ndarray, every: list[list[np.ndarray]]
    ) -> float:
        """The largest that the classifier on rows set aside, or a completer, is evidence of."""
        if not part.ambiguous or self.recorded != "estimate":
            return 1.0
        rates = map(recording_rate, plain.scores, plain.values)
        rate = max(rates)
        for columns in every:
            for label, column in zip(some, columns, strict=True):
                rows, values = part.column(int(label))
                rate = max(rate, recording_rate(column[rows], values))
        return rate if 0 < rate < 1 else 1.0

    def _learn_filled(
        self,
        X: Any,
        part: Labels,
        some: np.ndarray,
        columns: list[np.ndarray],
        plan: Plan,
        start: list | None,
    ) -> list:
        pairs = zip(some.tolist(), columns, strict=True)
        soft = (mended_label(part, label, column, plan) for label, column in pairs)
        return self._learn(X, soft, observed_frequency(part)[some], start)

    def _trial(
        self,
        X: Any,
        held: Labels,
        aside: np.ndarray,
        some: np.ndarray,
        models: list,
        plan: Plan,
    ) -> Trial:
        """What models of some labels say of the recorded entries of rows set aside."""
        scores, values = [], []
        for label, model in zip(some.tolist(), models, strict=True):
            rows, known = held.column(label)
            scores.append(scores_of(model, X[aside[rows]]))
            values.append(known)
        return Trial(plan, scores, values)

    def _hedged(self, plain: Trial, trial: Trial) -> Trial:
        hedged = []
        for before, after in zip(plain.scores, trial.scores, strict=True):
            if self._scores_are_logits():
                relevance = relevance_log_odds(before, trial.plan.recorded)
                hedged.append(mean_log_odds(relevance, after))
            else:
                hedged.append((before + after) / 2)
        return trial._replace(scores=hedged)

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        X = readable_by_workers(X)
        scores = all_scores(self.estimators_, X)
        both = np.array(list(self.unmended_), dtype=np.intp)
        before = all_scores(list(self.unmended_.values()), X)
        if self._sigmoid is not None:
            slope, offset = self._sigmoid
            fixed = [isinstance(one, ConstantLabel) for one in self.estimators_]
            scores[:, both] = (before + scores[:, both]) / 2
            scores = np.where(fixed, scores, slope * scores + offset)
            return relevance_log_odds(scores, self.recorded_)
        unmended = np.flatnonzero(self.completed_.weights == 0)
        scores[:, unmended] = relevance_log_odds(scores[:, unmended], self._taught)
        scores[:, both] = mean_log_odds(relevance_log_odds(before, self._taught), scores[:, both])
        return relevance_log_odds(scores, self.recorded_ / self._taught)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels of 0 and 1, of shape (n_rows, n_labels); classes for a vector target."""
        probabilities = self._predict_proba(self._validate_predict(X))
        thresholds = self.thresholds_ if self.target_.kind == "multilabel" else 0.5
        return self.target_.decide(probabilities, threshold=thresholds)

    # -- internals ----------------------------------------------------------------------------

    def _template(self) -> Any:
        if self.classifier is None:
            return LogisticRegression()
        return self.classifier

    def _completers(self) -> list[Completer]:
        if self.completer is None:
            return [LabelwiseCompleter(clone(self._template()), device=self.device)]
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

    def _is_hedged(self, labels: Labels) -> bool:
        if self.hedge == "auto":
            return labels.ambiguous or is_forest(self._template())
        return bool(self.hedge)

    def _cautious(self, labels: Labels, rate: float) -> float:
        """The rate that zeros are completed with; hedged, fewer are relevant than the rate says."""
        return (1 + rate) / 2 if self._is_hedged(labels) else rate

    def _gives_probabilities(self) -> bool:
        return hasattr(self._template(), "predict_proba")

    def _scores_are_logits(self) -> bool:
        """Whether the sigmoid of a score is the probability."""
        return self._gives_probabilities() and not is_regressor(self._template())

    def _held_out_sigmoid(self, X: Any, labels: Labels) -> tuple[float, float]:
        """For margins of complete labels: from a quarter of the rows, set aside."""
        learn, aside = set_aside(labels.n_rows, 0.25, self._rng)
        everything = np.arange(labels.n_labels)
        some = measurable(labels[learn], labels[aside], everything)[: self.trial_labels]
        if not some.size:
            return 1.0, 0.0
        models = self._learn_plain(X[learn], labels[learn], some)
        trial = self._trial(X, labels[aside], aside, some, models, _PLAIN)
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
