"""The probability of every entry that is not recorded, under each account of how labels got lost.

One pass over the out-of-fold probabilities; nothing of the size items x labels is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._loss_model import LossModel, none_of_others
from labelgap.auditing._out_of_fold import OutOfFold, ScoredRows
from labelgap.auditing._score_counts import Advance
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import State
from labelgap.propensity import LabelRates, bounded_relevance, obvious_first_posterior

# How much less often hidden labels and items are recorded than obvious ones: what the most confident
# entries cannot tell. Chosen on two releases of mdi and emoji, and on what suggestions claim and how
# many are right on emotions, yeast and image with three kinds of loss.
_SLOPE, _ITEM_SLOPE = 0.2, 0.4
_STEEP = 1.0
# that something applies to every item, which the numbers of labels take for granted
_APPLIES = 0.5
# that all labels are recorded at one rate and some are hard to predict, which no table tells from rates
# of their own; chosen on generated topics, yeast, scene, bibtex, rcv1subset1 and corel5k
_ONE_RATE = 0.5
_MOST_LEVELS = 8
# of opened items without a label, as a fraction of those like them
_FEWEST_EMPTY = 0.005
_KNOTS = np.linspace(-14, 14, 281)
_SCORING = "scoring every item and label"


class MechanismSums(NamedTuple):
    """Expected numbers of missing labels: as said, with unopened items alone, obvious labels first."""

    value: float
    unopened: float
    obvious_first: float


class TopEntries(NamedTuple):
    """Entries by falling probability of being relevant, with that if obvious labels came first.

    ``unknown`` says which entries are unknown; the others are unlabeled zeros.
    """

    rows: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    obvious_first: np.ndarray
    unknown: np.ndarray


@dataclass(eq=False)
class EntryProbabilities:
    """Expected missing labels with their variance, by label and by item, and the top entries.

    ``sums`` are over the table, and ``unopened`` the probabilities that nobody opened an item.
    """

    by_label: np.ndarray
    by_item: np.ndarray
    item_variance: np.ndarray
    sums: MechanismSums
    unopened: np.ndarray
    top: TopEntries


@dataclass(eq=False)
class _TopSoFar:
    """The most probable entries so far; those surely not among them are never stored."""

    wanted: int
    least: float = -1.0
    parts: list[TopEntries] = field(default_factory=list)

    def offer(self, part: TopEntries) -> None:
        self.parts.append(part)
        if sum(part.rows.size for part in self.parts) > 4 * self.wanted:
            self._shorten()

    def result(self) -> TopEntries:
        self._shorten()
        return self.parts[0]

    def _shorten(self) -> None:
        joined = [np.concatenate(arrays) for arrays in zip(*self.parts, strict=True)]
        order = np.lexsort((joined[1], joined[0], -joined[2]))[: self.wanted]
        self.parts = [TopEntries(*(array[order] for array in joined))]
        if order.size == self.wanted:
            self.least = float(self.parts[0].probabilities[-1])


def _kept(
    least: float,
    start: int,
    said: np.ndarray,
    steep: np.ndarray,
    asked: np.ndarray,
    unknown: np.ndarray,
) -> TopEntries:
    """Return the entries of some rows that exceed the least probable of the top entries so far."""
    rows, labels = at = np.nonzero(asked & (said > least))
    other = np.maximum(steep[at], said[at])
    return TopEntries(rows + start, labels, said[at], other, unknown[at])


class Mechanisms:
    """Turns the probability of being recorded into that of being relevant though not recorded."""

    def __init__(self, loss: LossModel) -> None:
        self.loss = loss
        self._rates = loss.rates.mean()
        self._slope = _SLOPE * _room_above(self._rates)
        self._efforts, self._level = _levels(loss.effort)
        one = LabelRates(np.array([loss.common]), np.ones((1, 1)))
        self._unrecorded = np.stack(
            [
                (1 - _ONE_RATE) * loss.rates.unrecorded(expit(_KNOTS), effort)
                + _ONE_RATE * one.unrecorded(expit(_KNOTS), effort)
                for effort in self._efforts
            ]
        )
        opened = loss.opened
        obvious = np.minimum(loss.any_label / opened, 1.0)
        room = _ITEM_SLOPE * _room_above(np.array(loss.common))
        unopened = np.maximum(loss.unopened, _APPLIES * loss.by_counts)
        self.unopened = np.where(loss.empty, _or(unopened, room * obvious), 0.0)
        self.named = np.maximum(self.unopened, loss.by_counts)
        self.unopened_steeply = np.where(loss.empty, _or(loss.unopened, _STEEP * obvious), 0.0)

    def of_zeros(self, block: ScoredRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return probabilities of unlabeled zeros: as said, constant rates, obvious labels first."""
        loss, common = self.loss, self.loss.common
        hidden = bounded_relevance(np.sqrt(block.joint * block.features), self._rates)
        said = _or(self._lost(block.joint, self._level[block.rows]), self._slope * hidden)
        constant = self._lost_at(block.joint, self._level[block.rows])
        steep = obvious_first_posterior(block.joint, common, _STEEP)
        at = np.flatnonzero(loss.empty[block.rows])
        if at.size:
            alone, rows = block.features[at], at + block.rows.start
            level = self._level[rows]
            # of opened items: P(label alone) / P(no label), times how often it is lost rather than kept
            odds = alone * np.minimum(none_of_others(alone) * loss.alone, 1.0)
            odds /= np.maximum(1 - loss.any_label[rows] / loss.opened, _FEWEST_EMPTY)[:, None]
            lost = self._lost(odds / (1 + odds), level)
            relevant = bounded_relevance(alone, self._rates)
            said[at] = _of_empty(np.minimum(lost, relevant), relevant, self.unopened[rows])
            relevant, lost = bounded_relevance(alone, common), self._lost_at(alone, level)
            constant[at] = _of_empty(lost, relevant, loss.unopened[rows])
            steep[at] = _of_empty(lost, relevant, self.unopened_steeply[rows])
        return said, constant, steep

    def of_unknown(self, block: ScoredRows) -> np.ndarray:
        """Return the probabilities of entries that nobody stated."""
        return np.asarray(bounded_relevance(block.joint, self._rates))

    def _lost(self, probabilities: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return P(relevant | not recorded), between the knots of what the rates of labels say."""
        at = (log_odds(np.clip(probabilities, 1e-6, 1 - 1e-6)) - _KNOTS[0]) / (
            _KNOTS[1] - _KNOTS[0]
        )
        below = np.clip(at.astype(np.intp), 0, _KNOTS.size - 2)
        labels, part = np.arange(probabilities.shape[1]), at - below
        first = self._unrecorded[level[:, None], labels, below]
        second = self._unrecorded[level[:, None], labels, below + 1]
        return np.asarray(first + part * (second - first))

    def _lost_at(self, probabilities: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return the same with one rate for all labels."""
        common = self.loss.common
        relevant = bounded_relevance(probabilities, common)
        rate = np.minimum(common * self._efforts, 1.0)[level][:, None]
        return np.asarray(relevant * (1 - rate) / (1 - relevant * rate))


def _levels(effort: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a few efforts that stand for all, and which of them each item has."""
    efforts, at = np.unique(effort, return_inverse=True)
    if efforts.size <= _MOST_LEVELS:
        return efforts, at
    middles = np.geomspace(efforts[0], efforts[-1], _MOST_LEVELS)
    return middles, np.abs(np.log(effort)[:, None] - np.log(middles)).argmin(axis=1)


def _of_empty(lost: np.ndarray, relevant: np.ndarray, unopened: np.ndarray) -> np.ndarray:
    """Return P(relevant) on items without a label: opened or not."""
    return np.asarray(lost + unopened[:, None] * (relevant - lost))


def _or(first: np.ndarray, second: np.ndarray | float) -> np.ndarray:
    return first + (1 - first) * second


def _room_above(label_frequency: np.ndarray) -> np.ndarray:
    """Return 1 where the most confident entries are recorded always, 0 where below 80%.

    Where they are recorded more rarely, labels are not lost for being hard to see alone.
    """
    return np.clip((label_frequency - 0.8) / 0.2, 0.0, 1.0)


def entry_probabilities(
    model: OutOfFold, checked: AuditInput, loss: LossModel, n_wanted: int, advance: Advance
) -> EntryProbabilities:
    """Return what is expected to be missing, and the entries that are most probably relevant."""
    labels, mechanisms = checked.part, Mechanisms(loss)
    n_samples, n_labels = labels.shape
    by_label, by_item, variance = np.zeros(n_labels), np.zeros(n_samples), np.zeros(n_samples)
    sums, top = np.zeros(3), _TopSoFar(n_wanted)

    def score(block: ScoredRows) -> tuple:
        states = labels[block.rows].states()
        zero, unknown = states == State.UNLABELED, states == State.UNKNOWN
        said = np.zeros(zero.shape)
        constant, steep = said, said
        if zero.any():
            said, constant, steep = (
                np.where(zero, found, 0.0) for found in mechanisms.of_zeros(block)
            )
        if unknown.any():
            stated = mechanisms.of_unknown(block)
            said, constant, steep = (
                np.where(unknown, stated, found) for found in (said, constant, steep)
            )
        of_items = said.sum(axis=1), (said * (1 - said)).sum(axis=1)
        total = said.sum(), constant.sum(), steep.sum()
        first = _kept(top.least, block.rows.start, said, steep, zero | unknown, unknown)
        return block.rows, said.sum(axis=0), of_items, total, first

    for rows, of_labels, of_items, total, first in model.each_block(score):
        advance(_SCORING, rows.start, n_samples)
        by_label += of_labels
        by_item[rows], variance[rows] = of_items
        sums += total
        top.offer(first)
    advance(_SCORING, n_samples, n_samples)
    return EntryProbabilities(
        by_label, by_item, variance, MechanismSums(*sums), mechanisms.named, top.result()
    )


def probabilities_at(
    model: OutOfFold, loss: LossModel, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the probabilities of single unlabeled zeros and unknown entries."""
    mechanisms, found = Mechanisms(loss), np.zeros(rows.size)

    def at_rows(block: ScoredRows) -> tuple[np.ndarray, np.ndarray] | None:
        here = np.flatnonzero((rows >= block.rows.start) & (rows < block.rows.stop))
        if not here.size:
            return None
        at = rows[here] - block.rows.start, columns[here]
        unknown = model.labels[block.rows].states()[at] == State.UNKNOWN
        zeros, stated = mechanisms.of_zeros(block)[0][at], mechanisms.of_unknown(block)[at]
        return here, np.where(unknown, stated, zeros)

    for part in model.each_block(at_rows):
        if part is not None:
            found[part[0]] = part[1]
    return found
