"""The ML-LCS estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, ndtri
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.cooccurrence import Cooccurrence
from labelgap.fitting import (
    EM,
    CredibleInterval,
    Diagnosis,
    FactorMap,
    Gibbs,
    OnlineEM,
    fitting_settings,
    interval_levels,
)
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.labels import Labels, LabelWarning, State
from labelgap.models.mllcs import _mllcs_updates
from labelgap.models.mllcs._mllcs_em import MLLCSParams
from labelgap.models.mllcs._mllcs_fit import fit_mllcs
from labelgap.models.mllcs._mllcs_posterior import PosteriorPredictions
from labelgap.models.mllcs._mllcs_rows import (
    MLLCSRowSteps,
    block_maker,
    default_block_rows,
    with_ones,
)
from labelgap.models.mllcs._mllcs_unseen import LabelFactors
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap.propensity import unlabeled_posterior
from labelgap.zero_shot import ZeroShotClassifier

_MOST_FEATURES_EXACT = 4096
# more of them fit the training rows better and new rows worse
_MAX_ITER = 30
# labels that come later are wanted at once
_ANCHORS_LATER, _STEPS_LATER = 4_000, 20
_STEPS_TO_FACTORS = 10


@with_parameters
class MLLCS(ZeroShotClassifier):
    """Latent factors of labels and of their co-occurrence counts; predicts unseen labels.

    Maximises over the factors u of samples, v of seen labels and beta of all labels

        sum log p(y_ns | sigmoid(u_n . v_s + b_s)) - lambda_u/2 sum ||u_n - W' x_n||^2
        + count_weight sum log NB(m_st | r, sigmoid(v_s . beta_t + a_s + c_t)) + priors

    by EM with Polya-Gamma means: every step is a ridge regression. An unseen label then gets
    factors from its counts (``unseen``), around a prior from its text where there are texts
    (``fit(..., label_text=...)``). Unknown entries and missing counts drop out of the sums.

    Parameters
    ----------
    n_factors : int, default=None
        Number of factors K; by default as many as seen labels, at most 100.
    lambda_u, lambda_v, lambda_beta : float, default=1.0
        Prior precisions of the factors.
    lambda_w : float, default=0.4
        Prior precision of the regression weights, relative to the mean squared length of a sample.
    lambda_map : float, default=1.0
        Ridge of the map to unseen labels; prior precision of their factors for "moments".
    count_weight : float, default=0.1
        Weight of the counts' likelihood. 0 leaves them out of the factors of seen labels.
    r : float or "learn", default=5.0
        Dispersion of the counts.
    diagonal : bool, default=True
        Whether the number of items of each seen label itself counts as a co-occurrence.
    unseen : {"moments", "constrained", "linear", "kernel"}, default="constrained"
        How unseen labels get their factors. "moments": so that expected co-occurrences with seen
        labels in the training samples match the counts. "constrained": then all factors are fitted
        once more, with the unseen labels as soft labels of the training samples that agree with
        the counts. "linear" and "kernel": by a regression from count factors, as in the paper.
    slack : float, default=0.1
        For "constrained": how loosely expected counts follow the given ones. About 1 when the
        counts are those of another corpus.
    joint : bool, default=False
        Estimate the linear map together with everything else, as the prior mean of the factors
        of seen labels, instead of at the end.
    map : regressor, default=None
        Any regressor of several outputs, from features to factors, in place of the linear map: it
        learns the factors of a fit with the linear one, and W then maps what it says of rows that it
        did not learn from. Texts of labels are then no longer compared with features directly.
    label_frequency : float, "estimate" or None, default=None
        Probability that a relevant label is recorded; "estimate" learns one number per label.
        Zeros of plain arrays are then unlabeled. With None a zero is a zero.
    text_encoder : {"static", "tfidf"} or object with ``encode``, default=None
        For texts of labels, see :func:`labelgap.text.check_encoder`. Where it gives as many numbers
        as there are features, it is taken as the encoder of the items, and texts of labels and
        items are compared directly too. With texts as ``X`` that is always so.
    inference : {"em", "online", "gibbs"} or EM, OnlineEM, Gibbs, default="em"
        The loop, with its settings; see :mod:`labelgap.fitting`. "em" and "gibbs" solve for W
        exactly when there are at most 4096 features; "em" runs 30 iterations. Gibbs sampling
        averages predictions over draws of everything, the factors of samples included; rules for
        unseen labels are applied to at most 50 of the draws.
    max_iter : int, default=None
        Most iterations of ``inference="em"``, 30 by default: short for ``EM(max_iter=...)``.
    tol : float, default=None
        Tolerance of ``inference="em"``, 0 by default: all iterations are run.
    block_rows : int, default=None
        Samples in a block; by default as many as fit :mod:`labelgap.memory`.
    device : str, default=None
        Device of torch ("cuda", "cpu") for everything of the size samples x labels.

    Attributes
    ----------
    params_ : named tuple
        What EM found: ``factors`` and ``bias`` of seen labels, ``weights`` W, those of counts and
        ``label_frequency``; the last draw of Gibbs sampling, as are the factors of all labels.
    label_factors_, label_bias_ : arrays of shape (n_labels, n_factors) and (n_labels,)
        v and b of all labels, in the order of ``classes_``.
    label_text_weights_ : csr_array of shape (n_labels, n_features) or None
        What texts of unseen labels add to the log-odds for each feature.
    rule_error_ : float
        Root mean squared error of psi when the factors of seen labels are estimated as if they
        were unseen; infinite with a single seen label, which leaves none to estimate it from.
    n_iter_ : int
        Number of iterations, mini-batches or sweeps of a chain.
    trace_ : Trace
        ``refit_trace_`` is that of the second fit of "constrained", None when there was none. A
        callback hears of both, and ends the fit when it stops the first.
    samples_ : ChainSamples or None
        Kept draws of all chains (Gibbs only).
    classes_, seen_, n_features_in_, feature_names_in_

    See Also
    --------
    labelgap.BMLPL : Topics over labels; faster with many labels.
    labelgap.cooccurrence.count_cooccurrence : Counts from a corpus of tagged items.

    References
    ----------
    A. Gaure, A. Gupta, V. K. Verma, P. Rai. "A probabilistic framework for zero-shot multi-label
    learning." Conference on Uncertainty in Artificial Intelligence, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import MLLCS
    >>> from labelgap.cooccurrence import count_cooccurrence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> Y = (X @ rng.normal(size=(5, 4)) > 0).astype(int)
    >>> counts = count_cooccurrence(Y, seen=[0, 1, 2])
    >>> model = MLLCS(2, max_iter=10, random_state=0).fit(X, Y[:, :3], cooccurrence=counts)
    >>> model.predict_proba(X, labels="unseen").shape
    (200, 1)
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    lambda_u: float = parameter(1.0, POSITIVE)
    lambda_v: float = parameter(1.0, POSITIVE)
    lambda_w: float = parameter(0.4, POSITIVE)
    lambda_beta: float = parameter(1.0, POSITIVE)
    lambda_map: float = parameter(1.0, POSITIVE)
    count_weight: float = parameter(0.1, NOT_NEGATIVE)
    r: float | Literal["learn"] = parameter(5.0, POSITIVE, StrOptions({"learn"}))
    diagonal: bool = parameter(True)
    unseen: Literal["moments", "constrained", "linear", "kernel"] = parameter("constrained")
    slack: float = parameter(0.1, POSITIVE)
    joint: bool = parameter(False)
    map: Any = parameter(None, HasMethods(["fit", "predict"]), None)
    label_frequency: float | Literal["estimate"] | None = parameter(
        None, Interval(Real, 0, 1, closed="neither"), StrOptions({"estimate"}), None
    )
    text_encoder: Any = parameter(
        None, StrOptions({"static", "tfidf"}), HasMethods(["encode"]), None
    )
    inference: Any = parameter("em", StrOptions({"em", "online", "gibbs"}), EM, OnlineEM, Gibbs)
    max_iter: int | None = parameter(None, AT_LEAST_ONE, None)
    tol: float | None = parameter(None, NOT_NEGATIVE, None)
    block_rows: int | None = parameter(None, AT_LEAST_ONE, None)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    @property
    def _zeros(self) -> Any:  # type: ignore[override]
        return "negative" if self.label_frequency is None else "unlabeled"

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        settings = self._settings()
        if isinstance(settings, Gibbs) and self.text_ is not None:
            raise ValueError("label_text needs a fit by EM; inference='gibbs' takes counts alone")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._map: FactorMap | None = None
        if self.map is not None:
            X = self._learn_map(settings, X, labels, cooccurrence, seed)
        fit = fit_mllcs(self, settings, X, labels, cooccurrence, seed)
        self.params_, self.rule_error_ = fit.params, fit.rule_error
        self.label_factors_, self.label_bias_ = fit.factors, fit.bias
        self.trace_, self.refit_trace_ = fit.trace, fit.refit_trace
        self.samples_ = fit.samples
        self._rule, self._precision = fit.rule, fit.precision
        self.label_text_weights_ = fit.direct
        self._sampled_unseen = fit.sampled_unseen
        self._folded_in: dict[int, np.ndarray] = {}

    def _learn_map(
        self, settings: Any, X: Any, labels: Labels, cooccurrence: Cooccurrence, seed: int
    ) -> np.ndarray:
        """Learn the factors that a fit with the linear map finds; return what that says of rows."""
        if isinstance(settings, Gibbs):
            raise ValueError("map needs a fit by EM; inference='gibbs' draws a linear map")
        if self.text_ is not None:
            self.text_ = replace(self.text_, like_items=False)
        linear = copy(self)
        linear.unseen = "moments"
        params = fit_mllcs(linear, settings, X, labels, cooccurrence, seed).params
        factors = self._row_factors(X, labels, params, _STEPS_TO_FACTORS)
        self._map, left_out = FactorMap.learn(self.map, X, factors, seed)
        return left_out.astype(X.dtype)

    def _mapped(self, X: Any) -> Any:
        return X if self._map is None else self._map(X)

    # -- labels that come later ---------------------------------------------------------------

    def add_labels(self, counts: Any = None, names: Any = None, label_text: Any = None) -> Self:
        """Make new labels predictable from their counts with seen labels, their texts, or both.

        Nothing is fitted again: the factors of all other labels stay as they are.

        Parameters
        ----------
        counts : array of shape (n_seen,) or (n_seen, n_new), sparse matrix, or frame, default=None
            One row per seen label, in the order of ``classes_[seen_]`` (a frame may name them in
            its index); NaN where nobody counted. None where texts are all there is.
        names : sequence of n_new names, default=None
            Optional for a frame.
        label_text : sequence of n_new texts, mapping from names to texts, or "names", default=None
            Their names or definitions. Needs a fit with ``label_text``.
        """
        check_is_fitted(self)
        self._restriction("seen")  # refuses vector targets
        classes = np.asarray(self.classes_)
        new = _mllcs_updates.new_labels(counts, names, label_text, classes, self.seen_, self.text_)
        rule, prior = self._rule, None
        if new.vectors is not None and self.text_ is not None:
            prior = rule.prior(new.vectors, new.table)
            self.text_ = self.text_.with_vectors(new.vectors)
        how: dict[str, Any] = {"n_anchors": _ANCHORS_LATER, "max_iter": _STEPS_LATER}
        estimated = rule.estimate(new.table, prior=prior, **how)
        if self.samples_ is not None:
            self._sampled_unseen = self._sampled_unseen.with_labels(rule, self.samples_, new.table)
        bias, self.label_text_weights_ = _mllcs_updates.with_text_weights(
            self.label_text_weights_, rule.text, prior, estimated.bias, self.seen_.size
        )
        self.label_factors_ = np.vstack([self.label_factors_, estimated.factors])
        self.label_bias_ = np.append(self.label_bias_, bias)
        self.classes_ = np.append(np.asarray(self.classes_, dtype=object), new.names)
        self.seen_ = np.append(self.seen_, np.zeros(len(new.names), dtype=bool))
        self.target_ = replace(self.target_, classes=self.classes_)
        return self

    def fold_in(self, X: Any, Y: Any, labels: Any) -> Self:
        """Improve the factors of some labels by samples in which they have become known.

        The factors of an unseen label lean towards what its counts say, the more so the smaller
        ``rule_error_`` is; those of a seen label towards what its training samples said. Nothing
        else changes.

        Parameters
        ----------
        X : samples of features
        Y : array of shape (n_samples,) or (n_samples, len(labels))
            1, 0, or NaN where still unknown.
        labels : sequence of names from ``classes_``, or one name
        """
        X = self._validate_predict(X)
        if self.samples_ is not None:
            raise ValueError("fold_in needs a fit by EM; with inference='gibbs' fit again")
        self._restriction("seen")  # refuses vector targets
        wanted = [labels] if np.ndim(labels) == 0 else list(labels)
        positions = {name: position for position, name in enumerate(self.classes_)}
        for name in wanted:
            if name not in positions:
                raise ValueError(f"labels: {name!r} is none of classes_; add it with add_labels")
        states = _mllcs_updates.known_states(Y, X.shape[0], len(wanted))
        factors, texts = self._factors(X), self._from_texts(X)
        for column, name in enumerate(wanted):
            label = positions[name]
            prior = LabelFactors(
                self.label_factors_[[label]].astype(float), self.label_bias_[[label]].astype(float)
            )
            offset = texts if np.ndim(texts) == 0 else texts[:, label]
            updated, self._folded_in[label] = _mllcs_updates.updated_label(
                factors, states[:, column], prior, self._label_precision(label), offset
            )
            self.label_factors_[label], self.label_bias_[label] = updated[:-1], updated[-1]
        return self

    def _label_precision(self, label: int) -> np.ndarray:
        """Precision of (v, b) of a label before further samples."""
        if label in self._folded_in:
            return self._folded_in[label]
        if self.seen_[label]:
            row = int(self.seen_[:label].sum())
            return _mllcs_updates.unpacked(self._precision[row], self.label_factors_.shape[1] + 1)
        return _mllcs_updates.spread_error(self._rule.anchors.factors, self.rule_error_)

    # -- prediction ---------------------------------------------------------------------------

    def _factors(self, X: Any) -> np.ndarray:
        X = self._mapped(X).astype(self.params_.weights.dtype, copy=False)
        return linear_part(prepare_features(X), self.params_.weights)

    def _decision_function(self, X: Any) -> np.ndarray:
        if self.samples_ is not None:
            # moments hold for the samples' predicted factors
            with_rows = self._rule.uses_map
            return self._predictions().log_odds(X, self._is_seen, self._sampled_unseen, with_rows)
        return self._factors(X) @ self.label_factors_.T + self.label_bias_ + self._from_texts(X)

    def _from_texts(self, X: Any) -> Any:
        """What texts of labels add to the log-odds directly."""
        if self.label_text_weights_ is None:
            return 0.0
        product = X @ self.label_text_weights_.T
        return product.toarray() if hasattr(product, "toarray") else product

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def embed(self, X: Any, Y: Any = None, *, n_steps: int = _STEPS_TO_FACTORS) -> np.ndarray:
        """Return factors u of samples, of shape (n_samples, n_factors), as EM finds them.

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
            labels = self.target_.read(Y, n_samples=X.shape[0], zeros=self._zeros)
        seen = self._is_seen
        n_seen = int(seen.sum())
        if labels.n_labels == seen.size > n_seen:
            labels = labels[:, seen]
        if labels.n_labels != n_seen:
            raise ValueError(f"Y has {labels.n_labels} labels, the fit had {n_seen} seen ones")
        # fold_in moves these, and not what EM ended with
        params = self.params_._replace(
            factors=self.label_factors_[seen], bias=self.label_bias_[seen]
        )
        return self._row_factors(self._mapped(X), labels, params, n_steps)

    def _row_factors(self, X: Any, labels: Labels, params: MLLCSParams, n_steps: int) -> np.ndarray:
        steps = MLLCSRowSteps(self.lambda_u)
        make = block_maker(params.weights.dtype, self.device)
        size = self.block_rows or default_block_rows(labels.n_labels)
        blocks = (make(0, X[part], labels[part]) for part in gen_batches(X.shape[0], size))
        return np.concatenate([steps.embed(block, params, n_steps) for block in blocks])

    def predict_interval(
        self, X: Any, level: float = 0.9, labels: Literal["all", "seen", "unseen"] = "all"
    ) -> CredibleInterval:
        """Return the central credible interval of each probability.

        psi is taken as normal: the variance of a sample's factors given its features, plus that of
        the label's factors, or the square of ``rule_error_`` when the label is unseen. The
        regression weights count as known. After Gibbs sampling: quantiles over its draws instead,
        with the same error for unseen labels.

        Returns
        -------
        CredibleInterval
            Arrays ``lower`` and ``upper`` of shape (n_samples, n_labels).
        """
        upper_level = interval_levels(level)[1]
        X = self._validate_predict(X)
        columns = self._restriction(labels)
        is_seen = self._is_seen
        if self.samples_ is not None:
            extras = is_seen, self._sampled_unseen, level, self.rule_error_
            lower, upper = self._predictions().intervals_of_all(X, *extras)
            return CredibleInterval(lower[:, columns], upper[:, columns])
        factors = with_ones(self._factors(X).astype(float))
        variance = np.square(self.label_factors_.astype(float)).sum(axis=1) / self.lambda_u
        spread = np.repeat(variance[None], X.shape[0], axis=0)
        spread[:, is_seen] += _mllcs_updates.label_variance(factors, self._precision)
        spread[:, ~is_seen] += np.square(self.rule_error_)
        half = ndtri(upper_level) * np.sqrt(spread)
        psi = self._decision_function(X)
        return CredibleInterval(expit(psi - half)[:, columns], expit(psi + half)[:, columns])

    def missing_label_proba(self, X: Any, Y: Any) -> np.ndarray:
        """Return the probability that each unlabeled zero of a seen label is a missing label.

        P(relevant | recorded as 0) at the unlabeled zeros, NaN elsewhere. Needs a fit with
        ``label_frequency``.
        """
        X = self._validate_predict(X)
        frequency = self.params_.label_frequency
        if frequency is None:
            raise ValueError(
                "this fit reads every zero as a zero: fit with label_frequency='estimate'"
            )
        labels = self.target_.read(Y, n_samples=X.shape[0], zeros=self._zeros)
        states = _mllcs_updates.seen_states(labels, self.seen_)
        if self.samples_ is not None:
            probability = self._predictions().missing_labels(prepare_features(X))
        else:
            psi = self._decision_function(X)[:, self.seen_]
            probability = unlabeled_posterior(psi, frequency)
        return np.where(states == State.UNLABELED, probability, np.nan)

    def diagnose(self, X: Any = None) -> Diagnosis:
        """Return R-hat and effective sample sizes (Gibbs only).

        Of the log posterior; or, given a few samples, of their psi for every seen label.
        """
        check_is_fitted(self)
        features = None if X is None else prepare_features(self._validate_predict(X))
        return self._predictions().diagnose(features)

    @property
    def n_iter_(self) -> int:
        """Number of iterations, mini-batches or sweeps of a chain."""
        check_is_fitted(self)
        return self.trace_.n_iter

    # -- internals ----------------------------------------------------------------------------

    @property
    def _is_seen(self) -> np.ndarray:
        """Which labels are seen; a vector of two classes is one label."""
        return self.seen_[: self.label_bias_.size]

    def _predictions(self) -> PosteriorPredictions:
        if self.samples_ is None:
            raise ValueError("this fit has no posterior samples: fit with inference='gibbs'")
        return PosteriorPredictions(self.samples_, self.lambda_u)

    def _settings(self) -> EM | OnlineEM | Gibbs:
        solver: Any = "exact" if self.n_features_in_ <= _MOST_FEATURES_EXACT else "cg"
        defaults: dict[str, Any] = {
            "em": EM(_MAX_ITER, 0.0, solver=solver, n_cg=5),
            "gibbs": Gibbs(solver=solver),
        }
        settings = fitting_settings(self.inference, self.max_iter, self.tol, defaults=defaults)
        if isinstance(settings, Gibbs) and self.device is not None:
            raise ValueError(
                f"device={self.device!r}: Gibbs sampling draws on the CPU; leave device out"
            )
        if isinstance(settings, EM) and settings.n_init > 1:
            raise ValueError(
                f"inference: n_init={settings.n_init}: the start is given by the labels but for a "
                "little noise; leave n_init at 1, or fit with several values of random_state"
            )
        return settings
