"""scikit-learn's tools for model selection, for labels that have gaps.

``cross_validate``, ``cross_val_score``, ``cross_val_predict``, ``GridSearchCV``,
``RandomizedSearchCV`` and ``train_test_split`` take NaN in ``y``, keep the fraction of every label
in each fold, and score known entries. scikit-learn's own refuse NaN ("Input y contains NaN"); they
take :class:`labelgap.Labels`, or a splitter of yours as ``cv=``.
"""

from labelgap.model_selection._cross_validation import (
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from labelgap.model_selection._searches import GridSearchCV, RandomizedSearchCV
from labelgap.model_selection._stratified_folds import IterativeStratification, stratified_folds
from labelgap.model_selection._train_test_split import train_test_split

__all__ = [
    "GridSearchCV",
    "IterativeStratification",
    "RandomizedSearchCV",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "stratified_folds",
    "train_test_split",
]
