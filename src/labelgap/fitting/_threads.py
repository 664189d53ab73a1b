"""A function of many arguments on the threads that kernels may use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numba

from labelgap.kernels.products import one_blas_thread

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def in_threads(
    function: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> Iterator[Result]:
    """Yield the results of a function in the order of its arguments, several computed at once.

    As many threads as numba has (``NUMBA_NUM_THREADS``), each with one thread of linear algebra.
    The function should spend its time where numpy releases the interpreter, and must not call
    kernels that are themselves parallel. At most twice as many results as threads wait.

    Parameters
    ----------
    function : callable
    arguments : iterable

    Examples
    --------
    >>> from labelgap.fitting import in_threads
    >>> list(in_threads(lambda number: number**2, range(4)))
    [0, 1, 4, 9]
    """
    n_threads = numba.get_num_threads()
    if n_threads == 1:
        yield from map(function, arguments)
        return
    waiting: deque[Future] = deque()
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        try:
            for argument in arguments:
                waiting.append(pool.submit(function, argument))
                if len(waiting) >= 2 * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
