"""Support-vector machines of many labels on one kernel matrix.

The machine of a label with signs y has the coefficients b that minimise

    1/2 b'Kb - y'b    with 0 <= y_i b_i <= C and sum_i b_i = 0,

so that all labels share K. Two coefficients at a time are moved, the pair that promises most (Fan,
Chen and Lin, "Working set selection using second order information", 2005), until no pair violates
optimality by more than ``tol``: the steps and the end are those of libSVM. Most labels are rare,
few of their coefficients ever move, and every step costs two rows of K: far less than the products
with all of K that methods for all labels at once would need.

numpy arrays take a loop per label, on all threads. Tensors of torch on a CUDA device do so too, in
one kernel of triton. Without triton, and in other libraries of the array API standard, every step
is taken for all labels together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from labelgap.kernels.array_namespace import array_like, array_namespace, check_shape, to_numpy

__all__ = ["Machines", "fit_support_vectors"]

# what stands for minus infinity where infinity times zero must not arise
_NEVER = -1e300
_SMALLEST_CURVATURE = 1e-12
_ROUNDING = 1e-12
_CHUNK = 64
# steps after which rows that stay at a bound are set aside
_PATIENCE = 200
_REORDER = {"nnan", "nsz", "reassoc", "contract"}
# steps between two looks at which labels are done: taken together, or by every label alone
_STEPS = 64
_STEPS_ALONE = 2**16
_DEVICE_CELLS = 2**26


class Machines(NamedTuple):
    """Machines of k labels: f(x) = sum_i K(x, x_i) b_i + level.

    ``coefficients`` (n, k) or (p, n, k), ``level`` (k,) or (p, k) and ``n_iter``, the steps of
    every label as a numpy array of the shape of ``level``.
    """

    coefficients: Any
    level: Any
    n_iter: np.ndarray


def fit_support_vectors(
    gram: Any, signs: Any, C: float = 1.0, *, tol: float = 1e-3, max_iter: int = 10_000_000
) -> Machines:
    """Support-vector machines of all labels on one kernel matrix, or on several.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows) or (p, n_rows, n_rows)
        Kernel matrices, symmetric and positive semi-definite. Single precision is enough, and
        what libSVM computes with.
    signs : array of shape (n_rows, k)
        1 where a label is relevant, -1 where it is not, 0 where a row does not count for it.
    C : float
        Largest size of a coefficient.
    tol : float
        By how much the most violating pair may violate optimality at the end.
    max_iter : int
        Steps of a label; ``n_iter`` reaches it where they were not enough.

    Returns
    -------
    Machines
        A label that is always relevant, or never, has no coefficients and the level 1 or -1; one
        without any row that counts has the level 0.
    """
    xp = array_namespace(gram, signs)
    several = gram.ndim == 3
    stack = gram if several else gram[None]
    check_shape("signs", signs, (stack.shape[-1], signs.shape[1]))
    check_shape("gram", stack, (stack.shape[0], signs.shape[0], signs.shape[0]))
    if not bool(xp.all(xp.isfinite(stack))):
        raise ValueError("gram has values that are no finite number; look for them in the features")
    if xp is np:
        found = _on_threads(np.ascontiguousarray(stack), signs, C, tol, max_iter)
    else:
        found = _in_step(xp, stack, signs, C, tol, max_iter)
    return found if several else Machines(*(part[0] for part in found))


# -- one label after the other ------------------------------------------------------------------


def _on_threads(
    stack: np.ndarray, signs: np.ndarray, C: float, tol: float, max_iter: int
) -> Machines:
    (p, n, _), k = stack.shape, signs.shape[1]
    sides = np.ascontiguousarray(signs.T, dtype=np.float64)
    coefficients, level = np.zeros((p, k, n)), np.zeros((p, k))
    n_iter = np.zeros((p, k), dtype=np.intp)
    for one, found, at, steps in zip(stack, coefficients, level, n_iter, strict=True):
        diagonal = np.ascontiguousarray(np.diagonal(one)).astype(np.float64)
        _fit_labels(one, diagonal, sides, C, tol, max_iter, found, at, steps)
    return Machines(coefficients.swapaxes(1, 2), level, n_iter)


@njit(cache=True, parallel=True)
def _fit_labels(gram, diagonal, sides, C, tol, max_iter, coefficients, level, n_iter):
    for j in prange(sides.shape[0]):
        y = sides[j]
        if y.max() <= 0 or y.min() >= 0:
            level[j] = y.max() if y.max() > 0 else y.min()
        else:
            steps, found = _fit_label(gram, diagonal, y, C, tol, max_iter, coefficients[j])
            n_iter[j] = steps
            level[j] = found


@njit(cache=True)
def _fit_label(gram, diagonal, y, C, tol, max_iter, b):
    """Coefficients into ``b``; the steps and the level.

    ``rest`` is y - Kb. Whatever may still fall is looked for first, and then what should rise in
    exchange, which is the order of libSVM with the relevant rows as its second class. Rows that
    stay at a bound are set aside, and looked at again before the end; ``index`` has the others.
    """
    n = y.size
    index, rest, squares = np.arange(n), y.copy(), diagonal
    falls, rises = _marks(index, b, y, C)
    first, second = np.empty(n, gram.dtype), np.empty(n, gram.dtype)
    i, step, since = _lowest(rest, falls), 0, 0
    while step < max_iter:
        row_i = _row(gram, index, i, first)
        j, gap = _partner(rest, rises, row_i, squares, i)
        if gap < tol:
            if index.size == n:
                break
            index, rest, squares = np.arange(n), _rest(gram, y, b), diagonal
            falls, rises = _marks(index, b, y, C)
            i, since = _lowest(rest, falls), 0
            continue
        row_j = _row(gram, index, j, second)
        move = _move(
            index[i], index[j], (rest[j] - rest[i]), squares[j], row_i[j], diagonal, b, y, C
        )
        for t in (i, j):
            falls[t], rises[t] = _mark(index[t], b, y, C)
        i = _move_on(rest, falls, row_i, row_j, move)
        step, since = step + 1, since + 1
        if since == _PATIENCE:
            kept = _kept(rest, falls, rises)
            if not kept.any():
                # an optimum with every row at a bound: all may stay
                kept[:] = True
            index, rest, squares = index[kept], rest[kept], squares[kept]
            falls, rises = falls[kept], rises[kept]
            i, since = _lowest(rest, falls), 0
    if index.size < n:
        rest = _rest(gram, y, b)
        falls, rises = _marks(np.arange(n), b, y, C)
    return step, _level(rest, falls, rises)


@njit(cache=True)
def _row(gram, index, i, room):
    """Row i of the matrix, of the rows in question alone."""
    row = gram[index[i]]
    if index.size == row.size:
        return row
    for t in range(index.size):
        room[t] = row[index[t]]
    return room[: index.size]


@njit(cache=True)
def _rest(gram, y, b):
    rest = y.copy()
    for s in range(b.size):
        if b[s] != 0:
            rest -= b[s] * gram[s]
    return rest


@njit(cache=True)
def _kept(rest, falls, rises):
    """Rows that may move in both ways, or in a way in which some other row would let them."""
    high, low = _NEVER, -_NEVER
    for t in range(rest.size):
        high = max(high, rest[t] + rises[t])
        low = min(low, rest[t] - falls[t])
    free = (falls == 0) & (rises == 0)
    return free | ((falls == 0) & (rest <= high)) | ((rises == 0) & (rest >= low))


@njit(cache=True)
def _move(i, j, gap, square, product, diagonal, b, y, C):
    """Let b_i fall and b_j rise by what is best, or by what the bounds allow."""
    curvature = max(diagonal[i] + square - 2 * product, _SMALLEST_CURVATURE)
    room = min(b[i] - min(C * y[i], 0.0), max(C * y[j], 0.0) - b[j])
    move = min(gap / curvature, room)
    b[i] -= move
    b[j] += move
    if move == room:
        _settle(i, b, y, C)
        _settle(j, b, y, C)
    return move


@njit(cache=True)
def _settle(t, b, y, C):
    """Onto the bound that rounding just missed."""
    for bound in (0.0, C * y[t]):
        if abs(b[t] - bound) <= _ROUNDING * C:
            b[t] = bound


@njit(cache=True)
def _mark(t, b, y, C):
    """0 where b may fall and where it may rise, and far below everything where not."""
    falls = 0.0 if b[t] > min(C * y[t], 0.0) else _NEVER
    rises = 0.0 if b[t] < max(C * y[t], 0.0) else _NEVER
    return falls, rises


@njit(cache=True)
def _marks(index, b, y, C):
    falls, rises = np.empty(index.size), np.empty(index.size)
    for place in range(index.size):
        falls[place], rises[place] = _mark(index[place], b, y, C)
    return falls, rises


@njit(cache=True, fastmath=_REORDER)
def _lowest(rest, falls):
    best, place = _NEVER, 0
    for t in range(rest.size):
        if falls[t] - rest[t] >= best:
            best, place = falls[t] - rest[t], t
    return place


@njit(cache=True, fastmath=_REORDER)
def _move_on(rest, falls, row_i, row_j, move):
    """``rest`` after a step, and the next row that should fall."""
    n, best, start = rest.size, _NEVER, 0
    for begin in range(0, n, _CHUNK):
        highest = _NEVER
        for t in range(begin, min(begin + _CHUNK, n)):
            rest[t] += move * (row_i[t] - row_j[t])
            highest = max(highest, falls[t] - rest[t])
        if highest >= best:
            best, start = highest, begin
    place = start
    for t in range(start, min(start + _CHUNK, n)):
        if falls[t] - rest[t] >= best:
            place = t
    return place


@njit(cache=True, fastmath=_REORDER)
def _partner(rest, rises, row, diagonal, i):
    """The row to rise while i falls, for the largest gain; the gap of the most violating pair."""
    n, best, start, widest = rest.size, -1.0, 0, _NEVER
    for begin in range(0, n, _CHUNK):
        gain = -1.0
        for t in range(begin, min(begin + _CHUNK, n)):
            gap = rest[t] - rest[i] + rises[t]
            widest = max(widest, gap)
            gap = max(gap, 0.0)
            curvature = max(diagonal[i] + diagonal[t] - 2 * row[t], _SMALLEST_CURVATURE)
            gain = max(gain, gap * gap / curvature)
        if gain >= best:
            best, start = gain, begin
    place, best = start, -1.0
    for t in range(start, min(start + _CHUNK, n)):
        gap = max(rest[t] - rest[i] + rises[t], 0.0)
        curvature = max(diagonal[i] + diagonal[t] - 2 * row[t], _SMALLEST_CURVATURE)
        if gap * gap / curvature >= best:
            place, best = t, gap * gap / curvature
    return place, widest


@njit(cache=True)
def _level(rest, falls, rises):
    """The mean over free rows, or the middle between the rows that may rise and fall."""
    total, number, low, high = 0.0, 0, np.inf, -np.inf
    for t in range(rest.size):
        if falls[t] == 0 and rises[t] == 0:
            total += rest[t]
            number += 1
        if falls[t] == 0:
            low = min(low, rest[t])
        if rises[t] == 0:
            high = max(high, rest[t])
    return total / number if number else (low + high) / 2


# -- every step for all labels ------------------------------------------------------------------


class _Going(NamedTuple):
    """Labels (m) that are not done.

    ``place`` among all labels; ``base`` (m,), where their matrix starts among the stacked ones;
    everything else is (m, n), ``falls`` and ``rises`` being true where b may fall or rise.
    """

    place: np.ndarray
    base: Any
    diagonal: Any
    low: Any
    high: Any
    b: Any
    rest: Any
    falls: Any
    rises: Any

    def take(self, kept: Any) -> _Going:
        chosen = np.flatnonzero(to_numpy(kept))
        return _Going(self.place[chosen], *(part[kept] for part in self[1:]))


def _in_step(
    xp: ModuleType, stack: Any, signs: Any, C: float, tol: float, max_iter: int
) -> Machines:
    (p, n, _), k = stack.shape, signs.shape[1]
    sides = xp.astype(xp.matrix_transpose(signs), xp.float64)
    coefficients = array_like(xp, np.zeros((p * k, n)), sides)
    level = array_like(xp, np.zeros(p * k), sides)
    n_iter = np.zeros(p * k, dtype=np.intp)
    flat = xp.reshape(stack, (p * n, n))
    share = max(1, _DEVICE_CELLS // n)
    advance, at_once = _way(xp, flat)
    for start in range(0, p * k, share):
        going = _begin(xp, stack, sides, np.arange(start, min(start + share, p * k)), C)
        steps = 0
        while going.place.size:
            n_steps = min(at_once, max_iter - steps)
            steps += n_steps
            done, taken = advance(flat, going, C, tol, n_steps)
            n_iter[going.place] += to_numpy(taken)
            done = done if steps < max_iter else xp.ones_like(done)
            if bool(xp.any(done)):
                finished, going = going.take(done), going.take(~done)
                where = array_like(xp, finished.place, sides, dtype=xp.int64)
                coefficients[where] = finished.b
                level[where] = _levels(xp, finished)
    shaped = xp.reshape(coefficients, (p, k, n))
    return Machines(xp.matrix_transpose(shaped), xp.reshape(level, (p, k)), n_iter.reshape(p, k))


def _way(xp: ModuleType, flat: Any) -> tuple[Callable[..., tuple[Any, Any]], int]:
    """How labels go on from where they are, and by how many steps at once."""
    if getattr(flat, "is_cuda", False) and xp.__name__.endswith("torch"):
        try:
            return importlib.import_module("labelgap.kernels._device_steps").walk, _STEPS_ALONE
        except ImportError:
            pass
    return partial(_advance, xp), _STEPS


def _begin(xp: ModuleType, stack: Any, sides: Any, place: np.ndarray, C: float) -> _Going:
    k, n = sides.shape
    matrix = array_like(xp, place // k, sides, dtype=xp.int64)
    y = sides[array_like(xp, place % k, sides, dtype=xp.int64)]
    low, high = xp.clip(C * y, None, 0.0), xp.clip(C * y, 0.0, None)
    diagonal = xp.astype(xp.linalg.diagonal(stack), xp.float64)[matrix]
    return _Going(place, matrix * n, diagonal, low, high, y * 0.0, y, low < 0, high > 0)


def _advance(
    xp: ModuleType, flat: Any, going: _Going, C: float, tol: float, n_steps: int
) -> tuple[Any, Any]:
    """Steps in place; which labels are done, and the steps that each of them took."""
    _, base, diagonal, low, high, b, rest, falls, rises = going
    every = array_like(xp, np.arange(b.shape[0]), b, dtype=xp.int64)
    never = xp.full_like(rest, _NEVER)
    taken = xp.zeros_like(every)
    for _ in range(n_steps):
        i = xp.argmax(xp.where(falls, -rest, never), axis=1)
        row_i = flat[base + i]
        gap = xp.where(rises, rest, never) - rest[every, i][:, None]
        violated = (xp.max(gap, axis=1) >= tol) & xp.any(falls, axis=1)
        curvature = diagonal[every, i][:, None] + diagonal - 2 * row_i
        curvature = xp.clip(curvature, _SMALLEST_CURVATURE, None)
        gap = xp.clip(gap, 0.0, None)
        j = xp.argmax(gap * gap / curvature, axis=1)
        room = xp.minimum(b[every, i] - low[every, i], high[every, j] - b[every, j])
        move = xp.minimum(gap[every, j] / curvature[every, j], room)
        move = xp.where(violated, move, xp.zeros_like(move))
        for where, moved in ((i, -move), (j, move)):
            there = b[every, where] + moved
            for bound in (low[every, where], high[every, where]):
                there = xp.where(xp.abs(there - bound) <= _ROUNDING * C, bound, there)
            b[every, where] = there
            falls[every, where] = there > low[every, where]
            rises[every, where] = there < high[every, where]
        rest += move[:, None] * (row_i - flat[base + j])
        taken += xp.astype(violated, taken.dtype)
    return ~violated, taken


def _levels(xp: ModuleType, done: _Going) -> Any:
    """As :func:`_level`; a label of one sign has that sign."""
    free = xp.astype(done.falls & done.rises, done.rest.dtype)
    number = xp.sum(free, axis=1)
    never = xp.full_like(done.rest, _NEVER)
    high = xp.max(xp.where(done.rises, done.rest, never), axis=1)
    low = -xp.max(xp.where(done.falls, -done.rest, never), axis=1)
    mean = xp.sum(free * done.rest, axis=1) / xp.clip(number, 1.0, None)
    level = xp.where(number > 0, mean, (low + high) / 2)
    relevant, irrelevant = xp.any(done.high > 0, axis=1), xp.any(done.low < 0, axis=1)
    side = xp.astype(relevant, level.dtype) - xp.astype(irrelevant, level.dtype)
    return xp.where(relevant & irrelevant, level, side)
