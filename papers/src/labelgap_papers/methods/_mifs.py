"""Feature selection through a low-rank label space that varies little between similar rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from labelgap.kernels.array_namespace import array_like, array_namespace
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.products import Features, times
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.row_sparse import reweight, row_norms, solve_reweighted, sum_of_norms
from labelgap_papers.kernels.smoothness import heat_graph, laplacian
from labelgap_papers.methods._linear import fill_unknown
from labelgap_papers.methods._selector import LinearSelector, cut_graph

_CG_STEPS = 20
# eigenvalues below this times their number and the largest are none
_SMALL = float(np.finfo(np.float64).eps)


class MIFSParams(NamedTuple):
    """Map W (n_features, k), factors V of rows (n_samples, k), factors B of labels (k, n_labels)."""

    W: Any
    V: Any
    B: Any


class MIFSProblem(NamedTuple):
    """||XW - V||^2 + alpha ||Y - VB||^2 + beta tr(V'LV) + gamma sum_f ||w_f|| + ridge ||B||^2."""

    features: Features
    Y: Any
    lap: Any
    alpha: float
    beta: float
    gamma: float
    ridge: float

    def objective(self, params: MIFSParams) -> float:
        W, V, B = params
        total = ((times(self.features, W) - V) ** 2).sum()
        total += self.alpha * ((self.Y - V @ B) ** 2).sum()
        total += self.beta * (V * (self.lap @ V)).sum() + self.ridge * (B**2).sum()
        return float(total) + self.gamma * sum_of_norms(W)

    def sweep(self, params: MIFSParams) -> MIFSParams:
        """Factors of rows, of labels, and the map, one after the other."""
        V = self.row_factors(params)
        B = self.label_factors(V)
        return MIFSParams(self.feature_map(params.W, V), V, B)

    def row_factors(self, params: MIFSParams) -> Any:
        """(I + beta L) V + alpha V BB' = XW + alpha YB', by warm conjugate gradient.

        In the axes of BB' there is one system per factor, and all share L.
        """
        W, V, B = params
        values, axes = array_namespace(B).linalg.eigh(B @ B.T)
        shift = 1 + self.alpha * values

        def product(P: Any) -> Any:
            return shift * P + self.beta * (self.lap @ P)

        right_side = (times(self.features, W) + self.alpha * (self.Y @ B.T)) @ axes
        start = V @ axes
        diagonal = shift + self.beta * self.lap.diagonal()[:, None]
        move = conjugate_gradient(
            product, right_side - product(start), diagonal, n_steps=_CG_STEPS, tol=1e-10
        )
        return (start + move) @ axes.T

    def label_factors(self, V: Any) -> Any:
        """(alpha V'V + ridge I) B = alpha V'Y, the shortest B where that leaves it open."""
        values, axes = array_namespace(V).linalg.eigh(self.alpha * (V.T @ V))
        values = values + self.ridge
        values[values <= _SMALL * len(values) * values[-1]] = np.inf
        return axes @ ((axes.T @ (self.alpha * (V.T @ self.Y))) / values[:, None])

    def feature_map(self, W: Any, V: Any) -> Any:
        """(X'X + gamma D) W = X'V, with D touching the row norms."""
        return self.regression(V, self.gamma * reweight(W))

    def regression(self, V: Any, penalties: Any) -> Any:
        """Of the factors of the rows on the features, without an intercept."""
        xp = array_namespace(V)
        none = array_like(xp, np.full(1, np.inf), V)
        ones = xp.ones_like(V[:, 0])
        both = xp.concat([penalties, none])
        return solve_reweighted(self.features, V, ones, both)[:-1]


@with_parameters
class MIFS(LinearSelector):
    """Multi-label informed feature selection: features for factors of the labels [1]_.

        min  ||X W - V||^2 + alpha ||Y - V B||^2 + beta tr(V' Lap V) + gamma sum_f ||w_f||
             + ridge ||B||^2

    with factors V of rows, B of labels and the graph Laplacian Lap of similar rows. The score of
    a feature is the length of its row of W.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the labels.
    beta : float, default=0.1
        Weight of the smoothness.
    gamma : float, default=1.0
        Weight of the row norms.
    ridge : float, default=0.1
        Of the label factors. The paper has none (0), and then nothing fixes the scale: V and W
        may shrink and B grow until the penalties are nothing, and the result depends on when one
        stops.
    n_factors : int, default=None
        Half the number of labels by default, rounded up.
    n_neighbors : int, default=5
        Of the graph of similar rows, with heat-kernel weights.
    graph : sparse matrix of shape (n_samples, n_samples), default=None
        Similarities of the training rows to take instead.
    unknown : {"negative", "mean"}, default=None
        What an unknown entry counts as: irrelevant, or the mean of the label where it is observed.
        By default irrelevant, with a warning that the method cannot leave such entries out.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ||w_f||.
    coef_ : ndarray of shape (n_features, n_labels)
        W B.
    intercept_ : ndarray of shape (n_labels,)
        Zero: the method has none.

    Notes
    -----
    Starts from the leading singular vectors of Y and solves for V, B and W in turn, which never
    increases the objective; published code takes gradient steps of a fixed length, with which
    short rows of W jump to and fro instead of vanishing.

    The method has no place for unknown entries, see ``unknown``. Unlabeled zeros are zeros.

    References
    ----------
    .. [1] L. Jian, J. Li, K. Shu and H. Liu. Multi-label informed feature selection. IJCAI, 2016.
    """

    alpha: float = parameter(1.0, POSITIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    gamma: float = parameter(1.0, POSITIVE)
    _: KW_ONLY
    ridge: float = parameter(0.1, NOT_NEGATIVE)
    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    n_neighbors: int = parameter(5, AT_LEAST_ONE)
    graph: Any = parameter(None, "sparse matrix", None)
    unknown: str | None = parameter(None, StrOptions({"negative", "mean"}), None)
    n_features_to_select: int | float | None = parameter(None)
    max_iter: int = parameter(300)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        Y = fill_unknown(Y, self.unknown, type(self).__name__)
        similar = heat_graph(X, self.n_neighbors) if self.graph is None else None
        lap = laplacian(cut_graph(self.graph, rows) if similar is None else similar)
        weights = (self.alpha, self.beta, self.gamma, self.ridge)
        problem = MIFSProblem(*self._placed(X, Y), self._placed_graph(lap), *weights)
        params = self._start(problem)
        monitor = self._monitor()
        while not monitor.record(problem.objective(params)):
            if monitor.trace.n_iter == self.max_iter:
                break
            params = problem.sweep(params)
        self._keep_trace(monitor)
        return params.W @ params.B, np.zeros(Y.shape[1]), row_norms(params.W)

    def _start(self, problem: MIFSProblem) -> MIFSParams:
        """The best V and B for the labels alone, and the ridge regression of V."""
        xp = array_namespace(problem.Y)
        wanted = self.n_factors or (problem.Y.shape[1] + 1) // 2
        left, values, right = xp.linalg.svd(problem.Y, full_matrices=False)
        k = min(wanted, len(values))
        root = xp.sqrt(values[:k])
        V, B = left[:, :k] * root, root[:, None] * right[:k]
        penalties = array_like(xp, np.full(problem.features.shape[1], self.gamma), V)
        return MIFSParams(problem.regression(V, penalties), V, B)
