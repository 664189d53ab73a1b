"""One label frequency for all entries.

Three estimators of c serve the library. All read it from entries whose scores were computed without
them; where no entry is predicted with confidence, c is not identified.

- :func:`top_scored_fraction`: no entry is recorded with a larger probability than c, so among the
  entries that are most probably relevant the fraction of recorded ones levels off at c.
- :func:`estimate_label_frequency`: the same, and the ceiling of curves fitted to all scores.
- :func:`label_frequency_mode`: in a model that has c among its parameters, the most probable c.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit

from labelgap.kernels.probabilities import log_odds

_NEVER = 1e-12
_FEWEST = 30
_STEP, _COARSE = 0.02, 5
_GRID = np.round(np.arange(1.0, 0.04, -_STEP), 2)
_HALF_DEVIANCE = 1.92  # 95% of a chi-square with one degree of freedom, halved
_COMPLETE = 0.9
_LEAST = 0.02
_MAX_LABELS = 30
_SLOPE_BINS = 1024
_FARTHEST_OFFSET = 100.0
_EXACT_TO = 0.8


# Entries that are not recorded


def unlabeled_posterior(log_odds: Any, label_frequency: Any) -> np.ndarray:
    """Return the probability that an unlabeled entry is relevant, (1 - c) p / (1 - c p).

    Parameters
    ----------
    log_odds : array
        Of the probability p that the entry is relevant, before looking at whether it is recorded.
    label_frequency : float or array
        The probability c that a relevant entry is recorded; a propensity per entry works too.

    See Also
    --------
    calibration_shift : Makes the expected number of missing labels agree with c.

    Examples
    --------
    >>> from labelgap.propensity import unlabeled_posterior
    >>> float(unlabeled_posterior(0.0, 0.5).round(3))
    0.333
    """
    positive = np.exp(-np.logaddexp(0, -np.asarray(log_odds)))
    return (1 - label_frequency) * positive / (1 - label_frequency * positive)


def calibration_shift(
    log_odds: np.ndarray,
    total: float,
    *,
    counts: np.ndarray | None = None,
    label_frequency: float = 0.0,
    farthest: float = 30.0,
    xtol: float = 2e-12,
) -> float:
    """Return the shift of log-odds with which as many relevant entries are expected as given.

    Solves ``sum(counts * unlabeled_posterior(log_odds + shift, label_frequency)) = total``. With
    the label frequency 0 the posterior is the plain sigmoid. Returns 0 where no shift within
    ``farthest`` reaches the total.

    Parameters
    ----------
    log_odds : array of shape (n,)
    total : float
        Of (1 - c) / c missing labels for each recorded one, for example.
    counts : array of shape (n,), default=None
        Entries that have each of the log-odds; None means one each.
    label_frequency : float, default=0.0
    farthest : float, default=30.0
        The largest shift.
    xtol : float, default=2e-12
        How exact the shift is.

    See Also
    --------
    unlabeled_posterior : The probability that is summed.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from labelgap.propensity import calibration_shift
    >>> scores = np.array([-2.0, 0.0, 1.0])
    >>> float(expit(scores + calibration_shift(scores, 2.0)).sum().round(6))
    2.0
    """

    def excess(shift: float) -> float:
        posterior = unlabeled_posterior(log_odds + shift, label_frequency)
        return float(posterior.sum() if counts is None else counts @ posterior) - total

    if excess(-farthest) < 0 < excess(farthest):
        return float(brentq(excess, -farthest, farthest, xtol=xtol))
    return 0.0


def relevance_log_odds(scores: np.ndarray, label_frequency: Any) -> np.ndarray:
    """Return the log-odds of being relevant from the log-odds of being recorded.

    P(relevant) = g / c up to 0.8; the rest of g, up to 1, is spread over the rest, since models
    of g do not know its ceiling c. With one c for all labels the order of labels in a row stays.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels) or (n_samples,)
        Log-odds of g.
    label_frequency : float or array of shape (n_labels,)
        c; labels with c = 1 stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> from labelgap.propensity import relevance_log_odds
    >>> expit(relevance_log_odds(logit(np.array([0.1, 0.3, 0.8])), 0.5)).round(3).tolist()
    [0.2, 0.6, 0.933]
    """
    c = np.asarray(label_frequency, dtype=float)
    if (c >= 1).all():
        return scores
    g = expit(scores)
    kink = _EXACT_TO * c
    above = _EXACT_TO + (1 - _EXACT_TO) * (g - kink) / (1 - kink)
    return np.where(c >= 1, scores, log_odds(np.where(g <= kink, g / c, above)))


# The label frequency from the entries with the largest scores


class TopScoredFraction(NamedTuple):
    """A fraction of recorded entries with its interval, and the number of entries behind it.

    See Also
    --------
    top_scored_fraction : Makes one.

    Examples
    --------
    >>> from labelgap.propensity import TopScoredFraction
    >>> TopScoredFraction(0.6, 0.5, 0.7, 80).low
    0.5
    """

    value: float
    low: float
    high: float
    n: int

    @property
    def middle(self) -> float:
        """Return a less biased value: the set was picked for its large fraction."""
        return (self.value + self.low) / 2


def top_scored_fraction(
    scores: np.ndarray, hits: np.ndarray, *, fewest: int = 50, z: float = 1.96
) -> TopScoredFraction | None:
    """Return the fraction of recorded entries among those with the largest scores.

    Of all sets of at least ``fewest`` such entries, the one whose interval has the largest lower
    end; None where there are fewer entries. The scores must not have been learned from the entries
    themselves.

    Parameters
    ----------
    scores : array of shape (n,)
    hits : bool array of shape (n,)
        Which entries are recorded.
    fewest : int, default=50
    z : float, default=1.96
        Standard deviations of the interval, by default of 95%.

    See Also
    --------
    estimate_label_frequency : Adds the ceiling of curves fitted to all scores.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import top_scored_fraction
    >>> rng = np.random.default_rng(0)
    >>> relevant = rng.random(5000) < 0.2
    >>> recorded = relevant & (rng.random(5000) < 0.6)
    >>> round(top_scored_fraction(relevant + 0.1 * rng.random(5000), recorded).value, 1)
    0.6
    """
    falling = np.argsort(-scores, kind="stable")
    return top_scored_fraction_of_bins(np.ones(scores.size), hits[falling], fewest=fewest, z=z)


def top_scored_fraction_of_bins(
    n: np.ndarray, hits: np.ndarray, *, fewest: int = 50, z: float = 1.96
) -> TopScoredFraction | None:
    """Return :func:`top_scored_fraction` from counts of entries and hits by bins of falling score.

    Parameters
    ----------
    n, hits : arrays of shape (n_bins,)
    fewest : int, default=50
    z : float, default=1.96
        As in :func:`top_scored_fraction`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import top_scored_fraction_of_bins
    >>> top_scored_fraction_of_bins(np.array([100, 300]), np.array([60, 30])).value
    0.6
    """
    total, found = (np.cumsum(part, dtype=np.float64) for part in (n, hits))
    enough = total >= fewest
    if not enough.any():
        return None
    total, found = total[enough], found[enough]
    low, high = wilson_interval(found, total, z)
    best = int(np.argmax(low))
    bounds = float(low[best]), float(high[best])
    return TopScoredFraction(float(found[best] / total[best]), *bounds, int(total[best]))


def wilson_interval(
    hits: np.ndarray, n: np.ndarray, z: float = 1.96
) -> tuple[np.ndarray, np.ndarray]:
    """Return the score interval of the fraction hits / n.

    Parameters
    ----------
    hits, n : arrays
    z : float, default=1.96
        Standard deviations, by default for 95%.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import wilson_interval
    >>> [float(end.round(3)) for end in wilson_interval(np.array(8), np.array(10))]
    [0.49, 0.943]
    """
    fraction = hits / n
    centre = (fraction + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(fraction * (1 - fraction) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


# The label frequency from curves over all scores


class FrequencyEstimate(NamedTuple):
    """The label frequency with an interval over all estimates, and what it says of zeros.

    ``zeros`` are "unlabeled" where a ceiling below 1 fits significantly better, "negative" where
    the interval lies above 0.9, and otherwise "unclear".

    See Also
    --------
    estimate_label_frequency : Makes one.

    Examples
    --------
    >>> from labelgap.propensity import FrequencyEstimate
    >>> FrequencyEstimate(0.6, 0.5, 0.7, "unlabeled").zeros
    'unlabeled'
    """

    value: float
    low: float
    high: float
    zeros: Literal["unlabeled", "negative", "unclear"]


def estimate_label_frequency(
    scores: np.ndarray,
    n: np.ndarray,
    hits: np.ndarray,
    per_label: tuple[np.ndarray, np.ndarray] | None = None,
) -> FrequencyEstimate:
    """Return the label frequency from counts of entries and of recorded ones, by rising score.

    The value is the mean of two estimates. The first lies between the fraction recorded among the
    most confident entries (:func:`top_scored_fraction`) and its lower end, since that set was picked
    for its large fraction; it is too small where nothing is predicted confidently. The second is the
    most likely c of

        P(recorded | score s) = c sigmoid(a + b s + d log(max(s, 0) + 0.01)),    b, d > 0,

    with a, b, d of each label, which tends to be too large; it is at least that lower end and at
    most what one curve for all labels allows. One curve alone levels off too early where the scores
    of hard labels are as large as those of easy ones. Without ``per_label`` there is the first alone.

    Parameters
    ----------
    scores, n, hits : arrays of shape (n_bins,)
        Score of each bin, rising; entries and recorded entries in it.
    per_label : pair of arrays of shape (n_labels, n_bins), default=None
        ``n`` and ``hits`` of each label.

    See Also
    --------
    top_scored_fraction : The first estimate alone, from single entries.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import estimate_label_frequency
    >>> scores = np.linspace(0, 1, 50)
    >>> n = np.full(50, 1000)
    >>> hits = np.random.default_rng(0).binomial(n, 0.6 / (1 + np.exp(6 - 15 * scores)))
    >>> found = estimate_label_frequency(scores, n, hits)
    >>> round(found.value, 2), found.zeros
    (0.6, 'unlabeled')
    """
    top = top_scored_fraction_of_bins(n[n > 0][::-1], hits[n > 0][::-1], fewest=_FEWEST)
    top = top or TopScoredFraction(1.0, 0.0, 1.0, 0)
    losses = _curve_losses(scores, n, hits)
    inside = _GRID[losses - losses.min() < _HALF_DEVIANCE]
    low, high, gain = float(inside.min()), float(inside.max()), losses[0] - losses.min()
    value = (top.low + top.value) / 2
    if per_label is not None:
        ceiling = min(_ceiling_of_labels(scores, *per_label), high)
        value = (value + max(ceiling, top.low)) / 2
    value = max(value, _LEAST)
    ends = max(min(low, top.low), _LEAST), max(high, top.high, value)
    if ends[0] > _COMPLETE:
        # 1 is then as plausible as the estimate
        return FrequencyEstimate((value + ends[1]) / 2, *ends, "negative")
    below_one = gain > _HALF_DEVIANCE and high < 1.0
    return FrequencyEstimate(value, *ends, "unlabeled" if below_one else "unclear")


def _ceiling_of_labels(scores: np.ndarray, n: np.ndarray, hits: np.ndarray) -> float:
    """Return the most likely c that the most frequent labels share, each with its own curve."""
    frequent = np.argsort(-hits.sum(axis=1), kind="stable")[:_MAX_LABELS]

    def best_of(grid: np.ndarray) -> float:
        losses = sum(_curve_losses(scores, n[label], hits[label], grid) for label in frequent)
        return float(grid[np.argmin(losses)])

    about = best_of(_GRID[::_COARSE])
    return best_of(_GRID[np.abs(_GRID - about) < _COARSE * _STEP - _STEP / 2])


def _curve_losses(
    scores: np.ndarray, n: np.ndarray, hits: np.ndarray, grid: np.ndarray = _GRID
) -> np.ndarray:
    """Return the negative log-likelihood of the best curve for every c of the grid."""
    seen = n > 0
    scores, n, hits = scores[seen], n[seen].astype(float), hits[seen].astype(float)
    design = np.column_stack([np.ones_like(scores), scores, np.log(np.maximum(scores, 0) + 0.01)])

    def loss(parameters: np.ndarray, c: float) -> tuple[float, np.ndarray]:
        slopes = np.exp(parameters[1:])
        relevant = expit(design @ np.concatenate([parameters[:1], slopes]))
        g = np.clip(c * relevant, 1e-12, 1 - 1e-9)
        value = -(hits * np.log(g) + (n - hits) * np.log1p(-g)).sum()
        gradient = design.T @ (-(hits - (n - hits) * g / (1 - g)) * (1 - relevant))
        gradient[1:] *= slopes
        return float(value), gradient

    start, losses = np.array([-3.0, 1.0, 0.0]), []
    bounds = [(-60.0, 60.0), (-12.0, 5.0), (-12.0, 5.0)]
    for c in grid:
        done = minimize(loss, start, args=(c,), jac=True, method="L-BFGS-B", bounds=bounds)
        start = done.x
        losses.append(done.fun)
    return np.array(losses)


def fit_slope(log_odds: np.ndarray, hits: np.ndarray, label_frequency: float) -> float:
    """Return the s of ``c sigmoid(t + s log_odds)`` with the largest likelihood of the records.

    How steep log-odds of relevance should be, given the label frequency c; from counts by bin.

    Parameters
    ----------
    log_odds : array of shape (n,)
    hits : bool array of shape (n,)
        Which entries are recorded.
    label_frequency : float

    See Also
    --------
    calibration_shift : The shift that belongs to the slope.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from labelgap.propensity import fit_slope
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=20000)
    >>> recorded = rng.random(20000) < 0.7 * expit(2 * scores)
    >>> round(fit_slope(scores, recorded, 0.7))
    2
    """
    edges = np.linspace(log_odds.min(), log_odds.max() + 1e-9, _SLOPE_BINS + 1)
    n = np.histogram(log_odds, edges)[0].astype(float)
    ones = np.histogram(log_odds[hits], edges)[0].astype(float)
    centre, zeros = (edges[1:] + edges[:-1]) / 2, n - ones

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        shift, slope = parameters[0], np.exp(parameters[1])
        relevant = expit(shift + slope * centre)
        g = np.clip(label_frequency * relevant, _NEVER, 1 - _NEVER)
        value = -(ones @ np.log(g) + zeros @ np.log1p(-g)) / n.sum()
        change = -(ones - zeros * g / (1 - g)) * (1 - relevant) / n.sum()
        return value, np.array([change.sum(), slope * (change @ centre)])

    bounds = [(-_FARTHEST_OFFSET, _FARTHEST_OFFSET), (-5.0, 5.0)]
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(np.exp(found.x[1]))


# The label frequency as a parameter of a model


def label_frequency_mode(
    exposed: np.ndarray, candidates: np.ndarray, prior: tuple[Any, Any], otherwise: Any = 0.5
) -> np.ndarray:
    """Return the most probable label frequency under a beta prior, as an M step updates it.

    Parameters
    ----------
    exposed : array
        Recorded entries, and expected number of zeros that are negatives.
    candidates : array
        Entries that are recorded or unlabeled.
    prior : pair of float or arrays
        a and b of the beta distribution, at least 1.
    otherwise : float or array, default=0.5
        The label frequency where neither candidates nor the prior say anything.

    See Also
    --------
    estimate_label_frequency : Without a model, from held-out scores.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import label_frequency_mode
    >>> label_frequency_mode(np.array([30.0, 0.0]), np.array([40.0, 0.0]), (2.0, 2.0)).round(3).tolist()
    [0.738, 0.5]
    """
    a, b = prior
    total = np.asarray(candidates + (a - 1) + (b - 1), dtype=np.float64)
    mode = np.broadcast_to(otherwise, total.shape).astype(np.float64)
    return np.divide(exposed + (a - 1), total, out=mode, where=total > 0)
