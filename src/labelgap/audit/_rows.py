"""Features as the audit uses them: on one scale, and few enough to regress on all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_array

__all__ = ["FeatureRows", "feature_rows"]

_MOST_FEATURES = 3000
_N_COMPONENTS = 400


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Rows of features.

    Attributes
    ----------
    scaled : array or csr_array of shape (n_rows, n_features)
        All features; a row has the squared length 1, exactly when sparse, on average when dense.
    inputs : array or csr_array of shape (n_rows, n_inputs)
        What the model regresses on: ``scaled`` itself, or its projection on ``axes``.
    axes : array of shape (n_features, n_inputs) or None
    names : list of str
    absent : array of shape (n_features,), optional
        What a zero became when the columns were centred.
    """

    scaled: Any
    inputs: Any
    axes: np.ndarray | None
    names: list[str]
    absent: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return self.scaled.shape[0]

    def pulls(self, row: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features that a row has, and what each adds to a linear score of inputs.

        Zeros are left out, also where centring moved them: nobody takes a word that a text lacks
        for a reason.
        """
        one = self.scaled[[row]]
        if sparse.issparse(one):
            at, values = one.indices, one.data
        else:
            there = one[0] != 0
            if self.absent is not None:
                there &= one[0] != self.absent
            at = np.flatnonzero(there)
            values = one[0, at]
        return at, values * (weights[at] if self.axes is None else self.axes[at] @ weights)


def feature_rows(
    X: Any, names: Any = None, *, scale: bool = True, random_state: int | None = None
) -> FeatureRows:
    """Validate, scale and, beyond 3,000 features, project on 400 directions of largest variance.

    Dense columns are centred and divided by their deviation and by the root of their number; sparse
    rows are divided by their length. ``scale=False`` takes the rows as they are.
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_features=0)
    absent = None
    if sparse.issparse(X):
        X = sparse.csr_array(normalize(X) if scale else X)
    elif scale:
        X, absent = _standardised(X)
    d = X.shape[1]
    labels = [f"feature {j}" for j in range(d)] if names is None else [str(one) for one in names]
    if len(labels) != d:
        raise ValueError(f"feature_names has {len(labels)} names, X has {d} columns")
    if d <= _MOST_FEATURES:
        return FeatureRows(X, X, None, labels, absent)
    n_axes = min(_N_COMPONENTS, X.shape[0])
    _, _, axes = randomized_svd(X, n_axes, n_iter=3, random_state=random_state)
    inputs, axes = np.asarray(X @ axes.T), np.ascontiguousarray(axes.T)
    return FeatureRows(X, inputs, axes, labels, absent)


def _standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns on one scale, and what a zero becomes in each."""
    deviation = X.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)] = np.inf
    mean, root = X.mean(axis=0), np.sqrt(max(X.shape[1], 1))
    return (X - mean) / deviation / root, (0.0 - mean) / deviation / root
