"""Topics of labels, and features worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelgap.plots._look import (
    COLOURS,
    INK,
    LINE,
    at_least_one,
    names_of,
    new_axes,
    only_left_and_bottom,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_selected_features", "plot_topics"]


class _Topic(NamedTuple):
    heading: str
    labels: Sequence[Any]
    weights: np.ndarray


def plot_topics(source: Any, n_topics: int = 6, n_labels: int = 8, ax: Axes | None = None) -> Axes:
    """The strongest labels of the most used topics, one column per topic.

    The shade of a cell is the weight of the label in the topic, relative to the strongest label of
    that topic; the heading is the topic's share of all expected counts.

    Parameters
    ----------
    source : fitted estimator with ``topics_``, Audit with topics, or sequence of Topic
    n_topics : int
        Topics to show, by falling share; all of them when there are fewer.
    n_labels : int
        Labels per topic; no more than are listed.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure large enough to read.

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_topics=n_topics, n_labels=n_labels)
    shown = _topics(source)[:n_topics]
    n_ranks = max(1, min(n_labels, max(len(topic.labels) for topic in shown)))
    shade = np.zeros((n_ranks, len(shown)))
    for column, topic in enumerate(shown):
        weights = topic.weights[:n_ranks]
        shade[: weights.size, column] = weights / max(weights.max(initial=0), 1e-300)
    ax = new_axes(ax, (1.9 * len(shown) + 0.8, 0.32 * n_ranks + 0.9))
    ax.imshow(shade, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    for column, topic in enumerate(shown):
        for rank, label in enumerate(topic.labels[:n_ranks]):
            ink = "white" if shade[rank, column] > 0.75 else "black"
            ax.text(column, rank, short(label), ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(len(shown)), [topic.heading for topic in shown])
    ax.xaxis.tick_top()
    ax.set_yticks(range(n_ranks), [str(rank + 1) for rank in range(n_ranks)])
    ax.set_ylabel("rank within the topic")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, len(shown)) - 0.5, minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=4)
    ax.tick_params(which="minor", length=0)
    return ax


def _topics(source: Any) -> list[_Topic]:
    listed = getattr(source, "topics_", None)
    if listed is None:
        listed = getattr(source, "topics", source)
    if not listed:
        raise ValueError("there are no topics: ask for some, as with audit(X, Y, n_topics=8)")
    found = []
    for position, one in enumerate(listed, start=1):
        if hasattr(one, "weights"):
            labels, weights, number = one.labels, one.weights, one.number
        else:
            labels, weights = [name for name, _ in one.labels], [w for _, w in one.labels]
            number = position
        heading = f"topic {number}\n{100 * one.share:.1f}%"
        found.append(_Topic(heading, labels, np.asarray(weights, dtype=float)))
    return found


def plot_selected_features(
    source: Any, names: Sequence[Any] | None = None, n_features: int = 20, ax: Axes | None = None
) -> Axes:
    """The selected features: their weights as bars, and how often they are chosen again as dots.

    Weights are relative to the largest. A dot at 1 is a feature that every repetition on other
    halves of the rows chose as well; one far to the left of its bar was chosen by luck.

    Parameters
    ----------
    source : Audit with selected features, sequence of SelectedFeature, or fitted selector
        A selector has ``scores_``; only :class:`labelgap.models.gmfs.StabilitySelection` has
        stabilities too.
    names : sequence of length n_features_in, optional
        Only for selectors; by default the names it was fitted with, or positions.
    n_features : int
        Features to show, those with the largest weights.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_features=n_features)
    labels, weights, stability = _selected(source, names)
    order = np.argsort(-weights, kind="stable")[:n_features]
    largest = max(float(weights.max(initial=0)), 1e-300)
    ax = new_axes(ax, (6.4, 0.28 * order.size + 1.3))
    places = np.arange(order.size)
    ax.barh(places, weights[order] / largest, height=0.66, color=COLOURS[5], label="weight")
    if stability is not None:
        ax.plot(
            stability[order],
            places,
            linestyle="none",
            marker="D",
            markersize=6,
            color=COLOURS[1],
            markeredgecolor=INK,
            label="chosen again",
            clip_on=False,
            zorder=3,
        )
        ax.legend(
            frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, borderaxespad=0.2
        )
    ax.set_yticks(places, [short(labels[k]) for k in order])
    ax.set_ylim(order.size - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.set_xlabel(
        "weight, relative to the largest"
        + ("" if stability is None else "; share of the repetitions")
    )
    ax.grid(axis="x", color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    only_left_and_bottom(ax)
    return ax


def _selected(source: Any, names: Any) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    if hasattr(source, "fit"):
        check_is_fitted(source, "scores_")
        stable = hasattr(source, "selector_")
        weights = np.asarray(source.selector_.scores_ if stable else source.scores_, dtype=float)
        names = getattr(source, "feature_names_in_", None) if names is None else names
        return (
            names_of(names, weights.size, "features"),
            weights,
            np.asarray(source.scores_, dtype=float) if stable else None,
        )
    listed = getattr(source, "selected_features", source)
    if not listed:
        raise ValueError("no features were selected: ask for some, as with n_selected=20")
    if names is not None:
        raise ValueError("names: selected features have their own; leave them out")
    return (
        [str(one.name) for one in listed],
        np.array([one.weight for one in listed]),
        np.array([one.stability for one in listed]),
    )
