"""Least squares on the observed entries of a 0/1 matrix: ``||M o (V F + 1 b' - Y)||^2``.

V (n x k) may be dense or sparse, F is (k x c), b an offset per column, M the mask. Where
everything is observed only Gram matrices and the ones of Y are touched; otherwise products run
over blocks of rows, so that no more than the mask itself has the size of Y.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

from labelgap.kernels.products import block_edges, one_blas_thread
from labelgap.memory import block_size

__all__ = [
    "MaskedTarget",
    "best_offset",
    "loss_from_products",
    "masked_cross",
    "masked_loss",
    "masked_product",
    "row_cross",
    "squared_cross",
]


class MaskedTarget(NamedTuple):
    """A 0/1 matrix with gaps.

    ones : CSR of shape (n, c), 1.0 at the ones
    mask : bool array of shape (n, c), or None where all entries are observed
    """

    ones: sparse.csr_array
    mask: np.ndarray | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.ones.shape

    def n_observed(self) -> np.ndarray:
        """Return observed entries of each column."""
        if self.mask is None:
            return np.full(self.shape[1], self.shape[0])
        return self.mask.sum(axis=0)

    def blocks(self) -> Iterator[slice]:
        n, c = self.shape
        step = block_size(c, fraction=1 / 512)
        return (slice(first, min(first + step, n)) for first in range(0, n, step))


def masked_product(target: MaskedTarget, V: Any, F: np.ndarray, gram: Any = None) -> np.ndarray:
    """Return V' (M o (V F)), of shape (k, c); ``gram`` is V'V where it is at hand."""
    if target.mask is None:
        return gram @ F if gram is not None else V.T @ (V @ F)
    if not sparse.issparse(V):
        return _dense_product(target.mask, V, F)
    out = np.zeros((V.shape[1], F.shape[1]))
    for part in target.blocks():
        block = V[part]
        fitted = np.ascontiguousarray(block @ F)
        _clear(fitted, target.mask[part])
        out += block.T @ fitted
    return out


def _dense_product(mask: np.ndarray, V: np.ndarray, F: np.ndarray) -> np.ndarray:
    V, F = (np.ascontiguousarray(part, dtype=np.float64) for part in (V, F))
    step = block_size(F.shape[1], fraction=1 / 512)
    with one_blas_thread():
        return _product_parts(mask, V, F, block_edges(len(V)), step).sum(axis=0)


def masked_cross(target: MaskedTarget, V: Any, offset: np.ndarray) -> np.ndarray:
    """Return V' (M o (Y - 1 b')), of shape (k, c)."""
    cross = np.asarray(_dense(target.ones.T @ V)).T
    if not offset.any():
        return cross
    return cross - _weights_of_columns(target, V) * offset


def squared_cross(target: MaskedTarget, V: np.ndarray) -> np.ndarray:
    """Return (V o V)' M, of shape (k, c): the diagonals of the systems of single columns."""
    return _weights_of_columns(target, V * V)


def row_cross(target: MaskedTarget, F: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return (M o (Y - 1 b')) F', of shape (n, k)."""
    cross = target.ones @ F.T
    if not offset.any():
        return cross
    if target.mask is None:
        return cross - F @ offset
    weighted = np.ascontiguousarray((F * offset).T)
    for part in target.blocks():
        cross[part] -= target.mask[part].astype(np.float64) @ weighted
    return cross


def masked_loss(target: MaskedTarget, V: Any, F: np.ndarray, offset: np.ndarray) -> float:
    """Return ||M o (V F + 1 b' - Y)||^2."""
    total = 0.0
    for part in target.blocks():
        residual = _residual(target, V, F, offset, part)
        total += float(np.vdot(residual, residual))
    return total


def loss_from_products(
    target: MaskedTarget, F: np.ndarray, offset: np.ndarray, cross: np.ndarray, image: np.ndarray
) -> float:
    """Return the same from :func:`masked_cross` and :func:`masked_product` of F."""
    n_ones = np.bincount(target.ones.indices, minlength=target.shape[1])
    start = n_ones @ (1 - 2 * offset) + target.n_observed() @ offset**2
    return float(start - 2 * np.vdot(cross, F) + np.vdot(image, F))


def best_offset(target: MaskedTarget, V: Any, F: np.ndarray) -> np.ndarray:
    """Return the b that minimises the loss: the mean of Y - V F over what is observed of each column."""
    total = np.zeros(F.shape[1])
    for part in target.blocks():
        total -= _residual(target, V, F, total * 0, part).sum(axis=0)
    return total / np.maximum(target.n_observed(), 1)


def _residual(target, V, F, offset, part) -> np.ndarray:
    residual = np.ascontiguousarray(V[part] @ F) + offset
    ones = target.ones[part]
    rows = np.repeat(np.arange(ones.shape[0]), np.diff(ones.indptr))
    residual[rows, ones.indices] -= 1.0
    if target.mask is not None:
        _clear(residual, target.mask[part])
    return residual


def _weights_of_columns(target: MaskedTarget, V: Any) -> np.ndarray:
    """V' M."""
    if target.mask is None:
        total = np.asarray(V.sum(axis=0)).ravel()
        return np.repeat(total[:, None], target.shape[1], axis=1)
    out = np.zeros((V.shape[1], target.shape[1]))
    for part in target.blocks():
        out += V[part].T @ target.mask[part].astype(np.float64)
    return out


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@njit(cache=True, parallel=True)
def _product_parts(mask, V, F, edges, step):
    """V' (M o (V F)) of every part of the rows, of shape (n_parts, k, c)."""
    parts = np.zeros((edges.size - 1, V.shape[1], F.shape[1]))
    for p in prange(edges.size - 1):
        for first in range(edges[p], edges[p + 1], step):
            rows = slice(first, min(first + step, edges[p + 1]))
            fitted = np.dot(V[rows], F)
            _clear(fitted, mask[rows])
            parts[p] += np.dot(V[rows].T, fitted)
    return parts


@njit(cache=True)
def _clear(values, mask):
    """Zero wherever the mask is False."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = values[i, j] if mask[i, j] else 0.0
