"""How often seen labels occur, and how often an unseen one occurs with them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelgap.cooccurrence._cooccurrence import Cooccurrence


def occurrences(cooccurrence: Cooccurrence) -> np.ndarray:
    """Return the number of items that carry each seen label, ``n_s``, of shape (n_seen,).

    The diagonal; but where that is missing, or smaller than another count of its row, the largest
    count of the row: the label occurs at least as often as it does together with another one.

    Examples
    --------
    >>> from labelgap.cooccurrence import as_cooccurrence, occurrences
    >>> occurrences(as_cooccurrence([[9, 1, 3], [1, 8, 1]]))
    array([9., 8.])
    """
    largest = np.zeros(cooccurrence.n_seen)
    if cooccurrence.counts.nnz:
        largest = cooccurrence.counts.max(axis=1).toarray().ravel().astype(np.float64)
    return np.fmax(largest, cooccurrence.seen_counts())


def conditional_fractions(cooccurrence: Cooccurrence) -> sparse.csr_array:
    """Return ``M_su / n_s``, the fraction of the items with s that carry u too; (n_unseen, n_seen).

    Missing counts, and labels that no item carries, give 0.

    Examples
    --------
    >>> from labelgap.cooccurrence import as_cooccurrence, conditional_fractions
    >>> conditional_fractions(as_cooccurrence([[9, 1, 3], [1, 8, 2]])).toarray().round(2)
    array([[0.33, 0.25]])
    """
    counts = sparse.csr_array(cooccurrence.counts[:, cooccurrence.unseen].T, dtype=np.float64)
    counts.sort_indices()
    counts.data *= 1.0 / occurrences(cooccurrence)[counts.indices]
    return counts
