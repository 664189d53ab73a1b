"""Impute the labels that are missing, then train any classifier on them."""

from labelgap.mend._mend import Mend
from labelgap.mend._selection import Candidate, ValidationResult
from labelgap.mend._self_training import ImputedLabels

__all__ = ["Candidate", "ImputedLabels", "Mend", "ValidationResult"]
