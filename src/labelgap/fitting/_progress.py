"""How far a fit is, for people and for machines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from labelgap.fitting._monitor import Progress

_WIDTH = 30


class ProgressBar:
    """Draw how far a fit is: a ``callback=`` of estimators.

    Parameters
    ----------
    title : str, default="fitting"
        Stands before the bar.
    file : text stream, default=None
        Where it is drawn; None means the standard error.

    See Also
    --------
    Progress : What a callback is called with.

    Examples
    --------
    >>> import sys
    >>> from labelgap.fitting import Progress, ProgressBar
    >>> bar = ProgressBar("fitting", file=sys.stdout)
    >>> bar(Progress(iteration=1, max_iter=2, objective=0.0, seconds=3.0))  # doctest: +ELLIPSIS
    <BLANKLINE>
    ...fitting [##############################] 2/2, 3 s
    """

    def __init__(self, title: str = "fitting", *, file: Any = None) -> None:
        self.title = title
        self.file = file

    def __call__(self, progress: Progress) -> None:
        file = sys.stderr if self.file is None else self.file
        done, total = progress.iteration + 1, progress.max_iter
        full = round(_WIDTH * done / total)
        bar = "#" * full + "." * (_WIDTH - full)
        end = "\n" if done >= total else ""
        text = f"\r{self.title} [{bar}] {done}/{total}, {progress.seconds:.0f} s{end}"
        file.write(text)
        file.flush()


def counting(callback: Callable[[Progress], Any], expected: int) -> Callable[[], None]:
    """Return what is called after each step and tells the callback of it.

    Parameters
    ----------
    callback : callable
        Called with a :class:`Progress`.
    expected : int
        How many steps there will be, as far as is known.

    Examples
    --------
    >>> from labelgap.fitting import counting
    >>> step = counting(lambda now: print(now.iteration, now.max_iter), 5)
    >>> step()
    0 5
    """
    steps, begin = count(), time.perf_counter()

    def step() -> None:
        place = next(steps)
        seconds = time.perf_counter() - begin
        callback(Progress(place, max(expected, place + 1), float("nan"), seconds))

    return step
