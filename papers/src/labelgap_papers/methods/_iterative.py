"""What methods with iterations have in common: the monitor and its trace."""

from __future__ import annotations

from collections.abc import Callable

from labelgap.fitting import Monitor, Trace


class Iterative:
    """A fit that ends when its objective hardly changes, or after ``max_iter`` iterations.

    Attributes
    ----------
    trace_ : Trace
        Objective of every iteration, and how the fit ended.
    n_iter_ : int
    """

    max_iter: int
    tol: float
    callback: Callable | None

    def _monitor(self) -> Monitor:
        return Monitor(self.max_iter, self.tol, self.callback)

    def _keep_trace(self, monitor: Monitor) -> None:
        self.trace_: Trace = monitor.finish()
        self.n_iter_ = self.trace_.n_iter
