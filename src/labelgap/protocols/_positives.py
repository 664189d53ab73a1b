"""Hiding positives without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, State
from labelgap.protocols._hidden import Hidden, coordinates
from labelgap.protocols._shares import check_share, share_of


def hide_positives(labels: Labels, share: float, *, random_state: Any = None) -> Hidden:
    """Turn a share of the relevant entries into zeros without a trace (GMFS, after [1]_).

    ``floor(share * k)`` of the k relevant entries, drawn from all rows and labels alike, become
    zeros. From then on a zero is ambiguous: irrelevant, or hidden.

    Parameters
    ----------
    labels : Labels
        Entries that are unknown stay so. Where zeros are ambiguous already, zeros known to be
        irrelevant stay known.
    share : float
        Between 0 and 1; the paper uses 0.2 and 0.4.
    random_state : int, Generator or None

    Returns
    -------
    Hidden
        With ``traceless=True``: its truth is 1 at hidden positives, 0 at genuine zeros, and
        unknown where a learner can see that the label is relevant.

    References
    ----------
    .. [1] S. S. Bucak, R. Jin and A. K. Jain. Multi-label learning with incomplete class
       assignments. CVPR, 2011.
    """
    positives = labels.positives()
    n_hidden = int(share_of(check_share(share), positives.nnz))
    rng = np.random.default_rng(random_state)
    chosen = np.zeros(positives.nnz, dtype=bool)
    chosen[rng.choice(positives.nnz, n_hidden, replace=False, shuffle=False)] = True
    return hide_these_positives(labels, chosen)


def hide_these_positives(labels: Labels, chosen: np.ndarray) -> Hidden:
    """Turn chosen relevant entries into zeros without a trace.

    Parameters
    ----------
    labels : Labels
    chosen : bool array of shape (n_positives,)
        True for the relevant entries to hide, in the row-major order of ``labels.positives()``.

    Returns
    -------
    Hidden
        As from :func:`hide_positives`.
    """
    chosen = np.asarray(chosen)
    if chosen.shape != (labels.n_positives(),) or chosen.dtype != bool:
        raise ValueError(
            f"chosen must be a boolean array with one value for each of the "
            f"{labels.n_positives()} relevant entries, got {chosen.dtype} of shape {chosen.shape}"
        )
    if labels.n_observed(ambiguous=True) == labels.n_positives():
        raise ValueError(
            "labels has no zeros among which positives could be hidden: use hide_entries, or state "
            "what is not a positive (with_unstated, with_entries)"
        )
    rows, cols = coordinates(labels.positives())
    was_ambiguous = labels.ambiguous
    shown = labels if was_ambiguous else labels.with_zeros("ambiguous")
    shown = shown.with_entries(rows[chosen], cols[chosen], State.AMBIGUOUS)
    return Hidden(shown, _what_zeros_were(labels, chosen, was_ambiguous), traceless=True)


def _what_zeros_were(labels: Labels, chosen: np.ndarray, was_ambiguous: bool) -> Labels:
    """The state of every entry that is an ambiguous zero after hiding; unknown elsewhere."""
    codes, unstated = labels.entries.data.copy(), labels.unstated
    at_positives = np.flatnonzero(codes == State.RELEVANT)
    codes[at_positives[~chosen]] = State.UNKNOWN
    if was_ambiguous:  # then zeros known to be irrelevant are shown as such
        codes[codes == State.IRRELEVANT] = State.UNKNOWN
        unstated = State.UNKNOWN if unstated is State.IRRELEVANT else unstated
    entries = sparse.csr_array(
        (codes, labels.entries.indices, labels.entries.indptr), shape=labels.shape
    )
    return Labels(entries, unstated, names=labels.names, unseen=labels.unseen)
