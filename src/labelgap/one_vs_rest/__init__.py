"""Fit one model per label, from the rows in which the label is known or known in part.

Labels that were observed in the same rows share work, and logistic regressions of all labels are
fitted together.
"""

from labelgap.one_vs_rest._choose_regularisation import choose_pruning, choose_strengths
from labelgap.one_vs_rest._fit_labels import (
    ConstantLabel,
    SoftLabel,
    all_scores,
    are_fitted_together,
    check_device,
    fit_labels,
    fit_together,
    has_squared_penalty,
    known_entries,
    readable_by_workers,
    scores_of,
    single_where_it_serves,
)
from labelgap.one_vs_rest._fit_per_label import (
    apply_per_label,
    fit_per_label,
    probability_of_rows,
    same_rows,
    score_rows,
)
from labelgap.one_vs_rest._fit_single_label import SoftLabelTrees, fit_soft
from labelgap.one_vs_rest._fit_stored import fit_stored

__all__ = [
    "ConstantLabel",
    "SoftLabel",
    "SoftLabelTrees",
    "all_scores",
    "apply_per_label",
    "are_fitted_together",
    "check_device",
    "choose_pruning",
    "choose_strengths",
    "fit_labels",
    "fit_per_label",
    "fit_soft",
    "fit_stored",
    "fit_together",
    "has_squared_penalty",
    "known_entries",
    "probability_of_rows",
    "readable_by_workers",
    "same_rows",
    "score_rows",
    "scores_of",
    "single_where_it_serves",
]
