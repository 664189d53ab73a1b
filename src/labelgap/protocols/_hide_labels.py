"""Protocols that hide labels: single entries, positives, whole labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.cooccurrence import cooccurrence_matrix
from labelgap.labels import Labels, State
from labelgap.protocols._entry_pool import (
    KNOWN,
    ZEROS,
    EntryPool,
    check_fraction,
    check_rates,
    fraction_of,
)
from labelgap.protocols._hidden_data import (
    HiddenEntries,
    HiddenLabels,
    coordinates,
    hidden_as_unknown,
)


def hide_per_row(labels: Labels, fraction: float, *, random_state: Any = None) -> HiddenEntries:
    """Make the same fraction of every row unknown, whatever the values (RMFL's protocol).

    In each row, ``floor(fraction * k)`` of its k known entries become unknown; k is the number of
    labels when the row is complete.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1; the paper uses 0.4, 0.6 and 0.8.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenEntries

    See Also
    --------
    hide_per_label : The same fraction of every label.

    References
    ----------
    .. [1] L. Feng, J. Huang, S. Shu and B. An. Regularized matrix factorization for multilabel
       learning with missing labels. IEEE Transactions on Cybernetics, 2022.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_per_row
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> hidden = hide_per_row(labels, 0.5, random_state=0)
    >>> hidden.n_hidden, hidden.labels.n_observed(axis=1).tolist()
    (4, [2, 2])
    """
    pool = EntryPool(labels, KNOWN, lines="rows")
    counts = fraction_of(check_fraction(fraction), pool.sizes)
    return hidden_as_unknown(labels, *pool.draw(counts, np.random.default_rng(random_state)))


def hide_per_label(labels: Labels, fraction: float, *, random_state: Any = None) -> HiddenEntries:
    """Make a fraction of each label's positives and of its negatives unknown (iMVWL's protocol).

    Of every label, ``floor(fraction * k)`` of its k relevant entries and the same fraction of its
    zeros become unknown, so that its prevalence among observed entries hardly changes and a label
    with a single positive keeps it.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1; the paper uses 0.5.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenEntries

    See Also
    --------
    hide_per_row : The same fraction of every row.

    References
    ----------
    .. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_per_label
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> hide_per_label(labels, 0.5, random_state=0).n_hidden
    2
    """
    fraction, rng = check_fraction(fraction), np.random.default_rng(random_state)
    drawn = []
    for states in ((State.RELEVANT,), ZEROS):
        pool = EntryPool(labels, states, lines="labels")
        drawn.append(pool.draw(fraction_of(fraction, pool.sizes), rng))
    rows, cols = (np.concatenate(part) for part in zip(*drawn, strict=True))
    return hidden_as_unknown(labels, rows, cols)


def hide_entries(
    labels: Labels,
    fraction: float,
    *,
    row_rates: Any = None,
    label_rates: Any = None,
    random_state: Any = None,
) -> HiddenEntries:
    """Make entries unknown independently of each other and of their values.

    A known entry (i, j) becomes unknown with probability ``fraction * row_rates[i] *
    label_rates[j]``. Without rates entries are missing completely at random.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1.
    row_rates : array of shape (n_samples,), optional, default=None
        Factors between 0 and 1, one per row; ones by default.
    label_rates : array of shape (n_labels,), optional, default=None
        Factors between 0 and 1, one per label; ones by default.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenEntries

    See Also
    --------
    reveal : Show a fraction of the entries.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_entries
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> hidden = hide_entries(labels, 0.5, label_rates=[1, 1, 0, 0], random_state=0)
    >>> hidden.labels.n_observed(axis=0)[2:].tolist()
    [2, 2]
    """
    row_rates = check_rates(row_rates, "row_rates", labels.n_samples)
    label_rates = check_rates(label_rates, "label_rates", labels.n_labels)
    rng = np.random.default_rng(random_state)
    pool = EntryPool(labels, KNOWN, lines="labels")
    # draw as if every row had the largest rate, then thin: exact, and no n x L table of rates
    largest = row_rates.max(initial=0.0)
    counts = rng.binomial(pool.sizes, check_fraction(fraction) * largest * label_rates[pool.lines])
    rows, cols = pool.draw(counts, rng)
    keep = rng.random(rows.size) * largest < row_rates[rows]
    return hidden_as_unknown(labels, rows[keep], cols[keep])


def reveal(
    labels: Labels, fraction: float | None = None, *, rates: Any = None, random_state: Any = None
) -> HiddenEntries:
    """Show only some entries; all others become unknown (BMLPL's protocol).

    Each known entry stays known with probability ``fraction``, or with the rate of its label.

    Parameters
    ----------
    labels : Labels
    fraction : float, optional, default=None
        Between 0 and 1; the paper uses 0.2.
    rates : array of shape (n_labels,), optional, default=None
        One probability per label, in place of ``fraction``.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenEntries

    See Also
    --------
    hide_entries : Hide a fraction of the entries.

    References
    ----------
    .. [1] P. Rai, C. Hu, R. Henao and L. Carin. Large-scale Bayesian multi-label learning via
       topic-based label embeddings. NIPS, 2015.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import reveal
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> reveal(labels, 0.25, random_state=0).labels.n_observed() < 8
    True
    """
    if (fraction is None) == (rates is None):
        raise ValueError(
            "give either fraction, one fraction for all entries, or rates, one for each label"
        )
    if rates is None:
        rates = np.full(labels.n_labels, check_fraction(fraction))
    hidden_rates = 1.0 - check_rates(rates, "rates", labels.n_labels)
    return hide_entries(labels, 1.0, label_rates=hidden_rates, random_state=random_state)


def hide_positives(labels: Labels, fraction: float, *, random_state: Any = None) -> HiddenEntries:
    """Turn a fraction of the relevant entries into zeros without a trace (GMFS, after [1]_).

    ``floor(fraction * k)`` of the k relevant entries, drawn from all rows and labels alike, become
    zeros. From then on a zero is unlabeled: irrelevant, or hidden.

    Parameters
    ----------
    labels : Labels
        Entries that are unknown stay so. Where zeros are unlabeled already, zeros known to be
        irrelevant stay known.
    fraction : float
        Between 0 and 1; the paper uses 0.2 and 0.4.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenEntries
        With ``traceless=True``: its truth is 1 at hidden positives, 0 at genuine zeros, and
        unknown where a learner can see that the label is relevant.

    See Also
    --------
    hide_these_positives : Hide chosen ones.

    References
    ----------
    .. [1] S. S. Bucak, R. Jin and A. K. Jain. Multi-label learning with incomplete class
       assignments. CVPR, 2011.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_positives
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> hidden = hide_positives(labels, 0.5, random_state=0)
    >>> hidden.labels.n_positives(), hidden.labels.unlabeled
    (2, True)
    """
    positives = labels.positives()
    n_hidden = int(fraction_of(check_fraction(fraction), positives.nnz))
    rng = np.random.default_rng(random_state)
    chosen = np.zeros(positives.nnz, dtype=bool)
    chosen[rng.choice(positives.nnz, n_hidden, replace=False, shuffle=False)] = True
    return hide_these_positives(labels, chosen)


def hide_these_positives(labels: Labels, chosen: np.ndarray) -> HiddenEntries:
    """Turn chosen relevant entries into zeros without a trace.

    Parameters
    ----------
    labels : Labels
    chosen : bool array of shape (n_positives,)
        True for the relevant entries to hide, in the row-major order of ``labels.positives()``.

    Returns
    -------
    HiddenEntries
        As from :func:`hide_positives`.

    See Also
    --------
    hide_positives : Hide random ones.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_these_positives
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> chosen = np.array([True, False, False, False])
    >>> hidden = hide_these_positives(labels, chosen)
    >>> hidden.rows.tolist(), hidden.cols.tolist()
    ([0], [0])
    """
    chosen = np.asarray(chosen)
    if chosen.shape != (labels.n_positives(),) or chosen.dtype != bool:
        raise ValueError(
            f"chosen must be a boolean array with one value for each of the "
            f"{labels.n_positives()} relevant entries, got {chosen.dtype} of shape {chosen.shape}"
        )
    if labels.n_observed(unlabeled=True) == labels.n_positives():
        raise ValueError(
            "labels has no zeros among which positives could be hidden: use hide_entries, or state "
            "what is not a positive (with_implicit, with_entries)"
        )
    rows, cols = coordinates(labels.positives())
    was_unlabeled = labels.unlabeled
    shown = labels if was_unlabeled else labels.with_zeros("unlabeled")
    shown = shown.with_entries(rows[chosen], cols[chosen], State.UNLABELED)
    return HiddenEntries(shown, _what_zeros_were(labels, chosen, was_unlabeled), traceless=True)


def _what_zeros_were(labels: Labels, chosen: np.ndarray, was_unlabeled: bool) -> Labels:
    """The state of every entry that is an unlabeled zero after hiding; unknown elsewhere."""
    codes, implicit = labels.entries.data.copy(), labels.implicit
    at_positives = np.flatnonzero(codes == State.RELEVANT)
    codes[at_positives[~chosen]] = State.UNKNOWN
    if was_unlabeled:  # then zeros known to be irrelevant are shown as such
        codes[codes == State.NEGATIVE] = State.UNKNOWN
        implicit = State.UNKNOWN if implicit is State.NEGATIVE else implicit
    entries = sparse.csr_array(
        (codes, labels.entries.indices, labels.entries.indptr), shape=labels.shape
    )
    return Labels(entries, implicit, names=labels.names, unseen=labels.unseen)


def hide_labels(labels: Labels, fraction: float, *, random_state: Any = None) -> HiddenLabels:
    """Hide a fraction of the labels altogether, but count them with the others (ML-LCS, [1]_).

    ``floor(fraction * k)`` of the k labels become unseen. What connects them to the seen ones are
    the co-occurrence counts of seen with all labels, taken on these rows before hiding.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1; the paper uses 0.5.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenLabels

    See Also
    --------
    labelgap.cooccurrence.Cooccurrence : Counts from elsewhere.

    References
    ----------
    .. [1] A. Gaure, A. Gupta, V. K. Verma and P. Rai. A probabilistic framework for zero-shot
       multi-label learning. UAI, 2017.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.protocols import hide_labels
    >>> labels = Labels.from_dense([[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> hidden = hide_labels(labels, 0.5, random_state=0)
    >>> hidden.unseen.size, hidden.cooccurrence.shape
    (2, (2, 4))
    """
    before = np.flatnonzero(~labels.unseen)
    n_hidden = int(fraction_of(check_fraction(fraction), before.size))
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
        cooccurrence=cooccurrence_matrix(labels, seen),
    )
