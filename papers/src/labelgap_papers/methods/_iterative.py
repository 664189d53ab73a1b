"""What methods with iterations have in common: their parameters, the monitor and its trace."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from labelgap.fitting import Monitor, Trace

__all__ = ["ITERATIONS", "Iterative"]

ITERATIONS: dict[str, list] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "callback": [callable, None],
}
"""Constraints of the parameters."""


class Iterative:
    """A fit that ends when its objective hardly changes, or after ``max_iter`` iterations."""

    max_iter: int
    tol: float
    callback: Callable | None

    def _monitor(self) -> Monitor:
        return Monitor(self.max_iter, self.tol, self.callback)

    def _keep_trace(self, monitor: Monitor) -> None:
        self.trace_: Trace = monitor.finish()
        self.n_iter_ = self.trace_.n_iter
