"""How many labels two sources missed together, from how far they agree.

If two sources record relevant labels independently of each other, the fraction of the second one's
labels that the first one has is the fraction of all labels that the first one has. They seldom are:
both see the obvious labels, and both overlook the hidden ones. Then every number here is too small, and
a lower bound is what is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, as_labels

_NORMAL_95 = 1.959964


class SourceOverlap(NamedTuple):
    """The labels of two sources, and an estimate of all relevant ones.

    ``value`` is the estimated number of relevant entries, seen or not, with a 95% interval;
    ``lower_bound`` is Chao's, for sources that both prefer the obvious.

    See Also
    --------
    capture_recapture : Makes one, with an example.
    """

    n_first: int
    n_second: int
    n_both: int
    value: float
    low: float
    high: float
    lower_bound: float

    @property
    def n_seen(self) -> int:
        return self.n_first + self.n_second - self.n_both

    @property
    def missing(self) -> float:
        """How many neither source has."""
        return max(0.0, self.value - self.n_seen)


class TwoSources(NamedTuple):
    """Overlap of two sources, for the table and by label.

    See Also
    --------
    compare_sources : Makes one, with an example.
    """

    table: SourceOverlap
    labels: dict[str, SourceOverlap]


def capture_recapture(n_first: int, n_second: int, n_both: int) -> SourceOverlap:
    """Estimate how many relevant entries there are from the entries that two sources recorded.

    The value is Chapman's version of the Lincoln-Petersen estimate, (n1 + 1)(n2 + 1) / (m + 1) - 1;
    the interval is the transformed logit interval of Sadinle. Both rest on independent sources: if
    both prefer the same entries, the truth is larger.

    Parameters
    ----------
    n_first, n_second : int
        Entries that each source recorded.
    n_both : int
        Entries that both recorded.

    Returns
    -------
    SourceOverlap

    See Also
    --------
    compare_sources : The same from two tables, by label.

    References
    ----------
    Chapman, D. G. (1951). Some properties of the hypergeometric distribution with applications to
    zoological sample censuses. Sadinle, M. (2009). Transformed logit confidence intervals for small
    populations in single capture-recapture estimation. Comm. Statist. Simulation Comput. 38.

    Examples
    --------
    >>> from labelgap.estimation import capture_recapture
    >>> overlap = capture_recapture(60, 50, 30)
    >>> round(overlap.value, 1), round(overlap.low, 1), round(overlap.high, 1)
    (99.4, 88.8, 124.7)
    """
    if not 0 <= n_both <= min(n_first, n_second):
        raise ValueError(
            f"n_both={n_both}: must lie between 0 and the smaller of n_first={n_first} and "
            f"n_second={n_second}"
        )
    value = (n_first + 1) * (n_second + 1) / (n_both + 1) - 1
    both, first, second = n_both + 0.5, n_first - n_both + 0.5, n_second - n_both + 0.5
    spread = np.sqrt(1 / both + 1 / first + 1 / second + both / (first * second))
    seen = n_first + n_second - n_both
    unseen = first * second / both * np.exp(np.array([-1.0, 1.0]) * _NORMAL_95 * spread)
    low, high = np.maximum(seen, seen - 0.5 + unseen)
    alone = n_first + n_second - 2 * n_both
    bound = chao_lower_bound(alone, n_both, 2) + seen
    return SourceOverlap(n_first, n_second, n_both, value, float(low), float(high), bound)


def chao_lower_bound(n_once: int, n_twice: int, n_sources: int) -> float:
    """Return at least how many relevant entries no source recorded, on average.

    Entries may differ in how easily they are seen; sources must be independent given the entry.

    Parameters
    ----------
    n_once, n_twice : int
        Entries that exactly one source, and exactly two, recorded.
    n_sources : int

    Returns
    -------
    float

    See Also
    --------
    capture_recapture : Two sources that are alike for all entries.

    References
    ----------
    Chao, A. (1987). Estimating the population size for capture-recapture data with unequal
    catchability. Biometrics 43.

    Examples
    --------
    >>> from labelgap.estimation import chao_lower_bound
    >>> round(chao_lower_bound(50, 30, 2), 1)
    19.8
    """
    if n_sources < 2:
        raise ValueError(f"n_sources={n_sources}: needs two or more sources")
    return (n_sources - 1) / n_sources * n_once * (n_once - 1) / (2 * (n_twice + 1))


def compare_sources(first: Any, second: Any) -> TwoSources:
    """Compare two sources that labelled the same items, for the table and by label.

    The value of the table is the sum of those of the labels, since labels differ in how easily they
    are seen. Entries that either source leaves unknown do not count.

    Parameters
    ----------
    first, second : labels of the same shape
        Whatever :func:`labelgap.as_labels` takes, with the same items and labels in the same order.

    Returns
    -------
    TwoSources

    See Also
    --------
    capture_recapture : From three counts.
    labelgap.diff : Two versions of one table.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import compare_sources
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((2000, 3)) < 0.3
    >>> first, second = ((truth & (rng.random(truth.shape) < 0.6)) * 1 for _ in range(2))
    >>> table = compare_sources(first, second).table
    >>> bool(table.low < truth.sum() < table.high)
    True
    """
    one, other = as_labels(first), as_labels(second)
    if one.shape != other.shape:
        raise ValueError(f"second: has shape {other.shape}, the first source has {one.shape}")
    if one.names is not None and other.names is not None and list(one.names) != list(other.names):
        at = next(
            k
            for k, pair in enumerate(zip(one.names, other.names, strict=True))
            if pair[0] != pair[1]
        )
        raise ValueError(
            f"second: label {at} is {other.names[at]!r}, in the first source {one.names[at]!r}; "
            "bring both into the same order"
        )
    positives = [_observed_by(one, other), _observed_by(other, one)]
    both = positives[0].multiply(positives[1])
    counts = [np.asarray(part.sum(axis=0)).ravel() for part in (*positives, both)]
    names = range(one.n_labels) if one.names is None else one.names
    labels = {
        str(name): capture_recapture(*(int(part[k]) for part in counts))
        for k, name in enumerate(names)
    }
    return TwoSources(_of_table(list(labels.values())), labels)


def _observed_by(source: Labels, other: Labels) -> sparse.csr_array:
    """The positives of a source at entries that the other one knows."""
    positives = source.positives().astype(np.int64)
    return positives.multiply(other.observed(unlabeled=True)) if other.has_unknown else positives


def _of_table(labels: list[SourceOverlap]) -> SourceOverlap:
    """The sum over labels, with Chapman's variance and a log-normal interval of what is unseen."""
    n_first, n_second, n_both = (int(sum(label[k] for label in labels)) for k in range(3))
    seen = n_first + n_second - n_both
    unseen = sum(label.value - label.n_seen for label in labels)
    variance = sum(_chapman_variance(label) for label in labels)
    spread = np.sqrt(np.log1p(variance / max(unseen, 1e-12) ** 2))
    low, high = seen + unseen * np.exp(np.array([-1.0, 1.0]) * _NORMAL_95 * spread)
    bound = sum(label.lower_bound for label in labels)
    return SourceOverlap(
        n_first, n_second, n_both, seen + unseen, float(low), float(high), float(bound)
    )


def _chapman_variance(label: SourceOverlap) -> float:
    first, second, both = label.n_first, label.n_second, label.n_both
    alone = (first - both) * (second - both)
    return (first + 1) * (second + 1) * alone / ((both + 1) ** 2 * (both + 2))
