"""labelgap: multi-label learning when labels are missing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgap.auditing import Audit, audit, diff, impute
    from labelgap.baselines import (
        BinaryRelevance,
        CooccurrenceVote,
        GradientBoostingLabels,
        KernelRidgePerLabel,
        KNeighborsLabels,
        LabelPrior,
    )
    from labelgap.label_tree import ProbabilisticLabelTree
    from labelgap.labels import Labels, LabelWarning, State, as_labels
    from labelgap.mend import Mend
    from labelgap.models.bmlpl import BMLPL
    from labelgap.models.gmfs import GMFS
    from labelgap.models.imvwl import IMVWL
    from labelgap.models.mllcs import MLLCS
    from labelgap.models.rmfl import RMFL, RMFLCV
    from labelgap.networks import LabelNet

__version__ = "0.1.0"

# each name is imported when it is first asked for
_HOMES = {
    "BMLPL": "models.bmlpl",
    "GMFS": "models.gmfs",
    "IMVWL": "models.imvwl",
    "MLLCS": "models.mllcs",
    "RMFL": "models.rmfl",
    "RMFLCV": "models.rmfl",
    "BinaryRelevance": "baselines",
    "CooccurrenceVote": "baselines",
    "GradientBoostingLabels": "baselines",
    "KNeighborsLabels": "baselines",
    "KernelRidgePerLabel": "baselines",
    "LabelNet": "networks",
    "LabelPrior": "baselines",
    "LabelWarning": "labels",
    "Labels": "labels",
    "Mend": "mend",
    "ProbabilisticLabelTree": "label_tree",
    "State": "labels",
    "as_labels": "labels",
    "Audit": "auditing",
    "audit": "auditing",
    "diff": "auditing",
    "impute": "auditing",
}

__all__ = [
    "BMLPL",
    "GMFS",
    "IMVWL",
    "MLLCS",
    "RMFL",
    "RMFLCV",
    "Audit",
    "BinaryRelevance",
    "CooccurrenceVote",
    "GradientBoostingLabels",
    "KNeighborsLabels",
    "KernelRidgePerLabel",
    "LabelNet",
    "LabelPrior",
    "LabelWarning",
    "Labels",
    "Mend",
    "ProbabilisticLabelTree",
    "State",
    "__version__",
    "as_labels",
    "audit",
    "diff",
    "impute",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"labelgap.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
