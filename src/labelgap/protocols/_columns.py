"""Hiding whole labels, and the co-occurrence counts that connect them to the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.protocols._hidden import HiddenLabels
from labelgap.protocols._shares import check_share, share_of


def cooccurrence(labels: Labels, seen: Any = None) -> sparse.csr_array:
    """In how many rows two labels are both relevant.

    Parameters
    ----------
    labels : Labels
        Entries that are not known to be relevant do not count.
    seen : int array, optional
        The labels that make the rows of the result; all by default.

    Returns
    -------
    csr_array of int64, shape (n_seen, n_labels)
        ``M[a, b] = sum_n y[n, seen[a]] y[n, b]``. The diagonal (``b == seen[a]``) holds the
        label frequencies.
    """
    positives = labels.positives().astype(np.int64)
    left = positives if seen is None else positives[:, np.asarray(seen)]
    counts = sparse.csr_array(left.T @ positives)
    counts.sort_indices()
    return counts


def hide_labels(labels: Labels, share: float, *, random_state: Any = None) -> HiddenLabels:
    """Hide a share of the labels altogether, but count them with the others (ML-LCS, [1]_).

    ``floor(share * k)`` of the k labels become unseen. What connects them to the seen ones are
    the co-occurrence counts of seen with all labels, taken on these rows before hiding.

    Parameters
    ----------
    labels : Labels
    share : float
        Between 0 and 1; the paper uses 0.5.
    random_state : int, Generator or None

    Returns
    -------
    HiddenLabels

    References
    ----------
    .. [1] A. Gaure, A. Gupta, V. K. Verma and P. Rai. A probabilistic framework for zero-shot
       multi-label learning. UAI, 2017.
    """
    before = np.flatnonzero(~labels.unseen)
    n_hidden = int(share_of(check_share(share), before.size))
    rng = np.random.default_rng(random_state)
    hidden = np.zeros(labels.n_labels, dtype=bool)
    hidden[rng.choice(before, n_hidden, replace=False)] = True
    unseen = labels.unseen | hidden
    seen = np.flatnonzero(~unseen)
    return HiddenLabels(
        labels=labels.with_unseen(unseen),
        truth=labels.with_unseen(~hidden),
        seen=seen,
        unseen=np.flatnonzero(unseen),
        cooccurrence=cooccurrence(labels, seen),
    )
