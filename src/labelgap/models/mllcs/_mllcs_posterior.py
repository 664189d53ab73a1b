"""Predictions of ML-LCS from chains of Gibbs sampling.

Factors may rotate within and between chains, so that an average of them means nothing: everything
here is a function of psi, which does not change.

Unseen labels are no part of the chains. The rule that gives them factors is applied to some of the
draws as if each were a fit: to at most 50, since a rule costs about as much as several sweeps. For
the maps "linear" and "kernel" the count factors of all labels are the most probable ones given a
draw's label factors, so that the map is learned from what it is applied to. "constrained" tilts
the unseen labels of each draw and leaves the seen ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy import sparse
from scipy.special import expit

from labelgap.cooccurrence import Cooccurrence
from labelgap.fitting import (
    ChainSamples,
    CredibleInterval,
    Diagnosis,
    Gibbs,
    Monitor,
    Rows,
    diagnose,
    draw_chains,
    interval_levels,
    row_slices,
    run_em,
)
from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.memory import block_size
from labelgap.models.mllcs._mllcs_counts import CooccurrenceCounts, count_factors
from labelgap.models.mllcs._mllcs_em import MLLCSParams, first_weights
from labelgap.models.mllcs._mllcs_gibbs import SampledCooccurrenceModel
from labelgap.models.mllcs._mllcs_unseen import Anchors, LabelFactors, UnseenRule

_MOST_RULES = 50
_RULES_PER_ERROR = 10
_SMALLEST = 1e-300
# a rule of n nodes is off by less than 5e-4 up to the standard deviation given; the last for more
_NODES = ((2.0, 9), (3.0, 17), (np.inf, 41))


class MLLCSDraw(NamedTuple):
    """One kept draw: what predictions need of :class:`MLLCSParams`, and noise e of a new row.

    V (S x K), b and a (S), W (d + 1 x K), r, theta (S) or None, e (K): what a new row's factors
    differ from their means by, times the root of lambda_u.
    """

    factors: np.ndarray
    bias: np.ndarray
    count_bias: np.ndarray
    weights: np.ndarray
    r: float
    label_frequency: np.ndarray | None
    noise: np.ndarray


def draw_label_chains(
    model: SampledCooccurrenceModel,
    rows: Rows,
    starts: Sequence[MLLCSParams],
    *,
    seed: int,
    **settings: Any,
) -> tuple[ChainSamples, MLLCSParams]:
    """Run :func:`labelgap.fitting.draw_chains`; draws are of the type :class:`MLLCSDraw`."""
    samples, params = draw_chains(model, rows, starts, MLLCSDraw, seed=seed, **settings)
    shape = samples.n_chains, samples.n_draws, params.factors.shape[1]
    noise = np.random.default_rng([seed, 1]).standard_normal(shape)
    noise = noise.astype(samples.draws.factors.dtype)
    return replace(samples, draws=samples.draws._replace(noise=noise)), params


def fit_chains(
    settings: Gibbs,
    model: Any,
    rows: Rows,
    start: MLLCSParams,
    seed: int,
    callback: Callable | None,
) -> tuple[ChainSamples, MLLCSParams]:
    """Return chains from starts of their own, each carried on by a few EM iterations first.

    The first chain begins at the start itself, the others at random factors of the same size.
    """
    starts = []
    for chain in range(settings.n_chains):
        params = start
        if chain:
            rng = np.random.default_rng([seed, 2, chain])
            size = float(np.sqrt(np.square(start.factors).mean()))
            factors = size * rng.standard_normal(start.factors.shape)
            beta = 0.1 * rng.standard_normal(start.beta.shape)
            dtype = start.factors.dtype
            params = start._replace(factors=factors.astype(dtype), beta=beta.astype(dtype))
            params = first_weights(model, rows, params)
        if settings.start_iter:
            params, _ = run_em(model, rows, params, Monitor(settings.start_iter, 0.0))
        starts.append(params)
    return draw_label_chains(
        SampledCooccurrenceModel(model),
        rows,
        starts,
        n_burn_in=settings.burn_in,
        n_draws=settings.n_draws,
        thin=settings.thin,
        seed=seed,
        dtype=np.float32,
        callback=callback,
    )


# -- seen labels ----------------------------------------------------------------------------------


def expected_sigmoid(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return E[sigmoid(x)] for x ~ N(mean, variance), by Gauss-Hermite quadrature.

    A sum of sigmoids with positive weights: small probabilities keep their order. ``mean`` is
    (n_samples, n_labels), ``variance`` (n_labels,).
    """
    spread = np.sqrt(variance)
    largest = float(spread.max(initial=0))
    if largest == 0:
        return expit(mean)
    nodes, weights = hermegauss(next(n for most, n in _NODES if largest <= most))
    weights /= weights.sum()
    total = np.zeros(mean.shape)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight * expit(mean + (node * spread).astype(mean.dtype))
    return total


