"""Estimate the probability of labels that are not known, from features and other labels."""

from labelgap.imputers._factor_imputer import FactorImputer
from labelgap.imputers._imputer import (
    EstimatorImputer,
    Imputer,
    check_imputers,
    cross_fitted,
    draw_folds,
)
from labelgap.imputers._neighbors_imputer import NeighborsImputer
from labelgap.imputers._per_label_imputer import PerLabelImputer, is_forest
from labelgap.imputers._ridge_imputer import RidgeImputer
from labelgap.imputers._stacking_imputer import StackingImputer

__all__ = [
    "EstimatorImputer",
    "FactorImputer",
    "Imputer",
    "NeighborsImputer",
    "PerLabelImputer",
    "RidgeImputer",
    "StackingImputer",
    "check_imputers",
    "cross_fitted",
    "draw_folds",
    "is_forest",
]
