"""Label frequencies that depend on the item, the label, or how obvious a label is.

Notation: y relevant, s recorded, g = P(s = 1 | x), e = P(s = 1 | y = 1, x), c a label frequency.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

_SURE, _MOST = 0.95, 0.99
_LEAST, _CERTAIN = 1e-3, 0.999
_PRIOR_ENTRIES, _PRIOR_POSITIVES = 5.0, 100.0


def bounded_relevance(probabilities: Any, label_frequency: Any) -> np.ndarray:
    """Return P(relevant) = g / c; ratios above 0.95 approach 0.99, so that their order is kept.

    Parameters
    ----------
    probabilities : array
        g, the probability that an entry is recorded.
    label_frequency : float or array
        c.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import bounded_relevance
    >>> bounded_relevance(np.array([0.1, 0.4, 0.6, 0.8]), 0.5).round(3).tolist()
    [0.2, 0.8, 0.99, 0.99]
    """
    ratio = np.asarray(probabilities) / label_frequency
    room = _MOST - _SURE
    above = _SURE + room * -np.expm1(-np.maximum(ratio - _SURE, 0) / room)
    return np.where(ratio <= _SURE, ratio, above)


def opened_label_frequency(ratio: float, n_labels: float) -> float:
    """Return how often relevant labels are recorded on items that somebody opened.

    Of an item with N relevant labels each is recorded with the probability c; items without any
    recorded label do not show whether somebody opened them. On those with one, a relevant label is
    recorded with the probability c / (1 - (1 - c)^N), which is solved for c.

    Parameters
    ----------
    ratio : float
        The probability that a relevant label is recorded, on items that carry a label.
    n_labels : float
        N, at least 1.

    See Also
    --------
    unopened_probability : What follows for items without a label.

    Examples
    --------
    >>> from labelgap.propensity import opened_label_frequency
    >>> round(opened_label_frequency(0.6 / (1 - 0.4**2), 2.0), 3)
    0.6
    """
    if ratio >= _CERTAIN:
        return 1.0

    def excess(c: float) -> float:
        return c / (1 - (1 - c) ** n_labels) - ratio

    if n_labels <= 1 or excess(_LEAST) > 0:
        return _LEAST  # every relevant label but one would be lost
    return float(brentq(excess, _LEAST, 1 - 1e-9))


def opened_without_labels(n_labels: np.ndarray, z: float = 0.0) -> float:
    """Return how many items without a label somebody opened, from those that carry one or two.

    Chao's bound (1987), f_1 (f_1 - 1) / (2 (f_2 + 1)) with f_1 and f_2 items that carry one and two
    labels. Where opened items carry many labels, hardly one of them carries none.

    Parameters
    ----------
    n_labels : int array of shape (n_samples,)
        How many labels each item carries.
    z : float, default=0.0
        Standard deviations to add to f_1 and to take from f_2, for an upper end.

    See Also
    --------
    unopened_probability : What follows for items without a label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import opened_without_labels
    >>> n_labels = np.random.default_rng(0).poisson(2, size=10_000)
    >>> round(opened_without_labels(n_labels[n_labels > 0])), int((n_labels == 0).sum())
    (1336, 1348)
    """
    one, two = (float((n_labels == k).sum()) for k in (1, 2))
    one, two = one + z * np.sqrt(one), max(two - z * np.sqrt(two), 0.0)
    return one * max(one - 1, 0.0) / (2 * (two + 1))


def unopened_probability(any_label: Any, opened: float) -> np.ndarray:
    """Return the probability that nobody opened an item without a label.

    With a(x) the probability that an item with these features carries a recorded label and pi the
    fraction of the items that somebody opened, P(no label | opened, x) = 1 - a(x) / pi and

        P(not opened | no label, x) = (1 - pi) / (1 - a(x)).

    Parameters
    ----------
    any_label : array
        a(x).
    opened : float
        pi, the largest that a(x) can be.

    See Also
    --------
    opened_label_frequency : How many items without a label other losses explain.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import unopened_probability
    >>> unopened_probability(np.array([0.1, 0.6, 0.8]), 0.8).round(2).tolist()
    [0.22, 0.5, 1.0]
    """
    empty = np.maximum(1 - np.asarray(any_label) / opened, 0)
    return (1 - opened) / np.maximum(1 - opened + opened * empty, 1e-12)


def obvious_first_posterior(probabilities: Any, label_frequency: Any, slope: Any) -> np.ndarray:
    """Return P(relevant | not recorded) where people record the obvious labels first.

    The propensity is e = c / (1 + slope (1 - g / c)): c for a label that is always predicted, and
    c / (1 + slope) for one that nobody would predict. With the slope 0 it is c for all.

    Parameters
    ----------
    probabilities : array
        g, the probability that an entry is recorded; more than c counts as c.
    label_frequency : float or array
        c.
    slope : float or array
        1 means that hidden labels are recorded half as often as obvious ones.

    See Also
    --------
    unlabeled_posterior : The same with one rate.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import obvious_first_posterior
    >>> obvious_first_posterior(np.array([0.1, 0.5, 0.9]), 1.0, 0.3).round(2).tolist()
    [0.03, 0.15, 0.27]
    """
    relevance = bounded_relevance(probabilities, label_frequency)
    g = relevance * label_frequency
    # g / e with g / c kept below 1
    found = np.minimum(relevance * (1 + slope * (1 - relevance)), _MOST)
    return np.maximum(found - g, 0) / (1 - g)


def label_frequencies(
    fractions: np.ndarray, n_entries: np.ndarray, n_positives: np.ndarray, common: float
) -> np.ndarray:
    """Return a label frequency for each label, drawn to the common one where labels are rare.

    Rare labels are predicted badly, and what is predicted badly looks as if it were missing: with n
    recorded positives a label's own estimate has the weight n / (n + 100), on the logarithmic scale.

    Parameters
    ----------
    fractions, n_entries : arrays of shape (n_labels,)
        Fraction that is recorded among the top-scored entries of each label, and how many these are.
    n_positives : array of shape (n_labels,)
        How many items carry the label.
    common : float
        The label frequency of all labels together.

    See Also
    --------
    top_scored_fraction : Gives the fraction of one label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import label_frequencies
    >>> fractions, n = np.array([0.3, 0.3]), np.array([100, 100])
    >>> label_frequencies(fractions, n, np.array([1000, 5]), 0.9).round(2).tolist()
    [0.36, 0.86]
    """
    own = (n_entries * fractions + _PRIOR_ENTRIES * common) / (n_entries + _PRIOR_ENTRIES)
    weight = n_positives / (n_positives + _PRIOR_POSITIVES)
    own = np.clip(own, 0.02, _CERTAIN)
    return np.asarray(np.exp(weight * np.log(own) + (1 - weight) * np.log(common)))
