"""What a fit asks of the labels and of its start."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from labelgap.labels import Labels, LabelWarning


def check_labels(labels: Labels, classes: Any) -> None:
    """Raise when nothing is observed; say what follows for rows and labels without an entry."""
    per_label = labels.n_observed(axis=0, ambiguous=True)
    if not per_label.any():
        raise ValueError("y has no observed entry: there is nothing to learn from")
    rows = np.flatnonzero(labels.n_observed(axis=1, ambiguous=True) == 0)
    if rows.size:
        _warn(
            f"row {rows[0]}" + _others(rows.size),
            "no observed label: such a row teaches nothing about the labels; its factors follow "
            "from its neighbours (lambda_1) and its features (lambda_3)",
        )
    empty = np.flatnonzero(per_label == 0)
    if empty.size:
        _warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}" + _others(empty.size),
            "no observed entry: only the learned correlation with other labels (lambda_2) moves "
            "the scores of such a label from zero",
        )


def _others(count: int) -> str:
    return f" and {count - 1} others have" if count > 1 else " has"


def _warn(what: str, follows: str) -> None:
    warnings.warn(f"{what} {follows}", LabelWarning, stacklevel=6)


def check_start(init: Any, U_shape: tuple[int, int], n_labels: int) -> tuple:
    """A pair (U, Z) of the user, Z with rows of length one."""
    try:
        U, Z = (np.array(part, dtype=np.float64) for part in init)
    except (TypeError, ValueError) as error:
        raise ValueError("init: use 'labels', 'random' or a pair of arrays (U, Z)") from error
    if U.shape != U_shape:
        raise ValueError(f"init U has the shape {U.shape}: rows x factors are {U_shape}")
    if Z.ndim != 2 or len(Z) != n_labels:
        raise ValueError(f"init Z has the shape {Z.shape}: it needs {n_labels} rows, one per label")
    for name, part in (("U", U), ("Z", Z)):
        if not np.isfinite(part).all():
            raise ValueError(f"init {name} has values that are NaN or infinite")
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise ValueError(f"init Z has a row of zeros, row {int(lengths.argmin())}")
    return U, Z / lengths
