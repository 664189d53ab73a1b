"""A label frequency for each label, with what the table does not tell about it.

Notation: y relevant, s recorded, c_j the label frequency of label j, g = P(s = 1 | x).

The scores of recorded entries have the same distribution whatever c_j is. On the scale t on which they
are standard normal, relevance is taken to rise as a sigmoid, so that

    P(s_j = 1 | t) = ceiling_j sigmoid(a_j + b_j t),    b_j >= 0,

and counts by t give the likelihood of each ceiling. A label whose probabilities never level off says
little about its own. A ceiling lies below c_j where features cannot tell relevant items from others,

    log ceiling_j = log c_j - (h / sqrt(n_j)) |e_j|,    e_j standard normal,    n_j recorded entries,

(300 where there are more), and the frequencies of all labels are log c_j ~ normal(log m, v). What these
share (h, m, v) is weighted by the likelihood of all labels together: rates that seem to differ because
some labels are hard to predict are drawn to one rate, and rates that do differ are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from labelgap.propensity._label_frequency import TopScoredFraction

_SURE, _MOST = 0.95, 0.99
_GRID = np.append(np.round(np.arange(0.05, 0.96, 0.05), 2), [0.97, 0.985, 0.995])
_SPREADS = (0.02, 0.1, 0.2, 0.35, 0.5, 0.8)
_HARDNESS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
_N_QUANTILES, _N_STEPS, _LABELS_AT_ONCE = 20, 30, 500
# of log-odds: what a sigmoid on that scale leaves out
_BLUR = 0.2
# how far the largest ceiling may be from the largest label frequency, and which quantile that is
_CEILING_ERROR, _LARGEST = 0.04, 1.2
# more recorded entries do not make a label less hard
_LEARNED = 300
_NEVER = 1e-300
_HALF_DEVIANCE = 1.92  # 95% of a chi-square with one degree of freedom, halved


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


class LabelRates(NamedTuple):
    """How probable each label frequency is, for each label.

    Attributes
    ----------
    grid : array of shape (n_rates,)
        Label frequencies, rising.
    weights : array of shape (n_labels, n_rates)
        Their probabilities.

    See Also
    --------
    estimate_label_rates : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import LabelRates
    >>> rates = LabelRates(np.array([0.5, 1.0]), np.array([[0.5, 0.5], [0.0, 1.0]]))
    >>> rates.mean().tolist(), rates.missing_per_positive().tolist()
    ([0.75, 1.0], [0.5, 0.0])
    """

    grid: np.ndarray
    weights: np.ndarray

    def mean(self) -> np.ndarray:
        """Return the expected label frequency of each label."""
        return np.asarray(self.weights @ self.grid)

    def quantile(self, q: float) -> np.ndarray:
        """Return the label frequency below which each label's lies with the probability q."""
        reached = np.cumsum(self.weights, axis=1) >= q - 1e-12
        return np.asarray(self.grid[reached.argmax(axis=1)])

    def told_apart(self) -> float:
        """Return which fraction of the variance is between labels: near 0 the table shows one rate."""
        mean = self.mean()
        within = float((self.weights @ self.grid**2 - mean**2).mean())
        return float(mean.var() / max(mean.var() + within, 1e-12))

    def missing_per_positive(self) -> np.ndarray:
        """Return how many labels are missing for each recorded one, the mean of 1 / c - 1."""
        return np.asarray(self.weights @ (1 / self.grid - 1))

    def at_most(self, rate: float) -> LabelRates:
        """Return the same without label frequencies above a rate."""
        kept = self.grid <= max(rate, self.grid[0])
        weights = np.where(kept, self.weights, 0.0)
        weights[:, np.flatnonzero(kept)[-1]] += 1e-12  # where all of them were above
        return LabelRates(self.grid, weights / weights.sum(axis=1, keepdims=True))

    def unrecorded(self, probabilities: np.ndarray, effort: float = 1.0) -> np.ndarray:
        """Return P(relevant | not recorded) of each label where it is recorded with the probability g.

        Parameters
        ----------
        probabilities : array of shape (n,)
            g; the result has the shape (n_labels, n).
        effort : float, default=1.0
            Multiplies the label frequencies of the entries, where g is that of all people together.
        """
        relevance = bounded_relevance(probabilities[None, :], self.grid[:, None])
        rate = np.minimum(self.grid * effort, 1.0)[:, None]
        return np.asarray(self.weights @ (relevance * (1 - rate) / (1 - relevance * rate)))


