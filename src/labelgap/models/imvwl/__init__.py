"""iMVWL: missing labels and missing views together."""

from labelgap.models.imvwl._imvwl import IMVWL, ViewContribution
from labelgap.models.imvwl._imvwl_objective import masked_labels, observed_pairs

__all__ = ["IMVWL", "ViewContribution", "masked_labels", "observed_pairs"]