class OtherLabels(NamedTuple):
    """Labels that the chains do not know: (v, b) under some of the draws.

    ``draws`` (T) are indices into the samples, ``factors`` (T x U x K), ``bias`` (T x U).
    """

    draws: np.ndarray
    factors: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class PosteriorPredictions:
    """What the draws say about labels of new rows; ``lambda_u`` is the precision of their factors."""

    samples: ChainSamples
    lambda_u: float

    def _seen(self, draw: MLLCSDraw, features: Features) -> np.ndarray:
        """P(y = 1 | x) of the seen labels under one draw, the factors of the row integrated out."""
        psi = linear_part(features, draw.weights) @ draw.factors.T + draw.bias
        variance = np.square(draw.factors, dtype=np.float64).sum(axis=1) / self.lambda_u
        return expected_sigmoid(psi, variance)

    def seen(self, features: Features) -> np.ndarray:
        """Return P(y = 1 | x) of the seen labels, averaged over all kept draws."""
        total: Any = 0.0
        for draw in self.samples:
            total = total + self._seen(draw, features)
        return total / len(self.samples)

    def others(self, others: OtherLabels, features: Features, with_rows: bool) -> np.ndarray:
        """Return P(y = 1 | x) of labels that the chains do not know.

        ``with_rows``: integrate the factors of the row out, too. Factors that were matched to
        counts on the rows' predicted factors are to be used on those.
        """
        total: Any = 0.0
        for index, V, b in zip(*others, strict=True):
            psi = linear_part(features, self.samples[index].weights) @ V.T + b
            variance = np.square(V, dtype=np.float64).sum(axis=1) / self.lambda_u
            total = total + expected_sigmoid(psi, variance * with_rows)
        return total / len(others.draws)

    def missing_labels(self, features: Features) -> np.ndarray:
        """Return P(relevant | recorded 0, x) of seen labels.

        The ratio E[(1 - theta) p] / E[1 - theta p] over draws.
        """
        above: Any = 0.0
        below: Any = 0.0
        for draw in self.samples:
            p = self._seen(draw, features)
            above = above + (1 - draw.label_frequency) * p
            below = below + (1 - draw.label_frequency * p)
        return above / below

    def intervals(
        self,
        features: Features,
        level: float = 0.9,
        others: OtherLabels | None = None,
        other_error: float = 0.0,
    ) -> CredibleInterval:
        """Return central credible intervals of sigmoid(psi) over the draws, psi with a drawn row.

        They say how well the probability is known, not whether the label is there. With
        ``others``, of these labels instead of the seen ones; ``other_error`` is the standard
        deviation of a further error of their psi.
        """
        bounds = interval_levels(level)
        labels = self._seen_labels() if others is None else others
        n_samples, n_labels = features.shape[0], labels.bias.shape[1]
        out = np.empty((2, n_samples, n_labels))
        # label by label, so that labels that come later change nothing for the others
        error = np.random.default_rng(0).standard_normal(labels.bias.shape[::-1]).T * other_error
        size = block_size(n_labels * len(labels.draws), fraction=1 / 4)
        for chunk in row_slices(n_samples, size) if n_samples else []:
            part = prepare_features(features.rows[chunk])
            draws = np.stack([self._drawn_psi(part, *label) for label in zip(*labels, strict=True)])
            out[:, chunk] = expit(np.quantile(draws + error[:, None], bounds, axis=0))
        return CredibleInterval(*out)

    def log_odds(
        self, X: Any, is_seen: np.ndarray, unseen: SampledUnseen, with_rows: bool
    ) -> np.ndarray:
        """Return the log odds of the probabilities of all labels."""
        features = prepare_features(X)
        out = np.empty((X.shape[0], is_seen.size))
        out[:, is_seen] = self.seen(features)
        if unseen.labels.bias.shape[1]:
            out[:, ~is_seen] = self.others(unseen.labels, features, with_rows)
        out = np.clip(out, _SMALLEST, 1 - 2.0**-53)
        return np.log(out) - np.log1p(-out)

    def intervals_of_all(
        self, X: Any, is_seen: np.ndarray, unseen: SampledUnseen, level: float, rule_error: float
    ) -> CredibleInterval:
        """Return intervals of all labels; ``rule_error`` is a further error of unseen ones."""
        features = prepare_features(X)
        out = np.empty((2, X.shape[0], is_seen.size))
        out[:, :, is_seen] = self.intervals(features, level)
        if unseen.labels.bias.shape[1]:
            error = np.nan_to_num(rule_error)
            out[:, :, ~is_seen] = self.intervals(features, level, unseen.labels, error)
        return CredibleInterval(*out)

    def _drawn_psi(self, features: Features, index: int, V: np.ndarray, b: np.ndarray) -> Any:
        """psi of new rows under a draw; rows share the noise, so that none depends on the others."""
        draw = self.samples[index]
        noise = draw.noise / np.sqrt(self.lambda_u).astype(V.dtype)
        return (linear_part(features, draw.weights) + noise) @ V.T + b

    def _seen_labels(self) -> OtherLabels:
        n, draws = len(self.samples), self.samples.draws
        factors, bias = (part.reshape(n, *part.shape[2:]) for part in (draws.factors, draws.bias))
        return OtherLabels(np.arange(n), factors, bias)

    def diagnose(self, features: Features | None = None) -> Diagnosis:
        """Return R-hat and effective sample sizes of the log posterior, or of psi at some rows.

        Give a few rows, whose psi is taken at their expected factors: all draws are held at once.
        """
        if features is None:
            return self.samples.diagnose_log_posterior()
        psi = [linear_part(features, d.weights) @ d.factors.T + d.bias for d in self.samples]
        shape = (self.samples.n_chains, self.samples.n_draws, *psi[0].shape)
        return diagnose(np.stack(psi).reshape(shape))


