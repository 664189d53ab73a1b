"""labelgap: multi-label learning when the labels have gaps."""

from labelgap.labels import Labels, LabelWarning, State, as_labels
from labelgap.mending import Mend
from labelgap.models.bmlpl import BMLPL
from labelgap.models.gmfs import GMFS
from labelgap.models.imvwl import IMVWL
from labelgap.models.mllcs import MLLCS
from labelgap.models.rmfl import RMFL, RMFLCV
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
    "GMFS",
    "IMVWL",
    "MLLCS",
    "RMFL",
    "RMFLCV",
    "BinaryRelevance",
    "CooccurrenceVote",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelPrior",
    "LabelWarning",
    "Labels",
    "Mend",
    "State",
    "__version__",
    "as_labels",
]
