"""What a user would pick instead: simple methods that every model has to beat."""

from labelgap.baselines._binary_relevance import BinaryRelevance
from labelgap.baselines._binary_relevance import fit_seen as fit_seen
from labelgap.baselines._cooccurrence_vote import CooccurrenceVote
from labelgap.baselines._gradient_boosting_labels import GradientBoostingLabels
from labelgap.baselines._k_neighbors_labels import KNeighborsLabels
from labelgap.baselines._kernel_ridge_per_label import KernelRidgePerLabel
from labelgap.baselines._label_prior import LabelPrior

__all__ = [
    "BinaryRelevance",
    "CooccurrenceVote",
    "GradientBoostingLabels",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelPrior",
]
