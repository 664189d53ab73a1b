"""Missing labels from predictions and a random sample of answers.

The answers recalibrate the predictions: an entry that was predicted with probability p is relevant with
log-odds

    a + m + b (logit p - m),    a ~ N(0, 3^2),  b ~ N(0.75, 0.5^2), b >= 0,

m the mean of logit p over the draws. The total is the sum of the recalibrated probabilities over all
entries; its distribution given the answers is computed on a grid of a and b. The prior says that
predictions may be wrong by any factor and separate worse, rather than better, than they claim. What it
takes for granted is that the fraction of missing labels follows the predictions along such a curve.
The guaranteed interval (:mod:`labelgap.estimation._betting_bounds`) takes nothing for granted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from labelgap.estimation._betting_bounds import total_interval
from labelgap.estimation._sampling_design import SamplingDesign

_SHIFT_DEVIATION, _SLOPE_MEAN, _SLOPE_DEVIATION = 3.0, 0.75, 0.5
_SHIFTS = np.linspace(-7.0, 9.0, 33)
_SLOPES = np.linspace(0.0, 2.6, 14)
_N_FINE, _NEGLIGIBLE = 41, 1e-4
_NORMAL_95 = 1.959964


class MissingTotal(NamedTuple):
    """How many labels are missing, from a random sample of answers.

    Attributes
    ----------
    value, low, high : float
        The estimate and its interval from recalibrated predictions.
    guaranteed_low, guaranteed_high : int
        Bounds that hold whatever the predictions are worth, and whenever you stop.
    n_answers, n_found : int
        Entries that were answered, and missing labels among them.

    See Also
    --------
    estimate_missing : Makes one, with an example.
    """

    value: float
    low: float
    high: float
    guaranteed_low: int
    guaranteed_high: int
    n_answers: int
    n_found: int


class Recalibration(NamedTuple):
    """A curve from predicted to recalibrated probabilities: log-odds shift + centre + slope (s - centre).

    See Also
    --------
    recalibrate : Learns one, with an example.
    """

    shift: float
    slope: float
    centre: float

    def __call__(self, probabilities: Any) -> np.ndarray:
        """Return the recalibrated probabilities."""
        scores = _scores(probabilities)
        return expit(self.shift + self.centre + self.slope * (scores - self.centre))


class _CurveGrid:
    """The posterior of shift and slope, given answers at entries of some scores.

    A coarse grid finds where the posterior is, and a fine one is laid over that part.
    """

    def __init__(self, scores: np.ndarray, n: np.ndarray, found: np.ndarray, centre: float) -> None:
        self.centre = centre
        answers = scores[n > 0], n[n > 0], found[n > 0]
        self._fill(_SHIFTS, _SLOPES, *answers)
        likely = self.weights > _NEGLIGIBLE * self.weights.max()
        step, slope_step = _SHIFTS[1] - _SHIFTS[0], _SLOPES[1] - _SLOPES[0]
        shifts, slopes = self.shifts[likely], self.slopes[likely]
        self._fill(
            np.linspace(shifts.min() - step, shifts.max() + step, _N_FINE),
            np.linspace(max(0, slopes.min() - slope_step), slopes.max() + slope_step, _N_FINE),
            *answers,
        )

    def _fill(
        self,
        shifts: np.ndarray,
        slopes: np.ndarray,
        scores: np.ndarray,
        n: np.ndarray,
        found: np.ndarray,
    ) -> None:
        self.shifts, self.slopes = (
            part.ravel() for part in np.meshgrid(shifts, slopes, indexing="ij")
        )
        eta = self._eta(scores)
        log_posterior = log_expit(eta) @ found + log_expit(-eta) @ (n - found)
        log_posterior -= 0.5 * (self.shifts / _SHIFT_DEVIATION) ** 2
        log_posterior -= 0.5 * ((self.slopes - _SLOPE_MEAN) / _SLOPE_DEVIATION) ** 2
        weights = np.exp(log_posterior - log_posterior.max())
        self.weights = weights / weights.sum()

    def _eta(self, scores: np.ndarray) -> np.ndarray:
        along = self.slopes[:, None] * (scores - self.centre)
        return self.shifts[:, None] + self.centre + along

    def totals(self, scores: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The sum of the probabilities under every curve."""
        return expit(self._eta(scores)) @ sizes

    def quantiles(self, totals: np.ndarray, levels: tuple[float, ...]) -> np.ndarray:
        order = np.argsort(totals, kind="stable")
        mass = np.cumsum(self.weights[order])
        at = np.minimum(np.searchsorted(mass, levels), order.size - 1)
        return totals[order][at]


