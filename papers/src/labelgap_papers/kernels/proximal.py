"""Accelerated proximal gradient steps for a smooth function plus a simple one, and its parts.

    minimise  f(x) + h(x),

where f has a gradient and h a proximal operator, argmin over z of ``h(z) + c/2 ||z - x||^2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from labelgap.kernels.array_namespace import array_namespace

__all__ = [
    "Differentiable",
    "PathPoint",
    "Quadratic",
    "SmoothFunction",
    "SmoothPlace",
    "absolute_values",
    "backtrack",
    "inner",
    "nonnegative_soft_threshold",
    "proximal_path",
    "soft_threshold",
    "spectral_norm",
    "symmetric_norm",
]

_ROUNDING = 1e2 * float(np.finfo(np.float64).eps)

Prox = Callable[[np.ndarray, float], tuple[np.ndarray, float]]


def inner(a: Any, b: Any) -> float:
    """Sum of the products of the entries, of numpy arrays or of another library's."""
    return float(np.vdot(a, b) if isinstance(a, np.ndarray) else (a * b).sum())


class SmoothPlace(NamedTuple):
    """A point with the smooth function and its gradient there, and what else the function keeps."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    memory: Any = None


class PathPoint(NamedTuple):
    """x, the whole objective there, and the curvature of the step that led to it."""

    x: np.ndarray
    value: float
    curvature: float


class SmoothFunction(Protocol):
    """What :func:`proximal_path` asks of the smooth part.

    ``at`` gives a place, ``ahead`` one beyond the last step, ``moved`` one that a step leads to and
    the curvature along that step.
    """

    def at(self, x: np.ndarray) -> SmoothPlace: ...

    def ahead(self, here: SmoothPlace, before: SmoothPlace, momentum: float) -> SmoothPlace: ...

    def moved(self, origin: SmoothPlace, x: np.ndarray) -> tuple[SmoothPlace, float]: ...


class Differentiable:
    """A smooth function given by its value and gradient.

    function : callable. Maps x to the value and the gradient there.
    """

    def __init__(self, function: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> None:
        self.function = function

    def at(self, x: np.ndarray) -> SmoothPlace:
        return SmoothPlace(x, *self.function(x))

    def ahead(self, here: SmoothPlace, before: SmoothPlace, momentum: float) -> SmoothPlace:
        """Beyond the last point in the direction of the last step."""
        return self.at(here.x + momentum * (here.x - before.x))

    def moved(self, origin: SmoothPlace, x: np.ndarray) -> tuple[SmoothPlace, float]:
        """The place x, and the least c with f(x) <= f(o) + <f'(o), x - o> + c/2 ||x - o||^2.

        Where the difference of two values is lost in rounding the step is short, and half the
        change of the gradient along it, equal up to third order, takes its place. Of steps so
        short that this is lost as well nothing is asked.
        """
        place = self.at(x)
        move = x - origin.x
        square = float(np.vdot(move, move))
        if square <= _ROUNDING * float(np.vdot(x, x)):
            return place, 0.0
        gap = place.value - origin.value - float(np.vdot(origin.gradient, move))
        if gap <= 1e4 * _ROUNDING * (abs(place.value) + abs(origin.value)):
            gap = min(gap, 0.5 * float(np.vdot(place.gradient - origin.gradient, move)))
        return place, 2 * gap / square


class Quadratic:
    """1/2 <x, A(x)> - <B, x> + constant for a symmetric linear map A, at one product a step.

    Gradients are kept along the path instead of being computed anew, and the curvature is that of
    the step itself, <d, A(d)> / ||d||^2, which rounding does not spoil close to the solution.

    product : callable. The map A.
    linear : array. B.
    constant : float, default=0.0
    """

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        linear: np.ndarray,
        constant: float = 0.0,
    ) -> None:
        self.product = product
        self.linear = linear
        self.constant = constant

    def at(self, x: np.ndarray) -> SmoothPlace:
        return self._place(x, self.product(x) - self.linear)

    def ahead(self, here: SmoothPlace, before: SmoothPlace, momentum: float) -> SmoothPlace:
        """Beyond the last point in the direction of the last step; gradients are affine."""
        x = here.x + momentum * (here.x - before.x)
        return self._place(x, here.gradient + momentum * (here.gradient - before.gradient))

    def moved(self, origin: SmoothPlace, x: np.ndarray) -> tuple[SmoothPlace, float]:
        """The place x, and the curvature along the step to it."""
        move = x - origin.x
        image = self.product(move)
        square = inner(move, move)
        curvature = inner(move, image) / square if square else 0.0
        return self._place(x, origin.gradient + image), curvature

    def _place(self, x: np.ndarray, gradient: np.ndarray) -> SmoothPlace:
        value = 0.5 * inner(x, gradient - self.linear) + self.constant
        return SmoothPlace(x, value, gradient)


def proximal_path(
    smooth: SmoothFunction,
    prox: Prox,
    start: np.ndarray,
    *,
    curvature: float = 1.0,
    search: bool = True,
    restart: bool = True,
) -> Iterator[PathPoint]:
    """The points that accelerated proximal gradient visits, without an end.

    A step of length 1/c from y is safe when f has curvature at most c along it; c is doubled
    until that holds. Momentum is that of FISTA [1]_; the first two steps have none.

    smooth : Quadratic or Differentiable. f. It need not be convex: with ``restart`` the objective
        still never increases.
    prox : callable. Maps x and a step length s to argmin over z of ``s h(z) + 1/2 ||z - x||^2``,
        and h there.
    start : array. A point where h is finite.
    curvature : float, default=1.0. First c; with the largest curvature of f it is never doubled.
    search : bool, default=True. Whether c is doubled where it is too small. Without it c stays as
        it is.
    restart : bool, default=True. Whether momentum is dropped when the objective would increase
        [2]_, which then never happens (given ``search``, or a large enough c). Without it this is
        the plain method.
    Yields PathPoint

    References
    ----------
    .. [1] A. Beck and M. Teboulle. A fast iterative shrinkage-thresholding algorithm for linear
       inverse problems. SIAM Journal on Imaging Sciences 2, 2009.
    .. [2] B. O'Donoghue and E. Candes. Adaptive restart for accelerated gradient schemes.
       Foundations of Computational Mathematics 15, 2015.
    """
    here = before = smooth.at(start)
    value = np.inf  # h at the start is not known; no step can fail to improve on it
    b_before = b = 1.0
    while True:
        momentum = (b_before - 1) / b
        origin = smooth.ahead(here, before, momentum) if momentum else here
        found, found_value, curvature = _step(smooth, prox, origin, curvature, search)
        if restart and _climbs(origin, here, value, found, found_value):
            b = 1.0
            found, found_value, curvature = _step(smooth, prox, here, curvature, search)
            if found_value > value + _ROUNDING * abs(value):  # the curvature is too small
                found = here
        if restart:
            found_value = min(found_value, value)
        before, here, value = here, found, found_value
        b_before, b = b, (1 + np.sqrt(4 * b**2 + 1)) / 2
        yield PathPoint(here.x, value, curvature)


def _climbs(
    origin: SmoothPlace, here: SmoothPlace, value: float, found: SmoothPlace, found_value: float
) -> bool:
    """Whether momentum led uphill: by the values, or by the step where rounding hides them."""
    rounding = _ROUNDING * abs(value)
    if abs(found_value - value) > rounding:
        return found_value > value
    return inner(origin.x - found.x, found.x - here.x) > 0


def _step(
    smooth: SmoothFunction, prox: Prox, origin: SmoothPlace, curvature: float, search: bool
) -> tuple[SmoothPlace, float, float]:
    """The place a step leads to, the objective there, and the curvature the step was made with."""
    while True:
        x, penalty = prox(origin.x - origin.gradient / curvature, 1 / curvature)
        found, along = smooth.moved(origin, x)
        if not search or not along > curvature * (1 + 1e-6):
            return found, found.value + penalty, curvature
        curvature *= 2


def soft_threshold(x: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """argmin over z of ``threshold |z| + 1/2 (z - x)^2`` for every entry: drawn towards zero."""
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


def nonnegative_soft_threshold(x: Any, threshold: float | np.ndarray) -> Any:
    """argmin over z >= 0 of ``threshold z + 1/2 (z - x)^2`` for every entry."""
    return array_namespace(x).clip(x - threshold, 0.0, None)


def absolute_values(weight: float | np.ndarray, *, nonnegative: bool = False) -> Prox:
    """The proximal operator of ``sum weight |x|``, with x >= 0 where that is asked for.

    weight : float or array that broadcasts to x
    nonnegative : bool, default=False
    """
    shrink = nonnegative_soft_threshold if nonnegative else soft_threshold

    def prox(x: np.ndarray, step: float) -> tuple[np.ndarray, float]:
        z = shrink(x, step * weight)
        return z, float((weight * abs(z)).sum())

    return prox


def spectral_norm(matrix: np.ndarray) -> float:
    """The largest singular value; 0 for a matrix without entries."""
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def symmetric_norm(matrix: np.ndarray) -> float:
    """The largest singular value of a symmetric matrix, which is the largest |eigenvalue|."""
    return float(np.abs(np.linalg.eigvalsh(matrix)).max(initial=0.0))


def backtrack(
    value: Callable[[float], float],
    at_zero: float,
    slope: float,
    *,
    slope_after: Callable[[float], float] | None = None,
    step: float = 1.0,
    contraction: float = 0.5,
    sufficient: float = 1e-4,
    max_steps: int = 50,
) -> tuple[float, float]:
    """A step along a descent direction that lowers a function enough (Armijo's rule).

    value : callable. The function after a step of a given length.
    at_zero : float. Its value without a step.
    slope : float. Its derivative there, negative.
    slope_after : callable, default=None. Its derivative after a step of a given length. Close to a
        minimum a good step lowers the value by less than its last digits can show; the derivative
        then decides in its place [1]_, as far as it has digits itself.
    step : float, default=1.0. The first length tried; each next one is ``contraction`` times the
        last.
    sufficient : float, default=0.0001. Accepted once ``value(step) <= at_zero + sufficient * step *
        slope``.
    max_steps : int, default=50. Lengths tried at most.
    Returns step : float. 0 where no length tried is good enough.
    and value : float. Of the function after it; never above ``at_zero``.

    References
    ----------
    .. [1] W. W. Hager and H. Zhang. A new conjugate gradient method with guaranteed descent and an
       efficient line search. SIAM Journal on Optimization 16, 2005.
    """
    rounding = _ROUNDING * abs(at_zero)
    for _ in range(max_steps):
        reached = value(step)
        if slope_after is None or abs(reached - at_zero) > rounding:
            excess = reached - (at_zero + sufficient * step * slope)
        else:
            excess = slope_after(step) - (2 * sufficient - 1) * slope - 0.3 * rounding
        if excess <= 0:
            return step, min(reached, at_zero)
        step *= contraction
    return 0.0, at_zero
