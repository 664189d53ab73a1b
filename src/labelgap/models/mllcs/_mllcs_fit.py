"""A fit of ML-LCS from start to end: the loops, and the factors of labels without a sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.cooccurrence import Cooccurrence, occurrences
from labelgap.fitting import (
    EM,
    ChainSamples,
    Gibbs,
    Monitor,
    OnlineEM,
    Rows,
    Trace,
    n_batches,
    open_rows,
    row_source,
    run_em,
    run_passes,
)
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.labels import Labels
from labelgap.models.mllcs._mllcs_counts import (
    CooccurrenceCounts,
    count_offset,
    prepare_counts,
    with_count_factors,
)
from labelgap.models.mllcs._mllcs_em import (
    CooccurrenceModel,
    MLLCSParams,
    exact_solver,
    first_weights,
    label_moments,
    starting_params,
)
from labelgap.models.mllcs._mllcs_posterior import AnchorRows, SampledUnseen, fit_chains
from labelgap.models.mllcs._mllcs_rows import (
    block_maker,
    default_block_rows,
    feature_gram,
    gather_rows,
    survey_block,
)
from labelgap.models.mllcs._mllcs_text import TextMap, TextPrior, learn_text_map
from labelgap.models.mllcs._mllcs_unseen import (
    MOST_ANCHORS,
    Anchors,
    LabelFactors,
    UnseenRule,
)
from labelgap.models.mllcs._mllcs_updates import packed_labels

if TYPE_CHECKING:
    from labelgap.models.mllcs._mllcs import MLLCS

_MOST_FACTORS = 100
_INTERCEPT_PRECISION = 1e-3


class MLLCSFit(NamedTuple):
    """What a fit found.

    ``factors`` and ``bias`` are those of all labels; ``precision`` (n_seen x packed) is that of
    the (v, b) of seen labels, None after Gibbs sampling, which leaves ``samples`` and
    ``sampled_unseen`` instead. ``direct`` (n_labels x d, sparse) is what texts add to psi.
    """

    params: MLLCSParams
    factors: np.ndarray
    bias: np.ndarray
    rule: UnseenRule
    rule_error: float
    trace: Trace
    refit_trace: Trace | None = None
    precision: Any = None
    samples: ChainSamples | None = None
    sampled_unseen: Any = None
    direct: Any = None


def fit_mllcs(
    estimator: MLLCS,
    settings: EM | OnlineEM | Gibbs,
    X: Any,
    labels: Labels,
    cooccurrence: Cooccurrence,
    seed: int,
) -> MLLCSFit:
    """Return the fit of an estimator's parameters, which stays as it is, to samples and counts."""
    rows_of_block = estimator.block_rows or default_block_rows(labels.n_labels)
    source = row_source(X, labels.with_names(None), block_rows=rows_of_block)
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    make = block_maker(dtype, estimator.device)
    rows = open_rows(source, make)
    counts, offset = _counts(estimator, cooccurrence, dtype)
    tau = _precisions(estimator, source)
    model = _model(estimator, counts, tau, rows, settings, dtype)
    first = _start(estimator, rows, source.n_features, cooccurrence, seed, dtype)
    params = first_weights(model, rows, first)
    if isinstance(settings, Gibbs):
        samples, params = fit_chains(settings, model, rows, params, seed, estimator.callback)
        log_posterior, seconds = samples.log_posterior[-1], samples.seconds[-1]
        trace = Trace(log_posterior.tolist(), seconds.tolist(), "sampled")
        fit = _with_all_labels(estimator, params, trace, source, labels, cooccurrence, offset)
        return _with_samples(estimator, fit, samples, source, cooccurrence)
    loop = settings, seed, estimator.callback
    params, trace = _run(model, *loop, source, make, rows, params)
    fit = _with_all_labels(estimator, params, trace, source, labels, cooccurrence, offset)
    unseen = _counted(cooccurrence)
    if estimator.unseen == "constrained" and unseen.size and trace.outcome != "stopped":
        start = LabelFactors(fit.factors[unseen], fit.bias[unseen])
        prior = _prior(estimator, fit.rule, cooccurrence, unseen)
        teacher = fit.rule.teacher(cooccurrence, unseen, start, prior)
        make = block_maker(dtype, estimator.device, teacher)
        rows = open_rows(source, make)
        model = replace(model, counts=None, joint=False)
        order = np.concatenate([cooccurrence.seen, unseen])
        params = fit.params._replace(factors=fit.factors[order], bias=fit.bias[order])
        params, refit_trace = _run(model, *loop, source, make, rows, params)
        fit = _refitted(estimator, fit, params, order, source, cooccurrence)
        fit = fit._replace(refit_trace=refit_trace)
    systems = model.label_systems(rows.update(model.step, params), params)
    ridge = model.label_ridge(params.factors.shape[1])
    packed = packed_labels(systems.packed[: cooccurrence.n_seen], ridge)
    return _with_direct(estimator, fit, cooccurrence)._replace(precision=packed.astype(np.float32))


