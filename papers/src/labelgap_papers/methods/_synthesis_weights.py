"""How an unseen label is made of the seen ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from labelgap.cooccurrence import Cooccurrence, occurrences

# similarities of counts M_su above zero, given the n_s, the m_u and the sum of all n_s
NORMALISATIONS: dict[str, Callable[..., np.ndarray]] = {
    "fraction": lambda M, n, m, total: M,
    "conditional": lambda M, n, m, total: M * (1.0 / n),
    "dice": lambda M, n, m, total: 2 * M / (n + m),
    "pmi": lambda M, n, m, total: np.maximum(0.0, np.log(M / m / (n / total))),
}


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

    M does not say how many items carry an unseen label; ``m_u`` stands in for it in "dice". A
    missing count gives the weight 0.
    """
    counts = sparse.csr_array(cooccurrence.counts[:, cooccurrence.unseen].T, dtype=np.float64)
    counts.sort_indices()
    n_seen = occurrences(cooccurrence)
    given = counts.data, n_seen[counts.indices], _of_rows(counts), n_seen.sum()
    counts.data = NORMALISATIONS[normalisation](*given).copy()
    counts.eliminate_zeros()
    counts.data *= 1.0 / _of_rows(counts)
    return counts


def _of_rows(matrix: sparse.csr_array) -> np.ndarray:
    """For each stored entry the sum of its row."""
    return np.repeat(np.asarray(matrix.sum(axis=1)).ravel(), np.diff(matrix.indptr))
