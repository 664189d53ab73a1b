"""How much each seen label says about an unseen one."""

from __future__ import annotations

from collections.abc import Callable

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
    return _conditional(_unseen_counts(cooccurrence), occurrences(cooccurrence))


def synthesis_weights(
    cooccurrence: Cooccurrence, normalisation: str = "fraction"
) -> sparse.csr_array:
    """Return weights that make an unseen label out of the seen ones, of shape (n_unseen, n_seen).

    A similarity of each seen label s to the unseen label u, divided by the sum over s: the
    weights of an unseen label are not negative and sum to one, or are all 0 when it is similar
    to none. They depend on its column of M and on the ``n_s`` alone. With ``m_u = sum_s M_su``:

    ============= ==========================================  =====================================
    normalisation similarity                                  what it favours
    ============= ==========================================  =====================================
    "fraction"    M_su                                        labels that are frequent
    "conditional" M_su / n_s                                  labels that often bring u with them
    "dice"        2 M_su / (n_s + m_u)                        labels met mostly together with u
    "pmi"         max(0, log((M_su / m_u) / (n_s / sum n)))   labels more frequent with u than else
    ============= ==========================================  =====================================

    M does not say how many items carry an unseen label; ``m_u`` stands in for it in "dice".

    Parameters
    ----------
    cooccurrence : Cooccurrence
        A missing count gives the weight 0.
    normalisation : {"fraction", "conditional", "dice", "pmi"}, default="fraction"

    Returns
    -------
    csr_array of shape (n_unseen, n_seen)
        Rows in the order of ``cooccurrence.unseen``.

    Examples
    --------
    >>> from labelgap.cooccurrence import as_cooccurrence, synthesis_weights
    >>> counts = as_cooccurrence([[9, 1, 3], [1, 8, 1]])
    >>> synthesis_weights(counts).toarray()
    array([[0.75, 0.25]])
    """
    if normalisation not in NORMALISATIONS:
        known = ", ".join(map(repr, NORMALISATIONS))
        raise ValueError(f"normalisation={normalisation!r}: use one of {known}")
    similarity = NORMALISATIONS[normalisation](
        _unseen_counts(cooccurrence), occurrences(cooccurrence)
    )
    similarity.eliminate_zeros()
    return _scaled_rows(similarity, _inverse(np.asarray(similarity.sum(axis=1)).ravel()))


def _unseen_counts(cooccurrence: Cooccurrence) -> sparse.csr_array:
    counts = sparse.csr_array(cooccurrence.counts[:, cooccurrence.unseen].T, dtype=np.float64)
    counts.sort_indices()
    return counts


def _fraction(counts: sparse.csr_array, n_seen: np.ndarray) -> sparse.csr_array:
    return counts.copy()


def _conditional(counts: sparse.csr_array, n_seen: np.ndarray) -> sparse.csr_array:
    return _with_data(counts, counts.data * _inverse(n_seen)[counts.indices])


def _dice(counts: sparse.csr_array, n_seen: np.ndarray) -> sparse.csr_array:
    size = n_seen[counts.indices] + _row_totals(counts)
    return _with_data(counts, 2 * counts.data / size)


def _pmi(counts: sparse.csr_array, n_seen: np.ndarray) -> sparse.csr_array:
    fraction = counts.data / _row_totals(counts)
    expected = n_seen[counts.indices] / n_seen.sum()
    return _with_data(counts, np.maximum(0.0, np.log(fraction / expected)))


NORMALISATIONS: dict[str, Callable] = {
    "fraction": _fraction,
    "conditional": _conditional,
    "dice": _dice,
    "pmi": _pmi,
}


def _row_totals(counts: sparse.csr_array) -> np.ndarray:
    """For each stored count the sum of its row."""
    return np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))


def _scaled_rows(matrix: sparse.csr_array, factor: np.ndarray) -> sparse.csr_array:
    return _with_data(matrix, matrix.data * np.repeat(factor, np.diff(matrix.indptr)))


def _with_data(matrix: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _inverse(values: np.ndarray) -> np.ndarray:
    return np.divide(1.0, values, out=np.zeros(len(values)), where=values > 0)
