"""Items without any label: nothing applies, labels were lost one by one, or nobody opened them.

With a(x) the probability that an item with the features x carries a recorded label, and pi that somebody
opened it, P(no label | opened, x) = 1 - a(x) / pi, and so

    P(not opened | no label, x) = (1 - pi) / (1 - a(x)).

Where all items were opened with one probability, pi, no a(x) is larger, and the labels of items that
carry some are recorded more often than those of all.

Where opened items carry many labels, hardly one of them carries none: the numbers of labels of those that
carry some tell how many carry none, z(x), and pi(x) = a(x) / (1 - z(x)) may then depend on the item. This
takes for granted that something applies to every item, which no table tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, gammaln
from sklearn.linear_model import LogisticRegression

from labelgap.kernels.probabilities import bounded_log_odds
from labelgap.propensity._label_frequency import TopScoredFraction, top_scored_fraction

_LEAST, _CERTAIN = 1e-3, 0.999
_COMPLETE, _ALL_OPENED = 0.98, 0.99
# where opened items hardly carry more than one label, or few that are like an item carry any, counts say
# little of those without; chosen on debtags, mdi and emoji
_DOUBT, _ALIKE = 0.3, 10


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


def unopened_probability(any_label: np.ndarray, opened: float | np.ndarray) -> np.ndarray:
    """Return the probability that nobody opened an item without a label.

    Parameters
    ----------
    any_label : array
        a(x), the probability that such an item carries a label.
    opened : float or array
        pi, the largest that a(x) can be.

    See Also
    --------
    find_unopened : Estimates pi.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import unopened_probability
    >>> unopened_probability(np.array([0.1, 0.6, 0.8]), 0.8).round(2).tolist()
    [0.22, 0.5, 1.0]
    """
    empty = np.maximum(1 - np.asarray(any_label) / opened, 0)
    return np.asarray((1 - opened) / np.maximum(1 - opened + opened * empty, 1e-12))


class UnopenedItems(NamedTuple):
    """A fraction ``opened`` of the items, and each item's ``probability`` that nobody opened it.

    ``by_counts`` is the same where something applies to every item and some are opened more rarely.

    See Also
    --------
    find_unopened : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import UnopenedItems
    >>> UnopenedItems(0.5, np.array([0.0, 1.0]), np.array([0.0, 1.0])).opened
    0.5
    """

    opened: float
    probability: np.ndarray
    by_counts: np.ndarray


def find_unopened(
    any_label: np.ndarray,
    n_labels: np.ndarray,
    features: np.ndarray | None = None,
    *,
    label_frequency: TopScoredFraction | None = None,
) -> UnopenedItems:
    """Return which items without a label nobody opened.

    Parameters
    ----------
    any_label : array of shape (n_samples,)
        The probability that each item carries a label, from models of other items.
    n_labels : int array of shape (n_samples,)
        How many labels each item carries; those that carry one were opened.
    features : array of shape (n_samples, n_features), default=None
        What numbers of labels may depend on, a few columns; None takes the log-odds of ``any_label``.
    label_frequency : TopScoredFraction, default=None
        Of all items, opened or not: tells labels that were lost one by one from unopened items.

    See Also
    --------
    carrying_probability : Gives ``any_label``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import find_unopened
    >>> rng = np.random.default_rng(0)
    >>> opened = rng.random(2000) < 0.6
    >>> n_labels = rng.poisson(4, 2000) * opened
    >>> found = find_unopened(np.full(2000, 0.59), n_labels)
    >>> round(found.opened, 1), bool((found.probability[n_labels == 0] > 0.8).all())
    (0.6, True)
    """
    empty = n_labels == 0
    if features is None:
        features = np.log(any_label / (1 - any_label))[:, None]
    opened, probability = _one_rate(any_label, n_labels, label_frequency)
    # where no similar item carries a label, perhaps nothing applies
    alike = np.searchsorted(np.sort(any_label[~empty]), any_label)
    without = _without_label(n_labels, features, alike / (alike + _ALIKE))
    own = np.minimum(any_label / (1 - without), 1.0)
    by_counts = unopened_probability(any_label, min(1.0, _opened_by_counts(n_labels)))
    by_counts = np.maximum(by_counts, (1 - own) / np.maximum(1 - any_label, 1e-9))
    probability, by_counts = (np.where(empty, part, 0.0) for part in (probability, by_counts))
    return UnopenedItems(opened, probability, np.maximum(probability, by_counts))


def _opened_by_counts(n_labels: np.ndarray) -> float:
    """Return the fraction of opened items by Chao's bound on those without labels (1987)."""
    one, two = (float((n_labels == k).sum()) for k in (1, 2))
    without = one * max(one - 1, 0.0) / (2 * (two + 1))
    return float((n_labels > 0).sum() + without) / n_labels.size


