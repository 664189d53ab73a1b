"""Labels two by two: how often they come together, and how a model correlates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from labelgap.auditing import MOST_EXTREME, cooccurrence_map, damped_log_lift
from labelgap.labels import Labels
from labelgap.plots._plot_style import at_least_one, draw_matrix, names_of, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labelgap.auditing import CooccurrenceMap


def plot_cooccurrence(
    source: Any,
    names: Any = None,
    *,
    n_samples: int | None = None,
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Show how often labels come together, against what independent labels would give.

    Blue pairs come together more often than expected of independent labels, orange ones more rarely.
    Colours follow the logarithm of the ratio, from an eighth to eight, with two items added to
    either number so that small counts stay pale.

    Parameters
    ----------
    source : Audit, Labels, CooccurrenceMap, or array of shape (L, L)
        An array counts the items that carry both labels, with those of each label on its diagonal.
    names : sequence of length L, optional, default=None
        Names of the labels of an array; positions by default.
    n_samples : int, optional, default=None
        How many items were counted; needed for an array and for a map.
    n_labels : int, default=30
        Labels to show, the most frequent; an audit maps 30 at most.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_label_correlation : How a model correlates labels.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.plots import plot_cooccurrence
    >>> labels = Labels.from_dense([[1, 1, 0], [1, 1, 0], [0, 0, 1]], names=["sun", "sea", "rain"])
    >>> ax = plot_cooccurrence(labels)
    >>> sorted(text.get_text() for text in ax.get_xticklabels())
    ['rain', 'sea', 'sun']
    """
    at_least_one(n_labels=n_labels)
    found, n_samples = _as_map(source, names, n_samples, n_labels)
    if not found.labels:
        raise ValueError("no label is carried by any item: there is nothing to show")
    strength = damped_log_lift(np.array(found.counts), n_samples)
    np.fill_diagonal(strength, np.nan)
    size = 0.3 * len(found.labels) + 2.0
    ax = new_axes(ax, (size + 1.0, size))
    mesh = draw_matrix(ax, strength, found.labels, MOST_EXTREME, "pairs")
    bar = ax.figure.colorbar(mesh, ax=ax, label="observed / expected", shrink=0.7)
    ticks = list(range(-MOST_EXTREME, MOST_EXTREME + 1))
    bar.set_ticks(ticks, labels=[f"{2.0**t:g}" if t >= 0 else f"1/{2.0**-t:g}" for t in ticks])
    bar.outline.set_visible(False)  # type: ignore[operator]
    return ax


def plot_label_correlation(
    matrix_or_model: Any, names: Any = None, n_labels: int = 30, ax: Axes | None = None
) -> Axes:
    """Show a correlation of labels as a coloured table, similar labels next to each other.

    The order is that of the leaves of a hierarchical clustering (average linkage, distance
    1 - correlation). Blue is positive, orange negative, on a scale of -1 to 1 or as far as the
    largest value.

    Parameters
    ----------
    matrix_or_model : array of shape (L, L), or fitted estimator with ``label_correlation_``
        Made symmetric if it is not.
    names : sequence of length L, optional, default=None
        By default the model's labels, or positions.
    n_labels : int, default=30
        Labels to show; when there are more, those with the largest correlations to others.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_cooccurrence : How often labels come together.

    Examples
    --------
    >>> from labelgap.plots import plot_label_correlation
    >>> matrix = [[1, 0.8, -0.1], [0.8, 1, 0.0], [-0.1, 0.0, 1]]
    >>> ax = plot_label_correlation(matrix, ["sun", "sea", "rain"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['rain', 'sun', 'sea']
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
    size = 0.3 * len(order) + 2.0
    ax = new_axes(ax, (size + 0.8, size))
    limit = max(1.0, float(np.abs(shown).max(initial=0)))
    mesh = draw_matrix(ax, shown, [names[place] for place in order], limit, "correlations")
    ax.figure.colorbar(mesh, ax=ax, label="correlation", shrink=0.7)
    return ax


def _as_map(
    source: Any, names: Any, n_samples: int | None, n_labels: int
) -> tuple[CooccurrenceMap, int]:
    if hasattr(source, "pairs"):
        found, n_samples = source.pairs.map, source.summary.n_items
    elif hasattr(source, "lift"):
        found = source
    else:
        if isinstance(source, Labels):
            ones = source.positives().astype(np.float64)
            counts, n_samples = (ones.T @ ones).toarray(), source.n_samples
            names = source.names if names is None else names
        else:
            counts = np.asarray(source, dtype=float)
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise ValueError(f"the counts have the shape {counts.shape}: give labels x labels")
        names = names_of(names, len(counts), "labels")
        if n_samples is not None:
            return cooccurrence_map(counts, names, n_samples, n_labels), n_samples
    if n_samples is None:
        raise ValueError("n_samples is missing: say how many items were counted")
    if len(found.labels) <= n_labels:
        return found, n_samples
    counts = np.array(found.counts)
    return cooccurrence_map(counts, list(found.labels), n_samples, n_labels), n_samples


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
