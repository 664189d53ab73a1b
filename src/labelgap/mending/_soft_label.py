"""One label over some rows, known or known in part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["SoftLabel", "rounded"]

# a chance that far from 0 or 1 counts as certain: one row in place of two
_CERTAIN = 0.01


class SoftLabel(NamedTuple):
    """One label over some rows: chances of being relevant, and how much each row counts."""

    rows: np.ndarray
    chances: np.ndarray
    weights: np.ndarray

    @property
    def is_certain(self) -> bool:
        """Whether nothing is left to chance."""
        return bool(np.isin(self.chances, (0.0, 1.0)).all())

    @property
    def is_constant(self) -> bool:
        """Whether all rows that count are certain, and of one value."""
        chances = rounded(self.chances[self.weights > 0])
        return bool((chances == 0).all() or (chances == 1).all())


def rounded(chances: np.ndarray) -> np.ndarray:
    """Nearly certain chances as certain ones."""
    chances = np.where(chances < _CERTAIN, 0.0, chances)
    return np.where(chances > 1 - _CERTAIN, 1.0, chances)
