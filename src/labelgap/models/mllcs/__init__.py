"""ML-LCS: labels that no training sample carries, from label co-occurrence counts."""

from labelgap.models.mllcs._mllcs import MLLCS

__all__ = ["MLLCS"]
