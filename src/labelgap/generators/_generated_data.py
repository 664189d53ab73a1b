"""What a generator gives back, and the checks of what it is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.protocols import HiddenEntries, HiddenViews
from labelgap.views import Views


@dataclass(frozen=True, eq=False, kw_only=True)
class Generated:
    """Hold data drawn from a known model, with gaps, and everything that is true of it.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Features; absent views are marked as in :mod:`labelgap.views`.
    full : Labels
        The complete labels.
    hidden : HiddenEntries
        The labels with gaps (``hidden.labels``, also :attr:`labels`) and the truth of the gaps.
    parameters : dict from str to array
        The parameters the data were drawn with; each generator names its own.
    relevant_features : bool array of shape (n_features,), optional
        The features on which the labels depend.
    row_rates, label_frequency : arrays, optional
        The probability that a relevant entry is recorded is ``row_rates[i] * label_frequency[j]``.
    views : Views, optional
    hidden_views : HiddenViews, optional
        The views that were removed from ``X``.
    cooccurrence : csr_array of shape (n_seen, n_labels), optional
        Counts of seen with all labels.

    Examples
    --------
    >>> from labelgap.generators import make_low_rank
    >>> made = make_low_rank(100, n_labels=5, random_state=0)
    >>> made.labels.has_unknown, made.full.has_unknown
    (True, False)
    """

    X: Any
    full: Labels
    hidden: HiddenEntries
    parameters: dict[str, Any] = field(default_factory=dict)
    relevant_features: np.ndarray | None = None
    row_rates: np.ndarray | None = None
    label_frequency: np.ndarray | None = None
    views: Views | None = None
    hidden_views: HiddenViews | None = None
    cooccurrence: sparse.csr_array | None = None

    @property
    def labels(self) -> Labels:
        """The labels a learner may see."""
        return self.hidden.labels


def check_count(argument: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """An integer within bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{argument}={value!r} must be an integer of at least {least}")
    if most is not None and value > most:
        raise ValueError(f"{argument}={value!r} must be at most {most}")
    return int(value)


def check_positive(argument: str, value: Any, *, zero: bool = False) -> float:
    """A finite number above zero, or zero where that is allowed."""
    is_finite = _is_number(value) and np.isfinite(value)
    if not is_finite or value < 0 or (value == 0 and not zero):
        bound = "at least 0" if zero else "greater than 0"
        raise ValueError(f"{argument}={value!r} must be a finite number {bound}")
    return float(value)


def check_fraction(argument: str, value: Any) -> float:
    """A number between 0 and 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{argument}={value!r} must be a fraction between 0 and 1, such as 0.4")
    return float(value)


def check_density(density: Any, n_labels: int) -> np.ndarray:
    """The fraction of relevant rows of each label, strictly between 0 and 1."""
    values = np.asarray(density, dtype=np.float64)
    if values.ndim > 0 and values.shape != (n_labels,):
        raise ValueError(
            f"density has shape {values.shape}: give one number, or one for each of the "
            f"{n_labels} labels"
        )
    if not ((values > 0) & (values < 1)).all():
        raise ValueError(f"density={density!r} must lie strictly between 0 and 1")
    return np.broadcast_to(values, (n_labels,))


def draw_rates(argument: str, rates: Any, length: int, rng: np.random.Generator) -> np.ndarray:
    """One probability per row or label from a number, a range (tuple) or the values themselves."""
    if isinstance(rates, tuple):
        if len(rates) != 2 or not 0 <= rates[0] <= rates[1] <= 1:
            raise ValueError(
                f"{argument}={rates!r}: a range is (low, high) with 0 <= low <= high <= 1"
            )
        return rng.uniform(*rates, size=length)
    values = np.asarray(rates, dtype=np.float64)
    if values.ndim > 0 and values.shape != (length,):
        raise ValueError(
            f"{argument} has shape {values.shape}: give one number, a tuple (low, high), or an "
            f"array of length {length}"
        )
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{argument} must hold probabilities between 0 and 1")
    return np.broadcast_to(values, (length,)).copy()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