def estimate_missing(
    design: SamplingDesign,
    drawn: Any,
    answers: Any,
    *,
    labels: Any = None,
    confidence: float = 0.95,
) -> MissingTotal | list[MissingTotal]:
    """Estimate how many labels are missing from the answers to randomly drawn entries.

    Parameters
    ----------
    design : SamplingDesign
    drawn : int array
        Positions of the drawn entries, in the order of the draws (:func:`draw_entries`).
    answers : array of 0, 1 and NaN
        Whether each drawn entry is relevant; NaN where nobody could tell.
    labels : int array of shape (n_entries,), default=None
        The label of each entry: estimates by label. Their curve is that of the table; their
        guaranteed bounds hold for labels as they are.
    confidence : float, default=0.95

    Returns
    -------
    MissingTotal, or a list of them, by label, with ``labels``

    See Also
    --------
    answers_for_width : How many answers it takes, beforehand.
    TotalBounds : The guaranteed bounds while answers come in.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import design_sample, draw_entries, estimate_missing
    >>> rng = np.random.default_rng(0)
    >>> probabilities = rng.beta(0.05, 2, size=20_000)
    >>> relevant = rng.random(20_000) < probabilities
    >>> design = design_sample(probabilities)
    >>> drawn = draw_entries(design, 200, random_state=0)
    >>> total = estimate_missing(design, drawn, relevant[drawn])
    >>> bool(total.low < relevant.sum() < total.high), total.n_answers
    (True, 200)
    """
    drawn, answers = np.asarray(drawn, dtype=np.intp), np.asarray(answers, dtype=float)
    if drawn.shape != answers.shape:
        raise ValueError(
            f"answers: {answers.size} for {drawn.size} drawn entries; give one for each"
        )
    weights = draw_weights(design, drawn)
    known = ~np.isnan(answers)
    strata = design.strata[drawn[known]]
    n = np.bincount(strata, minlength=design.n_strata)
    found = np.bincount(strata, answers[known], minlength=design.n_strata)
    grid = _CurveGrid(_scores(design.probabilities), n, found, _centre(design))
    levels = ((1 - confidence) / 2, 0.5, (1 + confidence) / 2)
    parts = []
    for members in _members(labels, design):
        inside = members[drawn]
        sizes = np.bincount(design.strata, members, minlength=design.n_strata)
        parts.append(
            _estimate(grid, design, sizes, weights, np.where(inside, answers, 0.0), inside, levels)
        )
    return parts if labels is not None else parts[0]


def _estimate(
    grid: _CurveGrid,
    design: SamplingDesign,
    sizes: np.ndarray,
    weights: np.ndarray,
    answers: np.ndarray,
    inside: np.ndarray,
    levels: tuple[float, ...],
) -> MissingTotal:
    """The estimate for the entries that ``sizes`` counts in each stratum."""
    known = inside & ~np.isnan(answers)
    n_found = int(answers[known].sum())
    totals = grid.totals(_scores(design.probabilities), sizes)
    low, value, high = np.clip(grid.quantiles(totals, levels), n_found, sizes.sum())
    bounds = total_interval(
        answers,
        weights,
        design.n_entries,
        largest_weight=design.largest_weight,
        confidence=levels[2] - levels[0],
    )
    return MissingTotal(
        float(value),
        float(low),
        float(high),
        max(bounds[0], n_found),
        int(min(bounds[1], sizes.sum())),
        int(known.sum()),
        n_found,
    )


def _members(labels: Any, design: SamplingDesign) -> list[np.ndarray]:
    if labels is None:
        return [np.ones(design.n_entries, dtype=bool)]
    of_entries = np.asarray(labels)
    return [of_entries == label for label in range(int(of_entries.max()) + 1)]


