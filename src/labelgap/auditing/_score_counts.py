"""Counts of entries by score.

One pass over all out-of-fold scores counts entries in narrow bins of the score. Nothing of the size
items x labels is stored; how well labels are predicted follows from these counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.isotonic import isotonic_regression

from labelgap.kernels.histograms import count_into
from labelgap.labels import Labels, State

Advance = Callable[[str, int, int | None], None]
"""Called with the stage, how much is done and of how much (None: not known)."""

ScoreBlocks = Iterable[tuple[slice, slice, np.ndarray]]
"""Rows, labels and their out-of-fold scores, until every entry was given once."""

N_BINS = 700
_DECIDED = 3
_LOWEST, _HIGHEST = -0.2, 1.2
_COUNTING = "measuring how well labels are predicted"


def silent(stage: str, done: int, total: int | None) -> None:
    """Report progress to nobody."""


def bin_centres() -> np.ndarray:
    """Return the scores in the middle of the bins."""
    return _LOWEST + (np.arange(N_BINS) + 0.5) * (_HIGHEST - _LOWEST) / N_BINS


def bins_of(scores: np.ndarray) -> np.ndarray:
    """Return the bin of each score; what lies outside is in the first or last."""
    scaled = (scores - _LOWEST) * (N_BINS / (_HIGHEST - _LOWEST))
    return np.clip(scaled, 0, N_BINS - 1).astype(np.int32)


@dataclass(eq=False)
class ScoreCounts:
    """Counts of entries by score.

    ``relevant``, ``zero`` and ``unknown`` count entries in each state, (n_labels, N_BINS) each, and
    ``decided`` unlabeled zeros that a reviewer decided. The label frequency is estimated as if nobody
    had: reviewers see the largest scores first, and without them all of those would be recorded.
    ``halves`` are zeros and relevant entries ([half, value]) of every other row, to check one half by
    the other.
    """

    relevant: np.ndarray
    zero: np.ndarray
    unknown: np.ndarray
    decided: np.ndarray
    halves: np.ndarray


def count_scores(
    blocks: ScoreBlocks,
    labels: Labels,
    advance: Advance,
    decided: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> ScoreCounts:
    """Count all entries by score.

    Where some zeros are unlabeled, those known to be irrelevant are not counted. Entries that a
    reviewer ``decided`` (rows, columns, was_zero) are apart: those that were unlabeled zeros are
    counted as decided.
    """
    reviewed = sparse.csr_array(labels.shape, dtype=np.int8)
    if decided is not None:
        reviewed = sparse.csr_array((1 + decided[2].astype(np.int8), decided[:2]), labels.shape)
    zero = State.UNLABELED if labels.unlabeled else State.NEGATIVE
    n_samples, n_labels = labels.shape
    by_label = np.zeros((4, n_labels, N_BINS), dtype=np.int32)
    halves = np.zeros((4, 1, N_BINS), dtype=np.int64)
    table_of = np.full(max(State) + 1, -1, dtype=np.int8)
    table_of[[State.RELEVANT, zero, State.UNKNOWN]] = 0, 1, 2
    n_done, n_entries = 0, n_samples * n_labels
    for rows, columns, scores in blocks:
        advance(_COUNTING, n_done, n_entries)
        n_done += scores.size
        states = labels[rows, columns].states()
        seen = reviewed[rows, columns].toarray()
        which = table_of[states]
        which[seen > 0] = -1
        which[seen == 2] = _DECIDED
        bins = bins_of(scores)
        count_into(by_label[:, columns], bins, which)
        half = np.arange(rows.start, rows.stop)[:, None] % 2
        of_half = np.where((which < 0) | (which == 2), -1, 2 * half + (which == 0))
        count_into(halves, bins.reshape(-1, 1), of_half.astype(np.int8).reshape(-1, 1))
    advance(_COUNTING, n_entries, n_entries)
    relevant, zeros, unknown, decided_zeros = by_label
    return ScoreCounts(relevant, zeros, unknown, decided_zeros, halves.reshape(2, 2, N_BINS))


def rising_fraction(n: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return the fraction of recorded entries by bin of the score, made to rise (isotonic)."""
    seen = n > 0
    rising = isotonic_regression(hits[seen] / n[seen], sample_weight=n[seen], y_min=0, y_max=1)
    return np.interp(np.arange(N_BINS), np.flatnonzero(seen), rising)
