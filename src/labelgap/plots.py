"""Pictures of fitted models; needs matplotlib (``pip install 'labelgap[report]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from labelgap._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_label_correlation", "plot_topics", "plot_trace"]

# Okabe and Ito's colours: told apart with any colour vision, and in grey by the line styles
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLES = ("-", "--", "-.", ":")
_LONGEST_NAME = 24


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
    if n_labels < 1:
        raise ValueError(f"n_labels={n_labels}: show at least one")
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
        names = range(len(matrix)) if names is None or len(names) != len(matrix) else names
    if len(names) != len(matrix):
        raise ValueError(f"{len(names)} names for {len(matrix)} labels")
    order = _similar_together((matrix + matrix.T) / 2, n_labels)
    shown = ((matrix + matrix.T) / 2)[np.ix_(order, order)]
    size = 0.28 * len(order) + 1.6
    ax = _axes(ax, (size + 0.8, size))
    limit = max(1.0, float(np.abs(shown).max(initial=0)))
    picture = ax.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit)
    labels = [_short(names[place]) for place in order]
    ax.set_xticks(range(len(order)), labels, rotation=90, fontsize=8)
    ax.set_yticks(range(len(order)), labels, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(picture, ax=ax, label="correlation", shrink=0.7)
    return ax


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


def plot_topics(
    estimator: Any, n_topics: int = 6, n_labels: int = 8, ax: Axes | None = None
) -> Axes:
    """The strongest labels of the most used topics, one column per topic.

    The shade of a cell is the weight of the label in the topic, relative to the strongest label of
    that topic; the heading is the topic's share of all expected counts.

    Parameters
    ----------
    estimator : fitted estimator with ``topics_``
    n_topics : int
        Topics to show, by falling share; all of them when there are fewer.
    n_labels : int
        Labels per topic; no more than ``topics_`` lists.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure large enough to read.

    Returns
    -------
    matplotlib axes
    """
    for name, value in (("n_topics", n_topics), ("n_labels", n_labels)):
        if value < 1:
            raise ValueError(f"{name}={value}: show at least one")
    shown = estimator.topics_[:n_topics]
    n_ranks = max(1, min(n_labels, max(len(topic.labels) for topic in shown)))
    shade = np.zeros((n_ranks, len(shown)))
    for column, topic in enumerate(shown):
        weights = np.asarray(topic.weights[:n_ranks])
        shade[: weights.size, column] = weights / max(weights.max(initial=0), 1e-300)
    ax = _axes(ax, (1.9 * len(shown) + 0.8, 0.32 * n_ranks + 0.9))
    ax.imshow(shade, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    for column, topic in enumerate(shown):
        for rank, label in enumerate(topic.labels[:n_ranks]):
            ink = "white" if shade[rank, column] > 0.75 else "black"
            ax.text(column, rank, _short(label), ha="center", va="center", color=ink, fontsize=9)
    headings = [f"topic {topic.number}\n{100 * topic.share:.1f}%" for topic in shown]
    ax.set_xticks(range(len(shown)), headings)
    ax.xaxis.tick_top()
    ax.set_yticks(range(n_ranks), [str(rank + 1) for rank in range(n_ranks)])
    ax.set_ylabel("rank within the topic")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, len(shown)) - 0.5, minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=4)
    ax.tick_params(which="minor", length=0)
    return ax


def plot_trace(estimator: Any, ax: Axes | None = None) -> Axes:
    """The objective of every iteration, or the log posterior of every sweep of every chain.

    Parameters
    ----------
    estimator : fitted estimator with ``trace_``
        With posterior samples (``samples_``), all chains are drawn and burn-in is shaded.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator, "trace_")
    ax = _axes(ax, (6.0, 3.5))
    samples = getattr(estimator, "samples_", None)
    if samples is None:
        trace = estimator.trace_
        ax.plot(np.arange(1, trace.n_iter + 1), trace.objective, color=_COLOURS[0])
        ax.set_xlabel("iteration")
        ax.set_ylabel("objective")
        ax.set_title(f"{trace.outcome} after {trace.n_iter} iterations", fontsize=10)
    else:
        for chain, values in enumerate(samples.log_posterior):
            ax.plot(
                np.arange(1, values.size + 1),
                values,
                color=_COLOURS[chain % len(_COLOURS)],
                linestyle=_STYLES[chain % len(_STYLES)],
                label=f"chain {chain}",
            )
        ax.axvspan(0.5, samples.n_burn_in + 0.5, color="0.9", zorder=0, label="burn-in")
        ax.set_xlabel("sweep")
        ax.set_ylabel("log posterior")
        ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="report", purpose="labelgap.plots")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _short(label: Any) -> str:
    text = str(label)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
