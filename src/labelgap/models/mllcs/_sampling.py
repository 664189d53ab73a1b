"""The estimator's use of the Gibbs sampler.

Unseen labels are no part of the chains. The rule that gives them factors is applied to some of the
draws as if each were a fit: to at most 50, since a rule costs about as much as several sweeps. For
the maps "linear" and "kernel" the count factors of all labels are the most probable ones given a
draw's label factors, so that the map is learned from what it is applied to. "constrained" tilts
the unseen labels of each draw and leaves the seen ones alone.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

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
    run_em,
)
from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.labels import Labels, State
from labelgap.models.mllcs import _extend, _posterior
from labelgap.models.mllcs._counts import Counts
from labelgap.models.mllcs._gibbs import SampledCooccurrenceModel
from labelgap.models.mllcs._model import CooccurrenceModel, Params
from labelgap.models.mllcs._posterior import ChainSamples, Draw, OtherLabels
from labelgap.models.mllcs._start import first_weights
from labelgap.models.mllcs._unseen import Anchors, LabelFactors

if TYPE_CHECKING:
    from labelgap.models.mllcs._estimator import MLLCS

MOST_RULES = 50
_MOST_ANCHORS = 20_000
_RULES_PER_ERROR = 10
_SMALLEST = 1e-300


class AnchorRows(NamedTuple):
    """Rows that a rule for unseen labels looks at: their features and their seen labels."""

    features: Features
    positives: sparse.csr_array

    def under(self, weights: np.ndarray) -> Anchors:
        """The rows as anchors, with the factors that some weights predict."""
        return Anchors(linear_part(self.features, weights), self.positives)


class Unseen(NamedTuple):
    """What predictions of unseen labels need, now and for labels that come later.

    ``labels`` are (v, b) of the unseen labels, in their order; ``known`` (T x S x K + 1) the count
    factors (beta, c) of seen labels, where a map needs them.
    """

    labels: OtherLabels
    known: np.ndarray | None
    anchors: AnchorRows


def check_settings(estimator: MLLCS, settings: EM | OnlineEM | Gibbs) -> EM | OnlineEM | Gibbs:
    """The settings themselves; raises when the estimator cannot obey them."""
    if isinstance(settings, Gibbs) and estimator.device is not None:
        raise ValueError(
            f"device={estimator.device!r}: Gibbs sampling draws on the CPU; leave device out"
        )
    if isinstance(settings, EM) and settings.n_init > 1:
        raise ValueError(
            f"inference: n_init={settings.n_init}: the start is given by the labels but for a "
            "little noise; leave n_init at 1, or fit with several values of random_state"
        )
    return settings


def fit_gibbs(
    estimator: MLLCS,
    settings: Gibbs,
    model: CooccurrenceModel,
    rows: Rows,
    start: Params,
    source: Any,
    labels: Labels,
    cooccurrence: Cooccurrence,
) -> None:
    """Chains, and all labels under some of their draws."""
    estimator.params_, estimator.trace_ = _run_chains(estimator, settings, model, rows, start)
    estimator._finish(source, labels, cooccurrence)
    anchors = gather_rows(source, _MOST_ANCHORS, np.float32)
    estimator._sampled_unseen = guess_unseen(estimator, anchors, cooccurrence)


def _run_chains(
    estimator: MLLCS, settings: Gibbs, model: CooccurrenceModel, rows: Rows, start: Params
) -> tuple[Params, Trace]:
    """Chains from starts of their own, each carried on by a few EM iterations first."""
    sampler = SampledCooccurrenceModel(model)
    starts = [
        _start_of_chain(model, rows, start, chain, estimator._seed, settings.start_iter)
        for chain in range(settings.n_chains)
    ]
    samples, params = _posterior.draw_chains(
        sampler,
        rows,
        starts,
        n_burn_in=settings.burn_in,
        n_draws=settings.n_samples,
        thin=settings.thin,
        seed=estimator._seed,
        dtype=np.float32,
        callback=estimator.callback,
    )
    estimator.samples_ = samples
    trace = Trace(samples.log_posterior[-1].tolist(), samples.seconds[-1].tolist(), "sampled")
    return params, trace


def _start_of_chain(
    model: Any, rows: Rows, start: Params, chain: int, seed: int, n_iter: int
) -> Params:
    """The start itself for the first chain, random factors of the same size for the others."""
    if chain:
        rng = np.random.default_rng([seed, 2, chain])
        size = float(np.sqrt(np.square(start.factors).mean()))
        factors = size * rng.standard_normal(start.factors.shape)
        beta = 0.1 * rng.standard_normal(start.beta.shape)
        dtype = start.factors.dtype
        start = start._replace(factors=factors.astype(dtype), beta=beta.astype(dtype))
        start = first_weights(model, rows, start)
    if n_iter:
        start, _ = run_em(model, rows, start, Monitor(n_iter, 0.0))
    return start


# -- unseen labels ----------------------------------------------------------------------------


def gather_rows(source: Any, n_most: int, dtype: Any) -> AnchorRows:
    """Features and seen labels of at most ``n_most`` evenly spaced rows."""
    step = max(1, -(-source.n_rows // n_most))
    features, positives = [], []
    for index in range(len(source)):
        X, labels = source[index]
        features.append(X[::step].astype(dtype, copy=False))
        positives.append(labels[np.arange(0, X.shape[0], step)].where(State.RELEVANT))
    stack = sparse.vstack if sparse.issparse(features[0]) else np.concatenate
    return AnchorRows(prepare_features(stack(features)), sparse.csr_array(sparse.vstack(positives)))


def guess_unseen(estimator: MLLCS, anchors: AnchorRows, cooccurrence: Cooccurrence) -> Unseen:
    """Factors of the unseen labels under some of the draws."""
    samples = estimator.samples_
    assert samples is not None
    chosen = samples.spaced(MOST_RULES)
    unseen = cooccurrence.unseen
    table = cooccurrence.dense()[:, unseen]
    known, found, errors = [], [], []
    for place, index in enumerate(chosen):
        view = _fit_of(estimator, samples[index], anchors)
        if estimator.unseen in ("linear", "kernel"):
            known.append(_known_count_factors(view, cooccurrence))
            view.params_ = _with_known(view, known[-1])
        if not unseen.size:
            found.append(_no_labels(view.params_.factors.shape[1]))
            continue
        guessed = view._guess(table, estimator._prior_logit)
        if estimator.unseen == "constrained":
            guessed = _tilted(view, guessed, cooccurrence)
        found.append(guessed)
        if place % _RULES_PER_ERROR == 0:
            errors.append(view._rule_error(cooccurrence))
    if errors:
        estimator.rule_error_ = float(np.sqrt(np.square(errors).mean()))
    return Unseen(_stacked(chosen, found), np.stack(known) if known else None, anchors)


def add_labels(estimator: MLLCS, table: np.ndarray, prior_logit: np.ndarray) -> None:
    """Further labels under the same draws, given their counts (n_seen, n_new)."""
    samples, unseen = _fitted(estimator)
    old = unseen.labels
    found = []
    for place, index in enumerate(old.draws):
        view = _fit_of(estimator, samples[index], unseen.anchors)
        if unseen.known is not None:
            view.params_ = _with_known(view, unseen.known[place])
        found.append(view._guess(table, prior_logit))
    new = _stacked(old.draws, found)
    labels = OtherLabels(
        old.draws,
        np.concatenate([old.factors, new.factors], axis=1),
        np.concatenate([old.bias, new.bias], axis=1),
    )
    estimator._sampled_unseen = unseen._replace(labels=labels)


def _fit_of(estimator: MLLCS, draw: Draw, anchors: AnchorRows) -> MLLCS:
    """The estimator as if a fit had found this draw; counts have no factors yet."""
    view = copy.copy(estimator)
    none = np.empty((0, draw.factors.shape[1]))
    fields = {name: getattr(draw, name) for name in Draw._fields if name != "noise"}
    view.params_ = Params(**fields, beta=none, column_bias=np.empty(0), psi_map=none)._replace(
        r=float(draw.r)
    )
    view._anchors = anchors.under(draw.weights)
    return view


def _known_count_factors(view: MLLCS, cooccurrence: Cooccurrence) -> np.ndarray:
    """(beta, c) of the seen labels that are most probable given the label factors."""
    seen = cooccurrence.seen
    weights = cooccurrence.observed[:, seen].astype(float)
    if not view.diagonal:
        np.fill_diagonal(weights, 0.0)
    values = cooccurrence.dense(missing=0.0)[:, seen]
    counts = Counts(values, weights, seen, view._count_offset)
    return _extend.count_factors(counts, view.params_, view.lambda_beta)


def _with_known(view: MLLCS, known: np.ndarray) -> Params:
    """Parameters with count factors in the places of the seen labels, zeros elsewhere."""
    columns = view._count_columns
    every = np.zeros((int(columns.max()) + 1, known.shape[1]))
    every[columns] = known
    return view.params_._replace(beta=every[:, :-1], column_bias=every[:, -1])


def _tilted(view: MLLCS, start: LabelFactors, cooccurrence: Cooccurrence) -> LabelFactors:
    """Factors that fit soft labels which agree with the counts; see ``_constrained``."""
    unseen = cooccurrence.unseen
    view.label_factors_ = np.zeros((cooccurrence.n_labels, start.factors.shape[1]))
    view.label_bias_ = np.zeros(cooccurrence.n_labels)
    view.label_factors_[unseen], view.label_bias_[unseen] = start
    teacher = view._teacher(cooccurrence)
    connected = np.nan_to_num(cooccurrence.dense())[:, unseen].sum(axis=0) > 0
    return LabelFactors(
        np.where(connected[:, None], teacher.factors, start.factors),
        np.where(connected, teacher.bias, start.bias),
    )


def _no_labels(n_factors: int) -> LabelFactors:
    return LabelFactors(np.empty((0, n_factors)), np.empty(0))


def _stacked(draws: np.ndarray, found: list[LabelFactors]) -> OtherLabels:
    factors = np.stack([labels.factors for labels in found]).astype(np.float32)
    return OtherLabels(draws, factors, np.stack([x.bias for x in found]).astype(np.float32))


# -- prediction -------------------------------------------------------------------------------


def log_odds(estimator: MLLCS, X: Any) -> np.ndarray:
    """Log odds of the posterior predictive probabilities of all labels."""
    samples, unseen = _fitted(estimator)
    features, is_seen = prepare_features(X), _is_seen(estimator)
    out = np.empty((X.shape[0], is_seen.size))
    out[:, is_seen] = _posterior.predictive_probabilities(samples, features)
    if unseen.labels.bias.shape[1]:
        # moments hold for the rows' predicted factors
        with_rows = estimator.unseen in ("linear", "kernel")
        out[:, ~is_seen] = _posterior.other_probabilities(
            samples, unseen.labels, features, with_rows
        )
    out = np.clip(out, _SMALLEST, 1 - 2.0**-53)
    return np.log(out) - np.log1p(-out)


def predict_interval(estimator: MLLCS, X: Any, level: float) -> CredibleInterval:
    """Intervals of all labels; those of unseen ones have ``rule_error_`` as a further error."""
    samples, unseen = _fitted(estimator)
    features, is_seen = prepare_features(X), _is_seen(estimator)
    out = np.empty((2, X.shape[0], is_seen.size))
    out[:, :, is_seen] = _posterior.predictive_intervals(samples, features, level)
    if unseen.labels.bias.shape[1]:
        error = np.nan_to_num(estimator.rule_error_)
        out[:, :, ~is_seen] = _posterior.predictive_intervals(
            samples, features, level, unseen.labels, error
        )
    return CredibleInterval(*out)


def forgotten(estimator: MLLCS, X: Any) -> np.ndarray:
    """P(relevant | recorded 0) of the seen labels."""
    samples, _ = _fitted(estimator)
    return _posterior.forgotten_probabilities(samples, prepare_features(X))


def chains_of(estimator: MLLCS) -> ChainSamples:
    """The chains of a fit; an error for a fit without any."""
    check_is_fitted(estimator)
    if estimator.samples_ is None:
        raise ValueError("this fit has no posterior samples: fit with inference='gibbs'")
    return estimator.samples_


def diagnose(estimator: MLLCS, X: Any | None) -> Diagnosis:
    """Of the log posterior, or of psi at some rows."""
    samples = chains_of(estimator)
    if X is None:
        return samples.diagnose_log_posterior()
    return _posterior.diagnose_psi(samples, prepare_features(estimator._validate_predict(X)))


def _is_seen(estimator: MLLCS) -> np.ndarray:
    """Which labels are seen; a vector of two classes is one label."""
    return estimator.seen_[: estimator.label_bias_.size]


def _fitted(estimator: MLLCS) -> tuple[ChainSamples, Unseen]:
    samples, unseen = estimator.samples_, estimator._sampled_unseen
    assert samples is not None
    return samples, unseen