def _run(
    model: Any,
    settings: EM | OnlineEM,
    seed: int,
    callback: Any,
    source: Any,
    make: Any,
    rows: Rows,
    params: MLLCSParams,
) -> tuple[MLLCSParams, Trace]:
    if isinstance(settings, OnlineEM):
        n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
        monitor, rng = Monitor(n_steps, 0.0, callback), np.random.default_rng(seed)
        params, _ = run_passes(model, settings, source, make, params, monitor, rng)
        return params, monitor.finish()
    return run_em(model, rows, params, Monitor(settings.max_iter, settings.tol, callback))


# -- labels without a sample ----------------------------------------------------------------------


def _with_all_labels(
    estimator: MLLCS,
    params: MLLCSParams,
    trace: Trace,
    source: Any,
    labels: Labels,
    cooccurrence: Cooccurrence,
    offset: float,
) -> MLLCSFit:
    """Factors of all labels, and the rule for those that come later."""
    if not estimator.count_weight and estimator.unseen in ("linear", "kernel"):
        params = with_count_factors(
            params, cooccurrence, offset, estimator.lambda_beta, diagonal=estimator.diagonal
        )
    anchors = _anchors(estimator, source, params)
    rule = UnseenRule(
        estimator.unseen,
        estimator.lambda_beta,
        estimator.lambda_map,
        estimator.slack,
        params,
        anchors,
        occurrences(cooccurrence),
        cooccurrence.seen,
        offset,
        (labels.n_positives() + 0.5) / (labels.n_observed(unlabeled=True) + 1),
        _text_map(estimator, params, anchors, cooccurrence),
    )
    seen, unseen = cooccurrence.seen, cooccurrence.unseen
    n_labels, k = cooccurrence.n_labels, params.factors.shape[1]
    factors = np.zeros((n_labels, k), dtype=params.factors.dtype)
    bias = np.zeros(n_labels, dtype=params.factors.dtype)
    factors[seen], bias[seen] = params.factors, params.bias
    if unseen.size:
        prior = _prior(estimator, rule, cooccurrence, unseen)
        table = cooccurrence.dense()[:, unseen]
        factors[unseen], bias[unseen] = rule.estimate(table, prior=prior)
    return MLLCSFit(params, factors, bias, rule, rule.error(cooccurrence), trace)


def _anchors(estimator: MLLCS, source: Any, params: MLLCSParams) -> Anchors:
    def predicted(X: Any) -> np.ndarray:
        X = X.astype(params.weights.dtype, copy=False)
        return linear_part(prepare_features(X), params.weights)

    text = estimator.text_
    rows, positives = gather_rows(source, MOST_ANCHORS, predicted)
    if text is None or not text.like_items:
        return Anchors(rows, positives)
    return Anchors(rows, positives, gather_rows(source, MOST_ANCHORS, lambda X: X)[0])


def _counted(cooccurrence: Cooccurrence) -> np.ndarray:
    """Unseen labels that have met a seen one."""
    return np.setdiff1d(cooccurrence.unseen, cooccurrence.unconnected)


def _text_map(
    estimator: MLLCS, params: MLLCSParams, anchors: Anchors, cooccurrence: Cooccurrence
) -> TextMap | None:
    if estimator.text_ is None or cooccurrence.n_seen < 3:
        return None
    vectors = estimator.text_.vectors[cooccurrence.seen]
    labels = params.factors, params.bias
    return learn_text_map(vectors, *labels, anchors.factors, anchors.positives, anchors.items)


def _prior(
    estimator: MLLCS, rule: UnseenRule, cooccurrence: Cooccurrence, labels: np.ndarray
) -> TextPrior | None:
    if estimator.text_ is None:
        return None
    return rule.prior(estimator.text_.vectors[labels], cooccurrence.dense()[:, labels])


def _refitted(
    estimator: MLLCS,
    fit: MLLCSFit,
    params: MLLCSParams,
    order: np.ndarray,
    source: Any,
    cooccurrence: Cooccurrence,
) -> MLLCSFit:
    """Take over a fit with soft labels; labels without counts keep their prior."""
    n_seen = cooccurrence.n_seen
    factors, bias = fit.factors.copy(), fit.bias.copy()
    factors[order], bias[order] = params.factors, params.bias
    own = fit.params._replace(
        factors=params.factors[:n_seen], bias=params.bias[:n_seen], weights=params.weights
    )
    anchors = _anchors(estimator, source, params)
    text = fit.rule.text
    if text is not None:
        # the factors that texts are mapped to have moved; what texts add directly has been used
        known = np.column_stack([own.factors, own.bias]).astype(np.float64)
        text = replace(text, known=known)
    rule = replace(fit.rule, params=own, anchors=anchors, text=text)
    alone = cooccurrence.unconnected
    prior = _prior(estimator, rule, cooccurrence, alone) if alone.size else None
    if prior is not None:
        factors[alone], bias[alone] = prior.factors, prior.bias
    error = rule.error(cooccurrence)
    return fit._replace(params=own, factors=factors, bias=bias, rule=rule, rule_error=error)


