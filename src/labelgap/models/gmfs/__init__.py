"""GMFS: feature selection when a zero may be a missing label."""

from labelgap.models.gmfs._gmfs import GMFS
from labelgap.models.gmfs._gmfs_missing import ExaminedProbability, LikelyMissing
from labelgap.models.gmfs._stability_selection import StabilitySelection

__all__ = ["GMFS", "ExaminedProbability", "LikelyMissing", "StabilitySelection"]
