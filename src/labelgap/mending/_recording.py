"""Positive-only labels: how often a relevant label is recorded at all.

With g the chance that a label is recorded in a row and c that a relevant label is recorded,
P(relevant) = g / c, so that g can nowhere exceed c: the rows in which a label is most surely
recorded tell c from below. Where the recording rate is the same for all labels, those that are
easy to predict tell it for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from labelgap.kernels.exposure import forgotten_probability
from labelgap.kernels.surest import wilson
from labelgap.yardsticks._label_prior import log_odds

__all__ = [
    "Rate",
    "check_rates",
    "halfway",
    "rate_of",
    "recording_rate",
    "relevance_log_odds",
    "relevant_though_unrecorded",
    "with_sum",
]

# the chance that a relevant label is recorded: one for all labels, or one for each
Rate = float | tuple[float, ...]

_FEWEST = 30
_MARGIN = 1.64
_NEVER = 1e-9
_EXACT_TO = 0.8
_FARTHEST = 30.0
_SHIFT_TOLERANCE = 1e-4
_TINY = 1e-3


def rate_of(rate: Rate, label: int) -> float:
    """The rate of one label."""
    return rate[label] if isinstance(rate, tuple) else rate


def check_rates(given: Any, n_labels: int) -> Rate:
    """A rate for each label, in (0, 1]."""
    rates = np.asarray(given, dtype=float)
    if rates.shape != (n_labels,):
        raise ValueError(
            f"recorded has the shape {rates.shape}; give one rate, or one for each of the "
            f"{n_labels} labels"
        )
    wrong = np.flatnonzero(~((rates > 0) & (rates <= 1)))
    if wrong.size:
        raise ValueError(
            f"recorded[{wrong[0]}] = {rates[wrong[0]]:g} is no chance above 0 and up to 1"
        )
    return tuple(rates.tolist())


def halfway(rate: Rate) -> Rate:
    """Rates halfway to 1."""
    return tuple((1 + c) / 2 for c in rate) if isinstance(rate, tuple) else (1 + rate) / 2


def recording_rate(chances: np.ndarray, recorded: np.ndarray) -> float:
    """The largest share of recorded entries among those that are most surely recorded.

    Over all numbers m of at least 30 entries with the largest g, the lower end of a one-sided 95%
    interval (Wilson) of the share that is recorded among them; the largest of these. ``chances``
    must not have been learned from the entries themselves.
    """
    if chances.size < _FEWEST or not recorded.any():
        return 0.0
    order = np.argsort(-chances, kind="stable")
    hits = np.cumsum(recorded[order].astype(float))[_FEWEST - 1 :]
    n = np.arange(_FEWEST, chances.size + 1, dtype=float)
    return float(wilson(hits, n, _MARGIN)[0].max())


def relevance_log_odds(scores: np.ndarray, c: Any) -> np.ndarray:
    """Log-odds of relevance of those of being recorded.

    P(relevant) = g / c up to 0.8; what is left of g, up to 1, is spread over the rest, since models
    of g know nothing of its ceiling c. With one c, one increasing function serves all labels, so
    that their order in a row stays what it was; ``c`` may also have an entry for each column.
    """
    c = np.asarray(c, dtype=float)
    if (c >= 1).all():
        return scores
    g = expit(scores)
    kink = _EXACT_TO * c
    above = _EXACT_TO + (1 - _EXACT_TO) * (g - kink) / (1 - kink)
    return np.where(c >= 1, scores, log_odds(np.where(g <= kink, g / c, above)))


def relevant_though_unrecorded(g: np.ndarray, c: float, n_recorded: int) -> np.ndarray:
    """P(relevant | not recorded) of the unrecorded entries of one label.

    With p = g / c that is (1 - c) p / (1 - c p). Models of g know nothing of its ceiling c, and
    what exceeds it has to be cut off; the log-odds of p are therefore shifted until as many
    relevant entries are expected among the unrecorded as c says, (1 - c) / c for each recorded one.
    """
    if c >= 1 or not g.size:
        return np.zeros_like(g)
    relevance = logit(np.clip(g / c, _NEVER, 1 - _NEVER))
    wanted = min((1 - c) / c * n_recorded, (1 - 1e-6) * g.size)

    def excess(shift: float) -> float:
        return float(forgotten_probability(relevance + shift, c).sum()) - wanted

    if excess(-_FARTHEST) > 0 or excess(_FARTHEST) < 0:
        return forgotten_probability(relevance, c)
    shift = brentq(excess, -_FARTHEST, _FARTHEST, xtol=_SHIFT_TOLERANCE)
    return forgotten_probability(relevance + shift, c)


def with_sum(chances: np.ndarray, wanted: float) -> np.ndarray:
    """Chances whose log-odds are shifted until they add up; tiny ones stay as they are."""
    found = chances.copy()
    some = np.flatnonzero(chances > _TINY)
    odds = logit(np.minimum(chances[some], 1 - _NEVER))
    rest = float(chances.sum() - chances[some].sum())
    wanted = min(wanted - rest, (1 - _TINY) * some.size)

    def excess(shift: float) -> float:
        return float(expit(odds + shift).sum()) - wanted

    if some.size and excess(-_FARTHEST) < 0 < excess(_FARTHEST):
        shift = brentq(excess, -_FARTHEST, _FARTHEST, xtol=_SHIFT_TOLERANCE)
        found[some] = expit(odds + shift)
    return found