def draw_weights(design: SamplingDesign, drawn: np.ndarray) -> np.ndarray:
    """Return the inverse of the probability of each draw among the entries left then."""
    left, n_open = design.sizes.copy(), design.n_strata
    weights = np.empty(drawn.size)
    for draw, stratum in enumerate(design.strata[drawn]):
        weights[draw] = n_open * left[stratum]
        left[stratum] -= 1
        n_open -= left[stratum] == 0
    return weights


def answers_for_width(design: SamplingDesign, width: float, *, most: int = 100_000) -> int | None:
    """Return about how many answers an interval of some width needs, if the predictions hold.

    Parameters
    ----------
    design : SamplingDesign
    width : float
        Wanted distance between the ends of the 95% interval, in labels.
    most : int, default=100_000
        Give up beyond that.

    Returns
    -------
    int or None
        None where ``most`` answers are too few.

    See Also
    --------
    estimate_missing : Gives the interval.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import answers_for_width, design_sample
    >>> probabilities = np.random.default_rng(0).beta(0.05, 2, size=20_000)
    >>> design = design_sample(probabilities)
    >>> [answers_for_width(design, width) for width in (400, 200, 100)]
    [108, 446, 1805]
    """
    if not width > 0:
        raise ValueError(f"width={width}: must be positive")
    if expected_width(design, most) > width:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        is_wide = expected_width(design, middle) > width
        low, high = (middle, high) if is_wide else (low, middle)
    return high


def expected_width(design: SamplingDesign, n_answers: int) -> float:
    """Return about how wide the 95% interval becomes, if the predictions hold.

    Parameters
    ----------
    design : SamplingDesign
    n_answers : int

    Returns
    -------
    float
        In labels, from the curvature of the likelihood at the predictions.

    See Also
    --------
    answers_for_width : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import design_sample, expected_width
    >>> probabilities = np.random.default_rng(0).beta(0.05, 2, size=20_000)
    >>> round(expected_width(design_sample(probabilities), 200))
    296
    """
    scores, p = _scores(design.probabilities), design.probabilities
    basis = np.column_stack([np.ones(scores.size), scores - _centre(design)])
    spread = p * (1 - p)
    per_answer = (basis * (spread / design.n_strata)[:, None]).T @ basis
    prior = np.diag([_SHIFT_DEVIATION**-2, _SLOPE_DEVIATION**-2])
    moves = basis.T @ (spread * design.sizes)
    variance = moves @ np.linalg.solve(prior + n_answers * per_answer, moves)
    return 2 * _NORMAL_95 * float(np.sqrt(variance))


def recalibrate(probabilities: Any, relevant: Any) -> Recalibration:
    """Learn how predicted probabilities must be corrected from entries whose truth is known.

    Parameters
    ----------
    probabilities : array of shape (n,)
        Predictions of the entries that became known.
    relevant : array of 0 and 1 of shape (n,)

    Returns
    -------
    Recalibration
        The mean curve given the answers; without any, one close to the identity.

    See Also
    --------
    labelgap.diff : Learns it from two versions of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import recalibrate
    >>> rng = np.random.default_rng(0)
    >>> said = rng.uniform(0.05, 0.95, size=2000)
    >>> curve = recalibrate(said, rng.random(2000) < said / 2)
    >>> curve([0.2, 0.8]).round(1).tolist()
    [0.1, 0.4]
    """
    scores, relevant = _scores(probabilities), np.asarray(relevant, dtype=float)
    if scores.shape != relevant.shape:
        raise ValueError(f"relevant: {relevant.size} for {scores.size} probabilities")
    if not scores.size:
        return Recalibration(0.0, 1.0, 0.0)
    # entries with nearly the same prediction count together
    rounded, group = np.unique(scores.round(2), return_inverse=True)
    n, found = np.bincount(group), np.bincount(group, relevant)
    spread = expit(rounded) * expit(-rounded)
    centre = float(rounded @ (n * spread) / (n @ spread))
    grid = _CurveGrid(rounded, n, found, centre)
    shift, slope = float(grid.weights @ grid.shifts), float(grid.weights @ grid.slopes)
    return Recalibration(shift, slope, centre)


def _scores(probabilities: Any) -> np.ndarray:
    return logit(np.clip(np.asarray(probabilities, dtype=float), 1e-6, 1 - 1e-6))


def _centre(design: SamplingDesign) -> float:
    """The mean score of a draw."""
    return float(_scores(design.probabilities).mean())
