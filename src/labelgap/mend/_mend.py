"""The strongest predictor by default; or any classifier, trained on imputed labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
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
from labelgap.frames import frame_estimator
from labelgap.imputers import Imputer, PerLabelImputer, check_imputers, is_forest
from labelgap.kernels.probabilities import log_odds, mean_log_odds
from labelgap.labels import Labels
from labelgap.mend._known_labels import ResidualCorrelation
from labelgap.mend._portfolio import Portfolio, fit_portfolio
from labelgap.mend._selection import (
    PLAIN,
    ValidationResult,
    expected_f1_helps,
    expected_f1_threshold,
)
from labelgap.mend._self_training import SelfTraining, frequency_reached
from labelgap.mend._unopened_items import find_unopened_items, with_unknown_rows
from labelgap.one_vs_rest import ConstantLabel, all_scores, check_device, readable_by_workers
from labelgap.propensity import relevance_log_odds

__all__ = ["Mend"]


class Mend(LabelGapClassifier):
    """Combine several kinds of models; or train your classifier on labels whose gaps were imputed.

    By default (``estimator="auto"``) linear models, networks, trees, neighbors and kernel machines
    learn from the observed entries. Their mean is weighted by greedy selection: by the log-loss of
    observed entries that a member did not learn from. ``leaderboard_`` says how each member did.

    With an estimator of yours, or ``preset="fast"``, there is one classifier per label. An imputer
    estimates, for every entry that is not known, the probability that it is relevant given the
    features of the row *and its other observed labels*. The classifier of a label is then trained on
    all rows: on those where the label is known, and on the others with these probabilities. Whether
    that helps is validated first, on held-out rows, by the order of their known entries and by the
    log-loss of each label; where it does not, labels are left as they are, and the result is that
    of :class:`labelgap.BinaryRelevance`.

    Zeros that may be missing labels (``zeros="unlabeled"``, or labels that say so): with c the
    label frequency, the probability that a relevant label is recorded, and g that it is recorded in
    this row, P(relevant | not recorded) = (1 - c) / c * g / (1 - g). Predictions are those of
    relevance, not of being recorded, for all labels, imputed or not. Items without any label that look
    as if nobody had opened them teach nothing: their entries are unknown, not zeros
    (``unopened_items_``).

    Parameters
    ----------
    estimator : classifier, regressor or "auto", default="auto"
        Any single-label one of scikit-learn, or a combination of several kinds.
    imputer : Imputer or sequence of them, default=None
        Validation chooses among several. None means a :class:`labelgap.imputers.PerLabelImputer`
        of the estimator itself.
    imputed_weights : sequence of float, default=(1.0,)
        Weights to try for an imputed unknown entry, beside 1 for a known one and for an unlabeled
        zero.
    ensemble : bool or "auto", default="auto"
        Whether imputed labels are predicted by the mean of two probabilities (of two margins, or
        two predictions of a regressor), learned with imputed values and without; otherwise by the
        former alone. "auto" does so for forests, where one is underconfident and the other
        overconfident, and where zeros are unlabeled: how many of them are wrong is then an
        assumption that nothing checks. They are then also imputed with a label frequency halfway
        between c and 1, and predictions are corrected for that.
    preset : {"fast", "balanced", "best"}, default="balanced"
        How much ``estimator="auto"`` may cost. "fast" is ``LogisticRegression()`` on imputed labels,
        fitted for all labels together; so is everything with fewer than 100 rows. "best" takes
        more networks, more trees and kernels of more rows than "balanced".
    time_limit : float, default=None
        Seconds for ``estimator="auto"``: after half of them no further kind of model begins. The
        linear models are always fitted.
    label_frequency : float, array of shape (n_labels,), "estimate" or "per_label", \
