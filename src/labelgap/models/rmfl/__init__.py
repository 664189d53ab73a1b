"""RMFL: regularised matrix factorisation for labels of which many are missing."""

from labelgap.models.rmfl._estimator import RMFL
from labelgap.models.rmfl._search import RMFLCV

__all__ = ["RMFL", "RMFLCV"]