# -- unseen labels --------------------------------------------------------------------------------


class AnchorRows(NamedTuple):
    """Rows that a rule for unseen labels looks at: their features and their seen labels."""

    features: Features
    positives: sparse.csr_array


@dataclass(frozen=True, eq=False)
class SampledUnseen:
    """Unseen labels under some of the draws, and what labels that come later need.

    ``known`` (T x S x K + 1) are the count factors (beta, c) of seen labels, where a map needs
    them.
    """

    labels: OtherLabels
    known: np.ndarray | None
    anchors: AnchorRows

    @classmethod
    def of(
        cls,
        rule: UnseenRule,
        samples: ChainSamples,
        anchors: AnchorRows,
        cooccurrence: Cooccurrence,
        diagonal: bool,
    ) -> tuple[SampledUnseen, list[float]]:
        """Return the unseen labels under some draws, and errors of the rule for seen ones."""
        chosen = samples.spaced(_MOST_RULES)
        unseen = cooccurrence.unseen
        table = cooccurrence.dense()[:, unseen]
        known, estimates, errors = [], [], []
        for position, index in enumerate(chosen):
            drawn = _under(rule, samples[index], anchors)
            if rule.uses_map:
                known.append(_known_count_factors(drawn, cooccurrence, diagonal))
                drawn = _with_known(drawn, known[-1])
            if not unseen.size:
                estimates.append(
                    LabelFactors(np.empty((0, drawn.params.factors.shape[1])), np.empty(0))
                )
                continue
            estimate = drawn.estimate(table)
            if rule.unseen == "constrained":
                estimate = _tilted(drawn, estimate, cooccurrence)
            estimates.append(estimate)
            if position % _RULES_PER_ERROR == 0:
                errors.append(drawn.error(cooccurrence))
        stacked = np.stack(known) if known else None
        return cls(_stacked(chosen, estimates), stacked, anchors), errors

    def with_labels(
        self, rule: UnseenRule, samples: ChainSamples, table: np.ndarray
    ) -> SampledUnseen:
        """Return these with further labels under the same draws, given counts (n_seen, n_new)."""
        old, estimates = self.labels, []
        for position, index in enumerate(old.draws):
            drawn = _under(rule, samples[index], self.anchors)
            if self.known is not None:
                drawn = _with_known(drawn, self.known[position])
            estimates.append(drawn.estimate(table))
        new = _stacked(old.draws, estimates)
        labels = OtherLabels(
            old.draws,
            np.concatenate([old.factors, new.factors], axis=1),
            np.concatenate([old.bias, new.bias], axis=1),
        )
        return replace(self, labels=labels)


