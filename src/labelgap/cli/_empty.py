"""Empty cells of features: refused with their place, filled, or left to the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer

from labelgap.cli._failures import BadInputError
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import Empty
from labelgap.data._places import place_words

__all__ = ["check_cells", "fill_cells", "learn_fill"]

_FILL = "fill the cell, leave the column out with --drop {name!r}, or give --empty mean"
_FIT_AGAIN = "fill the cell, or fit the model again with --empty mean"


def learn_fill(rows: Loaded, empty: Empty, *, may_keep: bool = False) -> SimpleImputer | None:
    """What fills empty cells of these and of later rows; None where they are refused or kept."""
    if empty is Empty.KEEP:
        if not may_keep:
            raise BadInputError(
                "--empty keep: is for labelgap fit with a model that takes rows without some of "
                "their views (--model imvwl); use --empty mean here"
            )
        check_cells(rows, allow_empty=True)
        return None
    if empty is Empty.REFUSE:
        check_cells(rows)
        return None
    check_cells(rows, allow_empty=True)
    if rows.X.shape[1] == 0:
        return None
    _refuse_empty_columns(rows, empty)
    strategy = {"strategy": "mean"} if empty is Empty.MEAN else {"strategy": "constant"}
    return SimpleImputer(**strategy, fill_value=None if empty is Empty.MEAN else 0.0).fit(rows.X)


def fill_cells(rows: Loaded, X: Any, filler: SimpleImputer | None, *, keep: bool = False) -> Any:
    """The features of rows to predict, as the model wants them."""
    if filler is None:
        check_cells(rows, X, allow_empty=keep, remedy=_FIT_AGAIN)
        return X
    check_cells(rows, X, allow_empty=True)
    return filler.transform(X)


def check_cells(
    rows: Loaded, X: Any = None, *, allow_empty: bool = False, remedy: str = _FILL
) -> None:
    """Refuse the first cell that is empty (unless allowed) or infinite, with its place."""
    X = rows.X if X is None else X
    values = X.data if sparse.issparse(X) else X
    if np.isfinite(values).all() or (allow_empty and not np.isinf(values).any()):
        return
    wrong = np.isinf if allow_empty else lambda cells: ~np.isfinite(cells)
    row, column = _first(X, wrong)
    dense = sparse.csr_array(X)[[row]].toarray() if sparse.issparse(X) else X[[row]]
    name = str(column) if rows.features is None else rows.features[column]
    place = f"{rows.place}, {_row_words(rows, row)}"
    if rows.table is not None:
        place = place_words(rows.table, row)
    of_item = "" if rows.item == "row" else f" of {rows.item} {rows.items[row]}"
    start = f"{place}: column {name!r}{of_item} is "
    if np.isinf(dense[0, column]):
        raise BadInputError(
            f"{start}infinite; correct the cell, or leave the column out with --drop"
        )
    message = f"{start}empty; {remedy.format(name=name)}"
    n_empty = int(np.isnan(dense).sum())
    if n_empty > 1:
        message += (
            f" ({n_empty} cells of this row are empty; if a whole group of columns is absent where "
            "nobody measured it, labelgap fit --model imvwl --empty keep takes such rows as they "
            "are)"
        )
    raise BadInputError(message)


def _first(X: Any, wrong: Any) -> tuple[int, int]:
    if not sparse.issparse(X):
        row, column = np.argwhere(wrong(X))[0]
        return int(row), int(column)
    stored = sparse.csr_array(X).tocoo()
    first = int(np.flatnonzero(wrong(stored.data))[0])
    return int(stored.row[first]), int(stored.col[first])


def _row_words(rows: Loaded, row: int) -> str:
    return f"row {rows.items[row]} (counted from 0)"


def _refuse_empty_columns(rows: Loaded, empty: Empty) -> None:
    if empty is Empty.ZERO or sparse.issparse(rows.X):
        return
    bare = np.flatnonzero(np.isnan(rows.X).all(axis=0))
    if bare.size:
        name = str(bare[0]) if rows.features is None else rows.features[bare[0]]
        raise BadInputError(
            f"{rows.place}: column {name!r} is empty in every row and has no mean; leave it out "
            f"with --drop {name!r}"
        )
