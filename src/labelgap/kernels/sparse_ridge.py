"""Ridge regression of very many labels on the features and on a few other labels each.

With many labels the Gram matrix of :mod:`labelgap.kernels.joint_ridge` has no place in memory. Here
label j is regressed on the features z = (1, x) of shape (D,) and on the indicators u of the labels
S_j that are most often recorded beside it, at most some tens. With P = (Z'Z + penalty)^-1,
B = Z'U, N = U'U and the targets y (b = Z'y, m = U'y), eliminating the features gives one small
system per label:

    A_j = N_SS + penalty - B_S' P B_S,   A_j v_j = m_S - B_S' P b_j,   w_j = P (b_j - B_S v_j).

The leverage of row i is z_i' P z_i plus, for each recorded label in S_j, what its indicator has that
the features do not explain, (1 - z_i' P B_m)^2 / A_mm: the diagonal of A_j stands for its inverse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.kernels.joint_ridge import penalised_inverse, row_dots
from labelgap.kernels.products import one_blas_thread

__all__ = ["RidgeSums", "SparseRidge", "fit_sparse_ridge", "ridge_sums"]

_LEAST = 1e-9
_MOST_LEVERAGE = 0.95


class RidgeSums(NamedTuple):
    """Sums over rows: Z'Z, U'Z and Y'Z of shapes (D, D) and (L, D), sparse U'U and U'Y.

    Those of the targets are None where the targets are the indicators.
    """

    gram: np.ndarray
    inputs: np.ndarray
    together: Any
    targets: np.ndarray | None = None
    both: Any = None


def ridge_sums(Z: np.ndarray, U: sparse.csr_array, Y: sparse.csr_array) -> RidgeSums:
    """Return the sums of some rows: features with intercept, indicators of labels, targets."""
    turned = sparse.csr_array(U.T)
    sums = RidgeSums(_dot(Z.T, Z), _dot(turned, Z), turned @ U)
    if Y is U:
        return sums
    return sums._replace(targets=_dot(sparse.csr_array(Y.T), Z), both=turned @ Y)


class SparseRidge(NamedTuple):
    """Regressions of all labels: ``weights`` (D, L), ``label_weights`` (L, L), sparse, by column.

    ``inverse`` is P, ``explained`` P B of shape (D, L), ``own`` the diagonal of all A.
    """

    weights: np.ndarray
    label_weights: sparse.csr_array
    used: sparse.csr_array
    inverse: np.ndarray
    explained: np.ndarray
    own: np.ndarray

    def only(self, labels: np.ndarray) -> SparseRidge:
        """Return the regressions of some labels alone, on what they were on."""
        return self._replace(
            weights=self.weights[:, labels],
            label_weights=self.label_weights[:, labels],
            used=self.used[:, labels],
        )

    def fitted(self, Z: np.ndarray, U: sparse.csr_array) -> np.ndarray:
        """Return predictions of some rows, of shape (n, L)."""
        found = _dot(Z, self.weights)
        _add_sparse(found, U @ self.label_weights)
        return found

    def left_out(self, Z: np.ndarray, U: Any, Y: sparse.csr_array) -> np.ndarray:
        """Return predictions of rows of the fit, each from all other rows."""
        found = self.fitted(Z, U)
        leverage = row_dots(Z, _dot(Z, self.inverse))[:, None] + np.zeros((1, found.shape[1]))
        entries = U.tocoo()
        rest = 1 - row_dots(Z[entries.row], self.explained.T[entries.col])
        hats = sparse.csr_array(
            (rest**2 / self.own[entries.col], (entries.row, entries.col)), shape=U.shape
        )
        _add_sparse(leverage, hats @ self.used)
        np.minimum(leverage, _MOST_LEVERAGE, out=leverage)
        targets = Y.tocoo()
        at = targets.row, targets.col
        own = targets.data * leverage[at]
        found[at] -= own
        np.subtract(1.0, leverage, out=leverage)
        found /= leverage
        return found


def fit_sparse_ridge(
    sums: RidgeSums,
    penalty: np.ndarray,
    label_penalty: float,
    n_cooccurring: int,
    labels: np.ndarray | None = None,
) -> SparseRidge:
    """Solve the regressions of all labels, or of some of them and zeros for the others.

    Parameters
    ----------
    sums : RidgeSums
    penalty : array of shape (D,)
        Of the features.
    label_penalty : float
    n_cooccurring : int
        How many labels at most enter a regression: those that stand beside the label most often,
        n_both^2 / n_other.
    labels : int array, default=None
    """
    inverse = penalised_inverse(sums.gram, penalty)
    explained = sums.inputs @ inverse
    same = sums.targets is None
    weights = np.array(explained if same else sums.targets @ inverse, order="C")
    counts = sums.together.diagonal().astype(np.float64)
    own = counts + label_penalty - row_dots(sums.inputs, explained)
    own = np.maximum(own, _LEAST)
    solved = np.arange(weights.shape[0]) if labels is None else labels
    rest = np.ones(weights.shape[0], dtype=bool)
    rest[solved] = False
    weights[rest] = 0.0
    # columns of U'U and U'Y hold what stands beside each label
    together = _by_column(sums.together)
    both = together if same else _by_column(sums.both)
    with one_blas_thread():
        chosen, values, sizes = _solve_labels(
            solved,
            (together.indptr, together.indices, together.data),
            (both.indptr, both.indices, both.data),
            counts,
            np.ascontiguousarray(sums.inputs),
            np.ascontiguousarray(explained),
            weights,
            label_penalty,
            n_cooccurring,
        )
    there = np.arange(n_cooccurring) < sizes[:, None]
    at, shape = (chosen[there], np.repeat(solved, sizes)), sums.together.shape
    label_weights = sparse.csr_array((values[there], at), shape)
    used = sparse.csr_array((np.ones(at[0].size), at), shape)
    turned = np.ascontiguousarray(weights.T), np.ascontiguousarray(explained.T)
    return SparseRidge(turned[0], label_weights, used, inverse, turned[1], own)


def _by_column(counts: Any) -> sparse.csc_array:
    found = sparse.csc_array(counts, dtype=np.float64)
    found.sort_indices()
    return found


@njit(cache=True, parallel=True)
def _solve_labels(solved, together, both, counts, inputs, explained, weights, penalty, most):
    """Solve the small system of each label; ``weights`` are changed where they lie."""
    chosen = np.zeros((solved.size, most), np.int64)
    values = np.zeros((solved.size, most))
    sizes = np.zeros(solved.size, np.int64)
    for place in prange(solved.size):
        label = solved[place]
        others = _most_cooccurring(together, counts, label, most)
        size = others.size
        if size == 0:
            continue
        left, right = inputs[others], explained[others]
        system = -np.dot(left, right.T)
        side = -np.dot(left, weights[label])
        for i in range(size):
            side[i] += _entry(both, others[i], label)
            system[i, i] += penalty
            for j in range(size):
                system[i, j] += _entry(together, others[i], others[j])
        found = np.linalg.solve(system, side)
        weights[label] -= np.dot(found, right)
        chosen[place, :size] = others
        values[place, :size] = found
        sizes[place] = size
    return chosen, values, sizes


@njit(cache=True)
def _most_cooccurring(together, counts, label, most):
    indptr, indices, data = together
    begin, end = indptr[label], indptr[label + 1]
    others = np.empty(end - begin, np.int64)
    strength = np.empty(end - begin)
    n = 0
    for b in range(begin, end):
        if indices[b] != label and data[b] > 0:
            others[n] = indices[b]
            # the part of chi-squared that counts where labels are rare
            strength[n] = data[b] ** 2 / max(counts[indices[b]], 1.0)
            n += 1
    others, strength = others[:n], strength[:n]
    if n > most:
        others = others[np.argsort(-strength, kind="mergesort")[:most]]
    return np.sort(others)


@njit(cache=True)
def _entry(columns, row, column):
    """The entry of a matrix of sorted columns, by bisection."""
    indptr, indices, data = columns
    low, high = indptr[column], indptr[column + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < row:
            low = middle + 1
        else:
            high = middle
    if low < indptr[column + 1] and indices[low] == row:
        return data[low]
    return 0.0


def _dot(left: Any, right: Any) -> np.ndarray:
    return safe_sparse_dot(left, right, dense_output=True)


def _add_sparse(dense: np.ndarray, part: Any) -> None:
    entries = sparse.coo_array(part)
    dense[entries.row, entries.col] += entries.data
