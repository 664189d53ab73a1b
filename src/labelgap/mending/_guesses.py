"""What classifiers say of labels that are not known, for the next round of completion.

In the first round a label that nobody looked at says nothing of the others. In the next one it says
what the classifier makes of it, which learned from the labels as they were completed before. Rows
are left out of what guesses for them, so that nothing known of a row comes back as a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.mending._soft_label import SoftLabel
from labelgap.yardsticks._label_prior import observed_frequency

__all__ = ["held_out_guesses"]

# a guess nearer to the frequency of the label than this is left out
_SMALLEST_GUESS = 0.1

# learns labels from some rows, and says how likely each is in others: one column at a time
Guesser = Callable[[np.ndarray, Iterator[SoftLabel], np.ndarray], Iterator[np.ndarray]]


def held_out_guesses(
    guess: Guesser, labels: Labels, wanted: np.ndarray, soft: Sequence[SoftLabel], n_folds: int
) -> sparse.csr_array:
    """p - f at the entries of the wanted labels that are not known, f the label's frequency.

    ``guess(others, soft, rows)`` gives the chances p of each label in some rows from soft labels of
    others. Of the shape of the labels; small values are left out.
    """
    frequency = observed_frequency(labels)[wanted]
    known = [labels.column(label, ambiguous=False)[0] for label in wanted.tolist()]
    at, columns, values = [], [], []
    for fold in range(n_folds):
        rows = np.arange(fold, labels.n_rows, n_folds)
        others = np.setdiff1d(np.arange(labels.n_rows), rows, assume_unique=True)
        part = (_only(one, others) for one in soft)
        for place, chances in enumerate(guess(others, part, rows)):
            off = np.where(np.isin(rows, known[place]), 0.0, chances - frequency[place])
            far = np.abs(off) >= _SMALLEST_GUESS
            at.append(rows[far])
            columns.append(np.full(int(far.sum()), wanted[place]))
            values.append(off[far])
    where = np.concatenate(at), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), where), shape=labels.shape)


def _only(one: SoftLabel, rows: np.ndarray) -> SoftLabel:
    """The part of a label in some rows, which are numbered anew."""
    kept = np.isin(one.rows, rows)
    places = np.searchsorted(rows, one.rows[kept])
    return SoftLabel(places, one.chances[kept], one.weights[kept])
