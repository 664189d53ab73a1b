"""The ML-LCS estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, ndtri
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_random_state

from labelgap.cooccurrence import Cooccurrence
from labelgap.fitting import (
    EM,
    CredibleInterval,
    Diagnosis,
    Gibbs,
    Monitor,
    OnlineEM,
    Rows,
    Trace,
    fitting_settings,
    n_batches,
    open_rows,
    row_source,
    run_em,
    run_passes,
)
from labelgap.kernels.exposure import forgotten_probability
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.labels import Labels, LabelWarning, State
from labelgap.models.mllcs import (
    _extend,
    _prepare,
    _sampling,
    _uncertainty,
)
from labelgap.models.mllcs._counts import Counts, count_offset, prepare_counts
from labelgap.models.mllcs._model import CooccurrenceModel, Params, exact_solver, with_ones
from labelgap.models.mllcs._posterior import ChainSamples
from labelgap.models.mllcs._rows import RowSteps, feature_gram
from labelgap.models.mllcs._start import first_weights, starting_params, survey_labels
from labelgap.models.mllcs._unseen_labels import UnseenLabels

__all__ = ["MLLCS"]

_MOST_FACTORS = 100
_MOST_FEATURES_EXACT = 4096
# more of them fit the training rows better and new rows worse
_ITERATIONS = 30
_INTERCEPT_PRECISION = 1e-3


class MLLCS(UnseenLabels):
    """Latent factors of labels and of their co-occurrence counts; predicts unseen labels.

    Maximises over the factors u of rows, v of seen labels and beta of all labels

        sum log p(y_ns | sigmoid(u_n . v_s + b_s)) - lambda_u/2 sum ||u_n - W' x_n||^2
        + count_weight sum log NB(m_st | r, sigmoid(v_s . beta_t + a_s + c_t)) + priors

    by EM with Polya-Gamma means: every step is a ridge regression. An unseen label then gets
    factors from its counts (``unseen``). Unknown entries and missing counts drop out of the sums.

    Parameters
    ----------
    n_factors : int, optional
        Number of factors K; by default as many as seen labels, at most 100.
    lambda_u, lambda_v, lambda_beta : float
        Prior precisions of the factors.
    lambda_w : float
        Prior precision of the regression weights, relative to the mean squared length of a row.
    lambda_map : float
        Ridge of the map to unseen labels; prior precision of their factors for "moments".
    count_weight : float
        Weight of the counts' likelihood. 0 leaves them out of the factors of seen labels.
    r : float or "learn"
        Dispersion of the counts.
    diagonal : bool
        Whether the number of items of each seen label itself counts as a co-occurrence.
    unseen : {"moments", "constrained", "linear", "kernel"}
        How unseen labels get their factors. "moments": so that expected co-occurrences with seen
        labels in the training rows match the counts. "constrained": then all factors are fitted
        once more, with the unseen labels as soft labels of the training rows that agree with the
        counts. "linear" and "kernel": by a regression from count factors, as in the paper.
    slack : float
        For "constrained": how loosely expected counts follow the given ones. About 1 when the
        counts are those of another corpus.
    joint : bool
        Estimate the linear map together with everything else, as the prior mean of the factors
        of seen labels, instead of at the end.
    exposure : float or "learn", optional
        Probability that a label was looked at where it is not recorded; zeros of plain arrays
        are then ambiguous. By default a zero is a zero.
    inference : {"em", "online", "gibbs"} or EM, OnlineEM, Gibbs
        The loop, with its settings; see :mod:`labelgap.fitting`. "em" and "gibbs" solve for W
        exactly when there are at most 4096 features; "em" runs 30 iterations. Gibbs sampling
        averages predictions over draws of everything, the factors of rows included; rules for
        unseen labels are applied to at most 50 of the draws.
    block_rows : int, optional
        Rows in a block; by default as many as fit 2**24 entries.
    device : str, optional
        Device of torch ("cuda", "cpu") for everything of the size rows x labels.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration.
    random_state : int, RandomState or None

    Attributes
    ----------
    params_ : Params
        What EM found: factors and biases of seen labels and counts, and W; the last draw of
        Gibbs sampling, as are the factors of all labels below.
    label_factors_, label_bias_ : arrays of shape (n_labels, n_factors) and (n_labels,)
        v and b of all labels, in the order of ``classes_``.
    rule_error_ : float
        Root mean squared error of psi when the factors of seen labels are guessed as if they
        were unseen; infinite with a single seen label, which leaves none to guess it from.
    trace_ : Trace
        ``refit_trace_`` is that of the second fit of "constrained", None when there was none. A
        callback hears of both, and ends the fit when it stops the first.
    samples_ : ChainSamples or None
        Kept draws of all chains (Gibbs only).
    classes_, seen_, n_features_in_, feature_names_in_

    References
    ----------
    A. Gaure, A. Gupta, V. K. Verma, P. Rai. "A probabilistic framework for zero-shot multi-label
    learning." Conference on Uncertainty in Artificial Intelligence, 2017.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_factors": [Interval(Integral, 1, None, closed="left"), None],
        "lambda_u": [Interval(Real, 0, None, closed="neither")],
        "lambda_v": [Interval(Real, 0, None, closed="neither")],
        "lambda_w": [Interval(Real, 0, None, closed="neither")],
        "lambda_beta": [Interval(Real, 0, None, closed="neither")],
        "lambda_map": [Interval(Real, 0, None, closed="neither")],
        "count_weight": [Interval(Real, 0, None, closed="left")],
        "r": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"})],
        "diagonal": ["boolean"],
        "unseen": [StrOptions({"moments", "constrained", "linear", "kernel"})],
        "slack": [Interval(Real, 0, None, closed="neither")],
        "joint": ["boolean"],
        "exposure": [Interval(Real, 0, 1, closed="neither"), StrOptions({"learn"}), None],
        "inference": [StrOptions({"em", "online", "gibbs"}), EM, OnlineEM, Gibbs],
        "block_rows": [Interval(Integral, 1, None, closed="left"), None],
        "device": [str, None],
        "callback": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        lambda_u: float = 1.0,
        lambda_v: float = 1.0,
        lambda_w: float = 0.4,
        lambda_beta: float = 1.0,
        lambda_map: float = 1.0,
        count_weight: float = 0.1,
        r: float | Literal["learn"] = 5.0,
        diagonal: bool = True,
        unseen: Literal["moments", "constrained", "linear", "kernel"] = "constrained",
        slack: float = 0.1,
        joint: bool = False,
        exposure: float | Literal["learn"] | None = None,
        inference: Any = "em",
        block_rows: int | None = None,
        device: str | None = None,
        callback: Callable | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.lambda_u = lambda_u
        self.lambda_v = lambda_v
        self.lambda_w = lambda_w
        self.lambda_beta = lambda_beta
        self.lambda_map = lambda_map
        self.count_weight = count_weight
        self.r = r
        self.diagonal = diagonal
        self.unseen = unseen
        self.slack = slack
        self.joint = joint
        self.exposure = exposure
        self.inference = inference
        self.block_rows = block_rows
        self.device = device
        self.callback = callback
        self.random_state = random_state

    @property
    def _zeros(self) -> Any:  # type: ignore[override]
        return "irrelevant" if self.exposure is None else "ambiguous"

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        settings = self._settings()
        rows_of_block = self.block_rows or _prepare.default_block_rows(labels.n_labels)
        source = row_source(X, labels.with_names(None), block_rows=rows_of_block)
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        facts = open_rows(source).total(_prepare.survey_block, None)
        make = _prepare.block_maker(dtype, self.device)
        rows = open_rows(source, make)
        counts = self._counts(cooccurrence, dtype)
        model = self._model(facts, counts, rows, settings, dtype)
        params = first_weights(model, rows, self._start(rows, cooccurrence, dtype))
        self.samples_: ChainSamples | None = None
        if isinstance(settings, Gibbs):
            problem = source, labels, cooccurrence
            _sampling.fit_gibbs(self, settings, model, rows, params, *problem)
            return
        params, self.trace_ = self._run(model, settings, source, make, rows, params)
        self.params_: Params = params
        self._finish(source, labels, cooccurrence)
        self.refit_trace_: Trace | None = None
        stopped = self.trace_.outcome == "stopped"
        if self.unseen == "constrained" and cooccurrence.unseen.size and not stopped:
            make = _prepare.block_maker(dtype, self.device, self._teacher(cooccurrence))
            rows = open_rows(source, make)
            model = replace(model, counts=None, joint=False)
            params = self._with_unseen(params, cooccurrence)
            params, self.refit_trace_ = self._run(model, settings, source, make, rows, params)
            self._take_unseen(params, source, cooccurrence)
        systems = model.label_systems(rows.update(model.step, params), params)
        packed = systems.packed[: cooccurrence.n_seen]
        ridge = model.label_ridge(params.factors.shape[1])
        self._precision = _uncertainty.packed_labels(packed, ridge).astype(np.float32)

    def _run(
        self, model: Any, settings: Any, source: Any, make: Any, rows: Rows, params: Params
    ) -> tuple[Params, Trace]:
        if isinstance(settings, OnlineEM):
            rng = np.random.default_rng(self._seed)
            n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
            monitor = Monitor(n_steps, 0.0, self.callback)
            params, _ = run_passes(model, settings, source, make, params, monitor, rng)
            return params, monitor.finish()
        monitor = Monitor(settings.max_iter, settings.tol, self.callback)
        return run_em(model, rows, params, monitor)

    # -- prediction ---------------------------------------------------------------------------

    def _factors(self, X: Any) -> np.ndarray:
        X = X.astype(self.params_.weights.dtype, copy=False)
        return linear_part(prepare_features(X), self.params_.weights)

    def _decision_function(self, X: Any) -> np.ndarray:
        if self.samples_ is not None:
            return _sampling.log_odds(self, X)
        return self._factors(X) @ self.label_factors_.T + self.label_bias_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def embed(self, X: Any, Y: Any = None, *, n_steps: int = 10) -> np.ndarray:
        """Factors u of rows, of shape (n_rows, n_factors), as EM finds them.

        From their features and, where ``Y`` is given, from the seen labels that are known of them:
        the mode of p(u | x, y), by ``n_steps`` steps of EM from W'x. Log-odds of all labels are
        ``factors @ label_factors_.T + label_bias_``.
        """
        X = self._validate_predict(X)
        if self.samples_ is not None:
            raise ValueError("embed needs a fit by EM; with inference='gibbs' there are many")
        if Y is None:
            return self._factors(X)
        with warnings.catch_warnings():
            # of labels that nothing is known of, from which nothing is learned here
            warnings.simplefilter("ignore", LabelWarning)
            labels = self.target_.read(Y, n_rows=X.shape[0], zeros=self._zeros)
        # two classes of a vector are one label
        seen = self.seen_[: len(self.label_factors_)]
        n_seen = int(seen.sum())
        if labels.n_labels == seen.size > n_seen:
            labels = labels[:, seen]
        if labels.n_labels != n_seen:
            raise ValueError(f"Y has {labels.n_labels} labels, the fit had {n_seen} seen ones")
        # fold_in moves these, and not what EM ended with
        params = self.params_._replace(
            factors=self.label_factors_[seen], bias=self.label_bias_[seen]
        )
        steps = RowSteps(self.lambda_u)
        make = _prepare.block_maker(self.params_.weights.dtype, self.device)
        size = self.block_rows or _prepare.default_block_rows(labels.n_labels)
        found = [
            steps.settled(make(0, X[part], labels[part]), params, n_steps)
            for part in gen_batches(X.shape[0], size)
        ]
        return np.concatenate(found)

    def predict_interval(
        self, X: Any, level: float = 0.9, labels: Literal["all", "seen", "unseen"] = "all"
    ) -> CredibleInterval:
        """Central credible interval of each probability.

        psi is taken as normal: the variance of a row's factors given its features, plus that of
        the label's factors, or the square of ``rule_error_`` when the label is unseen. The
        regression weights count as known. After Gibbs sampling: quantiles over its draws instead,
        with the same error for unseen labels.

        Returns
        -------
        CredibleInterval
            Arrays ``lower`` and ``upper`` of shape (n_rows, n_labels).
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level}: take a probability between 0 and 1")
        X = self._validate_predict(X)
        columns = self._restriction(labels)
        if self.samples_ is not None:
            lower, upper = _sampling.predict_interval(self, X, level)
            return CredibleInterval(lower[:, columns], upper[:, columns])
        factors = self._factors(X).astype(float)
        variance = np.square(self.label_factors_.astype(float)).sum(axis=1) / self.lambda_u
        spread = np.repeat(variance[None], X.shape[0], axis=0)
        # two classes of a vector are one label
        is_seen = self.seen_[: spread.shape[1]]
        spread[:, is_seen] += _uncertainty.label_variance(with_ones(factors), self._precision)
        spread[:, ~is_seen] += np.square(self.rule_error_)
        half = ndtri(0.5 + level / 2) * np.sqrt(spread)
        psi = self._decision_function(X)
        return CredibleInterval(expit(psi - half)[:, columns], expit(psi + half)[:, columns])

    def forgotten(self, X: Any, Y: Any) -> np.ndarray:
        """P(relevant | recorded as 0) at the ambiguous zeros of seen labels, NaN elsewhere.

        Needs a fit with ``exposure``.
        """
        X = self._validate_predict(X)
        if self.params_.looked_at is None:
            raise ValueError("this fit reads every zero as a zero: fit with exposure='learn'")
        labels = self.target_.read(Y, n_rows=X.shape[0], zeros=self._zeros)
        states = _extend.seen_states(labels, self.seen_)
        if self.samples_ is not None:
            return np.where(states == State.AMBIGUOUS, _sampling.forgotten(self, X), np.nan)
        psi = self._decision_function(X)[:, self.seen_]
        return np.where(
            states == State.AMBIGUOUS, forgotten_probability(psi, self.params_.looked_at), np.nan
        )

    def diagnose(self, X: Any = None) -> Diagnosis:
        """R-hat and effective sample sizes (Gibbs only).

        Of the log posterior; or, given a few rows, of their psi for every seen label.
        """
        return _sampling.diagnose(self, X)

    # -- internals ----------------------------------------------------------------------------

    def _settings(self) -> EM | OnlineEM | Gibbs:
        solver: Any = "exact" if self.n_features_in_ <= _MOST_FEATURES_EXACT else "cg"
        if self.inference == "em":
            return EM(_ITERATIONS, 0.0, solver=solver, n_cg=5)
        settings = Gibbs(solver=solver) if self.inference == "gibbs" else self.inference
        return _sampling.check_settings(self, fitting_settings(settings))

    def _counts(self, cooccurrence: Cooccurrence, dtype: np.dtype) -> Counts | None:
        r = 5.0 if self.r == "learn" else float(self.r)
        weight = self.count_weight or 1.0
        counts = prepare_counts(cooccurrence, weight, r, diagonal=self.diagonal, dtype=dtype)
        self._count_columns, self._count_offset = counts.seen, counts.offset
        if self.count_weight:
            return counts
        # then nothing that labels share may depend on the counts of unseen ones
        shared = counts.weights[:, counts.seen], counts.values[:, counts.seen]
        self._count_offset = count_offset(*shared, r)
        return None

    def _model(
        self, facts: Any, counts: Counts | None, rows: Rows, settings: Any, dtype: np.dtype
    ) -> CooccurrenceModel:
        scale = facts.squared_norm / facts.n_rows or 1.0
        tau = np.full(self.n_features_in_ + 1, self.lambda_w * scale)
        tau[-1] = _INTERCEPT_PRECISION
        solve = None
        if getattr(settings, "solver", None) == "exact":
            solve = exact_solver(rows.total(feature_gram, None), self.lambda_u, tau)
        return CooccurrenceModel(
            counts,
            tau.astype(dtype),
            lambda_u=self.lambda_u,
            lambda_v=self.lambda_v,
            lambda_beta=self.lambda_beta,
            lambda_map=self.lambda_map,
            learn_r=self.r == "learn",
            joint=self.joint,
            learn_looks=self.exposure == "learn",
            n_cg=getattr(settings, "n_cg", 5),
            solve_weights=solve,
        )

    def _start(self, rows: Rows, cooccurrence: Cooccurrence, dtype: np.dtype) -> Params:
        rng = check_random_state(self.random_state)
        self._seed = int(rng.randint(2**31 - 1))
        n_factors = self.n_factors or min(cooccurrence.n_seen, _MOST_FACTORS)
        shapes = (self.n_features_in_, cooccurrence.n_labels, n_factors)
        r = 5.0 if self.r == "learn" else float(self.r)
        looked_at = 0.7 if self.exposure == "learn" else self.exposure
        generator = np.random.default_rng(self._seed)
        return starting_params(survey_labels(rows), shapes, r, looked_at, generator, dtype)