def _with_direct(estimator: MLLCS, fit: MLLCSFit, cooccurrence: Cooccurrence) -> MLLCSFit:
    """Add what texts say directly of unseen labels; their bias takes up its mean."""
    unseen = cooccurrence.unseen
    prior = _prior(estimator, fit.rule, cooccurrence, unseen) if unseen.size else None
    if prior is None or prior.direct is None or fit.rule.text is None:
        return fit
    bias = fit.bias.copy()
    bias[unseen] -= fit.rule.text.shift(prior)
    entries = sparse.coo_array(prior.direct)
    shape = (cooccurrence.n_labels, entries.shape[1])
    direct = sparse.csr_array((entries.data, (unseen[entries.row], entries.col)), shape=shape)
    return fit._replace(bias=bias, direct=direct)


def _with_samples(
    estimator: MLLCS, fit: MLLCSFit, samples: ChainSamples, source: Any, cooccurrence: Cooccurrence
) -> MLLCSFit:
    """Add what predictions from chains need."""
    rows, positives = gather_rows(source, MOST_ANCHORS, lambda X: X.astype(np.float32, copy=False))
    anchors = AnchorRows(prepare_features(rows), positives)
    unseen, errors = SampledUnseen.of(fit.rule, samples, anchors, cooccurrence, estimator.diagonal)
    error = float(np.sqrt(np.square(errors).mean())) if errors else fit.rule_error
    return fit._replace(samples=samples, sampled_unseen=unseen, rule_error=error)


# -- the model and its start ----------------------------------------------------------------------


def _counts(
    estimator: MLLCS, cooccurrence: Cooccurrence, dtype: np.dtype
) -> tuple[CooccurrenceCounts | None, float]:
    """The counts of the model, where they have a weight, and their offset."""
    r = 5.0 if estimator.r == "learn" else float(estimator.r)
    weight, diagonal = estimator.count_weight or 1.0, estimator.diagonal
    counts = prepare_counts(cooccurrence, weight, r, diagonal=diagonal, dtype=dtype)
    if estimator.count_weight:
        return counts, counts.offset
    # then nothing that labels share may depend on the counts of unseen ones
    shared = counts.weights[:, counts.seen], counts.values[:, counts.seen]
    return None, count_offset(*shared, r)


def _precisions(estimator: MLLCS, source: Any) -> np.ndarray:
    """Prior precisions of the regression weights, the intercept's last."""
    survey = open_rows(source).total(survey_block, None)
    scale = survey.squared_norm / survey.n_samples or 1.0
    tau = np.full(source.n_features + 1, estimator.lambda_w * scale)
    tau[-1] = _INTERCEPT_PRECISION
    return tau


def _model(
    estimator: MLLCS,
    counts: CooccurrenceCounts | None,
    tau: np.ndarray,
    rows: Rows,
    settings: Any,
    dtype: np.dtype,
) -> CooccurrenceModel:
    solve = None
    if getattr(settings, "solver", None) == "exact":
        solve = exact_solver(rows.total(feature_gram, None), estimator.lambda_u, tau)
    return CooccurrenceModel(
        counts,
        tau.astype(dtype),
        lambda_u=estimator.lambda_u,
        lambda_v=estimator.lambda_v,
        lambda_beta=estimator.lambda_beta,
        lambda_map=estimator.lambda_map,
        learn_r=estimator.r == "learn",
        joint=estimator.joint,
        learn_label_frequency=estimator.label_frequency == "estimate",
        n_cg=getattr(settings, "n_cg", 5),
        solve_weights=solve,
    )


def _start(
    estimator: MLLCS,
    rows: Rows,
    n_features: int,
    cooccurrence: Cooccurrence,
    seed: int,
    dtype: np.dtype,
) -> MLLCSParams:
    n_factors = estimator.n_factors or min(cooccurrence.n_seen, _MOST_FACTORS)
    shapes = (n_features, cooccurrence.n_labels, n_factors)
    r = 5.0 if estimator.r == "learn" else float(estimator.r)
    given = estimator.label_frequency
    theta = 0.7 if isinstance(given, str) else given
    rng = np.random.default_rng(seed)
    return starting_params(rows.total(label_moments, None), shapes, r, theta, rng, dtype)
