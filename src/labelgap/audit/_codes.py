"""Labels as numbers that can be regressed on: unknown entries hold the mean of their label.

What a model says of unknown entries must not take their place: it was told by the other labels of
the row, among them those it would then be used to judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, State

__all__ = ["Codes", "label_codes"]


@dataclass(frozen=True, eq=False)
class Codes:
    """One number per entry, sparse.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_labels)
        y + shift at known entries, the frequency of the label + shift at unknown ones.
    shift : array of shape (n_labels,)
        Zero where unknown entries are stored; minus the frequency where the known ones are, so
        that an entry that is not stored stands for its mean.
    frequency : array of shape (n_labels,)
        Share of ones among the known entries.
    shrinkage : array of shape (n_labels,)
        By how much a regression on these codes falls short in its differences from the mean, since
        unknown entries hold it: the share of known ones.
    """

    matrix: sparse.csr_array
    shift: np.ndarray
    frequency: np.ndarray
    shrinkage: np.ndarray

    def scores(self, codes: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """From codes and their left-out residuals to estimates of y."""
        return self.frequency + (codes - residuals - self.shift - self.frequency) / self.shrinkage


def label_codes(labels: Labels) -> Codes:
    """Codes of labels, each of which has a known entry."""
    n_known = labels.n_observed(axis=0, ambiguous=True)
    frequency = labels.n_positives(axis=0) / n_known
    entries = labels.entries.tocoo()
    relevant, unknown = entries.data == State.RELEVANT, entries.data == State.UNKNOWN
    if labels.unstated is State.UNKNOWN:
        values, shift = relevant - frequency[entries.col], -frequency
    else:
        values = np.where(unknown, frequency[entries.col], relevant.astype(float))
        shift = np.zeros_like(frequency)
    kept = values != 0
    matrix = sparse.csr_array(
        (values[kept], (entries.row[kept], entries.col[kept])), shape=labels.shape
    )
    return Codes(matrix, shift, frequency, n_known / labels.n_rows)
