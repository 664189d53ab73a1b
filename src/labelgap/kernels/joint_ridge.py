"""Ridge regression of every column on all others, each row left out in turn, by one inversion.

With Z of shape (n, D) and P = (Z'Z + diag(penalty))^-1, the ridge regression of column j on all the
other columns has the weights -P_kj / P_jj. Its residual at row i, when row i takes no part in the
fit, is

    e_ij = (w_ij / P_jj) / (1 - q_i + w_ij^2 / P_jj),    w_i = P z_i,  q_i = z_i' P z_i,

whatever j is: the leverage q_i - w_ij^2 / P_jj follows from the inverse without row and column j.
z_ij - e_ij is therefore what all else that is known of row i, and all other rows, say of z_ij.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse

__all__ = ["left_out_residuals", "penalised_inverse", "regression_weights", "residuals", "row_dots"]

_LEAST = 1e-9


def penalised_inverse(gram: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return (gram + diag(penalty))^-1 of a symmetric positive semidefinite gram of shape (D, D)."""
    damped = np.array(gram, dtype=np.float64, order="F")
    damped[np.diag_indices_from(damped)] += penalty
    factor, _ = linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
    inverse, info = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    if info != 0:
        raise np.linalg.LinAlgError("the penalised Gram matrix is singular: use larger penalties")
    return _mirrored(inverse)


def left_out_residuals(Z: Any, inverse: np.ndarray, columns: slice) -> np.ndarray:
    """Return e of some rows and a slice of columns, of shape (n, n_columns).

    Z is a matrix, dense or sparse, or a sequence of such that stand side by side.
    """
    pieces = Z if isinstance(Z, Sequence) else [Z]
    w = _product(pieces, inverse)
    q, start = np.zeros(w.shape[0]), 0
    for piece in pieces:
        own = w[:, start : start + piece.shape[1]]
        q += row_dots(piece, own)
        start += piece.shape[1]
    w = w[:, columns]
    diagonal = np.diagonal(inverse)[columns]
    kept = 1 - q[:, None] + w**2 / diagonal
    return w / diagonal / np.maximum(kept, _LEAST)


def residuals(Z: Any, inverse: np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
    """Return residuals of rows that had no part in the Gram matrix: w_ij / P_jj."""
    pieces = Z if isinstance(Z, Sequence) else [Z]
    return _product(pieces, inverse[:, columns]) / np.diagonal(inverse)[columns]


def regression_weights(inverse: np.ndarray, column: int) -> np.ndarray:
    """Return weights of all columns in the regression of one; its own is zero."""
    weights = -inverse[:, column] / inverse[column, column]
    weights[column] = 0.0
    return weights


def _product(pieces: Sequence[Any], matrix: np.ndarray) -> np.ndarray:
    product, start = np.zeros((pieces[0].shape[0], matrix.shape[1])), 0
    for piece in pieces:
        product += piece @ matrix[start : start + piece.shape[1]]
        start += piece.shape[1]
    return product


def row_dots(left: Any, right: np.ndarray) -> np.ndarray:
    """Return the products of the rows of two matrices, the first dense or sparse."""
    if sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """A full symmetric matrix from its lower triangle."""
    full = np.tril(lower)
    full += np.tril(lower, -1).T
    return full
