"""The BMLPL estimator: wiring between what users give and the loops."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import (
    EM,
    ChainSamples,
    CredibleInterval,
    Diagnosis,
    Gibbs,
    LocalRows,
    Monitor,
    OnlineEM,
    Rows,
    RowSource,
    Trace,
    fitting_settings,
    open_rows,
    row_slices,
    row_source,
    take_batch,
)
from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.kernels.topics import surprise_rates
from labelgap.labels import Labels
from labelgap.memory import block_size
from labelgap.models.bmlpl import _bmlpl_data, _bmlpl_gibbs, _topics
from labelgap.models.bmlpl._bmlpl_data import BMLPLSurvey, LinearCalibration
from labelgap.models.bmlpl._bmlpl_em import BMLPLParams, TopicModel
from labelgap.models.bmlpl._bmlpl_fit import (
    check_settings,
    checkpoint_of,
    fit_em,
    fit_gibbs,
    fit_online,
)
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters

_MOST_FACTORS = 200


@with_parameters
class BMLPL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LabelGapClassifier):
    """Bayesian multi-label learning via positive labels: topics over labels, predicted from X.

    Every sample mixes a few topics, every topic is a distribution over labels, and the weight of a
    topic in a sample follows from its features:

        P(y_l = 1 | u) = 1 - exp(-sum_k v_lk u_k),  u_k ~ Gamma(r_k, scale exp(w_k . x + b_k)).

    The cost of learning grows with the number of positives, not with that of the labels. With
    r = 1 and one topic per label the model is one logistic regression per label; sharing topics
    is what it adds.

    Parameters
    ----------
    n_factors : int, default=None
        Number of topics; by default one per label, at most 200.
    r : float or "learn", default=1.0
        Shape of the topic weights: small values let a sample use few topics.
    tau : float or "learn", default=0.1
        Precision of the regression weights, in units of the mean squared norm of a sample, so that
        scaling all features by a constant changes nothing. "learn" estimates one precision per
        feature (type-II maximum likelihood).
    eta : float, default=1.0
        Dirichlet parameter of the topics, at least 1; any positive value for Gibbs sampling.
    weights : {"map", "mean"}, default="map"
        Whether topic weights are point estimates or have gamma distributions (a variational
        bound).
    unknown : {"ignore", "negative"}, default="ignore"
        Whether unknown entries are left out of the likelihood, or count as zeros as in the paper,
        where only positives matter.
    calibration : {"shift", "holdout"}, default="shift"
        Probabilities are corrected by one shift of all intercepts, which makes the expected
        number of training positives the actual one; or by a slope and a shift chosen on every
        fifth sample after a first EM fit to the others, which nearly doubles the time. Rankings
        hardly change; log-loss and decisions do. Gibbs sampling needs no correction.
    inference : {"em", "online", "gibbs"} or EM, OnlineEM, Gibbs, default="em"
        The loop, with its settings; see :mod:`labelgap.fitting`.
    max_iter : int, default=None
        Most iterations of ``inference="em"``, 100 by default: short for ``EM(max_iter=...)``.
    tol : float, default=None
        Tolerance of ``inference="em"``, 1e-5 by default: short for ``EM(tol=...)``.
    init : {"labels", "random"} or (topics, weights), default="labels"
        Where the topics start: one on each of the most frequent labels (with as many topics as
        labels, independent labels), at random, or as given.
    warm_start : bool, default=False
        Whether ``fit`` goes on from topics and weights of the last fit (and from r and tau where
        they are learned).
    block_rows : int, default=None
        Samples visited at a time when X is an array; all by default.
    client : distributed.Client or "running", default=None
        Fit on this Dask cluster, or the one in use (a client cannot be cloned, "running" can).
    checkpoint : path, default=None
        Folder from which an interrupted EM fit resumes.
    checkpoint_every : int, default=10
        Iterations between two checkpoints.

    Attributes
    ----------
    params_ : named tuple
        ``topics`` (n_labels x n_factors), ``weights`` (n_features + 1 x n_factors, intercept
        last), ``r`` and ``tau``; of the last draw of the first chain for Gibbs.
    topics_ : list of LabelTopic
        Topics by falling fraction, with their strongest labels.
    topic_usage_ : array of shape (n_factors,)
        Expected counts that each topic accounts for in the training samples.
    n_iter_ : int
        Number of iterations, mini-batches or sweeps of a chain.
    trace_ : Trace
        Objective of every iteration, and how the fit ended.
    calibration_ : LinearCalibration
        Slope and shift of psi in predictions.
    samples_ : ChainSamples or None
        Posterior samples of all chains (Gibbs only).

    See Also
    --------
    labelgap.MLLCS : Predicts labels that no training sample carries.
    labelgap.fitting.write_blocks : Samples on disk, for fits that do not fit in memory.

    References
    ----------
    P. Rai, C. Hu, R. Henao, L. Carin. "Large-scale Bayesian multi-label learning via topic-based
    label embeddings." Advances in Neural Information Processing Systems 28, 2015.

    Examples
    --------
    >>> from labelgap import BMLPL
    >>> from labelgap.generators import make_topics
    >>> data = make_topics(300, 12, 8, n_topics=4, random_state=0)
    >>> model = BMLPL(4, max_iter=20, tol=0, random_state=0).fit(data.X, data.labels)
    >>> model.predict_proba(data.X).shape
    (300, 8)
    >>> [len(topic.labels) > 0 for topic in model.topics_]
    [True, True, True, True]
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    r: float | Literal["learn"] = parameter(1.0, POSITIVE, StrOptions({"learn"}))
    tau: float | Literal["learn"] = parameter(0.1, POSITIVE, StrOptions({"learn"}))
    eta: float = parameter(1.0, POSITIVE)
    weights: Literal["map", "mean"] = parameter("map")
    unknown: Literal["ignore", "negative"] = parameter("ignore")
    calibration: Literal["shift", "holdout"] = parameter("shift")
    inference: Any = parameter("em", StrOptions({"em", "online", "gibbs"}), EM, OnlineEM, Gibbs)
    max_iter: int | None = parameter(None, AT_LEAST_ONE, None)
    tol: float | None = parameter(None, NOT_NEGATIVE, None)
    init: Any = parameter("labels", StrOptions({"labels", "random"}), tuple, list)
    warm_start: bool = parameter(False)
    block_rows: int | None = parameter(None, AT_LEAST_ONE, None)
    client: Any = parameter(None, HasMethods(["submit", "gather"]), StrOptions({"running"}), None)
    checkpoint: str | os.PathLike | None = parameter(None, str, os.PathLike, None)
    checkpoint_every: int = parameter(10, AT_LEAST_ONE)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        self._fit_source(row_source(X, labels.with_names(None), block_rows=self.block_rows))

    def _fit_source(self, source: RowSource) -> None:
        settings = fitting_settings(self.inference, self.max_iter, self.tol)
        check_settings(self, settings)
        self.__dict__.pop("_online_state", None)
        survey = open_rows(source, client=self.client).total(_bmlpl_data.survey_block, None)
        _bmlpl_data.check_survey(survey, self.classes_)
        use_mask = self.unknown == "ignore" and survey.n_unknown > 0
        n_labels, is_carried = survey.label_counts.size, survey.label_counts > 0
        active, n_empty = None, 0
        # only batch EM never needs a place in the topics for labels without a positive
        if isinstance(settings, EM) and isinstance(self.init, str) and not is_carried.all():
            active = np.flatnonzero(is_carried)
            n_empty = 0 if use_mask else n_labels - active.size
        dtype = np.dtype(np.float32 if source[0][0].dtype == np.float32 else np.float64)

        def opener(part: _bmlpl_data.Part) -> Callable[[], Rows]:
            make = _bmlpl_data.block_maker(active, use_mask, dtype, part)
            return partial(open_rows, source, make, client=self.client)

        every, start = opener("all"), self._starts(survey, active, dtype)
        if isinstance(settings, EM):
            saved = checkpoint_of(self, settings, survey, self._seed)
            model = replace(self._model(), n_empty=n_empty)
            fit = fit_em(settings, model, every, start, saved, self.callback)
        elif isinstance(settings, Gibbs):
            fit = fit_gibbs(settings, self._model(), every(), start, self._seed, self.callback)
        else:
            make = _bmlpl_data.block_maker(active, use_mask, dtype)
            extras = start(0), self._seed, self.callback
            fit = fit_online(settings, self._model(), source, make, *extras)
        params = fit.params
        self.samples_: ChainSamples | None = fit.samples
        self.trace_, self.topic_usage_ = fit.trace, fit.usage
        if self.calibration == "holdout":
            rehearsal = fit_em(settings, model, opener("rest"), start).params
            held_out = opener("holdout")()
            self.calibration_ = _bmlpl_data.best_calibration(rehearsal, held_out, len(source))
        elif fit.samples is not None:
            self.calibration_ = LinearCalibration(1.0, 0.0)
        else:
            self.calibration_ = _bmlpl_data.balancing_shift(params, every(), len(source))
        if active is not None:
            topics = _bmlpl_data.with_empty_labels(params.topics, active, n_labels)
            params = params._replace(topics=topics)
        self.params_ = params
        self._n_features_out = params.r.size

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, total_rows: int | None = None
    ) -> BMLPL:
        """Take one online EM step on a mini-batch.

        The first call after :meth:`fit` begins a new stream, which starts from that fit when
        ``warm_start`` is set.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Every call needs the same label columns.
        classes : sequence, default=None
            All classes, when y is a vector and its first mini-batch may lack some.
        total_rows : int, default=None
            Samples of the whole stream, by default as many as were seen so far.
        """
        first = not hasattr(self, "_online_state")
        X, labels = self._validate_batch(X, y, classes, first)
        own = isinstance(self.inference, OnlineEM)
        settings: Any = fitting_settings(self.inference if own else "online")
        if first:
            self._validate_params()
            check_settings(self, settings)
            self.samples_ = None
            self.trace_ = Trace()
            survey = _bmlpl_data.survey_block((X, labels), None, None)
            params = self._starts(survey, None, X.dtype)(0)
            running, n_steps, n_seen = None, 0, 0
        else:
            params = self.params_
            running, n_steps, n_seen = self._online_state
        n_seen += X.shape[0]
        monitor = Monitor(n_steps + 1, 0.0, self.callback, self.trace_)
        model = replace(self._model(), n_cg=settings.n_cg, keep_unseen=True)
        make = _bmlpl_data.block_maker(None, self.unknown == "ignore", X.dtype)
        batch = LocalRows([make(0, X, labels)])
        row_scale, state = (total_rows or n_seen) / X.shape[0], (params, running, n_steps)
        params, running, n_steps = take_batch(model, settings, batch, state, row_scale, monitor)
        self.params_ = params
        self.topic_usage_ = running.by_label.sum(axis=0, dtype=np.float64)
        self.calibration_ = _bmlpl_data.balancing_shift(params, batch, 1, n_products=3e7)
        self._online_state: tuple[Any, int, int] = (running, n_steps, n_seen)
        self._n_features_out = params.r.size
        return self

    def _validate_batch(self, X: Any, Y: Any, classes: Any, first: bool) -> tuple[Any, Labels]:
        if first:
            return self._validate_fit(X, Y, classes=classes)
        X = self._validate_predict(X)
        labels = self.target_.read(Y, n_samples=X.shape[0])
        _bmlpl_data.check_batch(labels, self.params_.topics.shape[0])
        return X, labels

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        # log P(y = 1) / P(y = 0) = log(exp(rate) - 1), finite for a rate of zero
        rates = self._rates(X)
        with np.errstate(over="ignore"):
            return np.where(rates > 30, rates, np.log(np.maximum(np.expm1(rates), 1e-300)))

    def _predict_proba(self, X: Any) -> np.ndarray:
        return -np.expm1(-self._rates(X))

    def _rates(self, X: Any) -> np.ndarray:
        """-log P(y = 0 | x) of shape (n_samples, n_labels)."""
        if self.samples_ is not None:
            mean = _bmlpl_gibbs.predictive_probabilities(self.samples_, prepare_features(X))
            return -np.log1p(-np.minimum(mean, 1 - 2.0**-53))
        params = self.calibration_.apply(self.params_)
        rates = np.empty((X.shape[0], params.topics.shape[0]))
        for part in self._blocks(X):
            psi = linear_part(Features(X[part], None), params.weights)
            rates[part] = surprise_rates(psi, params.topics, params.r)
        return rates

    def _blocks(self, X: Any) -> list[slice]:
        """Samples few enough for all labels and all topics of a block to fit in memory."""
        return row_slices(X.shape[0], block_size(max(self.params_.topics.shape)))

    def predict_interval(self, X: Any, level: float = 0.9) -> CredibleInterval:
        """Return the central credible interval of each probability (Gibbs only).

        Returns
        -------
        CredibleInterval
            Arrays ``lower`` and ``upper`` of shape (n_samples, n_labels).
        """
        samples, X = self._posterior(), self._validate_predict(X)
        return _bmlpl_gibbs.predictive_intervals(samples, prepare_features(X), level)

    def _ranked_scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        rates = self._rates(X)
        probabilities = self.target_.probabilities(-np.expm1(-rates))
        # rates still differ where probabilities are one; two classes have a single rate
        return probabilities if self.target_.kind == "binary" else rates, probabilities

    def transform(self, X: Any) -> np.ndarray:
        """Return the expected weight of each topic in each sample, (n_samples, n_factors)."""
        X = self._validate_predict(X)
        psi = linear_part(Features(X, None), self.params_.weights)
        return self.params_.r * np.exp(np.minimum(psi, 80.0))

    @property
    def n_iter_(self) -> int:
        """Number of iterations, mini-batches or sweeps of a chain."""
        check_is_fitted(self)
        return self.trace_.n_iter

    # -- topics -------------------------------------------------------------------------------

    @property
    def topics_(self) -> list[_topics.LabelTopic]:
        """Topics by falling fraction, with their strongest labels."""
        check_is_fitted(self)
        names = np.asarray(self.classes_)
        if self.target_.kind == "binary":
            names = names[1:]  # the one label is whether a sample is of the second class
        return _topics.describe_topics(self.params_.topics, self.topic_usage_, names)

    def topic_intervals(self, level: float = 0.9) -> CredibleInterval:
        """Return the central credible interval of each topic's weight on each label (Gibbs only).

        Topics of all samples are first matched to those of ``params_``, since their order is free.
        """
        aligned = _bmlpl_gibbs.align_topics(self._posterior(), self.params_.topics)
        return _bmlpl_gibbs.topic_intervals(aligned, level)

    def topic_coherence(self, Y: Any, n_labels: int = 5) -> np.ndarray:
        """Return how well each topic's strongest labels belong together in held-out samples.

        See :func:`labelgap.models.bmlpl.topic_coherence`.
        """
        check_is_fitted(self)
        return _topics.topic_coherence(self.params_.topics, Y, n_labels)

    def diagnose(self, X: Any = None) -> Diagnosis:
        """Return R-hat and effective sample sizes (Gibbs only).

        Of the log posterior; or, given a few samples, of their predicted probabilities.
        """
        samples = self._posterior()
        if X is None:
            return samples.diagnose_log_posterior()
        features = prepare_features(self._validate_predict(X))
        return _bmlpl_gibbs.diagnose_predictions(samples, features)

    # -- internals ----------------------------------------------------------------------------

    def _posterior(self) -> ChainSamples:
        check_is_fitted(self)
        if self.samples_ is None:
            raise ValueError("this fit has no posterior samples: fit with inference='gibbs'")
        return self.samples_

    def _model(self) -> TopicModel:
        return TopicModel(
            self.eta, self.weights, learn_r=self.r == "learn", learn_tau=self.tau == "learn"
        )

    def _starts(
        self, survey: BMLPLSurvey, active: np.ndarray | None, dtype: Any
    ) -> Callable[[int], BMLPLParams]:
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_labels = survey.label_counts.size
        if active is not None:
            survey = survey._replace(label_counts=survey.label_counts[active])
        n_factors = self.n_factors or min(survey.label_counts.size, _MOST_FACTORS)
        r = 1.0 if self.r == "learn" else float(self.r)
        tau = 0.1 if self.tau == "learn" else float(self.tau)

        def start(attempt: int) -> BMLPLParams:
            rng = np.random.default_rng([self._seed, attempt])
            shape = self.n_features_in_, n_factors
            fresh = _bmlpl_data.starting_params(survey, shape, r, tau, self.init, rng, dtype)
            if not (self.warm_start and hasattr(self, "params_")):
                return fresh
            learned = self.r == "learn", self.tau == "learn"
            return _bmlpl_data.continued_params(self.params_, fresh, active, n_labels, learned)

        return start
