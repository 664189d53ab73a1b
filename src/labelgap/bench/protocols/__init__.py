"""The papers' protocols: how sets are split, what is hidden, how settings and results are judged.

Splits and masks depend on the set, the setting and the run alone, so that all methods share them.
"""

from labelgap.bench.protocols._hidden_positives import HiddenPositives
from labelgap.bench.protocols._missing_views import MissingViews
from labelgap.bench.protocols._official_split import FewerPositives, OfficialSplit
from labelgap.bench.protocols._protocol import Protocol
from labelgap.bench.protocols._unknown_per_row import UnknownPerRow
from labelgap.bench.protocols._unseen_labels import AllLabelsSeen, UnseenLabels

PROTOCOLS: dict[str, type[Protocol]] = {
    "all-labels-seen": AllLabelsSeen,
    "fewer-positives": FewerPositives,
    "hidden-positives": HiddenPositives,
    "missing-views": MissingViews,
    "official-split": OfficialSplit,
    "unknown-per-row": UnknownPerRow,
    "unseen-labels": UnseenLabels,
}
"""By the names that experiments use."""

__all__ = ["PROTOCOLS", "Protocol"]
