"""How many threads the numbers get: as many as there are idle cores.

Threads of linear algebra wait for each other by spinning. On a machine that is busy otherwise one
of them is always late, and two threads take several times as long as one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
from joblib import cpu_count
from threadpoolctl import threadpool_limits

__all__ = ["idle_cores", "on_idle_cores"]

# its first line: cpu, then ticks of users, nice ones, the system, idle, waiting for files, ...
_STATISTICS = Path("/proc/stat")
_SAID = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def idle_cores() -> int:
    """Cores that this process may use and nobody else does, at least one."""
    own, idle = cpu_count(), _idle_now()
    return own if idle is None else max(1, min(own, round(idle)))


def _idle_now() -> float | None:
    """How many cores of the machine do nothing, over a tenth of a second; None where unknown."""
    before, start = _idle_seconds(), time.perf_counter()
    if before is None:
        return None
    time.sleep(0.1)
    after, end = _idle_seconds(), time.perf_counter()
    return None if after is None else (after - before) / (end - start)


def _idle_seconds() -> float | None:
    """Seconds that the cores of the machine have been idle, all together, since it was started."""
    try:
        ticks = _STATISTICS.read_text(encoding="ascii").split(maxsplit=6)[4:6]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None


@contextmanager
def on_idle_cores() -> Iterator[None]:
    """Hold linear algebra and numba to the idle cores, unless the environment says otherwise."""
    if any(os.environ.get(name) for name in _SAID):
        yield
        return
    before, idle = numba.get_num_threads(), idle_cores()
    numba.set_num_threads(min(before, idle))
    try:
        with threadpool_limits(idle):
            yield
    finally:
        numba.set_num_threads(before)
