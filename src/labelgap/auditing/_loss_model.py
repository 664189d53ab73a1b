"""How the labels of a table got lost: items that nobody opened, and a rate for each label.

Counts of recorded entries by their out-of-fold probability give the label frequencies: no set of
entries is recorded more often than relevant labels are, so the fraction of recorded ones among the
top-scored entries is where the probabilities stop rising
(:func:`labelgap.propensity.top_scored_fraction`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from scipy.special import logit

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._out_of_fold import OutOfFold, ScoredRows, helped_by_labels
from labelgap.auditing._score_counts import Advance
from labelgap.kernels.histograms import count_into
from labelgap.kernels.probabilities import bounded_log_odds
from labelgap.labels import State
from labelgap.propensity import (
    LabelRates,
    TopScoredFraction,
    as_far_as_told,
    carrying_probability,
    estimate_label_rates,
    find_unopened,
    highest_label_frequency,
    top_scored_fraction_of_bins,
    unopened_probability,
)

_EDGES = np.linspace(logit(1e-4), logit(1 - 1e-3), 400)
_N_BINS = _EDGES.size + 1
_CENTRES = np.append(_EDGES, 2 * _EDGES[-1] - _EDGES[-2])
_FEWEST, _FEWEST_EMPTY = 50, 20
_UNOPENED, _WORTH_A_FIT = 0.5, 0.02
_N_PARTS = 5
_PRIOR_ALONE, _LEAST_RATE = 5.0, 0.02
_COUNTING = "estimating how labels were lost"


@dataclass(frozen=True, eq=False)
class ProbabilityCounts:
    """Entries and recorded ones by label and probability: all, and those helped by other labels.

    ``alone`` is how often a label is the only one of its item, over what independent labels would be.
    """

    n: np.ndarray
    hits: np.ndarray
    n_helped: np.ndarray
    hits_helped: np.ndarray
    alone: np.ndarray

    def overall(self) -> TopScoredFraction:
        """The label frequency of all items, opened or not, from the features alone."""
        return _top(self.n, self.hits) or TopScoredFraction(1.0, 0.0, 1.0, 0)

    def ceiling(self) -> TopScoredFraction:
        """The label frequency of items that were opened: the larger of those of both scores.

        What other labels make certain is recorded as often as any relevant label.
        """
        helped = _top(self.n_helped, self.hits_helped)
        return max(self.overall(), helped or self.overall(), key=lambda top: top.low)

    def highest(self) -> float:
        """The largest label frequency of all labels together that the counts do not exclude."""
        return highest_label_frequency(self.n.sum(axis=0), self.hits.sum(axis=0))

    def rates(self) -> LabelRates:
        """The label frequency of each label."""
        kinds = [(self.n, self.hits), (self.n_helped, self.hits_helped)]
        return estimate_label_rates(kinds, self.ceiling())


@dataclass(frozen=True, eq=False)
class LossModel:
    """What is estimated of the ways in which labels got lost.

    A fraction ``opened`` of the items was opened; ``unopened`` is the probability of each item that
    it was not, 0 where it carries a label, ``by_counts`` the same if something applies to every item,
    and ``any_label`` how probably such features come with a recorded label. ``common`` is the label
    frequency on opened items, and ``rates`` those of the labels; ``alone`` is how often each label is
    the only one of its item, over what independent labels would be. ``overall`` is the label frequency
    of all items with its interval, and ``highest`` the largest that curves over all probabilities
    allow. ``effort`` multiplies label frequencies on each item.
    """

    opened: float
    unopened: np.ndarray
    by_counts: np.ndarray
    any_label: np.ndarray
    empty: np.ndarray
    common: float
    rates: LabelRates
    alone: np.ndarray
    overall: TopScoredFraction
    highest: float
    effort: np.ndarray

    @property
    def learned(self) -> np.ndarray:
        """The items that models should learn from."""
        return self.unopened < _UNOPENED


def estimate_loss(model: OutOfFold, checked: AuditInput, advance: Advance) -> LossModel:
    """Estimate how labels got lost; the model is fitted again without items that nobody opened."""
    labels = checked.part
    counts, rows = _count(model, checked, advance)
    overall = counts.overall()
    carried = checked.labels.n_positives(axis=1)
    empty = (carried == 0) & checked.stated
    found = _complete_loss(counts, overall, empty)
    if not labels.unlabeled:
        return found
    if empty.sum() >= _FEWEST_EMPTY and not empty.all():
        found = _with_unopened(found, rows, carried)
        if (~found.learned).mean() >= _WORTH_A_FIT:
            model.fit(found.learned)
            counts, _ = _count(model, checked, advance)
            found = _as_overall(found, counts.ceiling())
    effort = checked.history.efforts(labels.n_positives(axis=1), np.exp(rows[:, 2]))
    most = 1 / float(effort.max())  # nobody records more than all relevant labels
    rates = counts.rates().at_most(most)
    return replace(
        found,
        common=float(np.clip(counts.ceiling().middle, _LEAST_RATE, min(0.995, most))),
        rates=rates,
        alone=counts.alone,
        effort=effort,
    )


def _as_overall(found: LossModel, ceiling: TopScoredFraction) -> LossModel:
    """Return at most so many opened items as the label frequencies on these and on all leave."""
    opened = min(found.opened, found.overall.middle / max(ceiling.middle, _LEAST_RATE))
    unopened = np.where(found.empty, unopened_probability(found.any_label, opened), 0.0)
    return replace(found, opened=opened, unopened=np.maximum(unopened, found.unopened))


def _complete_loss(
    counts: ProbabilityCounts, overall: TopScoredFraction, empty: np.ndarray
) -> LossModel:
    """What holds where no label was lost."""
    nobody, rates = np.zeros(empty.size), LabelRates(np.ones(1), np.ones((len(counts.n), 1)))
    any_label = np.full(empty.size, (~empty).mean())
    return LossModel(
        1.0,
        nobody,
        nobody,
        any_label,
        empty,
        1.0,
        rates,
        counts.alone,
        overall,
        counts.highest(),
        nobody + 1,
    )


def _with_unopened(found: LossModel, rows: np.ndarray, carried: np.ndarray) -> LossModel:
    """Add the items that nobody opened, by what models say of their rows."""
    folds = np.random.default_rng(0).permutation(carried.size) % _N_PARTS
    any_label = as_far_as_told(carrying_probability(rows, carried > 0, folds), carried > 0)
    items = find_unopened(any_label, carried, rows, label_frequency=found.overall)
    unopened, by_counts = (np.where(found.empty, part, 0.0) for part in items[1:])
    return replace(
        found, opened=items.opened, unopened=unopened, by_counts=by_counts, any_label=any_label
    )


def _top(n: np.ndarray, hits: np.ndarray) -> TopScoredFraction | None:
    n, hits = n.sum(axis=0), hits.sum(axis=0)
    seen = n > 0
    n, hits = n[seen][::-1].astype(np.int64), hits[seen][::-1].astype(np.int64)
    return top_scored_fraction_of_bins(n, hits, fewest=_FEWEST)


def _count(
    model: OutOfFold, checked: AuditInput, advance: Advance
) -> tuple[ProbabilityCounts, np.ndarray]:
    """Return counts over the rows the model learned from, and what the features say of each row.

    Entries that reviewers decided count as they were before: they saw the top-scored ones first. Items
    that are marked as complete do not show how labels are lost on the others.
    """
    labels, decided, done = checked.part, checked.decided_part, checked.history.complete
    counted = model.opened if done is None else model.opened & ~done
    n_labels, n_samples = labels.n_labels, labels.n_samples
    # zeros and recorded ones by scores from features alone, and by joint scores
    tables = np.zeros((4, n_labels, _N_BINS), dtype=np.int32)
    of_rows, lock, alone = np.zeros((n_samples, 3)), Lock(), np.zeros((2, n_labels))

    def count(block: ScoredRows) -> tuple[slice, np.ndarray]:
        part = labels[block.rows]
        states = part.states()
        recorded = states == State.RELEVANT
        here = (decided[0] >= block.rows.start) & (decided[0] < block.rows.stop)
        recorded[decided[0][here] - block.rows.start, decided[1][here]] = False
        known = (states != State.UNKNOWN) & counted[block.rows][:, None]
        helped = known & helped_by_labels(labels, part)
        of_one = recorded & (recorded.sum(axis=1, keepdims=True) == 1)
        expected = np.where(recorded, none_of_others(block.features), 0.0)
        with lock:
            alone[:] += of_one.sum(axis=0), expected.sum(axis=0)
        for scores, kept, own in (
            (block.features, known, tables[:2]),
            (block.joint, helped, tables[2:]),
        ):
            steps = (bounded_log_odds(scores, 1e-6) - _EDGES[0]) / (_EDGES[1] - _EDGES[0])
            bins = np.clip(np.ceil(steps), 0, _EDGES.size).astype(np.int32)
            which = np.where(kept, np.where(recorded, np.int8(1), np.int8(0)), np.int8(-1))
            with lock:
                count_into(own, bins, which)
        return block.rows, _row_features(block)

    for rows, found in model.each_block(count):
        advance(_COUNTING, rows.start, n_samples)
        of_rows[rows] = found
    advance(_COUNTING, n_samples, n_samples)
    zeros, hits, zeros_helped, hits_helped = tables
    n, n_helped = zeros + hits, zeros_helped + hits_helped
    found = (alone[0] + _PRIOR_ALONE) / (alone[1] + _PRIOR_ALONE)
    return ProbabilityCounts(n, hits, n_helped, hits_helped, found), of_rows


def none_of_others(probabilities: np.ndarray) -> np.ndarray:
    """Return the probability that no other label of the row is recorded, if labels are independent."""
    own = np.log1p(-np.clip(probabilities, 0, 0.999))
    return np.asarray(np.exp(own.sum(axis=1, keepdims=True) - own))


def _row_features(block: ScoredRows) -> np.ndarray:
    """Return log-odds of any label if labels were independent, of the most probable, and the log sum."""
    g = np.clip(block.features, 0, 0.999)
    total = -np.log1p(-g).sum(axis=1)
    odds = np.log(np.expm1(np.clip(total, 1e-3, 50)))
    return np.column_stack(
        [odds, logit(np.clip(g.max(axis=1), 1e-3, 0.999)), np.log(g.sum(axis=1) + 1e-3)]
    )
