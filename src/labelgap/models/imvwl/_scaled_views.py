"""The views of some rows as the steps take them: scaled, non-negative, absent ones left out.

The squared error of a view grows with the square of its values and with its width, so that a view
of 4096 counts drowns one of 100 fractions. Scaled views have rows of mean squared length 1 each.

The principal components of all views together, absent ones at their mean, hold what the shared
subspace leaves out: what only one view says, and small differences.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.kernels.products import (
    Features,
    dense_times,
    dense_transposed_times,
    prepare_features,
    times,
    transposed_times,
)
from labelgap.views import Views

ScalingName = Literal["balance", "range"]
# with fewer of its values stored, products of a view in sparse form are the faster ones
_SPARSE_FRACTION = 0.1
# columns and passes beyond the bare minimum, with which leading components are accurate
_EXTRA_COLUMNS = 10
_PASSES = 4


class ColumnScaling(NamedTuple):
    """Features become ``max(0, (x - shift) * factor)``, column by column.

    shift, factor : (n_features,)
    fill : (n_features,), mean of the scaled feature where it is observed
    clip : whether values below the shift are possible (and become 0) or refused
    """

    shift: np.ndarray
    factor: np.ndarray
    fill: np.ndarray
    clip: bool

    def restore(self, scaled: np.ndarray, columns: slice) -> np.ndarray:
        """Return scaled values of some columns in the units they came in."""
        return scaled / self.factor[columns] + self.shift[columns]


class ColumnFacts(NamedTuple):
    """Per column, over the rows in which it is observed."""

    n_observed: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    total: np.ndarray
    squares: np.ndarray


def learn_scaling(
    X: Any, views: Views, there: np.ndarray, option: ScalingName | None
) -> ColumnScaling:
    """Return shift and factor of every column, from the observed values of the training rows."""
    facts = column_facts(X, views, there)
    ones = np.ones(X.shape[1])
    shift, factor = np.zeros(X.shape[1]), ones.copy()
    if option == "range":
        shift = facts.least
        width = facts.largest - facts.least
        factor = np.divide(1.0, width, out=ones.copy(), where=width > 0)
    if option is not None:
        squares = facts.squares - 2 * shift * facts.total + shift**2 * facts.n_observed
        for position, columns in enumerate(views.values()):
            length = (squares[columns] * factor[columns] ** 2).sum() / there[:, position].sum()
            if length > 0:
                factor[columns] /= np.sqrt(length)
    mean = np.divide(
        facts.total, facts.n_observed, out=np.zeros_like(ones), where=facts.n_observed > 0
    )
    return ColumnScaling(shift, factor, np.maximum(mean - shift, 0.0) * factor, option == "range")


def column_facts(X: Any, views: Views, there: np.ndarray) -> ColumnFacts:
    facts = ColumnFacts(*(np.zeros(X.shape[1]) for _ in ColumnFacts._fields))
    for position, columns in enumerate(views.values()):
        block = X[:, columns][np.flatnonzero(there[:, position])]
        found = _sparse_facts(block) if sparse.issparse(block) else _dense_facts(block)
        for whole, part in zip(facts, found, strict=True):
            whole[columns] = part
    return facts


def _dense_facts(block: np.ndarray) -> ColumnFacts:
    gaps = np.isnan(block)
    if not gaps.any():
        squares = np.einsum("ij,ij->j", block, block, dtype=np.float64)
        total = block.sum(axis=0, dtype=np.float64)
        count = np.full(block.shape[1], len(block))
        return ColumnFacts(count, block.min(axis=0), block.max(axis=0), total, squares)
    count = (~gaps).sum(axis=0)
    some = count > 0
    least = np.where(some, np.where(gaps, np.inf, block).min(axis=0), 0.0)
    largest = np.where(some, np.where(gaps, -np.inf, block).max(axis=0), 0.0)
    values = np.where(gaps, 0.0, block).astype(np.float64)
    return ColumnFacts(count, least, largest, values.sum(axis=0), np.square(values).sum(axis=0))


def _sparse_facts(block: Any) -> ColumnFacts:
    columns = sparse.csc_array(block)
    n_samples, n_columns = columns.shape
    place = np.repeat(np.arange(n_columns), np.diff(columns.indptr))
    gap = np.isnan(columns.data)
    values, place_of = columns.data[~gap].astype(np.float64), place[~gap]
    count = n_samples - np.bincount(place[gap], minlength=n_columns)
    stored = np.bincount(place_of, minlength=n_columns)
    least, largest = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    np.minimum.at(least, place_of, values)
    np.maximum.at(largest, place_of, values)
    has_zero = stored < count
    least = np.where(has_zero, np.minimum(least, 0.0), least)
    largest = np.where(has_zero, np.maximum(largest, 0.0), largest)
    empty = count == 0
    least[empty] = largest[empty] = 0.0
    total = np.bincount(place_of, values, minlength=n_columns)
    return ColumnFacts(
        count, least, largest, total, np.bincount(place_of, values**2, minlength=n_columns)
    )


class ScaledView(NamedTuple):
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
        """Return X_v U_v of the rows that have the view, in double precision."""
        if sparse.issparse(self.values.rows):
            return times(self.values, U)
        return dense_times(self.values.rows, U)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return X_v' V, for V of the rows that have the view, in double precision."""
        if sparse.issparse(self.values.rows):
            return transposed_times(self.values, V)
        return dense_transposed_times(self.values.rows, V)


