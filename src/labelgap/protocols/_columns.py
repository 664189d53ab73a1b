"""Hiding whole labels, but not the counts that connect them to the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.cooccurrence._counting import cooccurrence
from labelgap.labels import Labels
from labelgap.protocols._hidden import HiddenLabels
from labelgap.protocols._shares import check_share, share_of


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
