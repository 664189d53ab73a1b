"""What a generator gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels
from labelgap.protocols import Hidden, HiddenViews
from labelgap.views import ViewGroups


@dataclass(frozen=True, eq=False, kw_only=True)
class Generated:
    """Data drawn from a known model, with gaps, and everything that is true of it.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        Features; absent views are marked as in :mod:`labelgap.views`.
    full : Labels
        The complete labels.
    hidden : Hidden
        The labels with gaps (``hidden.labels``, also :attr:`labels`) and the truth of the gaps.
    parameters : dict from str to array
        The parameters the data were drawn with; each generator names its own.
    relevant_features : bool array of shape (n_features,), optional
        The features on which the labels depend.
    row_rates, label_rates : arrays, optional
        The probability that a relevant entry was observed is ``row_rates[i] * label_rates[j]``.
    groups : ViewGroups, optional
    hidden_views : HiddenViews, optional
        The views that were removed from ``X``.
    cooccurrence : csr_array of shape (n_seen, n_labels), optional
        Counts of seen with all labels.
    """

    X: Any
    full: Labels
    hidden: Hidden
    parameters: dict[str, Any] = field(default_factory=dict)
    relevant_features: np.ndarray | None = None
    row_rates: np.ndarray | None = None
    label_rates: np.ndarray | None = None
    groups: ViewGroups | None = None
    hidden_views: HiddenViews | None = None
    cooccurrence: sparse.csr_array | None = None

    @property
    def labels(self) -> Labels:
        """The labels a learner may see."""
        return self.hidden.labels
