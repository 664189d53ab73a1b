"""Rows of a frame beside columns of numbers, indexed and stacked like an array."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse


class FrameRows:
    """A frame with columns of numbers beside it, of which rows can be taken as of an array.

    Estimators that take frames see the frame; what an imputer adds, such as the other labels of a
    row, stays in its own columns.

    Parameters
    ----------
    frame : frame of pandas or polars, or array of texts
    beside : array of shape (n_samples, n_columns), default=None
        Columns of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.frames import FrameRows
    >>> rows = FrameRows(pd.DataFrame({"colour": ["red", "blue"]})).with_columns([[1.0], [0.0]])
    >>> rows.shape, rows[[1]].beside.tolist()
    ((2, 2), [[0.0]])
    """

    dtype = np.dtype(np.float64)
    ndim = 2

    def __init__(self, frame: Any, beside: np.ndarray | None = None) -> None:
        self.frame = frame
        self.beside = np.empty((len(frame), 0)) if beside is None else np.asarray(beside)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns, those beside included."""
        return len(self.frame), self._n_columns + self.beside.shape[1]

    @property
    def _n_columns(self) -> int:
        return len(self.frame.columns) if hasattr(self.frame, "columns") else 1

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, rows: Any) -> FrameRows:
        """Return some of the rows."""
        rows = np.arange(len(self))[rows]
        if isinstance(self.frame, np.ndarray):
            return FrameRows(self.frame[rows], self.beside[rows])
        table = nw.from_native(self.frame, eager_only=True)
        return FrameRows(table[rows].to_native(), self.beside[rows])

    def with_columns(self, columns: Any) -> FrameRows:
        """Return the same rows with more columns beside them."""
        dense = columns.toarray() if sparse.issparse(columns) else np.asarray(columns)
        return FrameRows(self.frame, np.hstack([self.beside, dense]))

    def without_column(self, column: int) -> FrameRows:
        """Return the same rows with zeros in one of the columns beside them."""
        beside = self.beside.copy()
        beside[:, column - self._n_columns] = 0
        return FrameRows(self.frame, beside)
