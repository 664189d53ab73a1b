"""The strongest predictor by default; or any classifier, trained on imputed labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from labelgap.fitting import Progress, RowSource, StoredFeatures, counting, is_elsewhere
from labelgap.frames import frame_estimator
from labelgap.imputers import Imputer, PerLabelImputer, check_imputers, is_forest
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels
from labelgap.mend._imputed_labels import ImputedLabels
from labelgap.mend._known_labels import ResidualCorrelation
from labelgap.mend._mend_parameters import (
    check_class_weight,
    check_defaults,
    check_stored,
    frequency_of,
    given_frequency,
    given_thresholds,
)
from labelgap.mend._mend_predictions import MendPredictions
from labelgap.mend._portfolio import Portfolio, fit_portfolio
from labelgap.mend._selection import (
    PLAIN,
    expected_f1_helps,
    expected_f1_threshold,
)
from labelgap.mend._self_training import SelfTraining
from labelgap.mend._stored_portfolio import fit_stored_portfolio, fits_memory
from labelgap.mend._stream import learn_more
from labelgap.mend._text_step import TextStep, without_texts
from labelgap.mend._training_rows import TrainingRows
from labelgap.mend._unopened_items import find_unopened_items, with_unknown_rows
from labelgap.one_vs_rest import check_device, readable_by_workers
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap.propensity import relevance_log_odds


def _learns_streams(mend: Mend) -> bool:
    return hasattr(mend.estimator, "partial_fit")


@with_parameters
class Mend(MendPredictions):
    """Combine several kinds of models; or train your classifier on labels whose gaps were imputed.

    By default (``estimator="auto"``) linear models, networks, trees, neighbors and kernel machines
    learn from the observed entries. The mean of their log-odds is weighted by greedy selection: by the
    log-loss of observed entries that a member did not learn from. ``leaderboard_`` says how each
    member did.

    With an estimator of yours there is one classifier per label. An imputer estimates, for every
    entry that is not known, the probability that it is relevant given the features of the row *and its
    other observed labels*. The classifier of a label is then trained on all rows: on those where the
    label is known, and on the others with these probabilities. Whether that helps is validated first,
    on held-out rows, by the order of their known entries and by the log-loss of each label; where it
    does not, labels are left as they are, and the result is that of :class:`labelgap.BinaryRelevance`.

    Zeros that may be missing labels (``zeros="unlabeled"``, or labels that say so): with c the
    label frequency, the probability that a relevant label is recorded, and g that it is recorded in
    this row, P(relevant | not recorded) = (1 - c) / c * g / (1 - g). Predictions are those of
    relevance, not of being recorded, for all labels, imputed or not. Items without any label that look
    as if nobody had opened them teach nothing: their entries are unknown, not zeros
    (``unopened_items_``).

    Where ``X`` is a sequence of texts, or a frame with a column of texts, and labels have names or
    definitions (:meth:`labelgap.Labels.with_text`), a model of entries learns over all labels together
    what the words of an item say about labels near in meaning
    (:class:`labelgap.text.TextEntryModel`), beside probabilities of rows that were left out.

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
        How much ``estimator="auto"`` may cost. "fast" takes linear models alone, "best" more
        networks, more trees and kernels of more rows than "balanced". Fewer than 100 rows are
        learned by ``LogisticRegression()``.
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
    threshold : {"auto", "half", "expected_f1"}, float or array of shape (n_labels,), default="auto"
        Where ``predict`` decides: at 0.5, or per label where the F1 score expected from
        probabilities is largest. "auto" does the latter where zeros are unlabeled or validation
        says that it raises F1 at recorded entries (for an estimator of yours, of imputed labels
        only). Numbers are used as they are; ``thresholds_`` may be set.
    class_weight : dict, "balanced" or None, default=None
        Weights of irrelevant and relevant entries, ``{0: 1, 1: 5}`` say, the same for each label;
        "balanced" gives both the same total. Probabilities are then those of weighted entries. For
        one classifier per label. For a vector of classes as in scikit-learn.
    max_iter : int, default=1
        Self-training iterations. With more than one, labels are imputed again once the classifier
        has learned from them, with its predictions in place of unknown labels, as long as the
        log-loss of the held-out entries falls. For imputers with ``takes_pseudo_labels``
        (``PerLabelImputer``, and stacks with one).
    max_validation_samples : int, default=4000
        Rows that take part in validation at most.
    max_validation_labels : int, default=30
        Labels that take part in validation at most (all, with ``label_frequency="per_label"``).
    text_encoder : {"static", "tfidf"} or object with ``encode``, default=None
        Of texts, see :func:`labelgap.text.check_encoder`.
    n_jobs : int, default=None
        Processes, for classifiers that are not fitted together.
    device : str, default=None
        Device of torch ("cuda", "cpu"), for classifiers that are, and the default imputer.
    callback : callable, default=None
        Called with a :class:`labelgap.fitting.Progress` after each label that is learned, or after
        each kind of model; a :class:`labelgap.fitting.ProgressBar` draws it.
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

    estimator: Any = parameter("auto", HasMethods(["fit", "predict"]), StrOptions({"auto"}))
    imputer: Imputer | Sequence[Imputer] | None = parameter(None, Imputer, list, tuple, None)
    _: KW_ONLY
    imputed_weights: Sequence[float] = parameter((1.0,), "array-like")
    ensemble: bool | Literal["auto"] = parameter("auto")
    preset: Literal["fast", "balanced", "best"] = parameter("balanced")
    time_limit: float | None = parameter(None, POSITIVE, None)
    label_frequency: Any = parameter(
        "estimate",
        Interval(Real, 0, 1, closed="neither"),
        "array-like",
        StrOptions({"estimate", "per_label"}),
    )
    zeros: Literal["negative", "unlabeled"] = parameter("negative")
    threshold: Any = parameter(
        "auto",
        StrOptions({"auto", "half", "expected_f1"}),
        Interval(Real, 0, 1, closed="both"),
        "array-like",
    )
    class_weight: Any = parameter(None, dict, StrOptions({"balanced"}), None)
    max_iter: int = parameter(1)
    max_validation_samples: int = parameter(4000, Interval(Integral, 10, None, closed="left"))
    max_validation_labels: int = parameter(30, AT_LEAST_ONE)
    text_encoder: Any = parameter(None, StrOptions({"static", "tfidf"}), HasMethods("encode"), None)
    n_jobs: int | None = parameter(None, Integral, None)
    device: str | None = parameter(None)
    callback: Callable[[Progress], bool | None] | None = parameter(None)
    random_state: Any = parameter(0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features), or texts
            Features; or rows in blocks (:func:`labelgap.fitting.row_source`). Those that fit the
            working memory are learned as arrays; of more, ``estimator="auto"`` learns regressions of
            up to 2,000 labels, or a label tree.
        y : anything :func:`labelgap.as_labels` accepts, or a vector of classes
            Unknown entries are never read.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. For ``estimator="auto"`` rows are repeated: exactly, where
            weights are whole numbers with a sum of at most three times the number of rows, and
            otherwise twice in the mean.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never divided between rows to learn from and rows to check on.

        Returns
        -------
        self
        """
        self._validate_params()
        if is_elsewhere(X):
            if sample_weight is not None or groups is not None:
                raise ValueError("sample_weight and groups are for arrays: leave them out")
            return self._fit_elsewhere(X, y)
        X, labels = self._validate_fit(X, y)
        table = TrainingRows.read(without_texts(X)[0], sample_weight, groups)
        if self.target_.kind == "multilabel":
            check_class_weight(self.class_weight)
        else:
            table = table.with_class_weights(self.class_weight, y)
        self._fit_rows(X, labels, table)
        return self

    @available_if(_learns_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, for estimators with ``partial_fit``.

        Each label learns from the rows in which it is known. Nothing is imputed or validated, and
        ``fit`` starts anew. With unlabeled zeros give ``label_frequency`` as numbers.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : labels as in ``fit``
        classes : sequence, default=None
            All classes of a vector target, at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        self
        """
        first = not hasattr(self, "estimators_")
        if first:
            self._validate_params()
            X, labels = self._validate_fit(X, y, classes=classes)
        else:
            X = self._validate_predict(X)
            labels = self.target_.read(y, n_samples=X.shape[0], zeros=self.zeros)
        if labels.unlabeled and isinstance(self.label_frequency, str):
            raise ValueError("label_frequency: give numbers; a stream cannot estimate them")
        X, _ = without_texts(X)
        models = [] if first else self.estimators_
        table = TrainingRows.read(X, sample_weight, None)
        self.estimators_ = learn_more(models, self.estimator, X, labels, table, self.class_weight)
        if first:
            self._portfolio, self._sigmoid, self.validation_ = None, None, None
            self._text = None
            self.plain_estimators_ = {}
            empty = sparse.csr_array((0, labels.n_labels))
            self.imputed_ = ImputedLabels(empty, np.zeros(labels.n_labels))
            self.label_frequency_ = frequency_of(self.label_frequency, np.empty((0, 0)), labels)
            self._training_frequency = np.asarray(self.label_frequency_)
            self.n_iter_ = 0
            given = given_thresholds(self.threshold, labels.n_labels)
            self.thresholds_ = np.full(labels.n_labels, 0.5) if given is None else given
        return self

    def _fit_rows(self, X: Any, labels: Labels, table: TrainingRows) -> None:
        X, texts = without_texts(X)
        X = readable_by_workers(X)
        given_thresholds(self.threshold, labels.n_labels)
        if self.zeros == "unlabeled" and self.target_.kind == "multilabel" and not labels.unlabeled:
            labels = labels.with_zeros("unlabeled")
        self._portfolio, self._text = None, None
        if labels.names is None or self.target_.kind != "multilabel":
            texts = None
        self.__dict__.pop("leaderboard_", None)
        is_combined = isinstance(self.estimator, str)
        if is_combined:
            check_defaults(self)
        self.unopened_items_ = np.empty(0, dtype=np.intp)
        if labels.unlabeled and isinstance(self.label_frequency, str):
            generator = self._generator()
            self.unopened_items_ = find_unopened_items(X, labels, generator, table.groups)
        if is_combined and labels.n_samples >= self._fewest_rows:
            self._fit_portfolio(X, labels, table, texts)
            return
        if self.unopened_items_.size:
            labels = with_unknown_rows(labels, self.unopened_items_)
        self._fit_estimator(X, labels, table)
        if texts is not None and labels.n_samples >= self._fewest_rows:
            part = clone(self).set_params(callback=None)
            part.target_ = self.target_
            self._text = TextStep.held_out(part, X, labels, table, texts)

    def _fit_source(self, source: RowSource) -> None:
        stored = StoredFeatures(source)
        labels = stored.labels
        if fits_memory(stored):
            X = stored[:]
            self._fit_rows(X, labels, TrainingRows.read(X, None, None))
            return
        check_stored(self)
        given_thresholds(self.threshold, labels.n_labels)
        if self.zeros == "unlabeled" and not labels.unlabeled:
            labels = labels.with_zeros("unlabeled")
        self._text, self._residuals, self.unopened_items_ = None, None, np.empty(0, dtype=np.intp)
        self._portfolio, held = fit_stored_portfolio(
            source,
            stored,
            labels,
            preset=self.preset,
            n_jobs=self.n_jobs,
            frequency_of=partial(frequency_of, self.label_frequency),
            rng=self._generator(),
        )
        self._describe(self._portfolio, held)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit_portfolio(self, X: Any, labels: Labels, table: TrainingRows, texts: Any) -> None:
        rng = self._generator()
        if not sparse.issparse(X):
            # rounding must not depend on the order in memory
            X = np.ascontiguousarray(X)
        if self.unopened_items_.size:
            opened = np.setdiff1d(np.arange(labels.n_samples), self.unopened_items_)
            X, labels, table = X[opened], labels[opened], table.part(opened)
            texts = None if texts is None else texts[opened]
        if table.weights is not None:
            copies = table.copies()
            X, labels, table = X[copies], labels[copies], table.repeated(copies)
            texts = None if texts is None else texts[copies]
        self._portfolio = fit_portfolio(
            X,
            labels,
            preset=self.preset,
            time_limit=self.time_limit,
            device=self.device,
            n_jobs=self.n_jobs,
            frequency_of=partial(frequency_of, self.label_frequency, labels=labels),
            groups=table.groups,
            callback=self.callback,
            rng=rng,
        )
        if texts is not None:
            left_out = log_odds(self._portfolio.out_of_fold)
            self._text = TextStep.fit(texts, labels, left_out, self.text_encoder)
            said = expit(self._text.log_odds(texts, left_out, left_out=True))
            self._portfolio = self._portfolio._replace(out_of_fold=said)
        self._residuals = ResidualCorrelation.fit(self._portfolio.out_of_fold, labels)
        self._describe(self._portfolio, labels)

    def _describe(self, portfolio: Portfolio, labels: Labels) -> None:
        self.leaderboard_ = portfolio.leaderboard
        self.label_frequency_ = portfolio.label_frequency
        self.n_iter_ = 1
        self.thresholds_ = self._thresholds_out_of_fold(labels)

    def _thresholds_out_of_fold(self, labels: Labels) -> np.ndarray:
        given = given_thresholds(self.threshold, labels.n_labels)
        if given is not None:
            return given
        assert self._portfolio is not None
        left_out = log_odds(self._portfolio.out_of_fold)
        relevance = expit(relevance_log_odds(left_out, self.label_frequency_))
        raises_f1 = labels.unlabeled or self.threshold == "expected_f1"
        if self.threshold == "auto" and not labels.unlabeled:
            observed = [labels.column(label) for label in range(labels.n_labels)]
            said = [relevance[rows, label] for label, (rows, _) in enumerate(observed)]
            raises_f1 = expected_f1_helps(said, [values for _, values in observed])
        if self.threshold == "half" or not raises_f1:
            return np.full(labels.n_labels, 0.5)
        return np.array([expected_f1_threshold(column) for column in relevance.T])

    def _fit_estimator(self, X: Any, labels: Labels, table: TrainingRows) -> None:
        """Impute the labels, validate that this helps, and train the estimator."""
        training = self._start(X, labels)
        n_known = labels.n_observed(axis=0, unlabeled=False)
        can_impute = (n_known < labels.n_samples) & (labels.n_positives(axis=0) > 0)
        wanted, candidate, best = np.flatnonzero(can_impute), PLAIN, None
        n_choices = max(len(training.imputers), len(self.imputed_weights), self.max_iter)
        used_for = np.full(labels.n_labels, training.is_given)
        self.validation_ = None
        if wanted.size and training.is_given and n_choices == 1:
            candidate = training.candidates(labels, 0)[0]
        elif wanted.size:
            limits = self.max_validation_samples, self.max_validation_labels
            self.validation_, best = training.validate(table, X, labels, wanted, *limits)
            candidate = self.validation_.candidate
            used_for |= self.validation_.used_for
        frequency = training.label_frequency
        self.label_frequency_ = frequency if frequency.ndim else float(frequency)
        self._training_frequency = training.training_frequency
        chosen = wanted[used_for[wanted]]
        self.n_iter_ = self.validation_.n_iter if self.validation_ and chosen.size else 1
        trained = training.train(table, X, labels, chosen, candidate, self.n_iter_)
        self.estimators_, self.plain_estimators_, self.imputed_ = trained
        self._sigmoid = None if best is None else best.sigmoid
        if best is None and not hasattr(training.estimator, "predict_proba"):
            self._sigmoid = training.held_out_sigmoid(table, X, labels, self.max_validation_labels)
        given = given_thresholds(self.threshold, labels.n_labels)
        if given is not None:
            self.thresholds_ = given
            return
        if self.threshold == "auto":
            f1_helps = best is not None and expected_f1_helps(best.probabilities, best.values)
            chosen = wanted if labels.unlabeled else chosen if f1_helps else chosen[:0]
        else:
            chosen = np.arange(0 if self.threshold == "half" else labels.n_labels)
        self.thresholds_ = np.full(labels.n_labels, 0.5)
        if chosen.size:
            probabilities = self._predict_proba(X)[:, chosen]
            self.thresholds_[chosen] = [expected_f1_threshold(column) for column in probabilities.T]

    def _single_estimator(self) -> Any:
        """The classifier of one label; of a few rows where there is none."""
        return LogisticRegression() if isinstance(self.estimator, str) else self.estimator

    def _start(self, X: Any, labels: Labels) -> SelfTraining:
        """Return what fits and validates, with the parameters checked."""
        estimator = frame_estimator(self._single_estimator(), X)
        check_device(estimator, self.device)
        if self.imputer is None:
            imputers: list[Imputer] = [
                PerLabelImputer(clone(estimator), device=self.device, n_jobs=self.n_jobs)
            ]
        else:
            imputers = check_imputers(self.imputer, self.max_iter)
        ensemble = bool(self.ensemble)
        if self.ensemble == "auto":
            ensemble = labels.unlabeled or is_forest(estimator)
        given = given_frequency(self.label_frequency, labels.n_labels) if labels.unlabeled else None
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
            class_weight=self.class_weight if self.target_.kind == "multilabel" else None,
            on_label=self._counted(labels, imputers),
        )

    def _counted(self, labels: Labels, imputers: list[Imputer]) -> Callable[[], None] | None:
        """What is called for each label that is learned; how many there will be is an estimate."""
        if self.callback is None:
            return None
        some = min(labels.n_labels, self.max_validation_labels)
        tries = 1 + len(imputers) * (1 + len(self.imputed_weights))
        return counting(self.callback, tries * some + 3 * labels.n_labels)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        accepted = get_tags(self._single_estimator()).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags
