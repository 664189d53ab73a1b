"""Protocols: the published ways to hide labels, views and whole labels.

Each takes complete (or already incomplete) data and a share, is seeded by ``random_state``, and
returns what a learner may see together with the truth that was hidden, so that recovery can be
scored. :data:`PROTOCOLS` names them all; every one but ``"views"``, which takes
``(X, groups, share)``, is called as ``protocol(labels, share, random_state=...)``.
"""

from labelgap.protocols._columns import cooccurrence, hide_labels
from labelgap.protocols._entries import hide_entries, hide_per_label, hide_per_row, reveal
from labelgap.protocols._hidden import Hidden, HiddenLabels, HiddenViews
from labelgap.protocols._positives import hide_positives, hide_these_positives
from labelgap.protocols._views import hide_views

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
    "Hidden",
    "HiddenLabels",
    "HiddenViews",
    "cooccurrence",
    "hide_entries",
    "hide_labels",
    "hide_per_label",
    "hide_per_row",
    "hide_positives",
    "hide_these_positives",
    "hide_views",
    "reveal",
]
