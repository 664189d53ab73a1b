"""Probabilities of being recorded that level off, at a height of its own for each label.

No entry is recorded more often than relevant labels are. A logistic regression does not know: where
labels are missing it says too much of the most probable entries and too little of those below. With s
its log-odds,

    P(recorded | s) = ceiling_j sigmoid(a + b s),    logit ceiling_j ~ N(m, 1),

and a, b, m and all ceilings are the most probable ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

_EDGES = np.linspace(-12.0, 12.0, 241)
# what is known of the mean of log-odds of ceilings without a table
_MEAN, _MEAN_DEVIATION = 3.0, 5.0
_MOST_STEPS = 200
_LEAST = 1e-9


class LabelCeilings(NamedTuple):
    """Curves ``ceilings[label] * sigmoid(shift + slope * score)``.

    See Also
    --------
    fit_ceilings : Learns them.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.propensity import LabelCeilings
    >>> curves = LabelCeilings(0.0, 1.0, np.array([0.9, 0.4]))
    >>> curves.probabilities(np.array([[0.0, 0.0], [50.0, 50.0]])).tolist()
    [[0.45, 0.2], [0.9, 0.4]]
    """

    shift: float
    slope: float
    ceilings: np.ndarray

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities for scores of shape (n, n_labels)."""
        return np.asarray(self.ceilings * expit(self.shift + self.slope * scores))


def fit_ceilings(
    scores: np.ndarray, hits: np.ndarray, labels: np.ndarray, n_labels: int
) -> LabelCeilings:
    """Return how often entries of each label are recorded, by scores that did not learn from them.

    Parameters
    ----------
    scores : array of shape (n,)
        Log-odds of being recorded.
    hits : bool array of shape (n,)
        Which entries are recorded.
    labels : int array of shape (n,)
        The label of each entry.
    n_labels : int

    See Also
    --------
    top_scored_fraction : One ceiling, without a curve.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from labelgap.propensity import fit_ceilings
    >>> rng = np.random.default_rng(0)
    >>> scores, labels = 4 * rng.normal(size=20_000), np.repeat([0, 1], 10_000)
    >>> recorded = rng.random(20_000) < np.array([0.9, 0.4])[labels] * expit(scores)
    >>> fit_ceilings(scores, recorded, labels, 2).ceilings.round(1).tolist()
    [0.9, 0.4]
    """
    n_bins = _EDGES.size + 1
    place = np.searchsorted(_EDGES, scores) + n_bins * labels
    n, found, total = (np.bincount(place, part, n_labels * n_bins) for part in (None, hits, scores))
    seen = np.flatnonzero(n)
    label, score, n, found = seen // n_bins, total[seen] / n[seen], n[seen], found[seen]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        own = parameters[3:]
        ceiling, rising = expit(own)[label], expit(parameters[0] + parameters[1] * score)
        p = np.clip(ceiling * rising, _LEAST, 1 - _LEAST)
        change = found / p - (n - found) / (1 - p)
        shift, height = change * p * (1 - rising), change * p * (1 - ceiling)
        apart, far = own - parameters[2], (parameters[2] - _MEAN) / _MEAN_DEVIATION**2
        value = (apart @ apart + far * (parameters[2] - _MEAN)) / 2
        value -= (found * np.log(p) + (n - found) * np.log1p(-p)).sum()
        common = [shift.sum(), (shift * score).sum(), apart.sum() - far]
        slopes = np.r_[common, np.bincount(label, height, n_labels) - apart]
        return value / found.sum(), -slopes / found.sum()

    # from above and from where half is recorded: the likelihood may have two tops
    starts = [np.r_[0.0, 1.0, m, np.full(n_labels, m)] for m in (_MEAN, logit(0.6))]
    bounds = [(-8.0, 8.0), (0.2, 6.0), (-6.0, 8.0)] + [(-6.0, 8.0)] * n_labels
    options = {"maxiter": _MOST_STEPS}
    tops = [minimize(loss, start, jac=True, bounds=bounds, options=options) for start in starts]
    best = min(tops, key=lambda top: top.fun).x
    return LabelCeilings(float(best[0]), float(best[1]), expit(best[3:]))
