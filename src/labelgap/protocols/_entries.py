"""Protocols that make single entries unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.labels import Labels, State
from labelgap.protocols._hidden import Hidden, hidden_as_unknown
from labelgap.protocols._pool import KNOWN, ZEROS, Pool
from labelgap.protocols._shares import check_rates, check_share, share_of


def hide_per_row(labels: Labels, share: float, *, random_state: Any = None) -> Hidden:
    """Make the same share of every row unknown, whatever the values (RMFL's protocol).

    In each row, ``floor(share * k)`` of its k known entries become unknown; k is the number of
    labels when the row is complete.

    Parameters
    ----------
    labels : Labels
    share : float
        Between 0 and 1; the paper uses 0.4, 0.6 and 0.8.
    random_state : int, Generator or None

    Returns
    -------
    Hidden

    References
    ----------
    .. [1] L. Feng, J. Huang, S. Shu and B. An. Regularized matrix factorization for multilabel
       learning with missing labels. IEEE Transactions on Cybernetics, 2022.
    """
    pool = Pool(labels, KNOWN, lines="rows")
    counts = share_of(check_share(share), pool.sizes)
    return hidden_as_unknown(labels, *pool.draw(counts, np.random.default_rng(random_state)))


def hide_per_label(labels: Labels, share: float, *, random_state: Any = None) -> Hidden:
    """Make a share of each label's positives and of its negatives unknown (iMVWL's protocol).

    Of every label, ``floor(share * k)`` of its k relevant entries and the same share of its
    zeros become unknown, so that its frequency among observed entries hardly changes and a label
    with a single positive keeps it.

    Parameters
    ----------
    labels : Labels
    share : float
        Between 0 and 1; the paper uses 0.5.
    random_state : int, Generator or None

    Returns
    -------
    Hidden

    References
    ----------
    .. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.
    """
    share, rng = check_share(share), np.random.default_rng(random_state)
    drawn = []
    for states in ((State.RELEVANT,), ZEROS):
        pool = Pool(labels, states, lines="labels")
        drawn.append(pool.draw(share_of(share, pool.sizes), rng))
    rows, cols = (np.concatenate(part) for part in zip(*drawn, strict=True))
    return hidden_as_unknown(labels, rows, cols)


def hide_entries(
    labels: Labels,
    share: float,
    *,
    row_rates: Any = None,
    label_rates: Any = None,
    random_state: Any = None,
) -> Hidden:
    """Make entries unknown independently of each other and of their values.

    A known entry (i, j) becomes unknown with probability ``share * row_rates[i] *
    label_rates[j]``. Without rates entries are missing completely at random.

    Parameters
    ----------
    labels : Labels
    share : float
        Between 0 and 1.
    row_rates : array of shape (n_rows,), optional
        Factors between 0 and 1, one per row; ones by default.
    label_rates : array of shape (n_labels,), optional
        Factors between 0 and 1, one per label; ones by default.
    random_state : int, Generator or None

    Returns
    -------
    Hidden
    """
    row_rates = check_rates(row_rates, "row_rates", labels.n_rows)
    label_rates = check_rates(label_rates, "label_rates", labels.n_labels)
    rng = np.random.default_rng(random_state)
    pool = Pool(labels, KNOWN, lines="labels")
    # draw as if every row had the largest rate, then thin: exact, and no n x L table of rates
    largest = row_rates.max(initial=0.0)
    counts = rng.binomial(pool.sizes, check_share(share) * largest * label_rates[pool.lines])
    rows, cols = pool.draw(counts, rng)
    keep = rng.random(rows.size) * largest < row_rates[rows]
    return hidden_as_unknown(labels, rows[keep], cols[keep])


def reveal(
    labels: Labels, share: float | None = None, *, rates: Any = None, random_state: Any = None
) -> Hidden:
    """Show only some entries; all others become unknown (BMLPL's protocol).

    Each known entry stays known with probability ``share``, or with the rate of its label.

    Parameters
    ----------
    labels : Labels
    share : float, optional
        Between 0 and 1; the paper uses 0.2.
    rates : array of shape (n_labels,), optional
        One probability per label, in place of ``share``.
    random_state : int, Generator or None

    Returns
    -------
    Hidden

    References
    ----------
    .. [1] P. Rai, C. Hu, R. Henao and L. Carin. Large-scale Bayesian multi-label learning via
       topic-based label embeddings. NIPS, 2015.
    """
    if (share is None) == (rates is None):
        raise ValueError(
            "give either share, one fraction for all entries, or rates, one for each label"
        )
    if rates is None:
        rates = np.full(labels.n_labels, check_share(share))
    hidden_rates = 1.0 - check_rates(rates, "rates", labels.n_labels)
    return hide_entries(labels, 1.0, label_rates=hidden_rates, random_state=random_state)
