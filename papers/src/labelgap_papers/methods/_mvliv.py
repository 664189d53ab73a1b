"""Multi-view learning with incomplete views: a shared subspace, then a regression on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg

from labelgap.fitting import Monitor
from labelgap.kernels.low_rank import thin_svd
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import POSITIVE, parameter, with_parameters
from labelgap.views import count_factors
from labelgap_papers.kernels.two_thirds import leading_svd
from labelgap_papers.methods._view_blocks import (
    ViewEmbedding,
    dense_views,
    learn_scaling,
)

# of the intercept, which is free but for rounding
_LEAST_RIDGE = 1e-8


@with_parameters
class MVLIV(ViewEmbedding):
    """Multi-view learning with incomplete views, MVL-IV [1]_, and ridge regression of the labels.

    All views of a row are generated from one vector v:

        min  sum_v ||O_v o (X_v - V U_v')||^2 + ridge (||V||^2 + sum_v ||U_v||^2),

    where O_v leaves out absent views (NaN in all columns of the view) and missing values (NaN
    among others). Labels have no say in V; one ridge regression per label on V follows, on the
    entries that are known. Rows without labels help to find U, and new rows are placed by the views
    they have. Unlabeled zeros are zeros.

    Parameters
    ----------
    ridge : float, default=0.1
        Of the factors; without it a row whose views are narrower than the
        subspace has no unique vector. A row of a scaled view has mean squared length 1.
    penalty : float, default=1.0
        Ridge on the coefficients of the labels, for vectors of mean square 1.
    unknown : {"ignore", "negative"}, default="ignore"
        Whether unknown labels are left out of the regressions or taken for irrelevant. The method
        itself knows no gaps in labels; comparisons in the literature count them as irrelevant.

    Attributes
    ----------
    loadings_ : ndarray of shape (n_features, k)
        U of all views, of scaled features.
    embedding_ : ndarray of shape (n_samples, k)
        V.
    coef_, intercept_ : ndarrays of shape (k, n_labels) and (n_labels,)
        Of the regressions.

    Notes
    -----
    The shared subspace is the paper's; its ridge, and the regressions of the labels, are added
    here. In place of successive over-relaxation, the paper's solver, V and U are the exact minimum
    for each other in turn: rows with the same views share one system, and only those with single
    values missing have their own. In between, weight is shifted from one factor to the other at
    the same product. The objective never increases. The start is the singular value decomposition
    with means for gaps.

    References
    ----------
    .. [1] C. Xu, D. Tao and C. Xu. Multi-view learning with incomplete views. IEEE Transactions on
       Image Processing 24, 2015.
    """

    views: Mapping[str, Any] | None = parameter(None)
    n_factors: int | float = parameter(0.5)
    _: KW_ONLY
    ridge: float = parameter(0.1, POSITIVE)
    penalty: float = parameter(1.0, POSITIVE)
    unknown: Literal["ignore", "negative"] = parameter("ignore")
    scaling: Literal["balance"] | None = parameter("balance")
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        values, there = self._read_views(X, labels)
        k = count_factors(self.n_factors, self.views_)
        self.scaling_ = learn_scaling(values, self.views_, self.scaling)
        gappy = read_gappy(self.scaling_.scaled(values), there, self.views_)
        monitor = self._monitor()
        start = leading_svd(self.scaling_.filled(values), k)[2].T
        self.loadings_ = descend(gappy, _padded(start, k), float(self.ridge), monitor)
        self._keep_trace(monitor)
        self.embedding_ = solve_rows(gappy, self.loadings_, float(self.ridge))
        self._fit_labels(labels)
        self._n_features_out = k

    def _fit_labels(self, labels: Labels) -> None:
        Y = labels.to_dense(unknown=0.0 if self.unknown == "negative" else np.nan)
        known = ~np.isnan(Y)
        seen = known.any(axis=0)
        size = float(np.sqrt(np.mean(self.embedding_**2))) or 1.0
        features = np.column_stack([self.embedding_ / size, np.ones(len(Y))])
        penalties = np.full(features.shape[1], float(self.penalty))
        penalties[-1] = _LEAST_RIDGE
        cross = np.nan_to_num(Y).T @ features
        solved = weighted_ridge(
            known.T[seen].astype(np.float64), features, cross[seen], penalties
        ).z.T
        self.coef_ = np.zeros((features.shape[1] - 1, len(seen)))
        self.coef_[:, seen] = solved[:-1] / size
        self.intercept_ = observed_prevalence(labels)
        self.intercept_[seen] = solved[-1]
        fitted = self._fitted(self.embedding_)
        self.slope_, self.level_ = fit_sigmoid(fitted[known], Y[known])

    def _fitted(self, V: np.ndarray) -> np.ndarray:
        return V @ self.coef_ + self.intercept_

    def impute_views(self, X: Any) -> np.ndarray:
        """X with absent views and missing values filled in, in the units of X; always dense."""
        X = self._validate_predict(X)
        values, _ = dense_views(X, self.views_)
        fitted = self.scaling_.restored(self._embed(X) @ self.loadings_.T)
        return np.where(np.isnan(values), fitted, values)

    def _embed(self, X: Any) -> np.ndarray:
        values, there = dense_views(X, self.views_)
        gappy = read_gappy(self.scaling_.scaled(values), there, self.views_)
        return solve_rows(gappy, self.loadings_, float(self.ridge))

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * self._fitted(self._embed(X)) + self.level_


class ViewBlock(NamedTuple):
    """rows : those that have the view; columns : its own; values : 0 where single ones miss"""

    rows: np.ndarray
    columns: slice
    values: np.ndarray


class Gappy(NamedTuple):
    """Scaled views with gaps.

    blocks : of every view; there : bool (n, n_views)
    loose_rows, loose_columns : those with single values missing, where a view is there
    observed : bool (n, d), or None where no single value is missing
    """

    blocks: list[ViewBlock]
    there: np.ndarray
    loose_rows: np.ndarray
    loose_columns: np.ndarray
    observed: np.ndarray | None


def read_gappy(scaled: np.ndarray, there: np.ndarray, views: Mapping[str, slice]) -> Gappy:
    gaps = np.isnan(scaled)
    columns = list(views.values())
    widths = [view.stop - view.start for view in columns]
    single = gaps & np.repeat(there, widths, axis=1)
    blocks = []
    for position, view in enumerate(columns):
        rows = np.flatnonzero(there[:, position])
        blocks.append(ViewBlock(rows, view, np.nan_to_num(scaled[rows, view])))
    return Gappy(
        blocks,
        there,
        np.flatnonzero(single.any(axis=1)),
        np.flatnonzero(single.any(axis=0)),
        ~gaps if single.any() else None,
    )


def descend(gappy: Gappy, U: np.ndarray, ridge: float, monitor: Monitor) -> np.ndarray:
    """V and U in turn until the monitor says stop; the objective never increases."""
    for _ in range(monitor.max_iter):
        V = solve_rows(gappy, U, ridge)
        crosses = column_crosses(gappy, V)
        U = solve_columns(gappy, V, crosses, ridge)
        loss = squared_loss(gappy, V, U, crosses)
        V, U = balance(V, U)
        if monitor.record(loss + ridge * float(np.vdot(V, V) + np.vdot(U, U))):
            break
    return U


def squared_loss(gappy: Gappy, V: np.ndarray, U: np.ndarray, crosses: np.ndarray) -> float:
    """sum_v ||O_v o (X_v - V U_v')||^2 with X_v'V given.

    Without single gaps it is ||X_v||^2 - 2 <X_v'V, U_v> + <V'V, U_v'U_v> over the rows of the view,
    which makes no matrix of the size of X_v.
    """
    total = 0.0
    for rows, columns, values in gappy.blocks:
        V_v, U_v = V[rows], U[columns]
        if gappy.observed is None:
            total += float(np.vdot(values, values) - 2 * np.vdot(crosses[columns], U_v))
            total += float(np.vdot(V_v.T @ V_v, U_v.T @ U_v))
        else:
            residual = (V_v @ U_v.T - values) * gappy.observed[rows, columns]
            total += float(np.vdot(residual, residual))
    return total


def solve_rows(gappy: Gappy, U: np.ndarray, ridge: float) -> np.ndarray:
    """The best V; rows with the same views share (sum_v U_v'U_v + ridge)."""
    V = np.zeros((len(gappy.there), U.shape[1]))
    for rows, columns, values in gappy.blocks:
        V[rows] += values @ U[columns]
    grams = np.stack([U[block.columns].T @ U[block.columns] for block in gappy.blocks])
    own = _loose_solutions(gappy.observed, gappy.loose_rows, U, V, ridge)
    patterns, pattern_of = np.unique(gappy.there, axis=0, return_inverse=True)
    for position, pattern in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == position)
        V[rows] = _solve(grams[pattern].sum(axis=0), V[rows], ridge)
    V[gappy.loose_rows] = own
    return V


def column_crosses(gappy: Gappy, V: np.ndarray) -> np.ndarray:
    """X_v'V over the rows that have the view, of all views: (d, k)."""
    return np.vstack([block.values.T @ V[block.rows] for block in gappy.blocks])


def solve_columns(gappy: Gappy, V: np.ndarray, crosses: np.ndarray, ridge: float) -> np.ndarray:
    """The best U; the columns of a view share (V_v'V_v + ridge) over the rows that have it."""
    U = np.empty_like(crosses)
    observed = None if gappy.observed is None else gappy.observed.T
    own = _loose_solutions(observed, gappy.loose_columns, V, crosses, ridge)
    for rows, columns, _ in gappy.blocks:
        V_v = V[rows]
        U[columns] = _solve(V_v.T @ V_v, crosses[columns], ridge)
    U[gappy.loose_columns] = own
    return U


def balance(V: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs with the product V U' the one with the least ||V||^2 + ||U||^2."""
    if V.shape[1] > min(len(V), len(U)):
        return V, U
    left, upper = np.linalg.qr(V)
    right, lower = np.linalg.qr(U)
    inner, values, other = thin_svd(upper @ lower.T)
    root = np.sqrt(values)
    return (left @ inner) * root, (right @ other.T) * root


def _loose_solutions(observed, loose, F, crosses, ridge: float) -> np.ndarray:
    """Of lines with gaps of their own, a system each."""
    if observed is None:
        return crosses[loose]
    weights = np.ascontiguousarray(observed[loose], dtype=np.float64)
    return weighted_ridge(weights, F, crosses[loose], ridge).z


def _solve(gram: np.ndarray, crosses: np.ndarray, ridge: float) -> np.ndarray:
    system = gram + ridge * np.eye(len(gram))
    return linalg.solve(system, crosses.T, assume_a="pos").T


def _padded(U: np.ndarray, k: int) -> np.ndarray:
    """U with columns of zeros where there are more factors than rows or columns."""
    return np.pad(U, ((0, 0), (0, k - U.shape[1])))
