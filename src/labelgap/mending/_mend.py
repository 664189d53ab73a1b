"""Complete the labels, then train the user's own classifier on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.labels import Labels
from labelgap.mending._completers import Completer, check_completers
from labelgap.mending._completing import chances_of_rows
from labelgap.mending._filling import (
    Completed,
    measurable,
    mended_labels,
    only_completed,
    stacked,
    told_on,
    with_gaps,
)
from labelgap.mending._forests import is_forest
from labelgap.mending._labelwise import LabelwiseCompleter
from labelgap.mending._learner import Learner
from labelgap.mending._recording import (
    Rate,
    check_rates,
    halfway,
    recording_rate,
    relevance_log_odds,
)
from labelgap.mending._soft_label import SoftLabel
from labelgap.mending._soft_targets import (
    all_scores,
    mean_log_odds,
)
from labelgap.mending._thresholds import expected_f1_helps, expected_f1_thresholds
from labelgap.mending._trust import Plan, Trial, Verdict, chances_from, judge, mean_loss, set_aside
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, readable_by_workers
from labelgap.yardsticks._together import are_fitted_together, check_device

__all__ = ["Completed", "Mend"]

_PLAIN = Plan(0.0, 1.0)


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
    recorded : float, array of shape (n_labels,), "estimate" or "estimate per label"
        Of ambiguous zeros: c, for all labels or for each. Numbers are taken as known, and all
        labels are completed; trials then choose among completers only. The estimate is the largest
        share of recorded entries among those that are most surely recorded, which can be too small
        and never (but for chance) too large: the rate of labels that are hard to predict is not
        identified. "estimate" takes the largest over labels for all of them, "estimate per label"
        the mean of that and of the label's own: better where labels differ in how often they are
        recorded, a little worse where they do not.
    zeros : {"irrelevant", "ambiguous"}
        What a zero means. Labels with ambiguous zeros among them say so themselves.
    threshold : {"auto", "half", "expected f1"}
        Where ``predict`` decides: at 0.5, or per label where the F1 score that the probabilities
        themselves promise on the training rows is largest. "auto" does the latter where zeros are
        ambiguous, and for labels that were mended if the trials say that it raises F1 at recorded
        entries; and the former for all others.
    max_rounds : int
        With more than one, labels are completed again once the classifier has learned from them,
        with what it says of labels that are not known in the place of nothing, and so on as long as
        the log-loss of the entries set aside falls. For completers that code the other labels
        (:class:`LabelwiseCompleter`, and stacks with one).
    trial_rows, trial_labels : int
        At most so many rows and labels take part in the trials (all labels, where each has a rate
        to be estimated).
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
    recorded_ : float or ndarray of shape (n_labels,)
        c; 1 without ambiguous zeros.
    n_rounds_ : int
        How often labels were completed; 0 if they were not.
    thresholds_ : ndarray of shape (n_labels,)
    classes_, n_features_in_, feature_names_in_
        As in every estimator.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "classifier": [HasMethods(["fit", "predict"]), None],
        "completer": [Completer, list, tuple, None],
        "weights": ["array-like"],
        "hedge": ["boolean", StrOptions({"auto"})],
        "recorded": [
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            StrOptions({"estimate", "estimate per label"}),
        ],
        "zeros": [StrOptions({"irrelevant", "ambiguous"})],
        "threshold": [StrOptions({"auto", "half", "expected f1"})],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
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
        recorded: Any = "estimate",
        zeros: Literal["irrelevant", "ambiguous"] = "irrelevant",
        threshold: Literal["auto", "half", "expected f1"] = "auto",
        max_rounds: int = 1,
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
        self.max_rounds = max_rounds
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
        self._f1_helps = False
        given = self._given_rate(labels)
        self._rate: Rate = 1.0 if given is None else given
        plan, used_for = _PLAIN, np.zeros(labels.n_labels, dtype=bool)
        wanted = with_gaps(labels)
        self._candidates = self._completers()
        if wanted.size and given is not None and self._nothing_to_try():
            plan = self._first_plan(labels)
        elif wanted.size:
            self.verdict_ = self._try(X, labels, wanted)
            plan, used_for = self.verdict_.plan, self.verdict_.used_for
        if given is not None:
            used_for = np.ones(labels.n_labels, dtype=bool)
        self.recorded_ = np.array(self._rate) if isinstance(self._rate, tuple) else self._rate
        self._taught = self._cautious(labels, self._rate)
        mended = wanted[used_for[wanted]]
        self.n_rounds_ = 0 if not mended.size else self.verdict_.n_rounds if self.verdict_ else 1
        self._train(X, labels, mended, plan)
        if not self._learner.gives_probabilities and self._sigmoid is None:
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
        found = dict(zip(plain.tolist(), self._learner.learn_plain(X, labels, plain), strict=True))
        start = [found[label] for label in mended.tolist()] if begins else None
        self.unmended_ = dict(zip(mended.tolist(), start or [], strict=True)) if hedged else {}
        guesses = None
        for _ in range(self.n_rounds_ - 1):
            soft = self._filled(X, labels, mended, plan, start, guesses)
            guesses = self._learner.guesses(X, labels, mended, list(soft))
        pieces: list[tuple[int, SoftLabel]] = []

        def filled() -> Iterator[SoftLabel]:
            soft = self._filled(X, labels, mended, plan, start, guesses)
            for label, one in zip(mended.tolist(), soft, strict=True):
                told = told_on(one, labels, label, plan.recorded, self._rate)
                pieces.append((label, only_completed(told, labels, label)))
                yield one

        if mended.size:
            models = self._learner.learn(X, filled(), observed_frequency(labels)[mended], start)
            found |= dict(zip(mended.tolist(), models, strict=True))
        self.estimators_ = [found[label] for label in range(labels.n_labels)]
        said_by = repr(self._candidates[plan.completer]) if mended.size else ""
        self.completed_ = Completed(stacked(pieces, labels.shape), weights, said_by)

    def _filled(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray,
        plan: Plan,
        start: list | None,
        guesses: sparse.csr_array | None,
    ) -> Iterator[SoftLabel]:
        """Labels with their gaps completed as planned, one after the other."""
        columns = self._columns(X, labels, wanted, plan.completer, start=start, guesses=guesses)
        return mended_labels(labels, wanted, columns, plan)

    def _columns(
        self, X: Any, labels: Labels, wanted: np.ndarray, which: int, **options: Any
    ) -> Iterator[np.ndarray]:
        return chances_of_rows(self._candidates[which], X, labels, wanted, self._rng, **options)

    # -- trials -------------------------------------------------------------------------------

    def _try(self, X: Any, labels: Labels, wanted: np.ndarray) -> Verdict:
        """The classifier with and without completion, on rows set aside."""
        rng = self._rng
        rows = np.sort(rng.permutation(labels.n_rows)[: self.trial_rows])
        learn, aside = (rows[part] for part in set_aside(rows.size, 0.25, rng))
        some = measurable(labels[learn], labels[aside], wanted)
        if not (labels.ambiguous and self._is("estimate per label")):
            some = np.sort(rng.permutation(some)[: self.trial_labels])
        if not some.size:
            return self._untried(labels, some)
        part, held = labels[learn], labels[aside]
        begun = self._learner.learn_plain(X[learn], part, some)
        plain = self._learner.trial(X, held, aside, some, begun, _PLAIN)
        given = self._given_rate(labels)
        trials = [plain] if given is None else []
        choices = range(len(self._candidates))
        every = [list(self._columns(X[learn], part, some, one, start=begun)) for one in choices]
        if given is None:
            self._rate = self._estimated_rate(plain, part, some, every)
        nothing_forgotten = labels.ambiguous and given is None and np.min(self._rate) >= 1

        def attempt(plan: Plan, columns: list[np.ndarray]) -> Trial:
            models = self._learn_filled(X[learn], part, some, columns, plan, begun)
            trial = self._learner.trial(X, held, aside, some, models, plan)
            return self._hedged(plain, trial) if self._is_hedged(labels) else trial

        for which, columns in enumerate([] if nothing_forgotten else every):
            trials += [attempt(plan, columns) for plan in self._plans(labels, which)]
        logits = self._learner.scores_are_logits
        verdict = judge(trials, some, labels.n_labels, are_logits=logits)
        best = next(trial for trial in trials if trial.plan == verdict.plan)
        takes_guesses = self._candidates[verdict.plan.completer].takes_guesses
        if verdict.plan.weight > 0 and self.max_rounds > 1 and takes_guesses:
            rounds = self._try_rounds(X[learn], part, some, best, every, attempt)
            found = tuple(mean_loss(trial, are_logits=logits) for trial in rounds)
            verdict = verdict._replace(round_losses=found)
            best = rounds[verdict.n_rounds - 1]
        if not self._learner.gives_probabilities:
            self._sigmoid = fit_sigmoid(np.concatenate(best.scores), np.concatenate(best.values))
        chances = chances_from(best, are_logits=logits)
        self._f1_helps = expected_f1_helps([chances(one) for one in best.scores], best.values)
        return verdict

    def _try_rounds(
        self,
        X: Any,
        part: Labels,
        some: np.ndarray,
        trial: Trial,
        every: list[list[np.ndarray]],
        attempt: Callable[[Plan, list[np.ndarray]], Trial],
    ) -> list[Trial]:
        """Trials of one round, two and so on, until the log-loss falls no more."""
        plan, trials, logits = trial.plan, [trial], self._learner.scores_are_logits
        columns = every[plan.completer]
        while len(trials) < self.max_rounds:
            soft = list(mended_labels(part, some, columns, plan))
            guesses = self._learner.guesses(X, part, some, soft)
            columns = list(self._columns(X, part, some, plan.completer, guesses=guesses))
            trials.append(attempt(plan, columns))
            before, after = (mean_loss(one, are_logits=logits) for one in trials[-2:])
            if after >= before:
                break
        return trials

    def _untried(self, labels: Labels, some: np.ndarray) -> Verdict:
        """With nothing to measure on, labels stay as they are, unless the rate is given."""
        plan = _PLAIN if self._given_rate(labels) is None else self._first_plan(labels)
        empty, nothing = np.empty(0), np.zeros(labels.n_labels, dtype=bool)
        return Verdict(plan, nothing, {}, {}, some, empty, empty)

    def _given_rate(self, labels: Labels) -> Rate | None:
        if not labels.ambiguous or isinstance(self.recorded, str):
            return None
        if isinstance(self.recorded, Real):
            return float(self.recorded)
        return check_rates(self.recorded, labels.n_labels)

    def _nothing_to_try(self) -> bool:
        return len(self._candidates) == len(self.weights) == self.max_rounds == 1

    def _plans(self, labels: Labels, which: int) -> list[Plan]:
        rate = self._cautious(labels, self._rate) if labels.ambiguous else 1.0
        return [Plan(float(weight), rate, which) for weight in self.weights]

    def _first_plan(self, labels: Labels) -> Plan:
        """Without trials: the first weight, the first completer."""
        return self._plans(labels, 0)[0]

    def _estimated_rate(
        self, plain: Trial, part: Labels, some: np.ndarray, every: list[list[np.ndarray]]
    ) -> Rate:
        """The largest that the classifier on rows set aside, or a completer, is evidence of."""
        if not part.ambiguous:
            return 1.0
        rates = np.array([*map(recording_rate, plain.scores, plain.values)])
        for columns in every:
            for place, (label, column) in enumerate(zip(some.tolist(), columns, strict=True)):
                rows, values = part.column(label)
                rates[place] = max(rates[place], recording_rate(column[rows], values))
        largest = rates.max()
        common = float(largest) if 0 < largest < 1 else 1.0
        if not self._is("estimate per label"):
            return common
        each = np.full(part.n_labels, common)
        each[some] = np.where(rates > 0, (rates + common) / 2, common)
        return tuple(each.tolist())

    def _learn_filled(
        self,
        X: Any,
        part: Labels,
        some: np.ndarray,
        columns: list[np.ndarray],
        plan: Plan,
        start: list | None,
    ) -> list:
        soft = mended_labels(part, some, columns, plan)
        return self._learner.learn(X, soft, observed_frequency(part)[some], start)

    def _hedged(self, plain: Trial, trial: Trial) -> Trial:
        hedged = []
        for before, after, c in zip(plain.scores, trial.scores, trial.rates, strict=True):
            if self._learner.scores_are_logits:
                relevance = relevance_log_odds(before, c)
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
        taught = np.broadcast_to(self._taught, scores.shape[1])
        scores[:, unmended] = relevance_log_odds(scores[:, unmended], taught[unmended])
        scores[:, both] = mean_log_odds(relevance_log_odds(before, taught[both]), scores[:, both])
        return relevance_log_odds(scores, self.recorded_ / taught)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels of 0 and 1, of shape (n_rows, n_labels); classes for a vector target."""
        probabilities = self._predict_proba(self._validate_predict(X))
        thresholds = self.thresholds_ if self.target_.kind == "multilabel" else 0.5
        return self.target_.decide(probabilities, threshold=thresholds)

    # -- internals ----------------------------------------------------------------------------

    @property
    def _learner(self) -> Learner:
        return Learner(self._template(), self.n_jobs, self.device)

    def _template(self) -> Any:
        if self.classifier is None:
            return LogisticRegression()
        return self.classifier

    def _completers(self) -> list[Completer]:
        if self.completer is None:
            return [LabelwiseCompleter(clone(self._template()), device=self.device)]
        return check_completers(self.completer, self.max_rounds)

    def _is(self, how: str) -> bool:
        """Whether rates are estimated in this way; an array is compared with no word."""
        return isinstance(self.recorded, str) and self.recorded == how

    def _is_hedged(self, labels: Labels) -> bool:
        if self.hedge == "auto":
            return labels.ambiguous or is_forest(self._template())
        return bool(self.hedge)

    def _cautious(self, labels: Labels, rate: Rate) -> Rate:
        """The rate that zeros are completed with; hedged, fewer are relevant than the rate says."""
        return halfway(rate) if self._is_hedged(labels) else rate

    def _held_out_sigmoid(self, X: Any, labels: Labels) -> tuple[float, float]:
        """For margins of complete labels: from a quarter of the rows, set aside."""
        learn, aside = set_aside(labels.n_rows, 0.25, self._rng)
        everything = np.arange(labels.n_labels)
        some = measurable(labels[learn], labels[aside], everything)[: self.trial_labels]
        if not some.size:
            return 1.0, 0.0
        models = self._learner.learn_plain(X[learn], labels[learn], some)
        trial = self._learner.trial(X, labels[aside], aside, some, models, _PLAIN)
        return fit_sigmoid(np.concatenate(trial.scores), np.concatenate(trial.values))

    def _choose_thresholds(self, X: Any, mended: np.ndarray) -> np.ndarray:
        n_labels = len(self.estimators_)
        if self.threshold == "half" or (self.threshold == "auto" and not mended.size):
            return np.full(n_labels, 0.5)
        some = mended if self.threshold == "auto" else np.arange(n_labels)
        return expected_f1_thresholds(self._predict_proba(X), some)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        accepted = get_tags(self._template()).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags
