"""Feature selection with a row-sparse map that is close to a subspace shared by the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import StrOptions

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.products import Features, times, transposed_times, weighted_gram
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.row_sparse import (
    reweight,
    row_norms,
    solve_positive,
    solve_reweighted,
    sum_of_norms,
)
from labelgap_papers.methods._linear import fill_unknown
from labelgap_papers.methods._selector import LinearSelector


def orthonormal_basis(spanning: Any) -> Any:
    """Of the span of some columns."""
    return array_namespace(spanning).linalg.qr(spanning)[0]


def subspace_step(
    features: Features,
    Y: Any,
    W: Any,
    alpha: float,
    beta: float,
    n_factors: int,
    basis: Callable[[Any], Any] = orthonormal_basis,
) -> tuple[Any, Any]:
    """The best W and Q together, for loss and penalty majorised at W.

    With A = X'GX + alpha P and R = X'GY, the best W for a given Q solves
    (A + beta (I - QQ')) W = R, and what is left to choose Q for is the trace of
    (Q'CQ)^-1 Q'FF'Q with F = (A + beta I)^-1 R and C = I - beta (A + beta I)^-1. Its maximiser
    spans the leading generalised eigenvectors of FF' and C: these are (A^-1 R) z, with z the
    leading eigenvectors of F'(A^-1 R), which is only n_labels x n_labels.
    Returns W : array of shape (n_features, n_labels)
    and Q : array of shape (n_features, n_factors)
    """
    xp = array_namespace(Y)
    weights = reweight(times(features, W) - Y)
    d = features.shape[1]
    A = weighted_gram(features, weights[:, None])[0, :d, :d]
    A[np.diag_indices(d)] += alpha * reweight(W)
    R = transposed_times(features, weights[:, None] * Y)
    free = solve_positive(A, R)
    M = A + beta * array_like(xp, np.eye(d), A)
    F = solve_positive(M, R)
    eigh = linalg.eigh if xp is np else xp.linalg.eigh
    vectors = xp.flip(eigh(F.T @ free)[1], axis=1)
    Q = basis(free @ vectors[:, :n_factors])
    return solve_positive(M - beta * (Q @ Q.T), R), Q


@with_parameters
class SFUS(LinearSelector):
    """Sub-feature uncovering with sparsity: rows of W vanish, and W is near a subspace [1]_.

        min  sum_i ||x_i W - y_i|| + alpha sum_f ||w_f|| + beta ||W - Q Q'W||_F^2,   Q'Q = I,

    where the columns of Q span a subspace of features that labels share. The score of a feature
    is the length of its row of W.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the row norms.
    beta : float, default=1.0
        Weight of the distance from the subspace.
    n_factors : int, default=None
        Dimension of the subspace; half the number of labels by default. From the number of
        labels on, every W lies in some subspace and the last term is zero: this is FSNM without
        an intercept.
    unknown : {"negative", "mean"}, default=None
        What an unknown entry counts as: irrelevant, or the mean of the label where it is observed.
        By default irrelevant, with a warning that the method cannot leave such entries out.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ||w_f||.
    coef_ : ndarray of shape (n_features, n_labels)
        W.
    intercept_ : ndarray of shape (n_labels,)
        Zero: the method has none. Centred labels and features make it do without.
    basis_ : ndarray of shape (n_features, n_factors)
        Q.

    Notes
    -----
    W and Q are found together in every iteration, which never increases the objective. Code of
    the authors takes eigenvectors of a matrix that is not symmetric for Q and uses Q Q' as if
    they were orthogonal; here Q is made orthonormal.

    The method has no place for unknown entries, see ``unknown``. Unlabeled zeros are zeros.

    References
    ----------
    .. [1] Z. Ma, F. Nie, Y. Yang, J. Uijlings and N. Sebe. Web image annotation via
       subspace-sparsity collaborated feature selection. IEEE Transactions on Multimedia 14, 2012.
    """

    alpha: float = parameter(1.0, POSITIVE)
    beta: float = parameter(1.0, NOT_NEGATIVE)
    _: KW_ONLY
    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    unknown: str | None = parameter(None, StrOptions({"negative", "mean"}), None)
    n_features_to_select: int | float | None = parameter(None)
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, Any, Any]:
        features, Y = self._placed(X, fill_unknown(Y, self.unknown, type(self).__name__))
        n_factors = self.n_factors or max(1, Y.shape[1] // 2)
        n_factors = min(n_factors, *Y.shape[1:], features.shape[1])
        monitor = self._monitor()
        W = self._first(features, Y)
        while True:
            W, Q = subspace_step(features, Y, W, self.alpha, self.beta, n_factors)
            done = monitor.record(self._objective(times(features, W) - Y, W, Q))
            if done or monitor.trace.n_iter == self.max_iter:
                break
        self.basis_ = to_numpy(Q)
        self._keep_trace(monitor)
        return W, np.zeros(Y.shape[1]), row_norms(W)

    def _first(self, features: Features, Y: Any) -> Any:
        """Ridge regression."""
        xp = array_namespace(Y)
        penalties = np.append(np.full(features.shape[1], self.alpha**2), np.inf)
        ones = xp.ones_like(Y[:, 0])
        return solve_reweighted(features, Y, ones, array_like(xp, penalties, Y))[:-1]

    def _objective(self, residual: Any, W: Any, Q: Any) -> float:
        distance = ((W - Q @ (Q.T @ W)) ** 2).sum()
        norms = sum_of_norms(residual) + self.alpha * sum_of_norms(W)
        return norms + self.beta * float(distance)
