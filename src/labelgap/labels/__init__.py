"""Labels with gaps: what an entry of a label matrix may say, once for the whole library."""

from labelgap.labels._alignment import align_rows, items_of, without_items
from labelgap.labels._as_labels import (
    as_labels,
    labels_of_vector,
    observed_prevalence,
    read_label_frame,
)
from labelgap.labels._label_frames import read_label_column
from labelgap.labels._labels import Labels
from labelgap.labels.states import EmptyName, LabelCellError, LabelWarning, State, ZerosName

__all__ = [
    "EmptyName",
    "LabelCellError",
    "LabelWarning",
    "Labels",
    "State",
    "ZerosName",
    "align_rows",
    "as_labels",
    "items_of",
    "labels_of_vector",
    "observed_prevalence",
    "read_label_column",
    "read_label_frame",
    "without_items",
]
