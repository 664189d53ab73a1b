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
from scipy.special import expit, logit

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._out_of_fold import OutOfFold, ScoredRows, helped_by_labels
from labelgap.auditing._score_counts import Advance
from labelgap.kernels.histograms import count_into
from labelgap.kernels.probabilities import bounded_log_odds
from labelgap.labels import State
from labelgap.propensity import (
    FrequencyEstimate,
    LabelRates,
    TopScoredFraction,
    bounded_relevance,
    carrying_probability,
    estimate_label_frequency,
    estimate_label_rates,
    find_unopened,
    top_scored_fraction_of_bins,
)

_EDGES = np.linspace(logit(1e-4), logit(1 - 1e-3), 400)
_N_BINS = _EDGES.size + 1
_CENTRES = np.append(_EDGES, 2 * _EDGES[-1] - _EDGES[-2])
_FEWEST, _FEWEST_EMPTY = 50, 20
_UNOPENED, _WORTH_A_FIT = 0.5, 0.02
_N_PARTS = 5
_COUNTING = "estimating how labels were lost"


@dataclass(frozen=True, eq=False)
class ProbabilityCounts:
    """Entries and recorded ones by label and probability: all, and those helped by other labels.

    ``n_empty`` are the entries of items without a label.
    """

    n: np.ndarray
    hits: np.ndarray
    n_helped: np.ndarray
    hits_helped: np.ndarray
    n_empty: np.ndarray

    def ceiling(self) -> TopScoredFraction:
        """The label frequency of all labels together, from the features alone."""
        found = _top(self.n.sum(axis=0), self.hits.sum(axis=0), _FEWEST)
        return found or TopScoredFraction(1.0, 0.0, 1.0, 0)

    def one_rate(self) -> FrequencyEstimate:
        """The same with the interval of curves fitted to all probabilities, up to 1 where unclear."""
        scores = expit(_CENTRES)
        return estimate_label_frequency(scores, self.n.sum(axis=0), self.hits.sum(axis=0))

    def rates(self) -> LabelRates:
        """The label frequency of each label."""
        kinds = [(self.n, self.hits), (self.n_helped, self.hits_helped)]
        return estimate_label_rates(kinds, self.ceiling())

    def left_to_empty(self, rates: LabelRates) -> float:
        """Return which part of the way from independent losses to relevance items without a label are.

        So many labels are missing as the rates say. What items with labels do not account for is
        missing on those without: where each item has one label, it lost that one.
        """
        g = expit(_CENTRES)
        lost = rates.unrecorded(g)
        relevant = bounded_relevance(g[None, :], rates.mean()[:, None])
        ones = self.hits.sum(axis=1)
        missing = float(ones @ rates.missing_per_positive())
        least, most = (float(ones @ (1 / rates.quantile(q) - 1)) for q in (0.7, 0.3))
        error = (most - least) / 2
        helped = float(((self.n_helped - self.hits_helped) * lost).sum())
        least, most = (float((self.n_empty * part).sum()) for part in (lost, relevant))
        room = max(most - least, 1e-9)
        part = (missing - helped - least) / room * room**2 / (room**2 + error**2)
        return float(np.clip(part, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class LossModel:
    """What is estimated of the ways in which labels got lost.

    A fraction ``opened`` of the items was opened; ``unopened`` is the probability of each item that
    it was not, 0 where it carries a label, ``by_counts`` the same if something applies to every item,
    and ``any_label`` how probably such features come with a recorded label. ``common`` is the label
    frequency on opened items, and ``rates`` those of the labels; ``left_to_empty`` is how far opened
    items without a label are from having lost their labels independently. ``overall`` is the label
    frequency of all items with its interval, and ``one_rate`` the same by curves over all
    probabilities. ``effort`` multiplies label frequencies on each item.
    """

    opened: float
    unopened: np.ndarray
    by_counts: np.ndarray
    any_label: np.ndarray
    empty: np.ndarray
    common: float
    rates: LabelRates
    left_to_empty: float
    overall: TopScoredFraction
    one_rate: FrequencyEstimate
    effort: np.ndarray

    @property
    def learned(self) -> np.ndarray:
        """The items that models should learn from."""
        return self.unopened < _UNOPENED


def estimate_loss(model: OutOfFold, checked: AuditInput, advance: Advance) -> LossModel:
    """Estimate how labels got lost; the model is fitted again without items that nobody opened."""
    labels = checked.part
    counts, rows = _count(model, checked, advance)
    overall = counts.ceiling()
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
    effort = checked.history.efforts(labels.n_positives(axis=1), np.exp(rows[:, 2]))
    most = 1 / float(effort.max())  # nobody records more than all relevant labels
    rates = counts.rates().at_most(most)
    return replace(
        found,
        common=float(np.clip(counts.ceiling().middle, 0.02, min(0.995, most))),
        rates=rates,
        left_to_empty=counts.left_to_empty(rates),
        effort=effort,
    )


def _complete_loss(
    counts: ProbabilityCounts, overall: TopScoredFraction, empty: np.ndarray
) -> LossModel:
    """What holds where no label was lost."""
    nobody, rates = np.zeros(empty.size), LabelRates(np.ones(1), np.ones((len(counts.n), 1)))
    rate = counts.one_rate()
    return LossModel(
        1.0, nobody, nobody, nobody + 1, empty, 1.0, rates, 0.0, overall, rate, nobody + 1
    )


def _with_unopened(found: LossModel, rows: np.ndarray, carried: np.ndarray) -> LossModel:
    """Add the items that nobody opened, by what models say of their rows."""
    folds = np.random.default_rng(0).permutation(carried.size) % _N_PARTS
    any_label = carrying_probability(rows, carried > 0, folds)
    items = find_unopened(any_label, carried, rows, label_frequency=found.overall)
    unopened, by_counts = (np.where(found.empty, part, 0.0) for part in items[1:])
    return replace(
        found, opened=items.opened, unopened=unopened, by_counts=by_counts, any_label=any_label
    )


def _top(n: np.ndarray, hits: np.ndarray, fewest: int) -> TopScoredFraction | None:
    seen = n > 0
    n, hits = n[seen][::-1].astype(np.int64), hits[seen][::-1].astype(np.int64)
    return top_scored_fraction_of_bins(n, hits, fewest=fewest)


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
    # by scores from features alone: zeros, recorded ones, zeros of rows without any; by joint scores
    tables = np.zeros((5, n_labels, _N_BINS), dtype=np.int32)
    of_rows, lock = np.zeros((n_samples, 3)), Lock()

    def count(block: ScoredRows) -> tuple[slice, np.ndarray]:
        part = labels[block.rows]
        states = part.states()
        recorded = states == State.RELEVANT
        here = (decided[0] >= block.rows.start) & (decided[0] < block.rows.stop)
        recorded[decided[0][here] - block.rows.start, decided[1][here]] = False
        known = (states != State.UNKNOWN) & counted[block.rows][:, None]
        helped = known & helped_by_labels(labels, part)
        nothing = np.where(recorded.any(axis=1, keepdims=True), np.int8(0), np.int8(2))
        for scores, kept, zero, own in (
            (block.features, known, nothing, tables[:3]),
            (block.joint, helped, np.int8(0), tables[3:]),
        ):
            steps = (bounded_log_odds(scores, 1e-6) - _EDGES[0]) / (_EDGES[1] - _EDGES[0])
            bins = np.clip(np.ceil(steps), 0, _EDGES.size).astype(np.int32)
            which = np.where(kept, np.where(recorded, np.int8(1), zero), np.int8(-1))
            with lock:
                count_into(own, bins, which)
        return block.rows, _row_features(block)

    for rows, found in model.each_block(count):
        advance(_COUNTING, rows.start, n_samples)
        of_rows[rows] = found
    advance(_COUNTING, n_samples, n_samples)
    zeros, hits, nothing, zeros_helped, hits_helped = tables
    n, n_helped = zeros + hits + nothing, zeros_helped + hits_helped
    return ProbabilityCounts(n, hits, n_helped, hits_helped, nothing), of_rows


def _row_features(block: ScoredRows) -> np.ndarray:
    """Return log-odds of any label if labels were independent, of the most probable, and the log sum."""
    g = np.clip(block.features, 0, 0.999)
    total = -np.log1p(-g).sum(axis=1)
    odds = np.log(np.expm1(np.clip(total, 1e-3, 50)))
    return np.column_stack(
        [odds, logit(np.clip(g.max(axis=1), 1e-3, 0.999)), np.log(g.sum(axis=1) + 1e-3)]
    )
