"""Numbers that the fast parsers leave to Python."""

from __future__ import annotations

import numpy as np

from labelgap.data._contents import Contents


def read_pending(
    contents: Contents,
    pending: list[tuple[int, int, int]],
    values: np.ndarray,
    indptr: np.ndarray,
    lines: np.ndarray,
) -> None:
    """Fill in the values that were not exact, in place, or say where the first non-number is.

    `pending` holds (entry, first byte, last byte + 1); `lines` the line of every row.
    """
    for entry, first, last in pending:
        token = contents.data[first:last]
        try:
            values[entry] = float(token)
        except ValueError:
            row = int(np.searchsorted(indptr, entry, side="right")) - 1
            raise contents.error(
                f"{token[:30].decode('utf-8', 'replace')!r} is not a number",
                line=int(lines[row]),
                remedy="Correct the value, or declare the column as what it is",
            ) from None
