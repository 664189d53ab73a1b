"""Feature selection through one non-negative factorisation of the features and of the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from labelgap.fitting import Monitor
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.low_rank import thin_svd
from labelgap.kernels.products import Features, prepare_features, times, transposed_times
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.proximal import Prox, Quadratic, absolute_values, inner, proximal_path
from labelgap_papers.kernels.row_sparse import row_norms, solve_reweighted
from labelgap_papers.kernels.smoothness import heat_graph, laplacian
from labelgap_papers.methods._linear import cosine_distances
from labelgap_papers.methods._selector import LinearSelector

_STEPS = 5
_NOT_NEGATIVE = absolute_values(0.0, nonnegative=True)


class CMFSParams(NamedTuple):
    """Factors U of rows (n_samples, k), P of features (n_features, k), B of labels (n_labels, k)."""

    U: Any
    P: Any
    B: Any


class Graphs(NamedTuple):
    """Laplacians with their weights: of rows, of features, of labels."""

    rows: Any
    features: Any
    labels: Any


class CMFSProblem(NamedTuple):
    """||X - UP'||^2 + alpha ||Y - UB'||^2 + graphs + gamma sum_f ||p_f|| + ridge ||U||^2."""

    features: Features
    Y: Any  # NaN where unknown
    graphs: Graphs
    alpha: float
    gamma: float
    ridge: float

    def objective(self, params: CMFSParams) -> float:
        U, P, B = params
        X = self.features.rows
        total = float(((X.data if sparse.issparse(X) else X) ** 2).sum())
        total += inner(U.T @ U, P.T @ P) - 2 * inner(times(self.features, P), U)
        total += self.alpha * float(((self._linear_scores(U, B) - U @ B.T) ** 2).sum())
        for lap, F in zip(self.graphs, params, strict=True):
            total += inner(F, lap @ F)
        return total + self.gamma * float(row_norms(P).sum()) + self.ridge * inner(U, U)

    def sweep(self, params: CMFSParams) -> CMFSParams:
        """Some steps for U, for B and for P; unknown labels are what U and B make of them."""
        U, P, B = params
        Y = self._linear_scores(U, B)
        identity = array_like(array_namespace(U), np.eye(U.shape[1]), U)
        gram = P.T @ P + self.alpha * (B.T @ B) + self.ridge * identity
        target = times(self.features, P) + self.alpha * (Y @ B)
        U = some_steps(U, gram, self.graphs.rows, target)
        gram = U.T @ U
        B = some_steps(B, self.alpha * gram, self.graphs.labels, self.alpha * (Y.T @ U))
        target = transposed_times(self.features, U)
        P = some_steps(P, gram, self.graphs.features, target, nonnegative_row_norms(self.gamma))
        return CMFSParams(U, P, B)

    def _linear_scores(self, U: Any, B: Any) -> Any:
        """Labels, and what U and B make of the unknown ones."""
        xp = array_namespace(self.Y)
        return xp.where(xp.isnan(self.Y), U @ B.T, self.Y)


def some_steps(
    F: Any,
    gram: Any,
    lap: Any,
    target: Any,
    prox: Prox = _NOT_NEGATIVE,
) -> Any:
    """Proximal gradient steps for <F, F gram + lap F - 2 target> and a simple function."""
    smooth = Quadratic(lambda F: 2 * (F @ gram + lap @ F), 2 * target)
    # by Gershgorin no eigenvalue of a Laplacian is above twice its largest degree
    largest = float(array_namespace(gram).linalg.eigvalsh(gram)[-1] + 2 * lap.diagonal().max())
    path = proximal_path(smooth, prox, F, curvature=max(2 * largest, 1e-12))
    return next(islice(path, _STEPS - 1, None)).x


def nonnegative_row_norms(weight: float) -> Prox:
    """The proximal operator of ``weight sum_f ||p_f||`` over p >= 0: rows shrink or vanish."""

    def prox(x: Any, step: float) -> tuple[Any, float]:
        xp = array_namespace(x)
        z = xp.clip(x, 0.0, None)
        lengths = row_norms(z)
        kept = xp.clip(lengths - step * weight, 0.0, None)
        fractions = kept / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        return fractions[:, None] * z, weight * float(kept.sum())

    return prox


@with_parameters
class CMFS(LinearSelector):
    """Correlated and multi-label feature selection: rows, features and labels share factors [1]_.

        min  ||X - U P'||^2 + alpha ||Y - U B'||^2 + gamma sum_f ||p_f|| + ridge ||U||^2
             + row_smoothness tr(U' L_r U) + feature_smoothness tr(P' L_f P)
             + label_smoothness tr(B' L_l B)       over  U, P, B >= 0

    with factors U of rows, P of features and B of labels, and Laplacians of the graphs of similar
    rows, of similar features, and of labels by the cosine of their columns. X is scaled to [0, 1],
    feature by feature. The score of a feature is the length of its row of P.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the labels. The loss of X grows with the number of features.
    gamma : float, default=1.0
        Weight of the row norms.
    row_smoothness, feature_smoothness, label_smoothness : float, default=0.1
        Weights of the graphs.
    ridge : float, default=0.1
        Of the factors of rows, without which nothing would keep U from growing while P and B, and
        their penalties, shrink.
    n_factors : int, default=None
        Half the number of labels by default, rounded up; never more than labels.
    n_neighbors : int, default=5
        Of the graphs of rows and of features, with heat-kernel weights.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ||p_f||.
    row_factors_, feature_factors_, label_factors_ : ndarrays with n_factors columns
        U, of the rows with a known label, P and B, of the labels with a known entry.
    coef_, intercept_ : ndarrays of shape (n_features, n_labels) and (n_labels,)
        Of a ridge regression, see Notes.

    Notes
    -----
    The objective is a reconstruction from the published summary of the method (a non-negative
    factorisation of features and labels, correlations of rows, features and labels, row norms of
    the feature matrix) and may differ from the original in details; the ridge is not in it.

    Starts from the labels' leading singular vectors, the larger side of each. Instead of
    multiplications, under which no row of P ever becomes zero, every iteration takes five
    accelerated proximal gradient steps for U, for B and for P, none of which increases the
    objective.

    Unknown labels are left out of the loss: in every iteration they are what the factors make of
    them. Unlabeled zeros are zeros.

    The method has no map from features to labels. Here it is a ridge regression of the completed
    labels on the scaled features, whose penalties are the squared ratios of the largest score to
    their own.

    U has to reproduce the features, and a feature that is mostly high has a long row of P whatever
    the labels are. Sparse features stay sparse where none is negative.

    References
    ----------
    .. [1] A. Braytee, W. Liu, D. R. Catchpoole and P. J. Kennedy. Multi-label feature selection
       using correlation information. CIKM, 2017.
    """

    alpha: float = parameter(1.0, POSITIVE)
    gamma: float = parameter(1.0, NOT_NEGATIVE)
    _: KW_ONLY
    row_smoothness: float = parameter(0.1, NOT_NEGATIVE)
    feature_smoothness: float = parameter(0.1, NOT_NEGATIVE)
    label_smoothness: float = parameter(0.1, NOT_NEGATIVE)
    ridge: float = parameter(0.1, NOT_NEGATIVE)
    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    n_neighbors: int = parameter(5, AT_LEAST_ONE)
    n_features_to_select: int | float | None = parameter(None)
    max_iter: int = parameter(300)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        scaled, low, width = _to_unit_range(X)
        graphs = self._graphs(scaled, Y)
        problem = CMFSProblem(
            prepare_features(scaled), Y, graphs, self.alpha, self.gamma, self.ridge
        )
        monitor = self._monitor()
        params = self._descend(problem, self._start(problem), scaled, monitor)
        self._keep_trace(monitor)
        self.row_factors_, self.feature_factors_, self.label_factors_ = params
        coef = _regression(problem, params)
        coef[:-1] /= width[:, None]
        return coef[:-1], coef[-1] - low @ coef[:-1], row_norms(params.P)

    def _descend(
        self, problem: CMFSProblem, params: CMFSParams, scaled: Any, monitor: Monitor
    ) -> CMFSParams:
        """To the end, on the device where there is one."""
        features, Y, *factors = self._placed(scaled, problem.Y, *params)
        graphs = Graphs(*map(self._placed_graph, problem.graphs))
        problem, params = (
            problem._replace(features=features, Y=Y, graphs=graphs),
            CMFSParams(*factors),
        )
        while not monitor.record(problem.objective(params)):
            if monitor.trace.n_iter == self.max_iter:
                break
            params = problem.sweep(params)
        return CMFSParams(*map(to_numpy, params))

    def _graphs(self, scaled: Any, Y: np.ndarray) -> Graphs:
        across = sparse.csr_array(scaled.T) if sparse.issparse(scaled) else scaled.T.copy()
        alike = 1 - cosine_distances(np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y))
        return Graphs(
            self.row_smoothness * laplacian(heat_graph(scaled, self.n_neighbors)),
            self.feature_smoothness * laplacian(heat_graph(across, self.n_neighbors)),
            self.label_smoothness * laplacian(alike),
        )

    def _start(self, problem: CMFSProblem) -> CMFSParams:
        """One-signed halves of the labels' singular vectors, and the features that go with them."""
        Y = np.where(np.isnan(problem.Y), np.nanmean(problem.Y, axis=0), problem.Y)
        left, values, right = thin_svd(Y)
        k = min(self.n_factors or (Y.shape[1] + 1) // 2, len(values))
        halves = [_one_signed(left[:, i], values[i], right[i]) for i in range(k)]
        U, B = (np.column_stack(side) for side in zip(*halves, strict=True))
        gram = U.T @ U + max(self.ridge, 1e-10 * max(values[0] ** 2, 1.0)) * np.eye(k)
        P = linalg.solve(gram, transposed_times(problem.features, U).T, assume_a="pos").T
        return CMFSParams(U, np.maximum(P, 0.0), B)


def _regression(problem: CMFSProblem, params: CMFSParams) -> np.ndarray:
    """Coefficients and intercepts of the imputed labels; a feature costs by what it scores."""
    scores = row_norms(params.P)
    fraction = scores / max(scores.max(initial=0.0), np.finfo(np.float64).tiny)
    X = problem.features.rows
    weighted = X @ sparse.diags_array(fraction) if sparse.issparse(X) else X * fraction
    Y = np.where(np.isnan(problem.Y), params.U @ params.B.T, problem.Y)
    penalties = np.append(np.ones(X.shape[1]), 0.0)
    coef = solve_reweighted(prepare_features(weighted), Y, np.ones(len(Y)), penalties)
    coef[:-1] *= fraction[:, None]
    return coef


def _one_signed(u: np.ndarray, value: float, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is positive of u b', or of (-u)(-b)' if that is more, in vectors of equal length."""
    parts = [(np.maximum(sign * u, 0.0), np.maximum(sign * b, 0.0)) for sign in (1, -1)]
    u, b = max(parts, key=lambda part: np.linalg.norm(part[0]) * np.linalg.norm(part[1]))
    lengths = np.linalg.norm(u), np.linalg.norm(b)
    if min(lengths) == 0:
        return np.zeros_like(u), np.zeros_like(b)
    scale = np.sqrt(value * lengths[0] * lengths[1])
    return scale * u / lengths[0], scale * b / lengths[1]


def _to_unit_range(X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Features between 0 and 1, minima and widths; sparse ones that start at 0 stay sparse."""
    low, high = (
        np.asarray(side.toarray() if sparse.issparse(side) else side).ravel()
        for side in (X.min(axis=0), X.max(axis=0))
    )
    width = np.where(high > low, high - low, 1.0)
    if not sparse.issparse(X):
        return (X - low) / width, low, width
    if low.any():
        return (X.toarray() - low) / width, low, width
    return sparse.csr_array(X @ sparse.diags_array(1 / width)), low, width
