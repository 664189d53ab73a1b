"""The estimator: wiring between what users give and the loops."""

from __future__ import annotations

import os
import warnings
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
from labelgap.labels import Labels, LabelWarning
from labelgap.models.bmlpl import _online, _predict, _prepare, _sampling, _topics
from labelgap.models.bmlpl._calibration import intercept_shift
from labelgap.models.bmlpl._model import Local, Params, TopicModel
from labelgap.models.bmlpl._posterior import ChainSamples
from labelgap.models.bmlpl._posterior import Interval as CredibleInterval
from labelgap.models.bmlpl._start import DataFacts, starting_params
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
    inference : {"em", "online", "gibbs"} or EM, OnlineEM, Gibbs
        The loop, with its settings; see :mod:`labelgap.fitting`.
    init : {"labels", "random"} or (topics, weights)
        Where the topics start; see :func:`labelgap.models.bmlpl.starting_params`.
    warm_start : bool
        Whether ``fit`` goes on from the parameters of the last fit.
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
    trace_ : Trace
        Objective of every iteration, and how the fit ended.
    intercept_shift_ : float
        Shift of all intercepts in predictions, which makes the expected number of positives in
        the training rows the actual one; zero for Gibbs.
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
        names = np.arange(source.n_labels) if source.names is None else source.names
        self.target_ = Target("multilabel", names)
        self.classes_ = names
        return self._fit_source(source)

    def _fit(self, X: Any, labels: Labels) -> None:
        self._fit_source(row_source(X, labels.with_names(None), block_rows=self.block_rows))

    def _fit_source(self, source: Any) -> BMLPL:
        settings = fitting_settings(self.inference)
        self._check_parameters(settings)
        self.samples_: ChainSamples | None = None
        facts = _prepare.survey(open_rows(source, client=self.client))
        self._check_data(facts)
        use_mask = self.unknown == "mask" and facts.n_unknown > 0
        active = self._active_labels(facts, settings)
        left_out = 0 if active is None or use_mask else facts.label_counts.size - active.size
        dtype = source[0][0].dtype
        make = _prepare.block_maker(active, use_mask, dtype)
        start = self._starts(facts, active, dtype)
        open_blocks = partial(open_rows, source, make, client=self.client)
        if isinstance(settings, EM):
            params, trace = self._fit_em(settings, open_blocks, start, facts, left_out)
        elif isinstance(settings, Gibbs):
            params, trace = _sampling.fit_gibbs(self, settings, open_blocks(), start)
        else:
            params, trace = _online.fit_online(self, settings, source, make, start(0), facts)
        self.intercept_shift_ = 0.0
        if self.samples_ is None:
            self.intercept_shift_ = intercept_shift(params, open_blocks(), len(source))
        self.params_ = self._all_labels(params, active, facts)
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
    ) -> tuple[Params, Trace]:
        if self.checkpoint is not None and settings.n_init > 1:
            raise ValueError("checkpoint: resume works with one start; set n_init=1")
        model = self._model(settings.solver, settings.n_cg, left_out)
        fits: list[tuple[Params, Trace]] = []
        for attempt in range(settings.n_init):
            monitor = Monitor(settings.max_iter, settings.tol, self.callback)
            saved = self._checkpoint(settings, facts)
            fits.append(run_em(model, open_blocks(), start(attempt), monitor, saved))
        return max(fits, key=lambda fit: fit[1].objective[-1])

    def partial_fit(self, X: Any, Y: Any, classes: Any = None, *, total_rows=None) -> BMLPL:
        """One online EM step on a mini-batch.

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
        return -np.log1p(-_sampling.predict_proba(self.samples_, X))

    def predict_interval(self, X: Any, level: float = 0.9) -> CredibleInterval:
        """Central credible interval of each probability (Gibbs only).

        Returns
        -------
        Interval
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
        n_labels = self.params_.topics.shape[0]
        if not 1 <= k <= n_labels:
            raise ValueError(f"k={k}: there are {n_labels} labels to choose from")
        positions, probabilities = _predict.predict_topk(self._balanced(), X, k)
        return np.asarray(self.classes_)[positions], probabilities

    def transform(self, X: Any) -> np.ndarray:
        """Expected weight of each topic in each row, of shape (n_rows, n_factors)."""
        return _predict.topic_weights(self.params_, self._validate_predict(X))

    # -- topics -------------------------------------------------------------------------------

    @property
    def topics_(self) -> list[_topics.Topic]:
        check_is_fitted(self)
        usage = self.params_.r * np.exp(np.minimum(self.params_.weights[-1], 80.0))
        usage = getattr(self, "topic_usage_", usage)
        return _topics.describe_topics(self.params_.topics, usage, np.asarray(self.classes_))

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
        weights = self.params_.weights.copy()
        weights[-1] += self.intercept_shift_
        return self.params_._replace(weights=weights)

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
    ) -> TopicModel:
        return TopicModel(
            eta=self.eta if eta is None else eta,
            weights=self.weights,
            learn_r=self.r == "learn",
            learn_tau=self.tau == "learn",
            solver=solver,
            n_cg=n_cg,
            n_empty=n_empty,
        )

    def _starts(self, facts: _prepare.Survey, active, dtype) -> Callable[[int], Params]:
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        self._seed = seed
        counts = facts.label_counts if active is None else facts.label_counts[active]
        n_factors = self.n_factors or min(counts.size, _MOST_FACTORS)
        scale = facts.squared_norm / facts.n_rows
        data = DataFacts(facts.n_rows, self.n_features_in_, counts, max(scale, 1e-12), dtype)
        r = 1.0 if self.r == "learn" else float(self.r)
        tau = 0.1 if self.tau == "learn" else float(self.tau)

        def start(attempt: int) -> Params:
            if self.warm_start and hasattr(self, "params_"):
                return self._warm_params(active, n_factors, dtype)
            generator = np.random.default_rng([seed, attempt])
            return starting_params(data, n_factors, r, tau, self.init, generator)

        return start

    def _warm_params(self, active, n_factors: int, dtype) -> Params:
        topics = self.params_.topics if active is None else self.params_.topics[active]
        if self.params_.weights.shape != (self.n_features_in_ + 1, n_factors):
            raise ValueError("warm_start: the last fit had other features or topics")
        topics = np.maximum(topics, 1e-12)
        return self.params_._replace(topics=(topics / topics.sum(axis=0)).astype(dtype))

    def _active_labels(self, facts: _prepare.Survey, settings: Any) -> np.ndarray | None:
        """Labels without a positive need no place in the topics of a batch fit."""
        keeps_all = not isinstance(settings, EM) or not isinstance(self.init, str)
        if keeps_all or (facts.label_counts > 0).all():
            return None
        return np.flatnonzero(facts.label_counts > 0)

    def _all_labels(self, params: Params, active, facts: _prepare.Survey) -> Params:
        if active is None:
            return params
        topics = np.zeros((facts.label_counts.size, params.r.size), dtype=params.topics.dtype)
        topics[active] = params.topics
        rest = np.maximum(1 - params.topics.sum(axis=0), 0)
        topics[facts.label_counts == 0] = rest / max(facts.label_counts.size - active.size, 1)
        return params._replace(topics=topics)

    def _checkpoint(self, settings: EM, facts: _prepare.Survey) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        shaping = ("n_factors", "r", "tau", "eta", "weights", "unknown", "block_rows")
        identity = {name: getattr(self, name) for name in shaping}
        identity |= {"tol": settings.tol, "solver": settings.solver, "n_cg": settings.n_cg}
        identity |= {"seed": self._seed, "rows": facts.n_rows, "norm": facts.squared_norm}
        identity["labels"] = facts.label_counts.tolist()
        return Checkpoint(
            self.checkpoint, local_type=Local, every=self.checkpoint_every, identity=identity
        )

    def _check_parameters(self, settings: Any) -> None:
        self._validate_params()
        if not self.eta >= 1 and not isinstance(settings, Gibbs):
            raise ValueError(
                f"eta={self.eta}: below 1 the most probable topics are unbounded; use 1 or more, "
                "or Gibbs sampling, which takes any positive value"
            )

    def _check_data(self, facts: _prepare.Survey) -> None:
        if facts.n_not_finite:
            raise ValueError(
                f"X has {facts.n_not_finite} values that are NaN or infinite: impute them first"
            )
        if not facts.label_counts.any():
            raise ValueError(
                "y has no positive entry at all: this model learns from positives; "
                "check the coding of the labels (1 = relevant)"
            )
        without = int((facts.label_counts == 0).sum())
        if without:
            first = int(np.flatnonzero(facts.label_counts == 0)[0])
            warnings.warn(
                f"label {np.asarray(self.classes_).tolist()[first]!r}"
                + (f" and {without - 1} others have" if without > 1 else " has")
                + " no positive: it is predicted with probability zero (or nearly, for eta > 1)",
                LabelWarning,
                stacklevel=4,
            )


def _lies_elsewhere(X: Any) -> bool:
    is_path = isinstance(X, (str, os.PathLike))
    return is_path or hasattr(X, "reader") or hasattr(X, "to_delayed")
