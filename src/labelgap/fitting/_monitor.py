"""Watching a fit: the whole trace, three ways to end, and one place to report progress."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

logger = logging.getLogger("labelgap")

Outcome = Literal["running", "converged", "out_of_iterations", "stopped", "sampled"]


class FitDivergedError(ArithmeticError):
    """The objective of a fit is no longer a number."""


class FitWarning(UserWarning):
    """A fit ended in a way its owner should know of."""


@dataclass(frozen=True)
class Progress:
    """What a callback gets after every iteration."""

    iteration: int
    max_iter: int
    objective: float
    seconds: float


@dataclass
class Trace:
    """The objective after each iteration, when it was reached, and how the fit ended.

    Examples
    --------
    >>> from labelgap.fitting import Trace
    >>> Trace([-5.0, -3.0], [0.1, 0.2], "converged").n_iter
    2
    """

    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    outcome: Outcome = "running"

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.objective)

    def largest_drop(self) -> float:
        """The largest loss of objective between two iterations, relative to its size."""
        pairs = zip(self.objective, self.objective[1:], strict=False)
        return max((before - after) / max(abs(before), 1.0) for before, after in pairs)


Callback = Callable[[Progress], bool | None]


class Monitor:
    """Records a fit and decides when it ends.

    Parameters
    ----------
    max_iter : int
    tol : float
        Converged when the objective gains less than ``tol`` times its size.
    callback : callable, default=None
        Called with a :class:`Progress` after every iteration; returning True stops the fit.
    trace : Trace, default=None
        The trace of an interrupted fit that goes on.

    Examples
    --------
    >>> from labelgap.fitting import Monitor
    >>> monitor = Monitor(max_iter=10, tol=0.1)
    >>> [monitor.record(objective) for objective in (-9.0, -5.0, -4.9)]
    [False, False, True]
    >>> monitor.finish().outcome
    'converged'
    """

    def __init__(
        self,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.trace = Trace() if trace is None else trace
        self.go_on()

    def go_on(self) -> None:
        """Start the clock where the trace ends."""
        earlier = self.trace.seconds[-1] if self.trace.seconds else 0.0
        self._started = time.perf_counter() - earlier

    def record(self, objective: float) -> bool:
        """Add one iteration and return whether the fit is over."""
        trace = self.trace
        if not math.isfinite(objective):
            raise FitDivergedError(
                f"the objective is {objective} after {trace.n_iter} iterations: scale the "
                "features (StandardScaler, Normalizer) or regularise more"
            )
        trace.objective.append(objective)
        trace.seconds.append(time.perf_counter() - self._started)
        iteration = trace.n_iter - 1
        logger.debug("iteration %d: objective %.8g", iteration, objective)
        if self._converged():
            trace.outcome = "converged"
        elif self.callback is not None and self.callback(
            Progress(iteration, self.max_iter, objective, trace.seconds[-1])
        ):
            trace.outcome = "stopped"
        return trace.outcome != "running"

    def finish(self) -> Trace:
        """Close the trace; warn when a tolerance was set and not reached."""
        if self.trace.outcome == "running":
            self.trace.outcome = "out_of_iterations"
            if self.tol > 0:
                warnings.warn(
                    f"not converged after max_iter={self.max_iter} iterations: raise max_iter, "
                    "raise tol, or set tol=0 to run a fixed number of iterations on purpose",
                    FitWarning,
                    stacklevel=4,
                )
        return self.trace

    def _converged(self) -> bool:
        values = self.trace.objective
        if self.tol <= 0 or len(values) < 2:
            return False
        return abs(values[-1] - values[-2]) <= self.tol * max(abs(values[-2]), 1.0)
