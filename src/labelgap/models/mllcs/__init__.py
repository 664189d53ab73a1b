"""ML-LCS: labels that no training row carries, from label co-occurrence counts."""

from labelgap.models.mllcs._estimator import MLLCS

__all__ = ["MLLCS"]
