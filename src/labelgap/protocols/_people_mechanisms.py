"""Labels are lost by item, label, annotator and date."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.labels import Labels
from labelgap.protocols._entry_pool import check_fraction, check_rates, fraction_of
from labelgap.protocols._hidden_by_people import HiddenByPeople, check_positive, hide_each
from labelgap.protocols._hidden_data import coordinates

# Who looked at the item, and how long


def hide_unopened_items(
    labels: Labels, fraction: float, *, random_state: Any = None
) -> HiddenByPeople:
    """Hide all positives of some items, as if nobody had opened them.

    ``floor(fraction * k)`` of the k items lose every label.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1, of the items.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople
        With ``details["unopened"]``.

    See Also
    --------
    hide_in_brief_items : Items that were opened, some of them briefly.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_unopened_items
    >>> labels = as_labels([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> hide_unopened_items(labels, 0.5, random_state=0).labels.n_positives(axis=1).tolist()
    [1, 1, 0, 0]
    """
    rng = np.random.default_rng(random_state)
    n_items = labels.n_samples
    unopened = np.zeros(n_items, dtype=bool)
    n_hidden = int(fraction_of(check_fraction(fraction), n_items))
    unopened[rng.choice(n_items, n_hidden, replace=False)] = True
    rows, _ = coordinates(labels.positives())
    return hide_each(labels, np.where(unopened[rows], 0.0, 1.0), rng, unopened=unopened)


def hide_in_brief_items(
    labels: Labels, fraction: float, *, concentration: float = 2.0, random_state: Any = None
) -> HiddenByPeople:
    """Hide positives of items that were opened briefly: each item has an effort of its own.

    The effort of an item, the propensity of all its labels, has a beta distribution with the mean
    1 - ``fraction``.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1.
    concentration : float, default=2.0
        The sum of the two parameters of the beta distribution: with a large one all items have the
        same effort, with a small one they are read with care or hardly at all.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople
        With ``details["effort"]``.

    See Also
    --------
    hide_unopened_items : An effort of 0 or 1.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_in_brief_items
    >>> labels = as_labels([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> hide_in_brief_items(labels, 0.5, random_state=0).details["effort"].shape
    (4,)
    """
    rng = np.random.default_rng(random_state)
    kept = 1.0 - check_fraction(fraction)
    effort = _beta(kept, check_positive(concentration, "concentration"), labels.n_samples, rng)
    rows, _ = coordinates(labels.positives())
    return hide_each(labels, effort[rows], rng, effort=effort)


# Which label, by whom and when


def hide_by_label(
    labels: Labels, fraction: float, *, rates: Any = None, random_state: Any = None
) -> HiddenByPeople:
    """Hide positives of each label at a rate of its own: some labels are seldom thought of.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1: the mean rate. Rates are uniform on [0, 2 fraction], or on
        [2 fraction - 1, 1] above one half.
    rates : array of shape (n_labels,), optional, default=None
        The rate of each label, times ``fraction``, in place of random ones.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople
        With ``details["rates"]``: the part of each label that is lost.

    See Also
    --------
    hide_by_annotator : A rate for each label and annotator.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_by_label
    >>> labels = as_labels([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> hide_by_label(labels, 1.0, rates=[1, 0]).labels.n_positives(axis=0).tolist()
    [0, 2]
    """
    rng = np.random.default_rng(random_state)
    fraction = check_fraction(fraction)
    if rates is None:
        lost = _around(fraction, labels.n_labels, rng)
    else:
        lost = fraction * check_rates(rates, "rates", labels.n_labels)
    _, cols = coordinates(labels.positives())
    return hide_each(labels, 1.0 - lost[cols], rng, rates=lost)


def hide_by_annotator(
    labels: Labels,
    fraction: float,
    *,
    n_annotators: int = 5,
    annotators: Any = None,
    concentration: float = 2.0,
    random_state: Any = None,
) -> HiddenByPeople:
    """Hide positives by who annotated the item: everyone has labels that they seldom think of.

    Each item has one annotator, and each annotator finds each label with a probability of their own,
    which has a beta distribution with the mean 1 - ``fraction``.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1.
    n_annotators : int, default=5
        How many share the items evenly, at random.
    annotators : array of shape (n_samples,), optional, default=None
        Who annotated each item, in place of ``n_annotators``.
    concentration : float, default=2.0
        The sum of the two parameters of the beta distribution.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople
        With ``details["annotators"]`` of the items, and ``details["rates"]``, what is lost of each
        label (columns) by each annotator (rows, in sorted order).

    See Also
    --------
    hide_by_label : All annotators alike.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_by_annotator
    >>> labels = as_labels([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> hide_by_annotator(labels, 0.4, n_annotators=2, random_state=0).details["rates"].shape
    (2, 2)
    """
    rng = np.random.default_rng(random_state)
    kept = 1.0 - check_fraction(fraction)
    if annotators is None:
        if n_annotators < 1:
            raise ValueError(f"n_annotators={n_annotators} must be at least 1")
        annotators = rng.permutation(labels.n_samples) % n_annotators
    annotators = np.asarray(annotators)
    if annotators.shape != (labels.n_samples,):
        raise ValueError(
            f"annotators has shape {annotators.shape}: give one for each of the "
            f"{labels.n_samples} items"
        )
    people, who = np.unique(annotators, return_inverse=True)
    shape = people.size, labels.n_labels
    found = _beta(kept, check_positive(concentration, "concentration"), shape, rng)
    rows, cols = coordinates(labels.positives())
    return hide_each(labels, found[who[rows], cols], rng, annotators=annotators, rates=1.0 - found)


def hide_late_labels(
    labels: Labels, fraction: float, *, dates: Any = None, random_state: Any = None
) -> HiddenByPeople:
    """Hide positives of items annotated before their label was introduced.

    A label that is introduced after a part t of the items is missing in all of these; t is uniform
    on [0, 2 fraction], or on [2 fraction - 1, 1] above one half.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1.
    dates : array of shape (n_samples,), optional, default=None
        When each item was annotated, anything that sorts; random by default.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople
        With ``details["dates"]``, the part of the items that was annotated before each, and
        ``details["introduced"]``, the t of each label.

    See Also
    --------
    hide_by_label : The same rates without dates.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_late_labels
    >>> labels = as_labels([[1, 0], [1, 1], [1, 1], [1, 1]])
    >>> hidden = hide_late_labels(labels, 0.5, dates=[2021, 2022, 2023, 2024], random_state=0)
    >>> hidden.details["introduced"].round(2).tolist()
    [0.13, 0.52]
    >>> hidden.labels.n_positives(axis=0).tolist()
    [3, 2]
    """
    rng = np.random.default_rng(random_state)
    fraction = check_fraction(fraction)
    if dates is None:
        dates = rng.permutation(labels.n_samples)
    dates = np.asarray(dates)
    if dates.shape != (labels.n_samples,):
        raise ValueError(
            f"dates has shape {dates.shape}: give one for each of the {labels.n_samples} items"
        )
    # the part of the items that came before, in the middle of those of the same date
    ordered = np.sort(dates)
    before = np.searchsorted(ordered, dates, "left") + np.searchsorted(ordered, dates, "right")
    place = before / (2.0 * max(labels.n_samples, 1))
    introduced = _around(fraction, labels.n_labels, rng)
    rows, cols = coordinates(labels.positives())
    kept = (place[rows] > introduced[cols]).astype(np.float64)
    return hide_each(labels, kept, rng, dates=place, introduced=introduced)


def _around(mean: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers between 0 and 1, as far apart as their mean allows; stratified."""
    half = min(mean, 1.0 - mean)
    uniform = (rng.permutation(size) + rng.random(size)) / max(size, 1)
    return mean + half * (2.0 * uniform - 1.0)


def _beta(mean: float, concentration: float, size: Any, rng: np.random.Generator) -> np.ndarray:
    if mean in (0.0, 1.0):
        return np.full(size, mean)
    return rng.beta(mean * concentration, (1.0 - mean) * concentration, size)
