"""What ``cv=`` and ``scoring=`` mean for labels with gaps."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from sklearn.model_selection import GroupKFold, check_cv

from labelgap.labels import as_labels
from labelgap.metrics import METRICS, get_metric, get_scorer
from labelgap.model_selection._stratified_folds import IterativeStratification
from labelgap.targets import is_vector

# scikit-learn's names of scorers that are called otherwise here
_NAMES = {
    "accuracy": "subset_accuracy",
    "f1_samples": "f1_example",
    "neg_brier_score": "brier",
    "roc_auc": "auc_macro",
}


def as_splitter(cv: Any, y: Any, groups: Any = None) -> Any:
    """Return what splits rows: stratified by all labels, or by groups, for a number of folds."""
    if cv is not None and not isinstance(cv, Integral):
        return cv
    n_splits = 5 if cv is None else int(cv)
    if groups is not None:
        return GroupKFold(n_splits)
    if y is None or is_vector(y):
        return check_cv(n_splits, y, classifier=True)
    return IterativeStratification(n_splits)


def as_scorers(scoring: Any, y: Any) -> Any:
    """Return scorers that skip unknown entries, for names; everything else as it is."""
    if scoring is None or callable(scoring) or y is None or is_vector(y):
        return scoring
    if isinstance(scoring, str):
        return _scorer(scoring, y)
    if isinstance(scoring, Mapping):
        return {
            key: _scorer(value, y) if isinstance(value, str) else value
            for key, value in scoring.items()
        }
    if isinstance(scoring, Iterable):
        return {name: _scorer(name, y) for name in scoring}
    return scoring


def _scorer(name: str, y: Any) -> Any:
    """One of ours; scikit-learn's own, by its name, where all labels are known."""
    ours = _NAMES.get(name, name)
    if ours not in METRICS and name.removeprefix("neg_") in METRICS:
        ours = name.removeprefix("neg_")
        if get_metric(ours).greater_is_better:
            raise ValueError(f"scoring={name!r}: larger is better already; give {ours!r}")
    if ours in METRICS:
        return get_scorer(ours)
    if as_labels(y).has_unknown:
        known = [*METRICS, *_NAMES]
        near = difflib.get_close_matches(name, known, n=3) or sorted(known)
        raise ValueError(
            f"scoring={name!r}: is no metric that skips unknown labels; use {', '.join(near)}, or a "
            "function of estimator, X and y"
        )
    from sklearn.metrics import get_scorer as find_scorer

    return find_scorer(name)
