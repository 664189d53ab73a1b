"""Bounds of a total that hold whatever the probabilities are worth, and whenever one stops.

At draw t, entry I is drawn with probability 1 / w_t from what is left; y is 1 if it is a missing label.
With F_t the missing labels among the entries answered or drawn before, and T the total, the mean of
w_t y given the past is R_t = T - F_t. A player who bets against "T = m" multiplies the capital by

    1 - f (w_t y - R_t) / (W - R_t)      if T may be smaller,
    1 + f (w_t y - R_t) / R_t            if T may be larger,

with R_t = m - F_t, W the largest weight that draw t could have and a stake 0 < f < 1. If T = m the
capital is a nonnegative martingale, and by Ville's inequality it ever reaches 1 / alpha with probability
alpha at most: every m where it does is refused. Several stakes share the capital, so that nothing has to
be tuned. What was answered outside the draws does no harm: it leaves the population and enters F_t.

Waudby-Smith, I. and Ramdas, A. (2024), Estimating means of bounded random variables by betting, JRSS
B 86; Shekhar, S., Xu, Z., Lipton, Z., Liang, P. and Ramdas, A. (2023), Risk-limiting financial audits via
weighted sampling without replacement, UAI.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_STAKES = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.97])
_MOST_POINTS = 600
_ENOUGH = 1e250


class TotalBounds:
    """Follow lower and upper bounds of a total while answers come in.

    All bounds together hold with probability ``confidence``, for all times: you may stop when you
    like.

    Parameters
    ----------
    n_entries : int
        Entries in the population; the total is at most that.
    largest_weight : float
        No draw has a larger inverse probability.
    confidence : float, default=0.95
    sides : {"both", "upper"}, default="both"
        "upper" spends all of 1 - confidence on the upper bound, for certificates.

    See Also
    --------
    total_interval : All draws at once.
    certified_recall : What follows for the fraction that was found.

    Examples
    --------
    >>> from labelgap.estimation import TotalBounds
    >>> bounds = TotalBounds(100, largest_weight=100, sides="upper")
    >>> for drawn in range(50):
    ...     bounds.add(0, weight=100 - drawn, found_before=0)
    >>> bounds.upper
    7
    """

    def __init__(
        self,
        n_entries: int,
        largest_weight: float,
        *,
        confidence: float = 0.95,
        sides: str = "both",
    ) -> None:
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence}: must lie between 0 and 1")
        if sides not in ("both", "upper"):
            raise ValueError(f"sides={sides!r}: must be 'both' or 'upper'")
        self.n_entries, self.largest_weight, self.sides = n_entries, largest_weight, sides
        self.n_draws = self._n_open = 0
        points = np.geomspace(1, n_entries + 1, _MOST_POINTS) - 1
        self._totals = np.unique(np.concatenate([np.rint(points), [n_entries]]))
        self._threshold = (2 if sides == "both" else 1) / (1 - confidence)
        shape = (_STAKES.size, self._totals.size)
        self._against_larger, self._against_smaller = np.ones(shape), np.ones(shape)
        self._possible = np.ones(self._totals.size, dtype=bool)

    def add(
        self,
        found: float | None,
        weight: float,
        found_before: float,
        n_left: int | None = None,
        largest_weight: float | None = None,
    ) -> None:
        """Take in one draw.

        Parameters
        ----------
        found : 1, 0 or None
            Whether the drawn entry is a missing label; None, when nobody could tell, counts as 1
            for the upper bound and as 0 for the lower one.
        weight : float
            The inverse of the probability with which the entry was drawn.
        found_before : float
            Missing labels among the entries that had left the population.
        n_left : int, default=None
            Entries that were left before the draw, which bound the total as well.
        largest_weight : float, default=None
            The largest weight that this draw could have had; None takes that of all draws. It falls as
            entries leave the population, and the bound gets closer.
        """
        self.n_draws += 1
        rest = self._totals - found_before
        high = 1.0 if found is None else found
        # what nobody could tell may have been found
        least = rest - self._n_open
        limit = self.largest_weight if largest_weight is None else largest_weight
        gain = (weight * high - least) / np.maximum(limit - least, 1e-12)
        self._against_larger = _bet(self._against_larger, -gain)
        # fewer than were found already cannot be, nor more than are left
        self._possible &= rest >= (found or 0.0)
        if n_left is not None:
            self._possible &= least <= high + n_left - 1
        self._possible &= ~(self._against_larger.mean(axis=0) >= self._threshold)
        self._n_open += found is None
        if self.sides == "both":
            ratio = weight * (found or 0.0) / np.maximum(rest, 1e-12)
            self._against_smaller = _bet(self._against_smaller, ratio - 1)
            self._possible &= ~(self._against_smaller.mean(axis=0) >= self._threshold)

    @property
    def upper(self) -> int:
        """The largest total that was not refused."""
        at = np.flatnonzero(self._possible)
        if not at.size:
            return int(self._totals[0])
        # between two points of the grid everything up to the refused one is still possible
        after = at[-1] + 1
        return int(self._totals[after] - 1 if after < self._totals.size else self._totals[-1])

    @property
    def lower(self) -> int:
        """The smallest total that was not refused."""
        at = np.flatnonzero(self._possible)
        if not at.size or at[0] == 0:
            return 0
        return int(self._totals[at[0] - 1] + 1)


def _bet(capital: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """The capital of each stake after a draw, kept finite where the bet is won many times over."""
    return np.minimum(capital * (1 + _STAKES[:, None] * gain), _ENOUGH)


def total_interval(
    found: Any,
    weights: Any,
    n_entries: int,
    *,
    largest_weight: float | None = None,
    found_before: Any = None,
    confidence: float = 0.95,
) -> tuple[int, int]:
    """Return bounds of how many entries are missing labels, whatever the mechanism of the loss.

    Parameters
    ----------
    found : array of 0, 1 and NaN
        Answers in the order of the draws; NaN where nobody could tell.
    weights : array
        The inverse of the probability of each draw, among what was left then.
    n_entries : int
        Entries in the population before the first draw.
    largest_weight : float, default=None
        A bound of the weights that does not depend on the draws; None for equal probabilities,
        n_entries.
    found_before : array, default=None
        Missing labels known before each draw; None when only the draws found some.
    confidence : float, default=0.95

    Returns
    -------
    (int, int)

    See Also
    --------
    TotalBounds : The same, one answer after another.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import total_interval
    >>> answers = np.random.default_rng(0).random(300) < 0.1
    >>> total_interval(answers, 1000 - np.arange(300), 1000)
    (62, 164)
    """
    answers, draw_weights = np.asarray(found, dtype=float), np.asarray(weights, dtype=float)
    before = (
        np.concatenate([[0.0], np.cumsum(np.nan_to_num(answers))[:-1]])
        if (found_before is None)
        else np.asarray(found_before, dtype=float)
    )
    bounds = TotalBounds(n_entries, largest_weight or n_entries, confidence=confidence)
    alone = found_before is None
    for draw, (answer, weight, known) in enumerate(zip(answers, draw_weights, before, strict=True)):
        found_now = None if np.isnan(answer) else float(answer)
        bounds.add(found_now, float(weight), float(known), n_entries - draw if alone else None)
    return bounds.lower, bounds.upper


def certified_recall(n_found: float, upper: float) -> float:
    """Return the fraction of the missing labels that has been found, at least.

    Parameters
    ----------
    n_found : int
        Missing labels that were found, by random draws and otherwise.
    upper : float
        An upper bound of all missing labels, from :class:`TotalBounds` with ``sides="upper"``.

    Returns
    -------
    float
        1.0 where nothing can be missing.

    See Also
    --------
    TotalBounds : Follows the bound.

    References
    ----------
    Lewis, D. D., Yang, E. and Frieder, O. (2021). Certifying one-phase technology-assisted
    reviews. CIKM.

    Examples
    --------
    >>> from labelgap.estimation import certified_recall
    >>> certified_recall(90, 100)
    0.9
    """
    return 1.0 if upper <= 0 else min(1.0, n_found / upper)