def estimate_label_rates(
    counts: Sequence[tuple[np.ndarray, np.ndarray]], ceiling: TopScoredFraction | None = None
) -> LabelRates:
    """Return label frequencies from counts of entries and recorded ones by rising score.

    Parameters
    ----------
    counts : sequence of (n, hits)
        For one or more kinds of scores, arrays of shape (n_labels, n_bins): entries, and recorded ones
        among them. Bins are in the order of the scores, which must not have been learned from the
        entries themselves.
    ceiling : TopScoredFraction, default=None
        The fraction that is recorded of the top-scored entries of all labels together: about the
        largest label frequency.

    See Also
    --------
    top_scored_fraction : Gives the ceiling.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import estimate_label_rates
    >>> rng = np.random.default_rng(0)
    >>> rates, scores = np.array([0.9, 0.3, 0.6, 0.9]), np.linspace(-6, 6, 200)
    >>> n = np.full((4, 200), 40)
    >>> hits = rng.binomial(n, rates[:, None] / (1 + np.exp(1 - 3 * scores)))
    >>> estimate_label_rates([(n, hits)]).mean().round(1).tolist()
    [0.9, 0.3, 0.6, 0.9]
    """
    hits = np.asarray(counts[0][1]).sum(axis=1)
    # several scores of the same entries are not independent: their mean
    likelihood = np.exp(np.mean([_log_likelihoods(*_by_quantile(*c)) for c in counts], axis=0))
    shared = [(m, v) for m in _GRID for v in _SPREADS]
    priors = np.column_stack([_prior(m, v) for m, v in shared])
    typical = max(np.sqrt(hits.size) / 2, 2.0)  # of many labels, more resemble each other
    by_hardness = [_with_hardness(likelihood, hits, h) for h in _HARDNESS]
    evidence = np.array(
        [
            np.log(np.maximum(part @ priors, _NEVER)).sum(axis=0) - abs(h - typical)
            for h, part in zip(_HARDNESS, by_hardness, strict=True)
        ]
    )
    if ceiling is not None:
        largest = np.array([min(np.log(m) + _LARGEST * v, 0.0) for m, v in shared])
        low, middle, high = np.log(np.maximum([ceiling.low, ceiling.middle, ceiling.high], 0.01))
        evidence -= (middle - largest) ** 2 / (_CEILING_ERROR**2 + ((high - low) / 4) ** 2) / 2
    evidence = np.exp(evidence - evidence.max())
    weights = np.zeros_like(likelihood)
    for part, row in zip(by_hardness, evidence / evidence.sum(), strict=True):
        for k in np.flatnonzero(row > 1e-4):
            joint = part * priors[:, k]
            weights += row[k] * joint / np.maximum(joint.sum(axis=1, keepdims=True), _NEVER)
    weights = weights @ _kernel(logit(_GRID), _BLUR)
    return LabelRates(_GRID, weights / weights.sum(axis=1, keepdims=True))


def highest_label_frequency(n: np.ndarray, hits: np.ndarray) -> float:
    """Return the largest ceiling of all entries together that their counts do not exclude.

    Parameters
    ----------
    n, hits : arrays of shape (n_bins,)
        Entries and recorded ones among them, by rising score.

    See Also
    --------
    estimate_label_rates : One for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import highest_label_frequency
    >>> n = np.full(200, 40)
    >>> hits = np.random.default_rng(0).binomial(n, 0.6 / (1 + np.exp(-np.linspace(-9, 9, 200))))
    >>> highest_label_frequency(n, hits) < 0.8
    True
    """
    likelihood = _log_likelihoods(*_by_quantile(n[None, :], hits[None, :]))[0]
    highest = float(_GRID[np.flatnonzero(likelihood > -_HALF_DEVIANCE)[-1]])
    return 1.0 if highest == _GRID[-1] else highest


