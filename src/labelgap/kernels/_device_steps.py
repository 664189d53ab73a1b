"""Steps of support-vector machines in one kernel on a CUDA device, a label per program.

Every label walks by itself, and ends when it is done; what it reads of a step are two rows of the
kernel matrix. The steps are those of the processor's loop without rows set aside, the last among
equals included. Needs triton, which torch brings where it has CUDA; imported when it is there.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["walk"]

_NEVER = tl.constexpr(-1e300)
_SMALLEST_CURVATURE = tl.constexpr(1e-12)
_ROUNDING = tl.constexpr(1e-12)
# rows that a program looks at together
_ROWS = 2048
_WARPS = 16


def walk(flat: Any, going: Any, C: float, tol: float, n_steps: int) -> tuple[Any, Any]:
    """Steps in place, at most ``n_steps`` of a label; which are done, and the steps of each.

    Parameters
    ----------
    flat : torch tensor of shape (p * n, n)
        Kernel matrices, one below the other.
    going : _Going
        Labels of :mod:`labelgap.kernels.support_vectors`; ``b``, ``rest``, ``falls`` and
        ``rises`` are changed.
    C, tol : float
    n_steps : int
    """
    m, n = going.b.shape
    flat = flat.contiguous()
    done = going.base.new_zeros(m)
    taken = going.base.new_zeros(m)
    marks = (part.view(done.new_empty(0).byte().dtype) for part in (going.falls, going.rises))
    state = (going.base, going.diagonal, going.low, going.high, going.b, going.rest, *marks)
    rows = min(_ROWS, triton.next_power_of_2(n))
    settings = {"n": n, "C": C, "tol": tol, "ROWS": rows}
    # a kernel starts on the current device, whatever its tensors lie on
    with torch.cuda.device(flat.device) if flat.is_cuda else nullcontext():
        _walk[(m,)](flat, *state, done, taken, n_steps, **settings, num_warps=_WARPS)
    return done > 0, taken


@triton.jit
def _walk(
    flat,
    base,
    diagonal,
    low,
    high,
    b,
    rest,
    falls,
    rises,
    done,
    taken,
    n_steps,
    n: tl.constexpr,
    C: tl.constexpr,
    tol: tl.constexpr,
    ROWS: tl.constexpr,
):
    # numbers that are no constants would come in single precision
    label = tl.program_id(0).to(tl.int64)
    start = label * n
    gram = flat + tl.load(base + label) * n
    diagonal, low, high, b = diagonal + start, low + start, high + start, b + start
    rest, falls, rises = rest + start, falls + start, rises + start
    # a step of length zero finds where to begin
    i, lowest = _move_on(gram, gram, rest, falls, 0.0, n, ROWS)
    j, widest = _partner(gram + i * n, rest, rises, diagonal, i, n, ROWS)
    step = tl.zeros((), tl.int64)
    violated = (lowest > _NEVER) & (widest >= tol)
    while violated & (step < n_steps):
        move = _move(gram, rest, diagonal, low, high, b, falls, rises, i, j, n, C)
        i, lowest = _move_on(gram + i * n, gram + j * n, rest, falls, move, n, ROWS)
        j, widest = _partner(gram + i * n, rest, rises, diagonal, i, n, ROWS)
        violated = (lowest > _NEVER) & (widest >= tol)
        step += 1
    tl.store(done + label, 1 - violated.to(tl.int64))
    tl.store(taken + label, step)


@triton.jit
def _partner(row, rest, rises, diagonal, i, n: tl.constexpr, ROWS: tl.constexpr):
    """The row to rise while i falls, for the largest gain; the gap of the most violating pair."""
    own, square = tl.load(rest + i), tl.load(diagonal + i)
    best = tl.full((ROWS,), -1.0, tl.float64)
    place = tl.zeros((ROWS,), tl.int32)
    widest = tl.full((ROWS,), _NEVER, tl.float64)
    for start in range(0, n, ROWS):
        t = start + tl.arange(0, ROWS)
        inside = t < n
        may = tl.load(rises + t, mask=inside, other=0) != 0
        gap = tl.where(may, tl.load(rest + t, mask=inside, other=0.0) - own, _NEVER)
        widest = tl.maximum(widest, gap)
        gap = tl.maximum(gap, 0.0)
        product = tl.load(row + t, mask=inside, other=0.0).to(tl.float64)
        curvature = square + tl.load(diagonal + t, mask=inside, other=1.0) - 2 * product
        gain = gap * gap / tl.maximum(curvature, _SMALLEST_CURVATURE)
        better = inside & (gain >= best)
        best = tl.where(better, gain, best)
        place = tl.where(better, t, place)
    most = tl.max(best, axis=0)
    place = tl.where(best == most, place, 0)
    return tl.max(place, axis=0).to(tl.int64), tl.max(widest, axis=0)


@triton.jit
def _move(gram, rest, diagonal, low, high, b, falls, rises, i, j, n: tl.constexpr, C: tl.constexpr):
    """Let b_i fall and b_j rise by what is best, or by what the bounds allow."""
    product = tl.load(gram + i * n + j).to(tl.float64)
    curvature = tl.load(diagonal + i) + tl.load(diagonal + j) - 2 * product
    gap = tl.load(rest + j) - tl.load(rest + i)
    own, other = tl.load(b + i), tl.load(b + j)
    room = tl.minimum(own - tl.load(low + i), tl.load(high + j) - other)
    move = tl.minimum(gap / tl.maximum(curvature, _SMALLEST_CURVATURE), room)
    # all threads have read before one of them writes
    tl.debug_barrier()
    _settle(own - move, low, high, b, falls, rises, i, C)
    _settle(other + move, low, high, b, falls, rises, j, C)
    tl.debug_barrier()
    return move


@triton.jit
def _settle(value, low, high, b, falls, rises, t, C: tl.constexpr):
    """Onto the bound that rounding just missed."""
    bottom, top = tl.load(low + t), tl.load(high + t)
    value = tl.where(tl.abs(value - bottom) <= _ROUNDING * C, bottom, value)
    value = tl.where(tl.abs(value - top) <= _ROUNDING * C, top, value)
    tl.store(b + t, value)
    tl.store(falls + t, (value > bottom).to(tl.uint8))
    tl.store(rises + t, (value < top).to(tl.uint8))


@triton.jit
def _move_on(row_i, row_j, rest, falls, move, n: tl.constexpr, ROWS: tl.constexpr):
    """``rest`` after a step; the next row that should fall, and minus its rest."""
    best = tl.full((ROWS,), _NEVER, tl.float64)
    place = tl.zeros((ROWS,), tl.int32)
    for start in range(0, n, ROWS):
        t = start + tl.arange(0, ROWS)
        inside = t < n
        change = tl.load(row_i + t, mask=inside, other=0.0) - tl.load(
            row_j + t, mask=inside, other=0.0
        )
        value = tl.load(rest + t, mask=inside, other=0.0) + move * change.to(tl.float64)
        tl.store(rest + t, value, mask=inside)
        may = tl.load(falls + t, mask=inside, other=0) != 0
        better = may & (-value >= best)
        best = tl.where(better, -value, best)
        place = tl.where(better, t, place)
    # every thread will read what others wrote
    tl.debug_barrier()
    highest = tl.max(best, axis=0)
    return tl.max(tl.where(best == highest, place, 0), axis=0).to(tl.int64), highest
