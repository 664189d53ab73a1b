"""How the labels of a table got lost: items that nobody opened, and a rate for each label.

Counts of recorded entries by their out-of-fold probability give the label frequencies: no set of
entries is recorded more often than relevant labels are, so the fraction of recorded ones among the
top-scored entries is where the probabilities stop rising
(:func:`labelgap.propensity.top_scored_fraction`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._out_of_fold import OutOfFold, ScoredRows, helped_by_labels
from labelgap.auditing._score_counts import Advance
from labelgap.labels import Labels, State
from labelgap.propensity import (
    FrequencyEstimate,
    TopScoredFraction,
    estimate_label_frequency,
    label_frequencies,
    opened_label_frequency,
    opened_without_labels,
    top_scored_fraction,
    top_scored_fraction_of_bins,
    unopened_probability,
)

_EDGES = np.linspace(logit(1e-4), logit(1 - 1e-3), 400)
_N_BINS = _EDGES.size + 1
_FEWEST, _FEWEST_OF_LABEL, _FEWEST_EMPTY = 50, 30, 20
_COMPLETE, _ALL_OPENED, _UNOPENED, _WORTH_A_FIT = 0.98, 0.99, 0.5, 0.02
_N_PARTS = 5
_COUNTING = "estimating how labels were lost"


@dataclass(frozen=True, eq=False)
class ProbabilityCounts:
    """Entries and recorded ones by label and probability: all, and those helped by other labels."""

    n: np.ndarray
    hits: np.ndarray
    n_helped: np.ndarray
    hits_helped: np.ndarray

    def ceiling(self) -> TopScoredFraction:
        """The label frequency of all labels together, from the features alone."""
        found = _top(self.n.sum(axis=0), self.hits.sum(axis=0), _FEWEST)
        return found or TopScoredFraction(1.0, 0.0, 1.0, 0)

    def one_rate(self) -> FrequencyEstimate:
        """The same with the interval of curves fitted to all probabilities, up to 1 where unclear."""
        scores = expit(np.append(_EDGES, 2 * _EDGES[-1] - _EDGES[-2]))
        return estimate_label_frequency(scores, self.n.sum(axis=0), self.hits.sum(axis=0))

    def ceilings_of_labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return fraction, lower end of its interval and number of entries, of the better scores."""
        best = np.zeros((3, self.n.shape[0]))
        for n, hits in ((self.n, self.hits), (self.n_helped, self.hits_helped)):
            for label in range(n.shape[0]):
                top = _top(n[label], hits[label], _FEWEST_OF_LABEL)
                if top is not None and top.value > best[0, label]:
                    best[:, label] = top.value, top.low, top.n
        return best[0], best[1], best[2]


@dataclass(frozen=True, eq=False)
class LossModel:
    """What is estimated of the ways in which labels got lost.

    A fraction ``opened`` of the items was opened; ``unopened`` is the probability of each item that
    it was not, 0 where it carries a label, and ``any_label`` how probably such features come with
    a recorded label. ``common`` is the label frequency on opened items, and ``of_labels`` that of
    each label; ``overall`` is that of all items with its interval, and ``one_rate`` the same by curves
    over all probabilities. ``raw_of_labels`` and ``low_of_labels`` are not drawn to the common one.
    """

    opened: float
    unopened: np.ndarray
    any_label: np.ndarray
    empty: np.ndarray
    common: float
    of_labels: np.ndarray
    raw_of_labels: np.ndarray
    low_of_labels: np.ndarray
    overall: TopScoredFraction
    one_rate: FrequencyEstimate

    @property
    def learned(self) -> np.ndarray:
        """The items that models should learn from."""
        return self.unopened < _UNOPENED


def estimate_loss(model: OutOfFold, checked: AuditInput, advance: Advance) -> LossModel:
    """Estimate how labels got lost; the model is fitted again without items that nobody opened."""
    labels = checked.part
    counts, rows = _count(model, labels, checked.decided_part, advance)
    overall = counts.ceiling()
    carried = checked.labels.n_positives(axis=1)
    empty = (carried == 0) & ~checked.complete & _without_unknown(labels)
    found = _complete_loss(counts, overall, empty)
    if not labels.unlabeled:
        return found
    if empty.sum() >= _FEWEST_EMPTY and not empty.all():
        found = _with_unopened(found, rows, carried)
        if (~found.learned).mean() >= _WORTH_A_FIT:
            model.fit(found.learned)
            counts, _ = _count(model, labels, checked.decided_part, advance)
    return _with_frequencies(found, counts, labels)


def _complete_loss(
    counts: ProbabilityCounts, overall: TopScoredFraction, empty: np.ndarray
) -> LossModel:
    """What holds where no label was lost."""
    nobody, ones = np.zeros(empty.size), np.ones(counts.n.shape[0])
    rate = counts.one_rate()
    return LossModel(1.0, nobody, nobody + 1, empty, 1.0, ones, ones, ones, overall, rate)


