"""Impute from the nearest rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from labelgap.baselines import KNeighborsLabels
from labelgap.imputers._imputer import Imputer
from labelgap.labels import Labels


class NeighborsImputer(Imputer):
    """Impute the fraction of a label among the nearest rows in which it is known.

    Single probabilities are less exact than those of :class:`PerLabelImputer`, and yet a linear
    classifier may learn more from them: they are smooth, and follow the features in curves.

    Parameters
    ----------
    n_neighbors : int, default=30
        Fewer where there are fewer rows.
    smoothing : float, default=1.0
        Weight of the prevalence of the label, in neighbours.

    Attributes
    ----------
    model_ : KNeighborsLabels or None
        None where no row has a known label.

    See Also
    --------
    labelgap.KNeighborsLabels : The classifier behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import NeighborsImputer
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> labels = as_labels(np.array([[0.0], [0.0], [1.0], [np.nan]]))
    >>> imputer = NeighborsImputer(1, smoothing=0.0).fit(X, labels)
    >>> next(imputer.columns(X, labels)).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, n_neighbors: int = 30, *, smoothing: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        some = labels if wanted is None else labels[:, np.asarray(wanted)]
        n_useful = int((some.n_observed(axis=1, unlabeled=True) > 0).sum())
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
