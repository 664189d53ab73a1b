"""Losses of a score against a label, with the two derivatives that Newton's method takes.

Of numpy arrays, or of those of torch.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from labelgap.kernels.array_namespace import array_like, array_namespace

__all__ = ["LOSSES", "Logistic", "Loss", "SquaredError", "SquaredHinge"]


class Loss(Protocol):
    """Three functions of scores s and labels y of 0 and 1, entry by entry.

    ``is_quadratic`` says whether the curvature is 1 everywhere.
    """

    is_quadratic: bool

    def value(self, scores: Any, labels: Any) -> Any: ...

    def slope(self, scores: Any, labels: Any) -> Any: ...

    def curvature(self, scores: Any, labels: Any) -> Any: ...


class SquaredError:
    """(s - y)^2 / 2."""

    is_quadratic = True

    def value(self, scores: Any, labels: Any) -> Any:
        return 0.5 * (scores - labels) ** 2

    def slope(self, scores: Any, labels: Any) -> Any:
        return scores - labels

    def curvature(self, scores: Any, labels: Any) -> Any:
        return array_namespace(scores).ones_like(scores)


class Logistic:
    """log(1 + exp(s)) - y s."""

    is_quadratic = False

    def value(self, scores: Any, labels: Any) -> Any:
        xp = array_namespace(scores)
        return xp.logaddexp(xp.zeros_like(scores), scores) - labels * scores

    def slope(self, scores: Any, labels: Any) -> Any:
        return _expit(scores) - labels

    def curvature(self, scores: Any, labels: Any) -> Any:
        return _expit(scores) * _expit(-scores)


class SquaredHinge:
    """max(0, 1 - (2y - 1) s)^2 / 2; its curvature jumps where the margin is 1."""

    is_quadratic = False

    def value(self, scores: Any, labels: Any) -> Any:
        return 0.5 * self._short(scores, labels) ** 2

    def slope(self, scores: Any, labels: Any) -> Any:
        return (1 - 2 * labels) * self._short(scores, labels)

    def curvature(self, scores: Any, labels: Any) -> Any:
        short = self._short(scores, labels)
        return array_like(array_namespace(short), short > 0, short)

    def _short(self, scores: Any, labels: Any) -> Any:
        """By how much the margin is missed."""
        return array_namespace(scores).clip(1 - (2 * labels - 1) * scores, 0.0, None)


def _expit(scores: Any) -> Any:
    xp = array_namespace(scores)
    return expit(scores) if xp is np else xp.sigmoid(scores)


LOSSES: dict[str, Loss] = {
    "squared": SquaredError(),
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
}
