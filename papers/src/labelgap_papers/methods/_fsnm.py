"""Feature selection by joint L2,1 norms of the loss and of the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from labelgap.kernels.array_namespace import array_like, array_namespace, empty, to_numpy
from labelgap.kernels.products import Features, linear_part
from labelgap.parameters import POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.row_sparse import reweight, row_norms, solve_reweighted, sum_of_norms
from labelgap_papers.methods._selector import LinearSelector


@with_parameters
class FSNM(LinearSelector):
    """Efficient and robust feature selection by joint L2,1 norms, also called RFS [1]_.

    A linear map from features to labels whose loss is not squared, so that a few wrong rows
    count less, and whose penalty empties whole rows, so that a feature is used for all labels or
    for none:

        min  sum_i ||x_i W + b - y_i|| + alpha (sum_f ||w_f|| + ||b||).

    The score of a feature is the length of its row of W. Missing labels are not modelled: an
    unlabeled zero is a zero.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty. The loss grows with the number of rows, the penalty does not.
    fit_intercept : {"penalised", "free", "none"}, default="penalised"
        The paper takes the intercept for one more feature, with its penalty; "free" leaves b out
        of the penalty.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ||w_f||.
    coef_ : ndarray of shape (n_features, n_labels)
        W.
    intercept_ : ndarray of shape (n_labels,)
        b.

    Notes
    -----
    Every iteration is a ridge regression with row weights 1/(2 ||r_i||) and penalties
    alpha/(2 ||w_f||), after a plain one with the penalty alpha^2: the objective, with 2.2e-16
    added under every root, never goes up. The regression is solved for features or for rows,
    whichever are fewer.

    The norm of a row runs over its known entries. A label with unknown entries then has a system
    of its own in every iteration, where all complete labels share one. (Filling gaps with fitted
    values would keep one system and the descent, but stalls: a row whose known entries are fitted
    exactly has a weight so large that its gaps stay where they were.)

    The length of w_f is in units of 1/x_f: standardise the features, or lengths say little.

    References
    ----------
    .. [1] F. Nie, H. Huang, X. Cai and C. Ding. Efficient and robust feature selection via joint
       L2,1-norms minimization. NIPS, 2010.
    """

    alpha: float = parameter(1.0, POSITIVE)
    _: KW_ONLY
    n_features_to_select: int | float | None = parameter(None)
    fit_intercept: str = parameter("penalised", StrOptions({"penalised", "free", "none"}))
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        features, Y = self._placed(X, Y)
        monitor = self._monitor()
        W = self._first(features, Y)
        residual = _residual(features, Y, W)
        while not monitor.record(self._objective(residual, W)) and monitor.trace.n_iter < (
            self.max_iter
        ):
            W = self._solve(features, Y, reweight(residual), self._penalties(W))
            residual = _residual(features, Y, W)
        self._keep_trace(monitor)
        return W[:-1], W[-1], row_norms(W[:-1])

    def _first(self, features: Features, Y: Any) -> Any:
        """Ridge regression."""
        xp = array_namespace(Y)
        penalties = np.full(features.shape[1] + 1, self.alpha**2)
        penalties[-1] = self._own(penalties[-1])
        ones = xp.ones_like(Y[:, 0])
        return self._solve(features, Y, ones, array_like(xp, penalties, Y))

    @staticmethod
    def _solve(features: Features, Y: Any, weights: Any, penalties: Any) -> Any:
        """One system for all labels that are known everywhere, one for each of the others."""
        xp = array_namespace(Y)
        known = ~xp.isnan(Y)
        complete = xp.all(known, axis=0)
        W = empty(xp, (features.shape[1] + 1, Y.shape[1]), Y)
        if bool(xp.any(complete)):
            W[:, complete] = solve_reweighted(features, Y[:, complete], weights, penalties)
        for j in np.flatnonzero(~to_numpy(complete)):
            one = slice(j, j + 1)
            y = xp.where(known[:, one], Y[:, one], xp.zeros_like(Y[:, one]))
            W[:, one] = solve_reweighted(features, y, weights * known[:, j], penalties)
        return W

    def _penalties(self, W: Any) -> Any:
        penalties = self.alpha * reweight(W)
        penalties[-1] = self._own(penalties[-1])
        return penalties

    def _own(self, penalty: Any) -> Any:
        """The penalty of the intercept."""
        return {"penalised": penalty, "free": 0.0, "none": np.inf}[self.fit_intercept]

    def _objective(self, residual: Any, W: Any) -> float:
        penalised = W if self.fit_intercept == "penalised" else W[:-1]
        return sum_of_norms(residual) + self.alpha * sum_of_norms(penalised)


def _residual(features: Features, Y: Any, W: Any) -> Any:
    """X W + b - Y, and zero where Y is unknown."""
    residual = linear_part(features, W) - Y
    residual[array_namespace(Y).isnan(Y)] = 0.0
    return residual
