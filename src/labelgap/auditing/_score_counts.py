"""Counts of entries by score, and the probabilities that follow from them.

One pass over all out-of-fold scores counts entries in narrow bins of the score and keeps the
entries with the largest ones. Nothing of the size items x labels is stored; everything that the
audit says of labels, items and the whole table follows from these counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.isotonic import isotonic_regression

from labelgap.labels import Labels, State
from labelgap.propensity import (
    FrequencyEstimate,
    calibration_shift,
    estimate_label_frequency,
    unlabeled_posterior,
)

Advance = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done and of how much (None: not known)."""

ScoreBlocks = Iterable[tuple[slice, slice, np.ndarray]]
"""Rows, labels and their out-of-fold scores, until every entry was given once."""

N_BINS = 700
_LOWEST, _HIGHEST = -0.2, 1.2
_FINE_PER_COARSE = 10
N_COARSE = N_BINS // _FINE_PER_COARSE
_SCORING = "scoring every item and label"

# nothing is certain: a bin of the largest scores holds few entries
_NEVER, _MOST_CONFIDENT = 1e-9, 0.99


def silent(stage: str, done: int, total: int | None) -> None:
    """Report progress to nobody."""


def bin_centres() -> np.ndarray:
    """Return the scores in the middle of the bins."""
    return _LOWEST + (np.arange(N_BINS) + 0.5) * (_HIGHEST - _LOWEST) / N_BINS