def _with_unopened(found: LossModel, rows: np.ndarray, carried: np.ndarray) -> LossModel:
    """Add the items that nobody opened.

    Items without a label are more than the labels of opened items explain, where the probability of
    carrying any label stops rising below 1 (``ceiling``) and labels of items that carry some are
    recorded more often than those of all items (``ratio``); or where items that carry one label are
    too few beside those with two.
    """
    overall = _middle(found.overall)
    any_label = _any_label(rows, carried > 0)
    top = top_scored_fraction(any_label, carried > 0, fewest=_FEWEST)
    ceiling = 1.0 if top is None else _middle(top)
    ratio = min(1.0, overall / ceiling)
    per_item = carried[carried > 0].mean() / ratio
    opened = min(1.0, overall / opened_label_frequency(ratio, per_item))
    if ratio >= _COMPLETE:
        opened = min(opened, ceiling)
    # near 1 the estimate is less sure than what follows from it: perhaps all were opened
    most = 1.0 if top is None or opened * top.high / ceiling > _ALL_OPENED else opened
    opened, most = (
        min(opened, _opened_by_counts(carried)),
        min(most, _opened_by_counts(carried, 2.0)),
    )
    probability = np.mean([unopened_probability(any_label, o) for o in (opened, most)], axis=0)
    unopened = np.where(found.empty, probability, 0.0)
    return replace(found, opened=opened, unopened=unopened, any_label=any_label)


def _opened_by_counts(carried: np.ndarray, z: float = 0.0) -> float:
    """Return the fraction of opened items that the numbers of labels per item allow."""
    return min(1.0, float((carried > 0).sum() + opened_without_labels(carried, z)) / carried.size)


def _with_frequencies(found: LossModel, counts: ProbabilityCounts, labels: Labels) -> LossModel:
    fractions, low, n = counts.ceilings_of_labels()
    common = float(np.clip(_middle(counts.ceiling()), 0.02, 0.995))
    positives = labels.n_positives(axis=0)
    drawn = label_frequencies(fractions, n, positives, common)
    raw = label_frequencies(fractions, n, np.full(n.size, 1e12), common)
    return replace(
        found, common=common, of_labels=drawn, raw_of_labels=raw, low_of_labels=np.minimum(low, raw)
    )


def _middle(top: TopScoredFraction) -> float:
    """The set was picked for its large fraction: the truth lies between that and its lower end."""
    return (top.value + top.low) / 2


def _top(n: np.ndarray, hits: np.ndarray, fewest: int) -> TopScoredFraction | None:
    seen = n > 0
    return top_scored_fraction_of_bins(n[seen][::-1], hits[seen][::-1], fewest=fewest)


def _without_unknown(labels: Labels) -> np.ndarray:
    return np.asarray(labels.n_observed(axis=1, unlabeled=True) == labels.n_labels)


def _count(
    model: OutOfFold,
    labels: Labels,
    decided: tuple[np.ndarray, np.ndarray, np.ndarray],
    advance: Advance,
) -> tuple[ProbabilityCounts, np.ndarray]:
    """Return counts over the rows the model learned from, and what the features say of each row.

    Entries that reviewers decided count as they were before: they saw the top-scored ones first.
    """
    n_labels, n_samples = labels.n_labels, labels.n_samples
    tables = np.zeros((4, n_labels * _N_BINS), dtype=np.int64)
    of_rows = np.zeros((n_samples, 3))
    for block in model.blocks():
        advance(_COUNTING, block.rows.start, n_samples)
        part = labels[block.rows]
        states = part.states()
        recorded = states == State.RELEVANT
        here = (decided[0] >= block.rows.start) & (decided[0] < block.rows.stop)
        recorded[decided[0][here] - block.rows.start, decided[1][here]] = False
        known = (states != State.UNKNOWN) & model.opened[block.rows][:, None]
        helped = known & helped_by_labels(labels, part)
        for k, (scores, kept) in enumerate(((block.features, known), (block.joint, helped))):
            places = np.searchsorted(_EDGES, logit(np.clip(scores, 1e-6, 1 - 1e-6)))
            places = places + np.arange(n_labels) * _N_BINS
            for j, chosen in enumerate((kept, kept & recorded)):
                tables[2 * k + j] += np.bincount(places[chosen], minlength=tables.shape[1])
        of_rows[block.rows] = _row_features(block)
    advance(_COUNTING, n_samples, n_samples)
    return ProbabilityCounts(*tables.reshape(4, n_labels, _N_BINS)), of_rows


def _row_features(block: ScoredRows) -> np.ndarray:
    """Return log-odds of any label if labels were independent, of the most probable, and the log sum."""
    g = np.clip(block.features, 0, 0.999)
    total = -np.log1p(-g).sum(axis=1)
    odds = np.log(np.expm1(np.clip(total, 1e-3, 50)))
    return np.column_stack(
        [odds, logit(np.clip(g.max(axis=1), 1e-3, 0.999)), np.log(g.sum(axis=1) + 1e-3)]
    )


def _any_label(rows: np.ndarray, carries: np.ndarray) -> np.ndarray:
    """Return the probability that a row carries a label, by models that did not learn from it."""
    part = np.random.default_rng(0).permutation(carries.size) % _N_PARTS
    found = np.full(carries.size, carries.mean())
    for k in range(_N_PARTS):
        learned = carries[part != k]
        if learned.any() and not learned.all():
            model = LogisticRegression().fit(rows[part != k], learned)
            found[part == k] = expit(model.decision_function(rows[part == k]))
    return found
