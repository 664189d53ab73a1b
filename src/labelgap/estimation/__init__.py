"""How many labels are missing, from evidence that one table alone does not have.

Plain functions of arrays: a random sample of entries that people answer, bounds that hold whenever
the review stops, and two sources that labelled the same items.
"""

from labelgap.estimation._betting_bounds import TotalBounds, certified_recall, total_interval
from labelgap.estimation._capture_recapture import (
    SourceOverlap,
    TwoSources,
    capture_recapture,
    chao_lower_bound,
    compare_sources,
)
from labelgap.estimation._recalibration import (
    MissingTotal,
    Recalibration,
    answers_for_width,
    estimate_missing,
    expected_width,
    recalibrate,
)
from labelgap.estimation._sampling_design import SamplingDesign, design_sample, draw_entries

__all__ = [
    "MissingTotal",
    "Recalibration",
    "SamplingDesign",
    "SourceOverlap",
    "TotalBounds",
    "TwoSources",
    "answers_for_width",
    "capture_recapture",
    "certified_recall",
    "chao_lower_bound",
    "compare_sources",
    "design_sample",
    "draw_entries",
    "estimate_missing",
    "expected_width",
    "recalibrate",
    "total_interval",
]