def bins_of(scores: np.ndarray) -> np.ndarray:
    """Return the bin of each score; what lies outside is in the first or last."""
    scaled = (scores - _LOWEST) * (N_BINS / (_HIGHEST - _LOWEST))
    return np.clip(scaled, 0, N_BINS - 1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class TopScored:
    """Entries that are not recorded as relevant, with the largest scores first."""

    rows: np.ndarray
    labels: np.ndarray
    scores: np.ndarray


_NOTHING = TopScored(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(eq=False)
class ScoreCounts:
    """Counts of entries by score.

    ``relevant``, ``zero`` and ``unknown`` count entries in each state, (n_labels, N_BINS) each, and
    ``decided`` unlabeled zeros that a reviewer decided. The label frequency is estimated as if nobody
    had: reviewers see the largest scores first, and without them all of those would be recorded.
    ``halves`` are zeros and relevant entries ([half, value]) of every other row, to check one half by
    the other; ``row_zero`` and ``row_unknown`` are (n_samples, N_COARSE).
    """

    relevant: np.ndarray
    zero: np.ndarray
    unknown: np.ndarray
    decided: np.ndarray
    halves: np.ndarray
    row_zero: np.ndarray
    row_unknown: np.ndarray
    best_zero: TopScored
    best_unknown: TopScored


@dataclass(eq=False)
class _TopScoredSoFar:
    """The largest scores seen so far; those surely not among them are never stored."""

    wanted: int
    least: float = -np.inf
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def offer(self, corner: tuple[int, int], scores: np.ndarray, eligible: np.ndarray) -> None:
        rows, labels = np.nonzero(eligible & (scores > self.least))
        self.parts.append((rows + corner[0], labels + corner[1], scores[rows, labels]))
        if sum(part[0].size for part in self.parts) > 4 * self.wanted:
            self._shorten()

    def result(self) -> TopScored:
        if not self.parts:
            return _NOTHING
        self._shorten()
        return TopScored(*self.parts[0])

    def _shorten(self) -> None:
        rows, labels, scores = (np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))
        order = np.lexsort((labels, rows, -scores))[: self.wanted]
        self.parts = [(rows[order], labels[order], scores[order])]
        if order.size == self.wanted:
            self.least = float(scores[order[-1]])


def count_scores(
    blocks: ScoreBlocks,
    labels: Labels,
    n_wanted: int,
    advance: Advance,
    decided: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> ScoreCounts:
    """Count all entries by score.

    ``n_wanted`` zeros and unknown entries with the largest scores are kept. Where some zeros are
    unlabeled, those known to be irrelevant are not counted. Entries that a reviewer ``decided``
    (rows, columns, was_zero) are apart: those that were unlabeled zeros are counted as decided, and
    none of them is suggested again.
    """
    reviewed = sparse.csr_array(labels.shape, dtype=np.int8)
    if decided is not None:
        reviewed = sparse.csr_array((1 + decided[2].astype(np.int8), decided[:2]), labels.shape)
    zero = State.UNLABELED if labels.unlabeled else State.NEGATIVE
    n_samples, n_labels = labels.shape
    by_label = np.zeros((4, n_labels * N_BINS), dtype=np.int64)
    by_row = np.zeros((2, n_samples, N_COARSE), dtype=np.int32)
    halves = np.zeros((2, 2, N_BINS), dtype=np.int64)
    best = (_TopScoredSoFar(n_wanted), _TopScoredSoFar(n_wanted))
    n_done, n_entries = 0, n_samples * n_labels
    for rows, columns, scores in blocks:
        advance(_SCORING, n_done, n_entries)
        n_done += scores.size
        states = labels[rows, columns].states()
        seen = reviewed[rows, columns].toarray()
        states[seen > 0] = 0
        is_state = (states == State.RELEVANT, states == zero, states == State.UNKNOWN, seen == 2)
        bins = bins_of(scores)
        places = bins + np.arange(columns.start, columns.stop, dtype=np.int64) * N_BINS
        for k, here in enumerate(is_state):
            if here.any():
                by_label[k] += np.bincount(places[here], minlength=by_label.shape[1])
        for k, here in enumerate(is_state[1:3]):
            if here.any():
                by_row[k, rows] += _per_row(bins // _FINE_PER_COARSE, here)
                best[k].offer((rows.start, columns.start), scores, here)
        _add_halves(halves, rows.start, bins, is_state)
    advance(_SCORING, n_entries, n_entries)
    relevant, zeros, unknown, decided_zeros = by_label.reshape(4, n_labels, N_BINS)
    top = [entries.result() for entries in best]
    return ScoreCounts(relevant, zeros, unknown, decided_zeros, halves, *by_row, *top)


def _per_row(coarse: np.ndarray, here: np.ndarray) -> np.ndarray:
    n = coarse.shape[0]
    places = coarse + (np.arange(n, dtype=np.int32) * N_COARSE)[:, None]
    return np.bincount(places[here], minlength=n * N_COARSE).reshape(n, N_COARSE)


def _add_halves(halves: np.ndarray, start: int, bins: np.ndarray, is_state: tuple) -> None:
    for half in (0, 1):
        own = slice((half - start) % 2, None, 2)
        for value, here in ((1, is_state[0]), (0, is_state[1] | is_state[3])):
            halves[half, value] += np.bincount(bins[own][here[own]], minlength=N_BINS)


@dataclass(frozen=True, eq=False)
class ScoreProbabilities:
    """Probabilities by bin of the score, arrays of shape (N_BINS,).

    ``if_known`` is that of a known entry to be recorded as relevant; ``if_zero`` and
    ``if_unknown`` are those of a zero and of an unknown entry to be relevant.
    """

    if_known: np.ndarray
    if_zero: np.ndarray
    if_unknown: np.ndarray

    def of_zeros(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, bin_centres(), self.if_zero)

    def of_unknown(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, bin_centres(), self.if_unknown)


def rising_fraction(n: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return the fraction of recorded entries by bin of the score, made to rise (isotonic)."""
    seen = n > 0
    rising = isotonic_regression(hits[seen] / n[seen], sample_weight=n[seen], y_min=0, y_max=1)
    return np.interp(np.arange(N_BINS), np.flatnonzero(seen), rising)


def probabilities_of(counts: ScoreCounts, label_frequency: float | None) -> ScoreProbabilities:
    """Return the probabilities of all entries, given the label frequency; None: zeros are negative.

    With g the probability to be recorded, c the label frequency and g / c that of relevance,
    P(relevant | zero) = (1 - c) (g / c) / (1 - g); the log-odds of g / c are shifted until
    (1 - c) / c unrecorded relevant entries are expected for each recorded one.
    """
    hits, zeros = counts.relevant.sum(axis=0), (counts.zero + counts.decided).sum(axis=0)
    g = rising_fraction(hits + zeros, hits)
    if label_frequency is None:
        return ScoreProbabilities(g, np.zeros(N_BINS), np.minimum(g, _MOST_CONFIDENT))
    c = min(label_frequency, 1 - 1e-6)
    log_odds = logit(np.clip(g / c, _NEVER, _MOST_CONFIDENT))
    wanted = min((1 - c) / c * hits.sum(), 0.999 * zeros.sum())
    shift = calibration_shift(log_odds, wanted, counts=zeros, label_frequency=c)
    log_odds = np.minimum(log_odds + shift, logit(_MOST_CONFIDENT))
    if_zero = unlabeled_posterior(log_odds, c)
    return ScoreProbabilities(g, if_zero, np.minimum(g / c, _MOST_CONFIDENT))


def frequency_of(counts: ScoreCounts) -> FrequencyEstimate:
    """Return the label frequency over all labels."""
    n = counts.relevant + counts.zero + counts.decided
    hits = counts.relevant
    return estimate_label_frequency(bin_centres(), n.sum(axis=0), hits.sum(axis=0), (n, hits))


def coarse_means(probabilities: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of p and of p (1 - p) over the entries of each coarse bin."""
    p, weight = probabilities.reshape(N_COARSE, -1), n.reshape(N_COARSE, -1) + 1e-9
    total = weight.sum(axis=1)
    return (p * weight).sum(axis=1) / total, (p * (1 - p) * weight).sum(axis=1) / total


def expected_missing(counts: ScoreCounts, probabilities: ScoreProbabilities) -> np.ndarray:
    """Return the expected number of relevant entries that are not recorded, by label."""
    return counts.zero @ probabilities.if_zero + counts.unknown @ probabilities.if_unknown
