"""Columns that identify items: none empty, none twice, and compared as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.data._errors import DataFormatError
from labelgap.data._places import place_of, place_words

__all__ = ["check_ids", "ids_as_text"]

_LARGEST_EXACT = 2.0**53


def ids_as_text(column: Any, file: str) -> list[str]:
    """The ids as strings, so that 7 in one table is "7" in another; empty ones are refused."""
    empty = np.flatnonzero(column.isna().to_numpy())
    if empty.size:
        raise DataFormatError(
            f"the id in column {column.name!r} is empty",
            **place_of(file, int(empty[0])),
            remedy="Give every row its id, or remove the row",
        )
    if column.dtype.kind != "f":
        return [str(one) for one in column.tolist()]
    values = column.to_numpy()
    bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) >= _LARGEST_EXACT))
    if bad.size:
        raise DataFormatError(
            f"the id {values[bad[0]]!r} in column {column.name!r} is a floating-point number, "
            "which does not tell large ids apart",
            **place_of(file, int(bad[0])),
            remedy="Store ids as integers or text",
        )
    return [str(one) for one in values.astype(np.int64).tolist()]


def check_ids(column: Any, file: str) -> list[str]:
    """The ids as strings; one that occurs twice is refused."""
    ids = ids_as_text(column, file)
    first: dict[str, int] = {}
    for row, one in enumerate(ids):
        if one in first:
            place = place_of(file, row)
            raise DataFormatError(
                f"item {one!r} occurs twice (first in "
                f"{place_words(file, first[one], place['file'])})",
                **place,
                remedy=f"Values of {column.name!r} must identify a row",
            )
        first[one] = row
    return ids
