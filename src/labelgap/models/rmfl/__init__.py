"""RMFL: regularised matrix factorisation for labels of which many are missing."""

from labelgap.models.rmfl._rmfl import RMFL
from labelgap.models.rmfl._rmfl_cv import RMFLCV, default_metric

__all__ = ["RMFL", "RMFLCV", "default_metric"]
