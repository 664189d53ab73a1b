"""Rows of a fitted mixture: what each component says, weighted by how the row is assigned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from labelgap.labels import Labels
from labelgap.models.gmfs._missing import FittedRows, KnownRows


@dataclass(frozen=True, eq=False)
class AssignedRows(KnownRows):
    """Rows under every component, and responsibilities (n, M)."""

    components: list[FittedRows]
    assigned: np.ndarray

    @property
    def labels(self) -> Labels:  # type: ignore[override]
        return self.components[0].labels

    def __len__(self) -> int:
        return len(self.assigned)

    def parts(self) -> Iterator[slice]:
        return self.components[0].parts()

    def looked_at(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda one: one.looked_at(part))

    def relevance(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda one: one.relevance(part))

    def forgotten(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda one: one.forgotten(part))

    def _mean(self, part: slice, of: Callable[[FittedRows], np.ndarray]) -> np.ndarray:
        weights = self.assigned[part].T[:, :, None]
        return sum(w * of(one) for w, one in zip(weights, self.components, strict=True))
