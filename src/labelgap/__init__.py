"""labelgap: multi-label learning when the labels have gaps."""

from labelgap.labels import Labels, LabelWarning, State, as_labels
from labelgap.models.bmlpl import BMLPL
from labelgap.models.mllcs import MLLCS
from labelgap.yardsticks import (
    BinaryRelevance,
    CooccurrenceVote,
    KernelRidgePerLabel,
    KNeighborsLabels,
    LabelPrior,
)

__version__ = "0.1.0"

__all__ = [
    "BMLPL",
    "MLLCS",
    "BinaryRelevance",
    "CooccurrenceVote",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelPrior",
    "LabelWarning",
    "Labels",
    "State",
    "__version__",
    "as_labels",
]
