"""GMFS: feature selection when a zero may mean that nobody looked."""

from labelgap.models.gmfs._estimator import GMFS
from labelgap.models.gmfs._missing import LikelyMissing, Observability
from labelgap.models.gmfs._stability import StabilitySelection

__all__ = ["GMFS", "LikelyMissing", "Observability", "StabilitySelection"]