def read_views(
    X: Any,
    views: Views,
    there: np.ndarray,
    scaling: ColumnScaling,
    *,
    concatenate: bool = False,
    owner: str = "IMVWL",
) -> list[ScaledView]:
    """The views of X; with ``concatenate`` a single one, with means in place of what is absent."""
    if concatenate:
        return [_filled_view(X, views, there, scaling, owner)]
    found = []
    for position, columns in enumerate(views.values()):
        rows = np.flatnonzero(there[:, position])
        block = X[:, columns][rows]
        make = _sparse_view if sparse.issparse(block) else _dense_view
        found.append(make(block, rows, columns, scaling, owner))
    return found


def _dense_view(block, rows, columns, scaling: ColumnScaling, owner: str) -> ScaledView:
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


def _sparse_view(block, rows, columns, scaling: ColumnScaling, owner: str) -> ScaledView:
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


def _filled_view(X, views: Views, there, scaling: ColumnScaling, owner: str) -> ScaledView:
    parts = read_views(X, views, there, scaling, owner=owner)
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


def _view(rows, values, missing, columns) -> ScaledView:
    stored = values.data[None] if sparse.issparse(values) else values
    squares = float(np.einsum("ij,ij->i", stored, stored).sum(dtype=np.float64))
    if missing is not None:
        missing = sparse.csr_array(-missing)
    if not sparse.issparse(values) and np.count_nonzero(values) < _SPARSE_FRACTION * values.size:
        values = sparse.csr_array(values)
    return ScaledView(rows, prepare_features(values), missing, columns, squares)


def _refuse(owner: str, row: int, column: int, value: float) -> None:
    raise ValueError(
        f"Negative values in data passed to {owner}: X[{row}, {column}] = {value:g}, and a "
        "non-negative factorisation needs features of 0 or more; set scaling='range', or put "
        "sklearn.preprocessing.MinMaxScaler(clip=True) before it"
    )


class ViewComponents(NamedTuple):
    """Coordinates ``sum_v (x_v - centre_v) axes_v`` over the views that a row has.

    centre : (n_features,), the mean of every scaled feature
    axes : (n_features, q), orthonormal but for the weight of each view
    """

    centre: np.ndarray
    axes: np.ndarray

    def of(self, views: list[ScaledView], n_samples: int) -> np.ndarray:
        """Return coordinates of rows, of shape (n_samples, q)."""
        return _product(views, n_samples, self.centre, self.axes)


def find_components(
    views: list[ScaledView],
    n_samples: int,
    centre: np.ndarray,
    n_components: int,
    rng: np.random.Generator,
) -> ViewComponents:
    """Return leading components by subspace iteration; every view has the same variance in all."""
    weight = _view_weights(views, centre)
    q = min(n_components, n_samples, centre.size)
    axes = rng.normal(size=(centre.size, min(q + _EXTRA_COLUMNS, centre.size)))
    for _ in range(_PASSES):
        rows = _product(views, n_samples, centre, weight[:, None] * axes)
        rows = np.linalg.qr(rows)[0]
        axes = np.linalg.qr(weight[:, None] * _transposed_product(views, centre, rows))[0]
    image = _product(views, n_samples, centre, weight[:, None] * axes)
    values, vectors = np.linalg.eigh(image.T @ image)
    leading = vectors[:, np.argsort(values)[::-1][:q]]
    return ViewComponents(centre, weight[:, None] * (axes @ leading))


def _product(
    views: list[ScaledView], n_samples: int, centre: np.ndarray, axes: np.ndarray
) -> np.ndarray:
    """(X - 1 centre') axes, with rows of zeros where a view is absent."""
    found = np.zeros((n_samples, axes.shape[1]))
    for view in views:
        own, mean = axes[view.columns], centre[view.columns]
        part = view.times(own) - mean @ own
        if view.missing is not None:
            part -= view.missing @ (mean[:, None] * own)
        found[view.rows] += part
    return found


def _transposed_product(
    views: list[ScaledView], centre: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    found = np.zeros((centre.size, rows.shape[1]))
    for view in views:
        own, mean = rows[view.rows], centre[view.columns]
        part = view.transposed_times(own) - np.outer(mean, own.sum(axis=0))
        if view.missing is not None:
            part -= mean[:, None] * (view.missing.T @ own)
        found[view.columns] = part
    return found


def _view_weights(views: list[ScaledView], centre: np.ndarray) -> np.ndarray:
    """One over the root of the total variance of the view, for each of its columns."""
    weight = np.zeros(centre.size)
    for view in views:
        mean = centre[view.columns]
        ones = np.ones((len(view.rows), 1))
        totals = view.transposed_times(ones)[:, 0]
        counts = np.full(mean.size, float(len(view.rows)))
        if view.missing is not None:
            counts += np.asarray(view.missing.sum(axis=0)).ravel()
        squares = view.squares - 2 * mean @ totals + counts @ mean**2
        variance = squares / max(len(view.rows), 1)
        if variance > 1e-12 * max(view.squares / max(len(view.rows), 1), 1e-300):
            weight[view.columns] = 1 / np.sqrt(variance)
    return weight