def _under(rule: UnseenRule, draw: MLLCSDraw, anchors: AnchorRows) -> UnseenRule:
    """The rule as if a fit had found this draw; counts have no factors yet."""
    none = np.empty((0, draw.factors.shape[1]))
    fields = {name: getattr(draw, name) for name in MLLCSDraw._fields if name != "noise"}
    fields["r"] = float(draw.r)
    params = MLLCSParams(**fields, beta=none, column_bias=np.empty(0), psi_map=none)
    factors = linear_part(anchors.features, draw.weights)
    return replace(rule, params=params, anchors=Anchors(factors, anchors.positives))


def _known_count_factors(
    rule: UnseenRule, cooccurrence: Cooccurrence, diagonal: bool
) -> np.ndarray:
    """(beta, c) of the seen labels that are most probable given the label factors."""
    seen = cooccurrence.seen
    weights = cooccurrence.observed[:, seen].astype(float)
    if not diagonal:
        np.fill_diagonal(weights, 0.0)
    values = cooccurrence.dense(missing=0.0)[:, seen]
    counts = CooccurrenceCounts(values, weights, seen, rule.offset)
    return count_factors(counts, rule.params, rule.lambda_beta)


def _with_known(rule: UnseenRule, known: np.ndarray) -> UnseenRule:
    """The rule with count factors in the places of the seen labels, zeros elsewhere."""
    every = np.zeros((int(rule.columns.max()) + 1, known.shape[1]))
    every[rule.columns] = known
    params = rule.params._replace(beta=every[:, :-1], column_bias=every[:, -1])
    return replace(rule, params=params)


def _tilted(rule: UnseenRule, start: LabelFactors, cooccurrence: Cooccurrence) -> LabelFactors:
    """Factors that fit soft labels which agree with the counts."""
    teacher = rule.teacher(cooccurrence, cooccurrence.unseen, start)
    connected = ~np.isin(cooccurrence.unseen, cooccurrence.unconnected)
    return LabelFactors(
        np.where(connected[:, None], teacher.factors, start.factors),
        np.where(connected, teacher.bias, start.bias),
    )


def _stacked(draws: np.ndarray, estimates: list[LabelFactors]) -> OtherLabels:
    factors, bias = (np.stack(parts).astype(np.float32) for parts in zip(*estimates, strict=True))
    return OtherLabels(draws, factors, bias)
