"""Protocols: ways to hide labels, views and whole labels, at random or as people lose them.

Each takes complete (or already incomplete) data and a fraction, is seeded by ``random_state``, and
returns what a learner may see together with the truth that was hidden, so that recovery can be
scored. :data:`PROTOCOLS` names them all. Those of :data:`LABEL_PROTOCOLS` are called as
``protocol(labels, fraction, random_state=...)``; those of :data:`PROBABILITY_PROTOCOLS`, where it
matters how obvious a label is, take ``probabilities=`` as well; ``"views"`` takes
``(X, views, fraction)``. :data:`MECHANISMS` are the ways in which positives become zeros.
"""

from labelgap.protocols._hidden_by_people import HiddenByPeople
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
from labelgap.protocols._people_mechanisms import (
    hide_by_annotator,
    hide_by_label,
    hide_in_brief_items,
    hide_late_labels,
    hide_unopened_items,
)
from labelgap.protocols._probability_mechanisms import (
    hide_by_power,
    hide_improbable,
    hide_off_boundary,
)

PROBABILITY_PROTOCOLS = {
    "improbable": hide_improbable,
    "off-boundary": hide_off_boundary,
    "power": hide_by_power,
}
_BY_PEOPLE = {
    "unopened-items": hide_unopened_items,
    "brief-items": hide_in_brief_items,
    "label-rates": hide_by_label,
    "annotators": hide_by_annotator,
    "late-labels": hide_late_labels,
}
LABEL_PROTOCOLS = {
    "positives": hide_positives,
    "per-row": hide_per_row,
    "per-label": hide_per_label,
    "entries": hide_entries,
    "reveal": reveal,
    "labels": hide_labels,
    **_BY_PEOPLE,
}
MECHANISMS = {"positives": hide_positives, **_BY_PEOPLE, **PROBABILITY_PROTOCOLS}
PROTOCOLS = {**LABEL_PROTOCOLS, **PROBABILITY_PROTOCOLS, "views": hide_views}

__all__ = [
    "LABEL_PROTOCOLS",
    "MECHANISMS",
    "PROBABILITY_PROTOCOLS",
    "PROTOCOLS",
    "HiddenByPeople",
    "HiddenEntries",
    "HiddenLabels",
    "HiddenViews",
    "hide_by_annotator",
    "hide_by_label",
    "hide_by_power",
    "hide_entries",
    "hide_improbable",
    "hide_in_brief_items",
    "hide_labels",
    "hide_late_labels",
    "hide_off_boundary",
    "hide_per_label",
    "hide_per_row",
    "hide_positives",
    "hide_these_positives",
    "hide_unopened_items",
    "hide_views",
    "reveal",
]
