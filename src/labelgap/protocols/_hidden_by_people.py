"""Positives that become zeros, each with a propensity of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.protocols._hidden_data import HiddenEntries
from labelgap.protocols._hide_labels import hide_these_positives


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenByPeople(HiddenEntries):
    """Hold labels of which positives became zeros, with the propensity of each.

    Attributes
    ----------
    propensity : csr_array of shape (n_samples, n_labels)
        The probability with which each relevant entry was kept, at the relevant entries.
    details : dict of arrays
        What was drawn, by name: "unopened" and "effort" (one value per item), "rates" (per label, or
        annotator x label), "annotators" and "dates" (per item), "introduced" (per label).

    See Also
    --------
    labelgap.propensity : Estimates from labels with gaps.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_unopened_items
    >>> labels = as_labels([[1, 0], [0, 1], [1, 1], [1, 0]])
    >>> hidden = hide_unopened_items(labels, 0.5, random_state=0)
    >>> int(hidden.details["unopened"].sum())
    2
    """

    propensity: sparse.csr_array
    details: dict[str, np.ndarray] = field(default_factory=dict)


def hide_each(
    labels: Labels, propensity: np.ndarray, rng: np.random.Generator, **details: np.ndarray
) -> HiddenByPeople:
    """Hide each positive on its own with 1 - propensity."""
    positives = labels.positives()
    hidden = hide_these_positives(labels, rng.random(propensity.size) >= propensity)
    at = positives.indices, positives.indptr
    return HiddenByPeople(
        labels=hidden.labels,
        truth=hidden.truth,
        traceless=True,
        propensity=sparse.csr_array((propensity, *at), shape=labels.shape),
        details=details,
    )


def check_positive(value: Any, argument: str) -> float:
    """A number above 0."""
    if not value > 0:
        raise ValueError(f"{argument}={value!r} must be above 0")
    return float(value)
