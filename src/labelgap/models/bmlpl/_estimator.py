"""The estimator: wiring between what users give and the loops."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import (
    EM,
    Checkpoint,
    CredibleInterval,
    Diagnosis,
    Gibbs,
    Monitor,
    OnlineEM,
    Rows,
    Trace,
    fitting_settings,
    open_rows,
    row_source,
    run_em,
)
from labelgap.labels import Labels
from labelgap.models.bmlpl import _online, _predict, _prepare, _sampling, _topics
from labelgap.models.bmlpl._calibration import Calibration, best_calibration, intercept_shift
from labelgap.models.bmlpl._checks import check_data, check_settings
from labelgap.models.bmlpl._model import Local, Params, TopicModel, topic_usage
from labelgap.models.bmlpl._posterior import ChainSamples
from labelgap.models.bmlpl._start import DataFacts, continued_params, starting_params
from labelgap.targets import Target

__all__ = ["BMLPL"]

_MOST_FACTORS = 200


class BMLPL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LabelGapClassifier):
    """Bayesian multi-label learning via positive labels: topics over labels, predicted from X.

    Every row mixes a few topics, every topic is a distribution over labels, and the weight of a
    topic in a row follows from the row's features:

        P(y_l = 1 | u) = 1 - exp(-sum_k v_lk u_k),  u_k ~ Gamma(r_k, scale exp(w_k . x + b_k)).

    The cost of learning grows with the number of positives, not with that of the labels. With
    r = 1 and one topic per label the model is one logistic regression per label; sharing topics
    is what it adds.

    Parameters
    ----------
    n_factors : int, optional
        Number of topics; by default one per label, at most 200.
    r : float or "learn"
        Shape of the topic weights: small values let a row use few topics.
    tau : float or "learn"
        Precision of the regression weights, in units of the mean squared norm of a row, so that
        scaling all features by a constant changes nothing. "learn" estimates one precision per
        feature (type-II maximum likelihood).
    eta : float
        Dirichlet parameter of the topics, at least 1; any positive value for Gibbs sampling.
    weights : {"map", "mean"}
        Whether topic weights are point estimates or have gamma distributions (a variational
        bound).
    unknown : {"mask", "zero"}
        Whether unknown entries are left out of the likelihood, or count as zeros as in the paper,
        where only positives matter.
    calibration : {"shift", "held out"}
        Probabilities are corrected by one shift of all intercepts, which makes the expected
        number of training positives the actual one; or by a slope and a shift chosen on every
        fifth row after a first EM fit to the others, which nearly doubles the time. Rankings hardly
        change; log-loss and decisions do. Gibbs sampling needs no correction.
    inference : {"em", "online", "gibbs"} or EM, OnlineEM, Gibbs
        The loop, with its settings; see :mod:`labelgap.fitting`.
    init : {"labels", "random"} or (topics, weights)
        Where the topics start; see :func:`labelgap.models.bmlpl.starting_params`.
    warm_start : bool
        Whether ``fit`` goes on from topics and weights of the last fit (and from r and tau where
        they are learned).
    block_rows : int, optional
        Rows visited at a time when X is an array; all by default.
    client : distributed.Client or "running", optional
        Fit on a Dask cluster: the given one, or the one this process is connected to (a client
        object cannot be cloned, "running" can).
    checkpoint : path, optional
        Folder from which an interrupted EM fit resumes.
    checkpoint_every : int
        Iterations between two checkpoints.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every EM iteration or mini-batch;
        returning True stops.
    random_state : int, RandomState or None

    Attributes
    ----------
    params_ : Params
        Topics (n_labels x n_factors), weights (n_features + 1 x n_factors, intercept last), r and
        tau; of the last sample for Gibbs.
    topics_ : list of Topic
        Topics by falling share, with their strongest labels.
    topic_usage_ : array of shape (n_factors,)
        Expected counts that each topic accounts for in the training rows.
    trace_ : Trace
        Objective of every iteration, and how the fit ended.
    calibration_ : Calibration
        Slope and shift of psi in predictions.
    samples_ : ChainSamples or None
        Posterior samples of all chains (Gibbs only).
    classes_, n_features_in_, feature_names_in_
        As in every estimator.

    References
    ----------
    P. Rai, C. Hu, R. Henao, L. Carin. "Large-scale Bayesian multi-label learning via topic-based
    label embeddings." Advances in Neural Information Processing Systems 28, 2015.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_factors": [Interval(Integral, 1, None, closed="left"), None],
        "r": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"})],
        "tau": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"})],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "weights": [StrOptions({"map", "mean"})],
        "unknown": [StrOptions({"mask", "zero"})],
        "calibration": [StrOptions({"shift", "held out"})],
        "inference": [StrOptions({"em", "online", "gibbs"}), EM, OnlineEM, Gibbs],
        "init": [StrOptions({"labels", "random"}), tuple, list],
        "warm_start": ["boolean"],
        "block_rows": [Interval(Integral, 1, None, closed="left"), None],
        "client": [HasMethods(["submit", "gather"]), StrOptions({"running"}), None],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_every": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        r: float | Literal["learn"] = 1.0,
        tau: float | Literal["learn"] = 0.1,
        eta: float = 1.0,
        weights: Literal["map", "mean"] = "map",
        unknown: Literal["mask", "zero"] = "mask",
        calibration: Literal["shift", "held out"] = "shift",
        inference: Any = "em",
        init: Any = "labels",
        warm_start: bool = False,
        block_rows: int | None = None,
        client: Any = None,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_every: int = 10,
        callback: Callable | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.r = r
        self.tau = tau
        self.eta = eta
        self.weights = weights
        self.unknown = unknown
        self.calibration = calibration
        self.inference = inference
        self.init = init
        self.warm_start = warm_start
        self.block_rows = block_rows
        self.client = client
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callback = callback
        self.random_state = random_state

    # -- learning -----------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any = None) -> BMLPL:
        """Learn from arrays, or from rows that lie elsewhere.

        Parameters
        ----------
        X : array, frame, sparse matrix; Dask array; folder of blocks or other row source
        Y : anything :func:`labelgap.as_labels` accepts, a vector of classes, a Dask array; None
            when X is a source that brings its labels
        """
        if not _lies_elsewhere(X):
            return super().fit(X, Y)
        source = row_source(X, Y)
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        names = np.arange(source.n_labels) if source.names is None else source.names
        self.target_ = Target("multilabel", names)
        self.classes_ = names
        return self._fit_source(source)

    def _fit(self, X: Any, labels: Labels) -> None:
        self._fit_source(row_source(X, labels.with_names(None), block_rows=self.block_rows))

    def _fit_source(self, source: Any) -> BMLPL:
        settings = fitting_settings(self.inference)
        check_settings(self, settings)
        self.samples_: ChainSamples | None = None
        self.__dict__.pop("_online_state", None)
        facts = _prepare.survey(open_rows(source, client=self.client))
        check_data(facts, self.classes_)
        use_mask = self.unknown == "mask" and facts.n_unknown > 0
        # only batch EM never needs a place in the topics for labels without a positive
        keeps_all = not isinstance(settings, EM) or not isinstance(self.init, str)
        active = None if keeps_all else _prepare.labels_with_positives(facts)
        n_labels = facts.label_counts.size
        left_out = 0 if active is None or use_mask else n_labels - active.size
        dtype = _prepare.working_dtype(source[0][0])
        make = _prepare.block_maker(active, use_mask, dtype)
        start = self._starts(facts, active, dtype)
        open_blocks = partial(open_rows, source, make, client=self.client)
        if isinstance(settings, EM):
            params, trace = self._fit_em(settings, open_blocks, start, facts, left_out)
        elif isinstance(settings, Gibbs):
            params, trace = _sampling.fit_gibbs(self, settings, open_blocks(), start)
        else:
            params, trace = _online.fit_online(self, settings, source, make, start(0))
        self.calibration_ = Calibration(1.0, 0.0)
        if self.calibration == "held out":
            parts = [_prepare.block_maker(active, use_mask, dtype, p) for p in ("rest", "held out")]
            rest, held_out = (partial(open_rows, source, m, client=self.client) for m in parts)
            rehearsal, _ = self._fit_em(settings, rest, start, facts, left_out, watched=False)
            self.calibration_ = best_calibration(rehearsal, held_out(), len(source))
        elif self.samples_ is None:
            shift = intercept_shift(params, open_blocks(), len(source))
            self.calibration_ = Calibration(1.0, shift)
        if active is not None:
            topics = _prepare.with_empty_labels(params.topics, active, n_labels)
            params = params._replace(topics=topics)
        self.params_ = params
        self.trace_: Trace = trace
        self._n_features_out = self.params_.r.size
        return self

    def _fit_em(
        self,
        settings: EM,
        open_blocks: Callable[[], Rows],
        start: Callable[[int], Params],
        facts: _prepare.Survey,
        left_out: int,
        watched: bool = True,
    ) -> tuple[Params, Trace]:
        model = self._model(settings.solver, settings.n_cg, left_out)
        fits: list[tuple[Params, Trace, np.ndarray]] = []
        for attempt in range(settings.n_init):
            monitor = Monitor(settings.max_iter, settings.tol, self.callback if watched else None)
            saved = self._checkpoint(settings, facts) if watched else None
            rows = open_blocks()
            params, trace = run_em(model, rows, start(attempt), monitor, saved)
            fits.append((params, trace, rows.total(topic_usage, None)))
        params, trace, usage = max(fits, key=lambda fit: fit[1].objective[-1])
        if watched:
            self.topic_usage_ = usage
        return params, trace

    def partial_fit(self, X: Any, Y: Any, classes: Any = None, *, total_rows=None) -> BMLPL:
        """One online EM step on a mini-batch.

        The first call after :meth:`fit` begins a new stream, which starts from that fit when
        ``warm_start`` is set.

        Parameters
        ----------
        X, Y : as in :meth:`fit`
            Every call needs the same label columns.
        classes : sequence, optional
            All classes, when Y is a vector and its first mini-batch may lack some.
        total_rows : int, optional
            Rows of the whole stream, by default as many as were seen so far.
        """
        return _online.partial_fit(self, X, Y, classes, total_rows)

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        return _predict.log_odds(self._rates(X))

    def _predict_proba(self, X: Any) -> np.ndarray:
        return -np.expm1(-self._rates(X))

    def _rates(self, X: Any) -> np.ndarray:
        if self.samples_ is None:
            return _predict.predict_rates(self._balanced(), X)
        return _sampling.predict_rates(self.samples_, X)

    def predict_interval(self, X: Any, level: float = 0.9) -> CredibleInterval:
        """Central credible interval of each probability (Gibbs only).

        Returns
        -------
        CredibleInterval
            Arrays ``lower`` and ``upper`` of shape (n_rows, n_labels).
        """
        return _sampling.predict_interval(self._posterior(), self._validate_predict(X), level)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k most probable labels of each row, without all n x L probabilities.

        Returns
        -------
        labels : array of shape (n_rows, k)
            Names (or positions) as in ``classes_``, best first.
        probabilities : array of shape (n_rows, k)
        """
        X = self._validate_predict(X)
        n_classes = len(self.classes_)
        if not 1 <= k <= n_classes:
            raise ValueError(f"k={k}: there are {n_classes} labels to choose from")
        best = np.empty((X.shape[0], k), dtype=np.intp)
        best_probabilities = np.empty((X.shape[0], k))
        for part in _predict.row_blocks(self.params_, X.shape[0]):
            rates = self._rates(X[part])
            probabilities = self.target_.probabilities(-np.expm1(-rates))
            # rates still differ where probabilities are one; two classes have a single rate
            scores = probabilities if self.target_.kind == "binary" else rates
            best[part] = _predict.best_columns(scores, k)
            best_probabilities[part] = np.take_along_axis(probabilities, best[part], axis=1)
        return np.asarray(self.classes_)[best], best_probabilities

    def transform(self, X: Any) -> np.ndarray:
        """Expected weight of each topic in each row, of shape (n_rows, n_factors)."""
        return _predict.topic_weights(self.params_, self._validate_predict(X))

    # -- topics -------------------------------------------------------------------------------

    @property
    def topics_(self) -> list[_topics.Topic]:
        check_is_fitted(self)
        names = np.asarray(self.classes_)
        if self.target_.kind == "binary":
            names = names[1:]  # the one label is whether a row is of the second class
        return _topics.describe_topics(self.params_.topics, self.topic_usage_, names)

    def topic_intervals(self, level: float = 0.9) -> CredibleInterval:
        """Central credible interval of each topic's weight on each label (Gibbs only).

        Topics of all samples are first matched to those of ``params_``, since their order is free.
        """
        return _sampling.topic_interval(self._posterior(), self.params_.topics, level)

    def diagnose(self) -> Diagnosis:
        """R-hat and effective sample sizes of the log posterior (Gibbs only)."""
        return self._posterior().diagnose_log_posterior()

    def topic_coherence(self, Y: Any, n_labels: int = 5) -> np.ndarray:
        """NPMI of each topic's strongest labels in held-out rows; see :func:`topic_coherence`."""
        check_is_fitted(self)
        return _topics.topic_coherence(self.params_.topics, Y, n_labels)

    # -- internals ----------------------------------------------------------------------------

    def _balanced(self) -> Params:
        """Parameters with the intercepts that balance expected and actual positives."""
        return self.calibration_.apply(self.params_)

    def _posterior(self) -> ChainSamples:
        check_is_fitted(self)
        if self.samples_ is None:
            raise ValueError("this fit has no posterior samples: fit with inference='gibbs'")
        return self.samples_

    def _model(
        self,
        solver: Literal["cg", "exact"],
        n_cg: int,
        n_empty: int = 0,
        eta: float | None = None,
        keep_unseen: bool = False,
    ) -> TopicModel:
        return TopicModel(
            eta=self.eta if eta is None else eta,
            weights=self.weights,
            learn_r=self.r == "learn",
            learn_tau=self.tau == "learn",
            solver=solver,
            n_cg=n_cg,
            n_empty=n_empty,
            keep_unseen=keep_unseen,
        )

    def _starts(self, facts: _prepare.Survey, active, dtype) -> Callable[[int], Params]:
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        self._seed = seed
        counts = facts.label_counts if active is None else facts.label_counts[active]
        n_factors = self.n_factors or min(counts.size, _MOST_FACTORS)
        scale = facts.squared_norm / facts.n_rows
        data = DataFacts(facts.n_rows, self.n_features_in_, counts, scale or 1.0, dtype)
        r = 1.0 if self.r == "learn" else float(self.r)
        tau = 0.1 if self.tau == "learn" else float(self.tau)

        def start(attempt: int) -> Params:
            generator = np.random.default_rng([seed, attempt])
            fresh = starting_params(data, n_factors, r, tau, self.init, generator)
            if not (self.warm_start and hasattr(self, "params_")):
                return fresh
            learned = self.r == "learn", self.tau == "learn"
            n_labels = facts.label_counts.size
            return continued_params(self.params_, fresh, active, n_labels, learned)

        return start

    def _checkpoint(self, settings: EM, facts: _prepare.Survey) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        shaping = ("n_factors", "r", "tau", "eta", "weights", "unknown", "block_rows")
        identity = {name: getattr(self, name) for name in shaping}
        identity |= {"tol": settings.tol, "solver": settings.solver, "n_cg": settings.n_cg}
        named = isinstance(self.init, str)
        identity["init"] = self.init if named else [np.asarray(part) for part in self.init]
        # without a seed any start will do, also the one of the interrupted fit
        identity["seed"] = None if self.random_state is None else self._seed
        identity |= {"rows": facts.n_rows, "features": self.n_features_in_}
        identity |= {"norm": facts.squared_norm, "labels": facts.label_counts}
        return Checkpoint(
            self.checkpoint, local_type=Local, every=self.checkpoint_every, identity=identity
        )


def _lies_elsewhere(X: Any) -> bool:
    is_path = isinstance(X, (str, os.PathLike))
    return is_path or hasattr(X, "reader") or hasattr(X, "to_delayed")
