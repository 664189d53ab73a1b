"""The working memory of computations that go block by block, set in one place by the user.

Large products are cut into blocks that fit a fraction of scikit-learn's ``working_memory``, 1024
MiB unless you change it. Less memory makes blocks smaller and most computations a little slower;
results change by rounding at most.

    >>> import sklearn
    >>> from labelgap.memory import block_size
    >>> block_size(1000)
    4194
    >>> with sklearn.config_context(working_memory=128):
    ...     block_size(1000)
    524
"""

from __future__ import annotations

from sklearn import get_config

__all__ = ["block_size", "working_bytes"]


def working_bytes(fraction: float = 1.0) -> int:
    """Return a fraction of the working memory in bytes.

    Parameters
    ----------
    fraction : float, default=1.0
        Of ``sklearn.get_config()["working_memory"]``.

    Examples
    --------
    >>> from labelgap.memory import working_bytes
    >>> working_bytes(1 / 4)
    268435456
    """
    return int(get_config()["working_memory"] * 2**20 * fraction)


def block_size(n_numbers: int, *, fraction: float = 1 / 32, least: int = 1) -> int:
    """Return how many rows of so many float64 numbers fit a fraction of the working memory.

    Parameters
    ----------
    n_numbers : int
        Numbers that a row needs.
    fraction : float, default=1/32
        Of ``sklearn.get_config()["working_memory"]``; the default is 32 MiB of 1024.
    least : int, default=1
        Rows to take even when they do not fit.

    Examples
    --------
    >>> from labelgap.memory import block_size
    >>> block_size(2**12)
    1024
    """
    return max(least, working_bytes(fraction) // (8 * max(1, n_numbers)))
