"""Losses of a score against a label, with the two derivatives that Newton's method takes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit

__all__ = ["LOSSES", "Logistic", "Loss", "SquaredError", "SquaredHinge"]


class Loss(Protocol):
    """Three functions of scores s and labels y of 0 and 1, entry by entry."""

    def value(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray: ...

    def slope(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray: ...

    def curvature(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray: ...


class SquaredError:
    """(s - y)^2 / 2."""

    def value(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(scores - labels)

    def slope(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return scores - labels

    def curvature(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.ones_like(scores)


class Logistic:
    """log(1 + exp(s)) - y s."""

    def value(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.logaddexp(0, scores) - labels * scores

    def slope(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return expit(scores) - labels

    def curvature(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return expit(scores) * expit(-scores)


class SquaredHinge:
    """max(0, 1 - (2y - 1) s)^2 / 2; its curvature jumps where the margin is 1."""

    def value(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return 0.5 * np.square(self._short(scores, labels))

    def slope(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return (1 - 2 * labels) * self._short(scores, labels)

    def curvature(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return (self._short(scores, labels) > 0).astype(np.float64)

    def _short(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """By how much the margin is missed."""
        return np.maximum(0.0, 1 - (2 * labels - 1) * scores)


LOSSES: dict[str, Loss] = {
    "squared": SquaredError(),
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
}
