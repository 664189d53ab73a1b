"""Principal components of all views together, absent ones at their mean.

The subspace keeps what the views share. What only one of them says, and small differences, are
left out of it; the components hold these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.models.imvwl._views import View

# columns and passes beyond the bare minimum, with which leading components are accurate
_EXTRA_COLUMNS = 10
_PASSES = 4


class Components(NamedTuple):
    """Coordinates ``sum_v (x_v - centre_v) axes_v`` over the views that a row has.

    centre : (n_features,), the mean of every scaled feature
    axes : (n_features, q), orthonormal but for the weight of each view
    """

    centre: np.ndarray
    axes: np.ndarray

    def of(self, views: list[View], n_rows: int) -> np.ndarray:
        """Coordinates of rows, of shape (n_rows, q)."""
        return _product(views, n_rows, self.centre, self.axes)


def find_components(
    views: list[View], n_rows: int, centre: np.ndarray, n_components: int, rng: np.random.Generator
) -> Components:
    """Leading components by subspace iteration; every view has the same variance in all."""
    weight = _view_weights(views, centre)
    q = min(n_components, n_rows, centre.size)
    axes = rng.normal(size=(centre.size, min(q + _EXTRA_COLUMNS, centre.size)))
    for _ in range(_PASSES):
        rows = _product(views, n_rows, centre, weight[:, None] * axes)
        rows = np.linalg.qr(rows)[0]
        axes = np.linalg.qr(weight[:, None] * _transposed_product(views, centre, rows))[0]
    image = _product(views, n_rows, centre, weight[:, None] * axes)
    values, vectors = np.linalg.eigh(image.T @ image)
    leading = vectors[:, np.argsort(values)[::-1][:q]]
    return Components(centre, weight[:, None] * (axes @ leading))


def _product(views: list[View], n_rows: int, centre: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(X - 1 centre') axes, with rows of zeros where a view is absent."""
    found = np.zeros((n_rows, axes.shape[1]))
    for view in views:
        own, mean = axes[view.columns], centre[view.columns]
        part = view.times(own) - mean @ own
        if view.missing is not None:
            part -= view.missing @ (mean[:, None] * own)
        found[view.rows] += part
    return found


def _transposed_product(views: list[View], centre: np.ndarray, rows: np.ndarray) -> np.ndarray:
    found = np.zeros((centre.size, rows.shape[1]))
    for view in views:
        own, mean = rows[view.rows], centre[view.columns]
        part = view.transposed_times(own) - np.outer(mean, own.sum(axis=0))
        if view.missing is not None:
            part -= mean[:, None] * (view.missing.T @ own)
        found[view.columns] = part
    return found


def _view_weights(views: list[View], centre: np.ndarray) -> np.ndarray:
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