def _by_quantile(n: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t, entries and hits by label and quantile of the scores of recorded entries."""
    n_labels = n.shape[0]
    total = np.maximum(hits.sum(axis=1, keepdims=True), 1)
    middle = (np.cumsum(hits, axis=1) - hits / 2) / total
    at = np.minimum((middle * _N_QUANTILES).astype(np.intp), _N_QUANTILES - 1)
    at = (at + np.arange(n_labels)[:, None] * _N_QUANTILES).ravel()

    def summed(values: np.ndarray) -> np.ndarray:
        found = np.bincount(at, values.ravel(), n_labels * _N_QUANTILES)
        return found.reshape(n_labels, _N_QUANTILES)

    entries, ones = summed(n), summed(hits)
    quantile = summed(middle * hits) / np.maximum(ones, 1)
    edge = 0.5 / _N_QUANTILES
    return ndtri(np.clip(quantile, edge, 1 - edge)), entries, ones


def _log_likelihoods(t: np.ndarray, n: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of each ceiling of the grid with the best a and b, at most 0."""
    parts = [slice(k, k + _LABELS_AT_ONCE) for k in range(0, len(t), _LABELS_AT_ONCE)]
    found = np.vstack([_best_curves(t[part], n[part], hits[part]) for part in parts])
    return np.asarray(found - found.max(axis=1, keepdims=True))


def _best_curves(t: np.ndarray, n: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Maximise over a and b by Levenberg-Marquardt steps, for all labels and ceilings at once."""
    t, n, hits, c = t[:, None], n[:, None], hits[:, None], _GRID[None, :, None]

    def curve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        relevance = expit(a[..., None] + b[..., None] * t)
        g = np.clip(c * relevance, 1e-12, 1 - 1e-9)
        value = (hits * np.log(g) + (n - hits) * np.log1p(-g)).sum(axis=-1)
        return value, g, relevance

    mean = hits.sum(axis=-1) / np.maximum(n.sum(axis=-1), 1)
    a = logit(np.clip(mean / _GRID, 1e-6, 0.95))
    b, damping = np.ones_like(a), np.full_like(a, 1e-2)
    best, g, relevance = curve(a, b)
    for _ in range(_N_STEPS):
        change = g * (1 - relevance)
        slope = (hits / g - (n - hits) / (1 - g)) * change
        weight = n / (g * (1 - g)) * change**2
        wa, wab, wb = weight.sum(-1), (weight * t).sum(-1), (weight * t**2).sum(-1)
        wa, wb = wa * (1 + damping) + 1e-9, wb * (1 + damping) + 1e-9
        da, db = slope.sum(-1), (slope * t).sum(-1)
        det = wa * wb - wab**2
        new_a = a + np.clip((wb * da - wab * db) / det, -3, 3)
        new_b = np.clip(b + np.clip((wa * db - wab * da) / det, -2, 2), 0, 20)
        value, new_g, new_relevance = curve(new_a, new_b)
        better = value >= best
        a, b, best = np.where(better, new_a, a), np.where(better, new_b, b), np.maximum(value, best)
        g = np.where(better[..., None], new_g, g)
        relevance = np.where(better[..., None], new_relevance, relevance)
        damping = np.clip(np.where(better, damping / 3, damping * 5), 1e-6, 1e6)
    return best


def _prior(middle: float, spread: float) -> np.ndarray:
    density = np.exp(-(((np.log(_GRID) - np.log(middle)) / spread) ** 2) / 2) * np.gradient(_GRID)
    return np.asarray(density / density.sum())


def _with_hardness(likelihood: np.ndarray, n_positives: np.ndarray, h: float) -> np.ndarray:
    """Return the likelihood of label frequencies from that of ceilings, which lie at or below them."""
    if h == 0:
        return likelihood
    x = np.log(_GRID)
    below = np.maximum(x[:, None] - x[None, :], 0)
    n = np.clip(n_positives, 1, _LEARNED)
    spread = np.clip(h / np.sqrt(n), 0.02, 1.0)[:, None, None]
    weight = np.where(x[None, :] <= x[:, None], np.exp(-((below / spread) ** 2) / 2), 0.0)
    weight = weight * (np.gradient(_GRID) / _GRID)
    weight /= weight.sum(axis=-1, keepdims=True)
    return np.einsum("jkl,jl->jk", weight, likelihood)


def _kernel(x: np.ndarray, width: float) -> np.ndarray:
    weight = np.exp(-(((x[:, None] - x) / width) ** 2) / 2) * np.gradient(x)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
