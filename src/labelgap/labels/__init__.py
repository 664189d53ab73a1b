"""Labels with gaps: what an entry of a label matrix may say, once for the whole library."""

from labelgap.labels._accept import as_labels
from labelgap.labels._container import Labels
from labelgap.labels._states import LabelWarning, State

__all__ = ["LabelWarning", "Labels", "State", "as_labels"]
