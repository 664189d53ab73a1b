"""Completion by the nearest rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from labelgap.labels import Labels
from labelgap.mending._completers import Completer
from labelgap.yardsticks import KNeighborsLabels

__all__ = ["NeighborsCompleter"]


class NeighborsCompleter(Completer):
    """The share of a label among the nearest rows in which it is known.

    It says less of a single entry than :class:`LabelwiseCompleter` does, and yet a linear
    classifier may learn more from it: it is smooth, and follows the features wherever they bend.

    Parameters
    ----------
    n_neighbors : int
        Fewer where there are fewer rows.
    smoothing : float
        Weight of the frequency of the label, in neighbours.
    """

    def __init__(self, n_neighbors: int = 30, *, smoothing: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        some = labels if wanted is None else labels[:, np.asarray(wanted)]
        n_useful = int((some.n_observed(axis=1, ambiguous=True) > 0).sum())
        n_neighbors = min(self.n_neighbors, n_useful)
        self.model_ = None
        if n_neighbors:
            self.model_ = KNeighborsLabels(n_neighbors, smoothing=self.smoothing).fit(X, some)
        self.n_wanted_ = some.n_labels
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        if self.model_ is None:
            yield from (np.full(X.shape[0], 0.5) for _ in range(self.n_wanted_))
            return
        yield from np.asarray(self.model_.predict_proba(X)).T
