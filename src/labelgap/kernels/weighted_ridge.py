"""Many ridge regressions on the same features: one weighted problem per row.

Row i solves A_i z_i = b_i with A_i = sum_j w_ij f_j f_j' + diag(ridge_i). All the A_i together
are one matrix product: the weights (n x m) times the lower triangles of f_j f_j', packed row by
row into m x k(k+1)/2. The product runs in blocks that fit a memory budget; a Cholesky
factorisation per row follows. The problem with the roles swapped is the same function with
``weights.T``.

numpy arrays and CSR weights run on the kernels below; arrays of other libraries (torch, cupy)
run on their own device through the array API. Everything is computed in the precision of ``F``.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit, prange
from scipy import sparse

from labelgap.kernels.array_namespace import (
    array_like,
    array_namespace,
    check_shape,
    cholesky,
    empty,
    float_array,
    item_size,
    reads_in_place,
    solve_factored,
)
from labelgap.memory import working_bytes

__all__ = ["Solution", "packed_outer", "solve_grams", "unpack", "weighted_grams", "weighted_ridge"]

# a factor is padded to whole vectors, and worked on in tiles of this many rows and columns
_TILE, _VECTOR = 4, 8
_WORTH_THREADS = 2**14
# matrices of one row that the array API's functions need at a time
_COPIES = 7
_REORDER = {"reassoc", "contract"}

Covariance = Literal[False, "diagonal", "full"]


class Solution(NamedTuple):
    """Solutions of n systems of size k.

    z : (n, k), the solutions, or the draws; log_det : (n,), log |A_i|;
    covariance : A_i^-1 as (n, k, k), its diagonal as (n, k), or None.
    """

    z: Any
    log_det: Any
    covariance: Any


def packed_outer(F: Any) -> Any:
    """Return the lower triangles of f_j f_j', row by row: (m, k) to (m, k(k+1)/2).

    The entry (a, b), b <= a, is in column a(a+1)/2 + b.
    """
    xp = array_namespace(F)
    return _outer_block(xp, float_array(F) if xp is np else F, 0, _width(F.shape[1]))


def unpack(packed: Any, k: int) -> Any:
    """Return packed triangles (n, k(k+1)/2) as symmetric matrices (n, k, k)."""
    xp = array_namespace(packed)
    check_shape("packed", packed, (packed.shape[0], _width(k)))
    row, column = np.indices((k, k))
    high, low = np.maximum(row, column), np.minimum(row, column)
    place = array_like(xp, (high * (high + 1) // 2 + low).ravel(), packed, dtype=xp.int64)
    return xp.reshape(xp.take(packed, place, axis=1), (packed.shape[0], k, k))


def weighted_grams(weights: Any, F: Any, *, memory: int | None = None) -> Any:
    """Return packed weighted Gram matrices sum_j w_ij f_j f_j', one per row of the weights.

    The matrices of a sum over blocks of j are the sums of the blocks' matrices, so that this is
    an additive statistic.

    weights : array or sparse matrix of shape (n, m). Not negative. Sparse weights are never made
        dense, and transposed views are not copied.
    F : array of shape (m, k)
    memory : int, default=None. Bytes for what is needed beside the result; at least one packed
        column is used. By default a fraction of :mod:`labelgap.memory`, more on devices.
    Returns array of shape (n, k(k+1)/2). Lower triangles, in the order of :func:`packed_outer`.
    """
    xp, weights, F = _prepared(weights, F)
    out = empty(xp, (weights.shape[0], _width(F.shape[1])), F)
    for _ in _gram_chunks(xp, weights, F, memory, out):
        pass
    return out


def solve_grams(
    packed: Any,
    right_side: Any,
    ridge: Any,
    *,
    covariance: Covariance = False,
    noise: Any = None,
    memory: int | None = None,
) -> Solution:
    """Solve A_i z_i = b_i, A_i = unpack(packed)_i + diag(ridge_i), by Cholesky factors A = L L'.

    packed : array of shape (n, k(k+1)/2). From :func:`weighted_grams`.
    right_side, ridge, covariance, noise. As in :func:`weighted_ridge`.
    memory : int, default=None. Bytes for what is needed beside the result, for arrays of other
        libraries than numpy.
    Raises LinAlgError where a matrix is not positive definite, with the index of its row.
    """
    xp = array_namespace(packed, right_side, ridge, noise)
    if right_side.ndim != 2:
        raise ValueError(f"right_side has {right_side.ndim} dimensions: take the shape (n, k)")
    n, k = right_side.shape
    packed = float_array(packed) if xp is np else packed
    check_shape("packed", packed, (n, _width(k)))
    system = _System.of(xp, packed, (n, k), right_side, ridge, covariance, noise)
    if xp is np:
        system.solve(slice(0, n), packed)
    else:
        row_bytes = _COPIES * item_size(xp, packed) * max(1, k * k)
        for rows in _slices(n, (working_bytes(4) if memory is None else memory) // row_bytes):
            system.solve(rows, packed[rows, :])
    return system.solution


def weighted_ridge(
    weights: Any,
    F: Any,
    right_side: Any,
    ridge: Any,
    *,
    covariance: Covariance = False,
    noise: Any = None,
    memory: int | None = None,
) -> Solution:
    """Solve (sum_j w_ij f_j f_j' + diag(ridge_i)) z_i = b_i for every row i.

    :func:`weighted_grams` and :func:`solve_grams` in one pass over blocks of rows: the Gram
    matrices never exist all at once. The cost is n m k(k+1) operations for the assembly, or
    nnz(w) k(k+1) for sparse weights, and n k^3/3 for the factors.

    weights, F, memory. As in :func:`weighted_grams`; at least one row of the product is made at a
        time.
    right_side : array of shape (n, k)
    ridge : float or array of shape (k,) or (n, k)
    covariance : False, "diagonal" or "full", default=False. Whether the inverses, or their
        diagonals, come with the solutions.
    noise : array of shape (n, k), default=None. Standard normal draws e; then z_i = A_i^-1 b_i +
        L_i'^-1 e_i, from N(A_i^-1 b_i, A_i^-1).
    Raises numpy.linalg.LinAlgError where a matrix is not positive definite, with its row's index.
    """
    array_namespace(weights, F, right_side, ridge, noise)
    xp, weights, F = _prepared(weights, F)
    shape = (weights.shape[0], F.shape[1])
    system = _System.of(xp, F, shape, right_side, ridge, covariance, noise)
    for rows, grams in _gram_chunks(xp, weights, F, memory, None):
        system.solve(rows, grams)
    return system.solution


class _System(NamedTuple):
    """What every row needs beside its Gram matrix, and where its solution goes."""

    xp: ModuleType
    right_side: Any
    ridge: Any
    noise: Any
    covariance: Covariance
    solution: Solution

    @classmethod
    def of(cls, xp, like, shape, right_side, ridge, covariance, noise) -> _System:
        if covariance not in (False, "diagonal", "full"):
            raise ValueError(f'covariance={covariance!r}: take False, "diagonal" or "full"')
        n, k = shape
        right_side = array_like(xp, right_side, like)
        ridge = array_like(xp, ridge, like)
        check_shape("right_side", right_side, shape)
        if tuple(ridge.shape) not in ((), (k,), shape):
            wanted = f"take a number, ({k},) or {shape}"
            raise ValueError(f"ridge has the shape {tuple(ridge.shape)}: {wanted}")
        ridge = xp.broadcast_to(ridge, shape)
        if noise is not None:
            noise = array_like(xp, noise, like)
            check_shape("noise", noise, shape)
        inverse_shape = {False: None, "diagonal": (n, k), "full": (n, k, k)}[covariance]
        inverse = None if inverse_shape is None else empty(xp, inverse_shape, like)
        solution = Solution(empty(xp, shape, like), empty(xp, (n,), like), inverse)
        return cls(xp, right_side, ridge, noise, covariance, solution)

    def solve(self, rows: slice, grams: Any) -> None:
        """Fill the solution of some rows; ``grams`` is left as it is."""
        noise = None if self.noise is None else self.noise[rows, :]
        solve = self._solve_compiled if self.xp is np else self._solve_standard
        failed = solve(rows, grams, self.right_side[rows, :], self.ridge[rows, :], noise)
        if failed is not None:
            raise np.linalg.LinAlgError(
                f"the matrix of row {rows.start + failed} is not positive definite: take a larger "
                "ridge, and look for weights that are negative or not finite"
            )

    def _solve_compiled(self, rows, grams, b, ridge, noise) -> int | None:
        z, log_det = self.solution.z[rows], self.solution.log_det[rows]
        inverse = np.empty((0, 0, 0), dtype=z.dtype)
        if self.covariance:
            n_lines = 1 if self.covariance == "diagonal" else z.shape[1]
            inverse = self.solution.covariance[rows].reshape(len(z), n_lines, z.shape[1])
        fine = np.ones(len(z), dtype=np.bool_)
        ridge, b = np.array(ridge, order="C"), np.ascontiguousarray(b)
        noise = np.empty((0, 0), dtype=z.dtype) if noise is None else np.ascontiguousarray(noise)
        _solve_rows(grams, b, ridge, noise, z, log_det, inverse, fine)
        return None if fine.all() else int(np.argmin(fine))

    def _solve_standard(self, rows, grams, b, ridge, noise) -> int | None:
        xp, k = self.xp, b.shape[1]
        diagonals = ridge[:, None, :] * array_like(xp, np.eye(k), b)
        L, failed = cholesky(xp, unpack(grams, k) + diagonals)
        if failed is not None:
            return failed
        z, log_det, inverse = solve_factored(xp, L, b, noise, self.covariance)
        self.solution.z[rows, :] = z
        self.solution.log_det[rows] = log_det
        if self.covariance:
            self.solution.covariance[rows, ...] = inverse
        return None


def _gram_chunks(xp, weights, F, memory, out) -> Iterator[tuple[slice, Any]]:
    """Packed Gram matrices of blocks of rows: in ``out``, or in a buffer used again and again."""
    (n, m), width, size = weights.shape, _width(F.shape[1]), item_size(xp, F)
    if memory is None:
        memory = working_bytes(1 / 4 if xp is np else 4)
    is_sparse = sparse.issparse(weights)
    copied = 0 if is_sparse or reads_in_place(xp, weights, F.dtype) else m
    solving = 0 if out is not None else width if xp is np else _COPIES * F.shape[1] ** 2
    # the product of two gathered copies of F needs all three of them
    column = 0 if is_sparse else size * m * (1 if xp is np else 3)
    n_samples, n_columns = _block_shape(n, width, size * (solving + copied), column, memory)
    outer = _outer_block(xp, F, 0, width) if column and n_columns == width else None
    buffer = empty(xp, (n_samples if out is None else 0, width), F)
    for rows in _slices(n, n_samples):
        grams = buffer[: rows.stop - rows.start, :] if out is None else out[rows, :]
        if is_sparse:
            _sparse_grams(weights.indptr, weights.indices, weights.data, F, rows.start, grams)
        else:
            _dense_grams(xp, weights[rows, :], F, outer, n_columns, grams)
        yield rows, grams


def _dense_grams(xp, weights, F, outer, n_columns, out) -> None:
    weights = array_like(xp, weights, F)
    if xp is np and not reads_in_place(xp, weights, F.dtype):
        weights = np.ascontiguousarray(weights)
    for columns in _slices(out.shape[1], n_columns):
        block = _outer_block(xp, F, columns.start, columns.stop) if outer is None else outer
        if xp is np:
            # weights that are not finite are named later, with their row
            with np.errstate(invalid="ignore", over="ignore"):
                np.matmul(weights, block, out=out[:, columns])
        else:
            out[:, columns] = xp.matmul(weights, block)
        del block  # before the next one is made


def _block_shape(n, width, row_bytes, column_bytes, memory) -> tuple[int, int]:
    """Rows of weights and packed columns that one product takes.

    The packed features stay for all the rows if they leave a quarter of the memory to them;
    otherwise each block of rows makes them again, block of columns by block of columns.
    """
    whole = width * column_bytes
    if whole + (row_bytes > 0) * memory // 4 <= memory:
        n_columns, left = width, memory - whole
    else:
        left = memory // 2 if row_bytes else 0
        n_columns = min(width, max(1, (memory - left) // column_bytes))
    n_samples = left // row_bytes if row_bytes else n
    return max(1, min(n, n_samples)), max(1, n_columns)


def _outer_block(xp, F, first: int, stop: int) -> Any:
    """The packed columns ``first`` to ``stop`` of the triangles of f_j f_j'."""
    if xp is np and F.shape[0] * (stop - first) > _WORTH_THREADS:
        out = np.empty((F.shape[0], stop - first), dtype=F.dtype)
        _pack_outer(F, first, out)
        return out
    place = np.arange(first, stop)
    high = ((np.sqrt(8 * place + 1) - 1) / 2).astype(np.int64)
    low = place - high * (high + 1) // 2
    left = xp.take(F, array_like(xp, high, F, dtype=xp.int64), axis=1)
    return left * xp.take(F, array_like(xp, low, F, dtype=xp.int64), axis=1)


def _prepared(weights: Any, F: Any) -> tuple[ModuleType, Any, Any]:
    """The library of both, CSR weights in the precision of F, and F without gaps."""
    xp = array_namespace(weights, F)
    if F.ndim != 2 or weights.ndim != 2 or weights.shape[1] != F.shape[0]:
        shapes = f"weights have the shape {tuple(weights.shape)} and F {tuple(F.shape)}"
        raise ValueError(f"{shapes}: take (n, m) and (m, k)")
    if xp is np:
        F = float_array(F)
        if sparse.issparse(weights):
            weights = sparse.csr_array(weights, dtype=F.dtype)
    return xp, weights, F


def _width(k: int) -> int:
    return k * (k + 1) // 2


def _slices(stop: int, step: int) -> Iterator[slice]:
    """Blocks of equal size, as few as there can be with ``step`` at most in each."""
    n_blocks = -(-stop // max(1, step))
    return (slice(stop * i // n_blocks, stop * (i + 1) // n_blocks) for i in range(n_blocks))


@njit(cache=True, parallel=True)
def _pack_outer(F, first, out):
    m, k = F.shape
    stop = first + out.shape[1]
    for j in prange(m):
        for a in range(k):
            start = a * (a + 1) // 2
            low = max(first, start)
            left = F[j, a]
            for place in range(low, min(stop, start + a + 1)):
                out[j, place - first] = left * F[j, place - start]


@njit(cache=True, parallel=True, fastmath=_REORDER)
def _sparse_grams(indptr, indices, data, F, first, out):
    """Gram matrices of the rows from ``first``; four features at a time, to write less often."""
    k = F.shape[1]
    for i in prange(out.shape[0]):
        gram = out[i]
        gram[:] = 0
        start, stop = indptr[first + i], indptr[first + i + 1]
        whole = start + (stop - start) // 4 * 4
        for p in range(start, whole, 4):
            f0, f1, f2, f3 = F[indices[p]], F[indices[p + 1]], F[indices[p + 2]], F[indices[p + 3]]
            for a in range(k):
                c0, c1 = data[p] * f0[a], data[p + 1] * f1[a]
                c2, c3 = data[p + 2] * f2[a], data[p + 3] * f3[a]
                row = gram[a * (a + 1) // 2 : a * (a + 1) // 2 + a + 1]
                for b in range(row.size):
                    row[b] += (c0 * f0[b] + c1 * f1[b]) + (c2 * f2[b] + c3 * f3[b])
        for p in range(whole, stop):
            f0 = F[indices[p]]
            for a in range(k):
                c0 = data[p] * f0[a]
                row = gram[a * (a + 1) // 2 : a * (a + 1) // 2 + a + 1]
                for b in range(row.size):
                    row[b] += c0 * f0[b]


@njit(cache=True, parallel=True, fastmath=_REORDER)
def _solve_rows(grams, b, ridge, noise, z, log_det, inverse, fine):
    """``inverse``: (0, 0, 0) for none, (n, 1, k) for the diagonals, (n, k, k) for all of it."""
    n, k = b.shape
    padded = (k + _VECTOR - 1) // _VECTOR * _VECTOR
    for i in prange(n):
        L = np.empty((padded, padded), dtype=grams.dtype)
        reciprocal = np.empty(k, dtype=grams.dtype)
        if not _factor(grams[i], ridge[i], L, reciprocal):
            fine[i] = False
            continue
        x = z[i]
        for a in range(k):
            total = b[i, a]
            for p in range(a):
                total -= L[a, p] * x[p]
            x[a] = total * reciprocal[a]
        if noise.shape[0]:
            x += noise[i]
        for a in range(k - 1, -1, -1):
            x[a] *= reciprocal[a]
            for p in range(a):
                x[p] -= x[a] * L[a, p]
        log_det[i] = -2 * np.log(reciprocal.astype(np.float64)).sum()
        if inverse.shape[0]:
            _invert_factor(L, reciprocal)
            _inverse_from_factor(L, inverse[i])


@njit(cache=True, fastmath=_REORDER)
def _factor(gram, ridge, L, reciprocal):
    """L of L L' = gram + diag(ridge), zero above; False where there is none.

    Tiles below go left to right. The dot products of a tile run over whole vectors: beyond the
    tile's first column the rows of L are still zero.
    """
    k = ridge.size
    tile = np.empty((_TILE, _TILE), dtype=L.dtype)
    for i in range(0, L.shape[0], _TILE):
        L[i : i + _TILE] = 0
        for j in range(0, i + _TILE, _TILE):
            _tile_products(L, i, j, (j + _VECTOR - 1) // _VECTOR * _VECTOR, tile)
            for r in range(i, min(i + _TILE, k)):
                start = r * (r + 1) // 2
                for c in range(j, min(j + _TILE, r + 1)):
                    value = gram[start + c] - tile[r - i, c - j]
                    for p in range(j, c):
                        value -= L[r, p] * L[c, p]
                    if c < r:
                        L[r, c] = value * reciprocal[c]
                        continue
                    value += ridge[r]
                    if not 0 < value < np.inf:
                        return False
                    L[r, r] = np.sqrt(value)
                    reciprocal[r] = 1 / L[r, r]
    return True


@njit(cache=True, fastmath=_REORDER)
def _tile_products(L, i, j, length, tile):
    """Dot products of the rows i .. i+3 of L with the rows j .. j+3, all kept in registers."""
    a0, a1, a2, a3 = L[i, :length], L[i + 1, :length], L[i + 2, :length], L[i + 3, :length]
    b0, b1, b2, b3 = L[j, :length], L[j + 1, :length], L[j + 2, :length], L[j + 3, :length]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = tile.dtype.type(0)
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = tile.dtype.type(0)
    for p in range(length):
        x0, x1, x2, x3 = a0[p], a1[p], a2[p], a3[p]
        y0, y1, y2, y3 = b0[p], b1[p], b2[p], b3[p]
        s00, s01, s02, s03 = s00 + x0 * y0, s01 + x0 * y1, s02 + x0 * y2, s03 + x0 * y3
        s10, s11, s12, s13 = s10 + x1 * y0, s11 + x1 * y1, s12 + x1 * y2, s13 + x1 * y3
        s20, s21, s22, s23 = s20 + x2 * y0, s21 + x2 * y1, s22 + x2 * y2, s23 + x2 * y3
        s30, s31, s32, s33 = s30 + x3 * y0, s31 + x3 * y1, s32 + x3 * y2, s33 + x3 * y3
    tile[0, 0], tile[0, 1], tile[0, 2], tile[0, 3] = s00, s01, s02, s03
    tile[1, 0], tile[1, 1], tile[1, 2], tile[1, 3] = s10, s11, s12, s13
    tile[2, 0], tile[2, 1], tile[2, 2], tile[2, 3] = s20, s21, s22, s23
    tile[3, 0], tile[3, 1], tile[3, 2], tile[3, 3] = s30, s31, s32, s33


@njit(cache=True, fastmath=_REORDER)
def _invert_factor(L, reciprocal):
    """L^-1 in the place of L, row by row: X_i = (e_i - sum_p L_ip X_p) / L_ii."""
    row = np.empty(L.shape[0], dtype=L.dtype)
    for i in range(reciprocal.size):
        row[:] = 0
        _add_rows(L[i], L, 0, i, row)
        for c in range(i):
            L[i, c] = -reciprocal[i] * row[c]
        L[i, i] = reciprocal[i]


@njit(cache=True, fastmath=_REORDER)
def _inverse_from_factor(X, out):
    """X'X, or its diagonal alone where ``out`` has one row."""
    k = out.shape[1]
    if out.shape[0] == 1 and k > 1:
        out[:] = 0
        for i in range(k):
            for a in range(i + 1):
                out[0, a] += X[i, a] * X[i, a]
        return
    row = np.empty(X.shape[0], dtype=X.dtype)
    column = np.empty(X.shape[0], dtype=X.dtype)
    for a in range(k):
        row[:] = 0
        column[:] = X[:, a]
        _add_rows(column, X, a, k, row)
        for b in range(a + 1):
            out[a, b] = row[b]
            out[b, a] = row[b]


@njit(cache=True, fastmath=_REORDER)
def _add_rows(weight, X, start, stop, out):
    """out += sum of weight_p X_p over start <= p < stop, X lower triangular, four at a time."""
    whole = start + (stop - start) // 4 * 4
    for p in range(start, whole, 4):
        x0, x1, x2, x3 = X[p], X[p + 1], X[p + 2], X[p + 3]
        c0, c1, c2, c3 = weight[p], weight[p + 1], weight[p + 2], weight[p + 3]
        for c in range(p + 4):
            out[c] += (c0 * x0[c] + c1 * x1[c]) + (c2 * x2[c] + c3 * x3[c])
    for p in range(whole, stop):
        for c in range(p + 1):
            out[c] += weight[p] * X[p, c]