def _one_rate(
    any_label: np.ndarray, n_labels: np.ndarray, label_frequency: TopScoredFraction | None
) -> tuple[float, np.ndarray]:
    """Return pi where it is the same for all items, and what follows.

    Items without a label are more than the labels of opened items explain, where a(x) stops rising
    below 1 (``ceiling``) and labels of items that carry some are recorded more often than those of all
    items (``ratio``).
    """
    carries = n_labels > 0
    top = top_scored_fraction(any_label, carries)
    if label_frequency is None:
        opened = 1.0 if top is None else top.value
        return opened, unopened_probability(any_label, opened)
    ceiling = 1.0 if top is None else min(top.middle, float(any_label.max()))
    per_item = n_labels[carries].mean()
    found, probabilities = [], []
    # a little more or less says that all items were opened, or that no label was lost on those that were
    for overall in (label_frequency.low, label_frequency.middle, label_frequency.value):
        opened = _opened(overall, ceiling, per_item)
        # near 1 the estimate is less sure than what follows from it: perhaps all were opened
        most = 1.0 if top is None or opened * top.high / ceiling > _ALL_OPENED else opened
        found.append(opened)
        probabilities += [unopened_probability(any_label, end) for end in (opened, most)]
    return float(np.mean(found)), np.mean(probabilities, axis=0)


def _opened(overall: float, ceiling: float, per_item: float) -> float:
    """Return pi from the label frequency of all items and what a(x) and numbers of labels rise to."""
    ratio = min(1.0, overall / ceiling)
    opened = min(1.0, overall / opened_label_frequency(ratio, per_item / max(ratio, _LEAST)))
    return min(opened, ceiling) if ratio >= _COMPLETE else opened


def _without_label(n_labels: np.ndarray, features: np.ndarray, trust: np.ndarray) -> np.ndarray:
    """Return z(x), the probability that an opened item carries no label, from those that carry some.

    The mean number of labels is multiplied with the trust in it, so that z is 1 where there is none.

    Their numbers of labels are negative binomial without 0, with a log-linear mean; as Chao's bound
    (1987), it is a lower bound where items differ more than their features say.
    """
    spread = features.std(axis=0)
    design = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    design = np.column_stack([np.ones(n_labels.size), design])
    n, z = n_labels[n_labels > 0].astype(float), design[n_labels > 0]

    def loss(parameters: np.ndarray) -> float:
        mean, variance = np.exp(np.clip(z @ parameters[:-1], -8, 8)), np.exp(parameters[-1])
        size, grown = 1 / variance, np.log1p(variance * mean)
        found = gammaln(n + size) - gammaln(size) - gammaln(n + 1) - size * grown
        found += n * (np.log(variance * mean) - grown)
        found -= np.log(np.maximum(-np.expm1(-size * grown), _LEAST**4))
        shrunk = (parameters[1:-1] ** 2).sum() + (parameters[-1] + 2) ** 2
        return float(1e-3 * shrunk - found.mean())

    start = np.r_[np.log(n.mean()), np.zeros(design.shape[1] - 1), -1.0]
    bounds = [(-8.0, 8.0)] * design.shape[1] + [(-5.0, 1.5)]
    best = minimize(loss, start, method="L-BFGS-B", bounds=bounds).x
    mean, variance = np.exp(np.clip(design @ best[:-1], -8, 8)), np.exp(best[-1])
    mean = trust * mean
    mean = mean**2 / (mean + _DOUBT)
    return np.asarray(np.minimum(np.exp(-np.log1p(variance * mean) / variance), 1 - 1e-9))


def carrying_probability(X: np.ndarray, carries: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the probability that each item carries a label, by logistic regressions of other folds.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    carries : bool array of shape (n_samples,)
    folds : int array of shape (n_samples,)
        The fold of each item; it has no part in its own probability.

    See Also
    --------
    find_unopened : Takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import carrying_probability
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> carrying_probability(X, X[:, 0] > 0, np.arange(100) % 5)[[0, 50, 99]].round(1).tolist()
    [0.0, 0.5, 1.0]
    """
    found = np.full(carries.size, carries.mean())
    for fold in np.unique(folds):
        learned, asked = carries[folds != fold], np.flatnonzero(folds == fold)
        if learned.any() and not learned.all():
            model = LogisticRegression(max_iter=200).fit(X[np.flatnonzero(folds != fold)], learned)
            found[asked] = expit(model.decision_function(X[asked]))
    return found


def as_far_as_told(probabilities: np.ndarray, carries: np.ndarray) -> np.ndarray:
    """Return probabilities drawn to their mean where they do not tell items with labels from others.

    Parameters
    ----------
    probabilities : array of shape (n_samples,)
        Of carrying a label, from models of other items.
    carries : bool array of shape (n_samples,)

    See Also
    --------
    carrying_probability : Gives the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import as_far_as_told
    >>> rng = np.random.default_rng(0)
    >>> as_far_as_told(rng.uniform(0.2, 0.8, 10_000), rng.random(10_000) < 0.5)[:3].round(1).tolist()
    [0.5, 0.5, 0.5]
    """
    odds = bounded_log_odds(probabilities, _LEAST)
    odds -= odds.mean()
    if carries.all() or not carries.any():
        return probabilities
    model = LogisticRegression(max_iter=200).fit(odds[:, None], carries)
    return np.asarray(expit(model.intercept_ + np.clip(model.coef_[0], 0, 1) * odds))
