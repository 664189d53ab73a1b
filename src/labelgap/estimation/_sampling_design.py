"""Which entries a person is asked about at random: strata that are equally likely to be drawn.

An entry with probability p of being a missing label is drawn in proportion to

    q = (1 - u) sqrt(p (1 - p)) / sum sqrt(p (1 - p)) + u / N,

Neyman's allocation, which makes the variance of the estimated total least if the probabilities hold,
mixed with a fraction u of uniform draws, which bounds the weight 1 / q of what the probabilities miss.
Strata cut the entries, sorted by p, into parts with the same sum of q. So one draw is: a stratum at
random, and in it an entry at random that was not drawn before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_LEAST, _MOST = 1e-6, 1 - 1e-6


class SamplingDesign(NamedTuple):
    """Strata of entries, each as likely to be drawn as the others; the most probable come first.

    Attributes
    ----------
    strata : int array of shape (n_entries,)
        The stratum of each entry.
    sizes : int array of shape (n_strata,)
        How many entries each stratum has.
    probabilities : array of shape (n_strata,)
        Mean predicted probability in each stratum.
    order : int array of shape (n_entries,)
        The entries of the first stratum, then those of the second, and so on.

    See Also
    --------
    design_sample : Makes one, with an example.
    """

    strata: np.ndarray
    sizes: np.ndarray
    probabilities: np.ndarray
    order: np.ndarray

    @property
    def n_strata(self) -> int:
        return int(self.sizes.size)

    @property
    def n_entries(self) -> int:
        return int(self.strata.size)

    @property
    def largest_weight(self) -> float:
        """The largest inverse of a probability with which an entry is drawn."""
        return float(self.n_strata * self.sizes.max())


def design_sample(
    probabilities: Any, *, n_strata: int = 60, uniform_fraction: float = 0.2
) -> SamplingDesign:
    """Return strata of entries by predicted probability, from which to draw entries to be answered.

    Parameters
    ----------
    probabilities : array of shape (n_entries,)
        The predicted probability that each entry that is not recorded is relevant. They need not
        hold: they decide how narrow an interval is, not whether it covers.
    n_strata : int, default=60
        At most so many; small tables get fewer.
    uniform_fraction : float, default=0.2
        The fraction of draws that is spread evenly over all entries. More of it narrows the
        guaranteed interval, less of it the one of recalibrated predictions.

    Returns
    -------
    SamplingDesign

    See Also
    --------
    draw_entries : Draws from it.
    estimate_missing : Turns answers into an estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import design_sample
    >>> design = design_sample(np.repeat([0.5, 0.01], [10, 990]), n_strata=4)
    >>> design.sizes.tolist(), design.probabilities.round(3).tolist()
    ([226, 258, 258, 258], [0.032, 0.01, 0.01, 0.01])
    """
    p = np.asarray(probabilities, dtype=float)
    if p.ndim != 1 or not p.size:
        raise ValueError(f"probabilities: needs one number per entry, got shape {p.shape}")
    wrong = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if wrong.size:
        raise ValueError(f"probabilities[{wrong[0]}]={p[wrong[0]]}: must lie between 0 and 1")
    if not 0 < uniform_fraction <= 1:
        raise ValueError(f"uniform_fraction={uniform_fraction}: must lie above 0 and at most be 1")
    p = np.clip(p, _LEAST, _MOST)
    neyman = np.sqrt(p * (1 - p))
    drawn = (1 - uniform_fraction) * neyman / neyman.sum() + uniform_fraction / p.size
    n_strata = max(1, min(n_strata, p.size // 2))
    order = np.argsort(-p, kind="stable")
    mass = np.cumsum(drawn[order])
    # the stratum of the middle of each entry; empty ones, where one entry fills several, are dropped
    cut = np.minimum(((mass - drawn[order] / 2) / mass[-1] * n_strata).astype(int), n_strata - 1)
    strata = np.empty(p.size, dtype=np.int32)
    strata[order] = np.unique(cut, return_inverse=True)[1]
    sizes = np.bincount(strata)
    return SamplingDesign(strata, sizes, np.bincount(strata, p) / sizes, order)


def draw_entries(design: SamplingDesign, n: int, *, random_state: Any = None) -> np.ndarray:
    """Return the positions of entries drawn at random without replacement, in the order of the draws.

    Parameters
    ----------
    design : SamplingDesign
    n : int
        How many entries to draw; all of them where there are fewer.
    random_state : int, Generator or None, default=None

    Returns
    -------
    int array of shape (n,)

    See Also
    --------
    design_sample : Makes the design.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimation import design_sample, draw_entries
    >>> design = design_sample(np.linspace(0.9, 0.01, 500))
    >>> draw_entries(design, 5, random_state=0).shape
    (5,)
    """
    rng = np.random.default_rng(random_state)
    starts = np.concatenate([[0], np.cumsum(design.sizes)])
    left = design.sizes.copy()
    moved: dict[int, int] = {}
    drawn: list[int] = []
    while len(drawn) < min(n, design.n_entries):
        stratum = int(rng.choice(np.flatnonzero(left)))
        # the last entry of the stratum that is left takes the place of the one drawn
        place = int(starts[stratum] + rng.integers(left[stratum]))
        last = int(starts[stratum] + left[stratum] - 1)
        drawn.append(int(design.order[moved.get(place, place)]))
        moved[place] = moved.get(last, last)
        left[stratum] -= 1
    return np.array(drawn, dtype=np.intp)
