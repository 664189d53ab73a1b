"""Labels with gaps: what an entry of a label matrix may say, once for the whole library."""

from labelgap.labels._labels import Labels, as_labels, observed_prevalence
from labelgap.labels.states import LabelWarning, State, ZerosName

__all__ = ["LabelWarning", "Labels", "State", "ZerosName", "as_labels", "observed_prevalence"]