default="estimate"
        c for unlabeled zeros, for all labels or for each. Numbers are taken as known, for all items
        alike, none being unopened, and all labels are imputed; validation then chooses among imputers
        only. The estimate is the largest fraction of recorded entries among the top-scored ones, which
        can be too small and is seldom too large: c is not identified for labels that are hard to
        predict.
        "estimate" takes the largest over labels for all of them, "per_label" the mean of that and
        of the label's own: better where labels differ in how often they are recorded, a little
        worse where they do not.
    zeros : {"negative", "unlabeled"}, default="negative"
        What a zero means. Labels with unlabeled zeros among them say so themselves.
    threshold : {"auto", "half", "expected_f1"}, default="auto"
        Where ``predict`` decides: at 0.5, or per label where the F1 score expected from the
        probabilities of the training rows is largest. "auto" does the latter where zeros are
        unlabeled, and for imputed labels if validation says that it raises F1 at recorded entries;
        and the former for all others.
    max_iter : int, default=1
        Self-training iterations. With more than one, labels are imputed again once the classifier
        has learned from them, with its predictions in place of unknown labels, as long as the
        log-loss of the held-out entries falls. For imputers with ``takes_pseudo_labels``
        (``PerLabelImputer``, and stacks with one).
    max_validation_samples : int, default=4000
        Rows that take part in validation at most.
    max_validation_labels : int, default=30
        Labels that take part in validation at most (all, with ``label_frequency="per_label"``).
    n_jobs : int, default=None
        Processes, for classifiers that are not fitted together.
    device : str, default=None
        Device of torch ("cuda", "cpu"), for classifiers that are, and the default imputer.
    random_state : int, RandomState or None, default=0
        Draws the rows that are held out.

    Attributes
    ----------
    leaderboard_ : list of LeaderboardRow
        Of ``estimator="auto"``: each member's name, log-loss of out-of-fold observed entries,
        seconds and mean weight, and why others were skipped.
    estimators_ : list
        The classifier of each label. Trees and forests that split by Gini's impurity, without class
        weights, are trees of regression on probabilities for imputed labels, with
        ``predict_proba``, ``feature_importances_`` and the trees as ``trees_``.
    plain_estimators_ : dict
        By label, the classifier trained without imputed values, of labels predicted by both.
    validation_ : ValidationResult or None
        None when there was nothing to impute or nothing to choose.
    imputed_ : ImputedLabels
        What was imputed, with which weight, by which imputer.
    label_frequency_ : float or ndarray of shape (n_labels,)
        c; 1 without unlabeled zeros. An estimate is of the items that were opened.
    unopened_items_ : ndarray of int
        Positions of items without any label that are more probably unopened than opened.
    n_iter_ : int
        Self-training iterations.
    thresholds_ : ndarray of shape (n_labels,)
        Where ``predict`` decides.

    See Also
    --------
    labelgap.BinaryRelevance : The same classifiers, without imputation.
    labelgap.impute : The probabilities alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import Mend
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> gaps = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    >>> model = Mend(preset="fast").fit(X, gaps)
    >>> model.predict_proba(X).shape
    (300, 5)
    """

    # with fewer there is one classifier per label: five folds would say little
    _fewest_rows: ClassVar[int] = 100
    _parameter_constraints: ClassVar[dict[str, list]] = {
        "estimator": [HasMethods(["fit", "predict"]), StrOptions({"auto"})],
        "preset": [StrOptions({"fast", "balanced", "best"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "imputer": [Imputer, list, tuple, None],
        "imputed_weights": ["array-like"],
        "ensemble": ["boolean", StrOptions({"auto"})],
        "label_frequency": [
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            StrOptions({"estimate", "per_label"}),
        ],
        "zeros": [StrOptions({"negative", "unlabeled"})],
        "threshold": [StrOptions({"auto", "half", "expected_f1"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_validation_samples": [Interval(Integral, 10, None, closed="left")],
        "max_validation_labels": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "device": [str, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = "auto",
        imputer: Imputer | Sequence[Imputer] | None = None,
        *,
        imputed_weights: Sequence[float] = (1.0,),
        ensemble: bool | Literal["auto"] = "auto",
        preset: Literal["fast", "balanced", "best"] = "balanced",
        time_limit: float | None = None,
        label_frequency: Any = "estimate",
        zeros: Literal["negative", "unlabeled"] = "negative",
        threshold: Literal["auto", "half", "expected_f1"] = "auto",
        max_iter: int = 1,
        max_validation_samples: int = 4000,
        max_validation_labels: int = 30,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.imputer = imputer
        self.imputed_weights = imputed_weights
        self.ensemble = ensemble
        self.preset = preset
        self.time_limit = time_limit
        self.label_frequency = label_frequency
        self.zeros = zeros
        self.threshold = threshold
        self.max_iter = max_iter
        self.max_validation_samples = max_validation_samples
        self.max_validation_labels = max_validation_labels
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    def _fit(self, X: Any, labels: Labels) -> None:
        X = readable_by_workers(X)
        if self.zeros == "unlabeled" and self.target_.kind == "multilabel" and not labels.unlabeled:
            labels = labels.with_zeros("unlabeled")
        self._portfolio: Portfolio | None = None
        self.__dict__.pop("leaderboard_", None)
        is_combined = isinstance(self.estimator, str) and self.preset != "fast"
        if is_combined:
            _check_defaults(self)
        self.unopened_items_ = np.empty(0, dtype=np.intp)
        if labels.unlabeled and isinstance(self.label_frequency, str):
            self.unopened_items_ = find_unopened_items(X, labels, self._generator())
        if is_combined and labels.n_samples >= self._fewest_rows:
            self._fit_portfolio(X, labels)
        else:
            self._fit_estimator(X, with_unknown_rows(labels, self.unopened_items_))

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit_portfolio(self, X: Any, labels: Labels) -> None:
        rng = self._generator()
        if not sparse.issparse(X):
            # rounding must not depend on the order in memory
            X = np.ascontiguousarray(X)
        if self.unopened_items_.size:
            opened = np.setdiff1d(np.arange(labels.n_samples), self.unopened_items_)
            X, labels = X[opened], labels[opened]
        self._portfolio = fit_portfolio(
            X,
            labels,
            preset=self.preset,
            time_limit=self.time_limit,
            device=self.device,
            n_jobs=self.n_jobs,
            frequency_of=partial(self._frequency_of, labels=labels),
            rng=rng,
        )
        self.leaderboard_ = self._portfolio.leaderboard
        self._residuals = ResidualCorrelation.fit(self._portfolio.out_of_fold, labels)
        left_out = log_odds(self._portfolio.out_of_fold)
        self.label_frequency_ = self._portfolio.label_frequency
        self.n_iter_ = 1
        self.thresholds_ = np.full(labels.n_labels, 0.5)
        if self.threshold == "expected_f1" or (self.threshold == "auto" and labels.unlabeled):
            relevance = expit(relevance_log_odds(left_out, self.label_frequency_))
            self.thresholds_[:] = [expected_f1_threshold(column) for column in relevance.T]

    def _frequency_of(self, scores: np.ndarray, labels: Labels) -> Any:
        """The given label frequency, or what out-of-fold scores say of it."""
        if not labels.unlabeled:
            return 1.0
        given = self._given_frequency(labels.n_labels)
        if given is not None:
            return given if given.ndim else float(given)
        reached = np.zeros(labels.n_labels)
        for label in range(labels.n_labels):
            rows, values = labels.column(label)
            reached[label] = frequency_reached(scores[rows, label], values)
        common = float(reached.max()) if 0 < reached.max() < 1 else 1.0
        if self.label_frequency == "estimate":
            return common
        return np.where(reached > 0, (reached + common) / 2, common)

    def _given_frequency(self, n_labels: int) -> np.ndarray | None:
        """The given label frequency; None where it is estimated."""
        if isinstance(self.label_frequency, str):
            return None
        given = np.asarray(self.label_frequency, dtype=float)
        if given.ndim:
            _check_frequencies(given, n_labels)
        return given

    def _fit_estimator(self, X: Any, labels: Labels) -> None:
        """Impute the labels, validate that this helps, and train the estimator."""
        training = self._start(X, labels)
        n_known = labels.n_observed(axis=0, unlabeled=False)
        can_impute = (n_known < labels.n_samples) & (labels.n_positives(axis=0) > 0)
        wanted, candidate, best = np.flatnonzero(can_impute), PLAIN, None
        n_choices = max(len(training.imputers), len(self.imputed_weights), self.max_iter)
        used_for = np.full(labels.n_labels, training.is_given)
        self.validation_: ValidationResult | None = None
        if wanted.size and training.is_given and n_choices == 1:
            candidate = training.candidates(labels, 0)[0]
        elif wanted.size:
            limits = self.max_validation_samples, self.max_validation_labels
            self.validation_, best = training.validate(X, labels, wanted, *limits)
            candidate = self.validation_.candidate
            used_for |= self.validation_.used_for
        frequency = training.label_frequency
        self.label_frequency_ = frequency if frequency.ndim else float(frequency)
        self._training_frequency = training.training_frequency
        chosen = wanted[used_for[wanted]]
        self.n_iter_ = self.validation_.n_iter if self.validation_ and chosen.size else 1
        trained = training.train(X, labels, chosen, candidate, self.n_iter_)
        self.estimators_, self.plain_estimators_, self.imputed_ = trained
        self._sigmoid = None if best is None else best.sigmoid
        if best is None and not hasattr(training.estimator, "predict_proba"):
            self._sigmoid = training.held_out_sigmoid(X, labels, self.max_validation_labels)
        if self.threshold == "auto":
            f1_helps = best is not None and expected_f1_helps(best.probabilities, best.values)
            chosen = wanted if labels.unlabeled else chosen if f1_helps else chosen[:0]
        else:
            chosen = np.arange(0 if self.threshold == "half" else labels.n_labels)
        self.thresholds_ = np.full(labels.n_labels, 0.5)
        if chosen.size:
            probabilities = self._predict_proba(X)[:, chosen]
            self.thresholds_[chosen] = [expected_f1_threshold(column) for column in probabilities.T]

    def _start(self, X: Any, labels: Labels) -> SelfTraining:
        """Return what fits and validates, with the parameters checked."""
        estimator = LogisticRegression() if isinstance(self.estimator, str) else self.estimator
        estimator = frame_estimator(estimator, X)
        check_device(estimator, self.device)
        if self.imputer is None:
            imputers: list[Imputer] = [PerLabelImputer(clone(estimator), device=self.device)]
        else:
            imputers = check_imputers(self.imputer, self.max_iter)
        ensemble = bool(self.ensemble)
        if self.ensemble == "auto":
            ensemble = labels.unlabeled or is_forest(estimator)
        given = self._given_frequency(labels.n_labels) if labels.unlabeled else None
        return SelfTraining(
            estimator,
            imputers,
            imputed_weights=self.imputed_weights,
            ensemble=ensemble,
            label_frequency=np.asarray(1.0) if given is None else given,
            is_given=given is not None,
            per_label=isinstance(self.label_frequency, str) and self.label_frequency == "per_label",
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            device=self.device,
            rng=self._generator(),
        )

    def _decision_function(self, X: Any) -> np.ndarray:
        X = readable_by_workers(X)
        if self._portfolio is not None:
            recorded = log_odds(self._portfolio.probabilities(X))
            return relevance_log_odds(recorded, self.label_frequency_)
        scores = all_scores(self.estimators_, X)
        both = np.array(list(self.plain_estimators_), dtype=np.intp)
        before = all_scores(list(self.plain_estimators_.values()), X)
        if self._sigmoid is not None:
            slope, offset = self._sigmoid
            fixed = [isinstance(model, ConstantLabel) for model in self.estimators_]
            scores[:, both] = (before + scores[:, both]) / 2
            scores = np.where(fixed, scores, slope * scores + offset)
            return relevance_log_odds(scores, self.label_frequency_)
        plain = np.flatnonzero(self.imputed_.weights == 0)
        c = np.broadcast_to(self._training_frequency, scores.shape[1])
        scores[:, plain] = relevance_log_odds(scores[:, plain], c[plain])
        scores[:, both] = mean_log_odds(relevance_log_odds(before, c[both]), scores[:, both])
        return relevance_log_odds(scores, self.label_frequency_ / c)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def predict_proba(self, X: Any, known: Any = None) -> np.ndarray:
        """Return the probability that each label is relevant, of shape (n_samples, n_labels).

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        known : labels of these rows, default=None
            Labels that are known, NaN where they are not: they change what is predicted of the
            others, and come back as 0 and 1. Unlabeled zeros count as unknown. For
            ``estimator="auto"``.
        """
        probabilities = super().predict_proba(X)
        if known is None:
            return probabilities
        residuals = self._residual_model()
        return residuals.update(probabilities, self._read_known(known, len(probabilities)))

    def member_proba(self, X: Any) -> dict[str, np.ndarray]:
        """Return what each member of the portfolio predicts alone.

        Members without weight are not kept. For ``estimator="auto"``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        dict from name to ndarray of shape (n_samples, n_labels)
            Probabilities, by the names of ``leaderboard_``.
        """
        X = readable_by_workers(self._validate_predict(X))
        if self._portfolio is None:
            raise ValueError(
                f"member_proba needs at least {self._fewest_rows} training rows, "
                'estimator="auto" and preset="balanced" or "best"'
            )
        found = self._portfolio.member_probabilities(X)
        return {
            name: expit(relevance_log_odds(log_odds(recorded), self.label_frequency_))
            for name, recorded in found.items()
        }

    def which_label_next(self, X: Any, known: Any = None) -> np.ndarray:
        """Return for each row the label whose answer tells most, -1 where all are known.

        The label whose answer takes away most variance of all labels of the row, its own included.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        known : labels of these rows, default=None
            What is known already, NaN where it is not. For ``estimator="auto"``.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Positions of labels.
        """
        probabilities = super().predict_proba(X)
        residuals = self._residual_model()
        given = np.full(probabilities.shape, np.nan)
        if known is not None:
            given = self._read_known(known, len(probabilities))
            probabilities = residuals.update(probabilities, given)
        best = residuals.information(probabilities, given).argmax(axis=1)
        return np.where(np.isnan(given).any(axis=1), best, -1)

    def _residual_model(self) -> ResidualCorrelation:
        if self._portfolio is None or self.target_.kind != "multilabel":
            raise ValueError(
                "known labels need a label matrix, at least "
                f'{self._fewest_rows} training rows, estimator="auto" and preset="balanced" or "best"'
            )
        return self._residuals

    def predict(self, X: Any) -> np.ndarray:
        """Return labels of 0 and 1, of shape (n_samples, n_labels); classes for a vector target."""
        probabilities = self._predict_proba(self._validate_predict(X))
        thresholds = self.thresholds_ if self.target_.kind == "multilabel" else 0.5
        return self.target_.decide(probabilities, threshold=thresholds)

    def _forget_training_rows(self) -> None:
        """Drop what predictions do not need and a model file should not hold."""
        if self._portfolio is not None:
            self._portfolio = self._portfolio.without_training_rows()
            return
        self.imputed_ = self.imputed_._replace(probabilities=self.imputed_.probabilities[:0])
        self.validation_ = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = LogisticRegression() if isinstance(self.estimator, str) else self.estimator
        accepted = get_tags(estimator).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags


def _check_defaults(mend: Mend) -> None:
    """Raise a ValueError where a parameter is given that several kinds of models do not have."""
    defaults = {"imputer": None, "imputed_weights": (1.0,), "ensemble": "auto", "max_iter": 1}
    for name, default in defaults.items():
        if getattr(mend, name) != default:
            raise ValueError(
                f"{name} is for one classifier per label: give an estimator, such as "
                'LogisticRegression(), or preset="fast"'
            )


def _check_frequencies(given: np.ndarray, n_labels: int) -> None:
    """Raise a ValueError unless there is a label frequency in (0, 1] for each label."""
    if given.shape != (n_labels,):
        raise ValueError(
            f"label_frequency has the shape {given.shape}; give one number, or one for each of the "
            f"{n_labels} labels"
        )
    wrong = np.flatnonzero(~((given > 0) & (given <= 1)))
    if wrong.size:
        raise ValueError(
            f"label_frequency[{wrong[0]}] = {given[wrong[0]]:g}: give a number above 0 and up to 1"
        )
