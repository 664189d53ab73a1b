"""iMVWL: missing labels and missing views together."""

from labelgap.models.imvwl._estimator import IMVWL, ViewContribution

__all__ = ["IMVWL", "ViewContribution"]
