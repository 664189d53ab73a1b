"""The views of some rows, scaled, with what is absent left out rather than masked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.kernels.products import Features, prepare_features, times, transposed_times
from labelgap.kernels.threads import dense_times, dense_transposed_times
from labelgap.models.imvwl._scaling import Scaling
from labelgap.views import ViewGroups

# with fewer of its values stored, products of a view in sparse form are the faster ones
_SPARSE_SHARE = 0.1


class View(NamedTuple):
    """One view of the rows that have it.

    rows : (n_present,), the rows that have the view
    values : Features of shape (n_present, d), not negative, 0 at missing entries
    missing : CSR of shape (n_present, d), -1 at missing entries of present rows, or None
    columns : slice of X
    squares : sum of the squared values
    """

    rows: np.ndarray
    values: Features
    missing: sparse.csr_array | None
    columns: slice
    squares: float

    def times(self, U: np.ndarray) -> np.ndarray:
        """X_v U_v of the rows that have the view, in double precision."""
        if sparse.issparse(self.values.rows):
            return times(self.values, U)
        return dense_times(self.values.rows, U)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """X_v' V, for V of the rows that have the view, in double precision."""
        if sparse.issparse(self.values.rows):
            return transposed_times(self.values, V)
        return dense_transposed_times(self.values.rows, V)


def read_views(
    X: Any,
    groups: ViewGroups,
    there: np.ndarray,
    scaling: Scaling,
    *,
    concatenated: bool = False,
    owner: str = "IMVWL",
) -> list[View]:
    """The views of X; with ``concatenated`` a single one, with means in place of what is absent."""
    if concatenated:
        return [_filled_view(X, groups, there, scaling, owner)]
    found = []
    for position, columns in enumerate(groups.values()):
        rows = np.flatnonzero(there[:, position])
        block = X[:, columns][rows]
        make = _sparse_view if sparse.issparse(block) else _dense_view
        found.append(make(block, rows, columns, scaling, owner))
    return found


def _dense_view(block, rows, columns, scaling: Scaling, owner: str) -> View:
    gaps = np.isnan(block)
    scaled = block - scaling.shift[columns].astype(block.dtype)
    scaled *= scaling.factor[columns].astype(block.dtype)
    scaled[gaps] = 0.0
    if scaling.clip:
        np.maximum(scaled, 0.0, out=scaled)
    elif scaled.size and scaled.min() < 0:
        row, column = np.argwhere(scaled < 0)[0]
        _refuse(owner, rows[row], columns.start + column, block[row, column])
    missing = sparse.csr_array(gaps, dtype=np.float64) if gaps.any() else None
    return _view(rows, scaled, missing, columns)


def _sparse_view(block, rows, columns, scaling: Scaling, owner: str) -> View:
    if scaling.shift[columns].any():
        # a shift leaves no zeros: nothing is gained by sparse storage
        return _dense_view(block.toarray(), rows, columns, scaling, owner)
    values = sparse.csr_array(block, copy=True)
    values.sum_duplicates()
    place = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    gaps = np.isnan(values.data)
    missing = None
    if gaps.any():
        coordinates = (place[gaps], values.indices[gaps])
        ones = np.ones(int(gaps.sum()))
        missing = sparse.csr_array((ones, coordinates), shape=values.shape)
    values.data = values.data * scaling.factor[columns].astype(values.dtype)[values.indices]
    values.data[gaps] = 0.0
    negative = np.flatnonzero(values.data < 0)
    if negative.size:
        row, column = place[negative[0]], values.indices[negative[0]]
        if not scaling.clip:
            value = values.data[negative[0]] / scaling.factor[columns][column]
            _refuse(owner, rows[row], columns.start + column, value)
        np.maximum(values.data, 0.0, out=values.data)
    values.eliminate_zeros()
    return _view(rows, values, missing, columns)


def _filled_view(X, groups: ViewGroups, there, scaling: Scaling, owner: str) -> View:
    parts = read_views(X, groups, there, scaling, owner=owner)
    whole = np.repeat(scaling.fill[None], X.shape[0], axis=0)
    for part in parts:
        values = part.values.rows
        dense = values.toarray() if sparse.issparse(values) else values
        if part.missing is not None:
            rows, columns = part.missing.nonzero()
            dense = np.array(dense)
            dense[rows, columns] = scaling.fill[part.columns][columns]
        whole[part.rows, part.columns] = dense
    return _view(np.arange(X.shape[0]), whole, None, slice(0, X.shape[1]))


def _view(rows, values, missing, columns) -> View:
    stored = values.data[None] if sparse.issparse(values) else values
    squares = float(np.einsum("ij,ij->i", stored, stored).sum(dtype=np.float64))
    if missing is not None:
        missing = sparse.csr_array(-missing)
    if not sparse.issparse(values) and np.count_nonzero(values) < _SPARSE_SHARE * values.size:
        values = sparse.csr_array(values)
    return View(rows, prepare_features(values), missing, columns, squares)


def _refuse(owner: str, row: int, column: int, value: float) -> None:
    raise ValueError(
        f"Negative values in data passed to {owner}: X[{row}, {column}] = {value:g}, and a "
        "non-negative factorisation needs features of 0 or more; set scaling='range', or put "
        "sklearn.preprocessing.MinMaxScaler(clip=True) before it"
    )
