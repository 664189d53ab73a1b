"""What a fit and a prediction ask of the settings and of the views."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from labelgap.fitting import FitWarning
from labelgap.kernels.masked_targets import MaskedTarget
from labelgap.models.imvwl._params import Problem
from labelgap.views import ViewGroups, present


def read_groups(groups: Mapping[str, Any] | None, X: Any) -> ViewGroups:
    """The views of X, which must cover its columns; one view by default."""
    if groups is None:
        return ViewGroups({"X": X.shape[1]})
    found = ViewGroups(groups)
    found.check(X)
    end = 0
    for columns in [*found.values(), slice(X.shape[1], X.shape[1])]:
        if columns.start > end:
            raise ValueError(
                f"groups: columns {end}:{columns.start} of X belong to no view; name them one, or "
                "drop them with labelgap.views.ViewSelector"
            )
        end = columns.stop
    return found


def present_views(X: Any, groups: ViewGroups) -> np.ndarray:
    """Which row has which view; a row without any is refused."""
    there = present(X, groups)
    bare = np.flatnonzero(~there.any(axis=1))
    if bare.size:
        others = f" and {bare.size - 1} others have" if bare.size > 1 else " has"
        raise ValueError(
            f"row {bare[0]}{others} no view: all its features are missing and nothing places it in "
            "the subspace; drop the row, or fill in one of its views"
        )
    return there


def check_views(groups: ViewGroups, there: np.ndarray, k: int) -> None:
    """A view must be present somewhere; a view narrower than the subspace is worth a word."""
    for position, name in enumerate(groups):
        if not there[:, position].any():
            raise ValueError(
                f"view {name!r} is absent in every row: nothing can be learned of it; drop its "
                "columns, for example with labelgap.views.ViewSelector"
            )
    name, width = min(groups.widths.items(), key=lambda item: item[1])
    if k > width:
        warnings.warn(
            f"n_factors={k} is more than the {width} columns of view {name!r}: a row that has only "
            "this view does not determine its vector, and the ridge fills the gap; the paper uses "
            "at most 0.8 times the narrowest width",
            FitWarning,
            stacklevel=5,
        )


def count_factors(n_factors: int | float, groups: ViewGroups) -> int:
    """A number, or a share of the width of the narrowest view."""
    if isinstance(n_factors, Integral):
        return int(n_factors)
    return max(1, round(n_factors * min(groups.widths.values())))


def check_start(U: Any, n_features: int, k: int) -> np.ndarray:
    U = np.asarray(U, dtype=np.float64)
    if U.shape != (n_features, k):
        raise ValueError(
            f"init has shape {U.shape}: give one row per feature and one column per factor, "
            f"({n_features}, {k})"
        )
    if not np.isfinite(U).all() or U.min() < 0:
        raise ValueError("init has negative, infinite or missing entries: use numbers of 0 or more")
    return U


def check_labels(problem: Problem) -> MaskedTarget:
    """The labels, of which there must be some."""
    if problem.target is None:
        raise ValueError("y has no observed entry at all: give the labels of some rows")
    return problem.target
