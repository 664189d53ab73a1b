"""Protocols: the published ways to hide labels, views and whole labels.

Each takes complete (or already incomplete) data and a fraction, is seeded by ``random_state``, and
returns what a learner may see together with the truth that was hidden, so that recovery can be
scored. :data:`PROTOCOLS` names them all; every one but ``"views"``, which takes
``(X, views, fraction)``, is called as ``protocol(labels, fraction, random_state=...)``.
"""

from labelgap.protocols._hidden_data import HiddenEntries, HiddenLabels, HiddenViews
from labelgap.protocols._hide_labels import (
    hide_entries,
    hide_labels,
    hide_per_label,
    hide_per_row,
    hide_positives,
    hide_these_positives,
    reveal,
)
from labelgap.protocols._hide_views import hide_views

LABEL_PROTOCOLS = {
    "positives": hide_positives,
    "per-row": hide_per_row,
    "per-label": hide_per_label,
    "entries": hide_entries,
    "reveal": reveal,
    "labels": hide_labels,
}
PROTOCOLS = {**LABEL_PROTOCOLS, "views": hide_views}

__all__ = [
    "LABEL_PROTOCOLS",
    "PROTOCOLS",
    "HiddenEntries",
    "HiddenLabels",
    "HiddenViews",
    "hide_entries",
    "hide_labels",
    "hide_per_label",
    "hide_per_row",
    "hide_positives",
    "hide_these_positives",
    "hide_views",
    "reveal",
]
