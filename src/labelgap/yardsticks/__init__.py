"""What a user would pick instead: simple methods that every model has to beat."""

from labelgap.yardsticks._binary_relevance import BinaryRelevance
from labelgap.yardsticks._cooccurrence import CooccurrenceVote
from labelgap.yardsticks._kernel_ridge import KernelRidgePerLabel
from labelgap.yardsticks._label_prior import LabelPrior
from labelgap.yardsticks._neighbors import KNeighborsLabels

__all__ = [
    "BinaryRelevance",
    "CooccurrenceVote",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelPrior",
]
