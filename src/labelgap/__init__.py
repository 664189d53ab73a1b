"""labelgap: multi-label learning when the labels have gaps."""

from labelgap.labels import Labels, LabelWarning, State, as_labels
from labelgap.models.bmlpl import BMLPL
from labelgap.yardsticks import BinaryRelevance, KernelRidgePerLabel, KNeighborsLabels, LabelPrior

__version__ = "0.1.0"

__all__ = [
    "BMLPL",
    "BinaryRelevance",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelPrior",
    "LabelWarning",
    "Labels",
    "State",
    "__version__",
    "as_labels",
]
