"""Fits that are stopped when they have used too much of the processor."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any


class OverLimitError(Exception):
    """A block ran for longer than it was given."""


def fit_seconds(model: Any, X: Any, Y: Any, limit: float) -> float:
    """Processor seconds of a fit: other work on the machine hardly changes them.

    Raises
    ------
    OverLimitError
    """
    with at_most(limit):
        start = time.process_time()
        model.fit(X, Y)
        return time.process_time() - start


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OverLimitError in a block that has used so many processor seconds of this process.

    A single call of a compiled library is not interrupted: the end comes after it.
    """

    def stop(number: int, frame: Any) -> None:
        raise OverLimitError(f"over {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
