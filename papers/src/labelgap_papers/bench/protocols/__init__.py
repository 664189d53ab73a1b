"""Protocols: how sets are split, what is hidden, how settings and results are scored.

Splits and masks depend on the set, the setting and the run alone, so that all methods share them.
"""

from labelgap_papers.bench.protocols._gaps import Gaps
from labelgap_papers.bench.protocols._hidden_positives import HiddenPositives
from labelgap_papers.bench.protocols._missing_views import MissingViews
from labelgap_papers.bench.protocols._official_split import FewerPositives, OfficialSplit
from labelgap_papers.bench.protocols._real_gaps import RealGaps
from labelgap_papers.bench.protocols._unseen_labels import AllLabelsSeen, HiddenLabelColumns
from labelgap_papers.bench.protocols.protocol import Protocol, Task
from labelgap_papers.bench.protocols.unknown_per_row import UnknownPerRow

PROTOCOLS: dict[str, type[Protocol]] = {
    "all-labels-seen": AllLabelsSeen,
    "fewer-positives": FewerPositives,
    "gaps": Gaps,
    "hidden-positives": HiddenPositives,
    "missing-views": MissingViews,
    "official-split": OfficialSplit,
    "real-gaps": RealGaps,
    "unknown-per-row": UnknownPerRow,
    "unseen-labels": HiddenLabelColumns,
}
"""By the names that experiments use."""

__all__ = ["PROTOCOLS", "Protocol", "Task"]
