"""Labels two by two: how often they come together, and how a model correlates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from labelgap._extras import require
from labelgap.audit import MOST_EXTREME, cooccurrence_map, damped_log_lift
from labelgap.labels import Labels
from labelgap.plots._look import COLOURS, LINE, at_least_one, names_of, new_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labelgap.audit import CooccurrenceMap

__all__ = ["plot_cooccurrence", "plot_label_correlation"]


def plot_cooccurrence(
    source: Any,
    names: Any = None,
    *,
    n_rows: int | None = None,
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """How often labels come together, against what independent labels would give.

    Blue pairs come together more often than chance would have it, orange ones less often; the
    scale is the binary logarithm of the ratio, from an eighth to eight times, with two items added
    to either number so that small counts stay pale.

    Parameters
    ----------
    source : Audit, Labels, CooccurrenceMap, or array of shape (L, L)
        An array counts the rows that carry both labels, with those of each label on its diagonal.
    names : sequence of length L, optional
        Only for arrays; positions by default.
    n_rows : int, optional
        How many rows were counted; needed for an array and for a map.
    n_labels : int
        Labels to show, the most frequent; an audit maps 30 at most.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_labels=n_labels)
    found, n_rows = _as_map(source, names, n_rows, n_labels)
    if not found.labels:
        raise ValueError("no label is carried by any row: there is nothing to show")
    strength = damped_log_lift(np.array(found.counts), n_rows)
    np.fill_diagonal(strength, np.nan)
    size = 0.28 * len(found.labels) + 1.6
    ax = new_axes(ax, (size + 1.0, size))
    picture = ax.imshow(strength, cmap=_orange_blue(), vmin=-MOST_EXTREME, vmax=MOST_EXTREME)
    _name_both_sides(ax, found.labels)
    bar = ax.figure.colorbar(picture, ax=ax, label="times what chance gives", shrink=0.7)
    ticks = list(range(-MOST_EXTREME, MOST_EXTREME + 1))
    bar.set_ticks(ticks, labels=[f"{2.0**t:g}" if t >= 0 else f"1/{2.0**-t:g}" for t in ticks])
    return ax


def _as_map(
    source: Any, names: Any, n_rows: int | None, n_labels: int
) -> tuple[CooccurrenceMap, int]:
    if hasattr(source, "pairs"):
        found, n_rows = source.pairs.map, source.summary.n_items
    elif hasattr(source, "lift"):
        found = source
    elif isinstance(source, Labels):
        ones = source.positives().astype(np.float64)
        names = source.names if names is None else names
        names = names_of(names, source.n_labels, "labels")
        return cooccurrence_map(ones.T @ ones, names, source.n_rows, n_labels), source.n_rows
    else:
        counts = np.asarray(source, dtype=float)
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise ValueError(f"the counts have the shape {counts.shape}: give labels x labels")
        if n_rows is None:
            raise ValueError("n_rows is missing: say how many rows were counted")
        names = names_of(names, len(counts), "labels")
        return cooccurrence_map(counts, names, n_rows, n_labels), n_rows
    if n_rows is None:
        raise ValueError("n_rows is missing: say how many rows were counted")
    if len(found.labels) <= n_labels:
        return found, n_rows
    return cooccurrence_map(np.array(found.counts), list(found.labels), n_rows, n_labels), n_rows


def _orange_blue() -> Any:
    colors = require("matplotlib.colors", extra="report", purpose="labelgap.plots")
    ends = (COLOURS[1], "#ffffff", COLOURS[0])
    return colors.LinearSegmentedColormap.from_list("orange_blue", ends).with_extremes(bad=LINE)


def plot_label_correlation(
    matrix_or_model: Any,
    names: Any = None,
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """A correlation of labels as a coloured table, similar labels next to each other.

    The order is that of the leaves of a hierarchical clustering (average linkage, distance
    1 - correlation). Blue is positive, red negative, on a scale of -1 to 1 or as far as the largest
    value.

    Parameters
    ----------
    matrix_or_model : array of shape (L, L), or fitted estimator with ``label_correlation_``
        Made symmetric if it is not.
    names : sequence of length L, optional
        By default the model's labels, or positions.
    n_labels : int
        Labels to show; when there are more, those with the largest correlations to others.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_labels=n_labels)
    model = matrix_or_model if hasattr(matrix_or_model, "fit") else None
    if model is not None:
        check_is_fitted(model)
    matrix = np.asarray(matrix_or_model if model is None else model.label_correlation_, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the correlation has the shape {matrix.shape}: it must be labels x labels"
        )
    if names is None:
        names = getattr(model, "classes_", None)
        names = None if names is None or len(names) != len(matrix) else names
    names = names_of(names, len(matrix), "labels")
    order = _similar_together((matrix + matrix.T) / 2, n_labels)
    shown = ((matrix + matrix.T) / 2)[np.ix_(order, order)]
    size = 0.28 * len(order) + 1.6
    ax = new_axes(ax, (size + 0.8, size))
    limit = max(1.0, float(np.abs(shown).max(initial=0)))
    picture = ax.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit)
    _name_both_sides(ax, [names[place] for place in order])
    ax.figure.colorbar(picture, ax=ax, label="correlation", shrink=0.7)
    return ax


def _name_both_sides(ax: Axes, names: Any) -> None:
    labels = [short(name) for name in names]
    ax.set_xticks(range(len(labels)), labels, rotation=90, fontsize=8)
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _similar_together(matrix: np.ndarray, n_labels: int) -> np.ndarray:
    """The most correlated labels, in an order that puts similar ones side by side."""
    others = np.abs(matrix - np.diag(matrix.diagonal()))
    chosen = np.sort(np.argsort(-others.max(axis=1), kind="stable")[:n_labels])
    if len(chosen) < 3:
        return chosen
    part = matrix[np.ix_(chosen, chosen)]
    distance = np.maximum(part.max() - part, 0)
    np.fill_diagonal(distance, 0)
    return chosen[leaves_list(linkage(squareform(distance, checks=False), "average"))]
