"""Plots of fitted models: topics, selected features, objectives over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelgap.plots._plot_style import (
    at_least_one,
    name_rows,
    names_of,
    new_axes,
    open_frame,
    short,
)
from labelgap.plots.svg import COLOURS, INK, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_topics(source: Any, n_topics: int = 6, n_labels: int = 8, ax: Axes | None = None) -> Axes:
    """Show the strongest labels of the most used topics, one column per topic.

    The shade of a cell is the weight of the label in the topic, relative to the strongest label of
    that topic; the heading is the topic's fraction of all expected counts.

    Parameters
    ----------
    source : fitted estimator with ``topics_``, Audit with topics, or sequence of topics
    n_topics : int, default=6
        Topics to show, by falling fraction; all of them when there are fewer.
    n_labels : int, default=8
        Labels per topic; no more than are listed.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    labelgap.BMLPL : A model of topics.

    Examples
    --------
    >>> from labelgap import BMLPL
    >>> from labelgap.generators import make_topics
    >>> from labelgap.plots import plot_topics
    >>> made = make_topics(200, 4, 6, n_topics=2, eta=1.0, random_state=0)
    >>> model = BMLPL(2, random_state=0).fit(made.X, made.full)
    >>> ax = plot_topics(model, n_labels=3)
    >>> len(ax.texts)
    6
    """
    at_least_one(n_topics=n_topics, n_labels=n_labels)
    shown = _topics(source)[:n_topics]
    n_ranks = max(1, min(n_labels, max(len(labels) for _, labels, _ in shown)))
    shade = np.zeros((n_ranks, len(shown)))
    for column, (_, _, every_weight) in enumerate(shown):
        weights = every_weight[:n_ranks]
        shade[: weights.size, column] = weights / max(weights.max(initial=0), 1e-300)
    ax = new_axes(ax, (1.9 * len(shown) + 0.8, 0.32 * n_ranks + 0.9))
    ax.imshow(shade, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    for column, (_, labels, _) in enumerate(shown):
        for rank, label in enumerate(labels[:n_ranks]):
            ink = "white" if shade[rank, column] > 0.75 else "black"
            ax.text(column, rank, short(label), ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(len(shown)), [heading for heading, _, _ in shown])
    ax.xaxis.tick_top()
    ax.set_yticks(range(n_ranks), [str(rank + 1) for rank in range(n_ranks)])
    ax.set_ylabel("rank within the topic")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, len(shown)) - 0.5, minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=4)
    ax.tick_params(which="minor", length=0)
    return ax


def plot_selected_features(
    source: Any, names: Sequence[Any] | None = None, n_features: int = 20, ax: Axes | None = None
) -> Axes:
    """Show the weights of selected features as bars, and how often they are selected again as dots.

    Weights are relative to the largest. A dot at 1 is a feature that every repetition on other
    halves of the items selected as well; one far to the left of its bar was selected by luck.

    Parameters
    ----------
    source : Audit with selected features, sequence of SelectedFeature, or fitted selector
        A selector has ``scores_``; only :class:`labelgap.models.gmfs.StabilitySelection` has
        stabilities too.
    names : sequence of length n_features_in, optional, default=None
        Names of a selector's features; by default those it was fitted with, or positions.
    n_features : int, default=20
        Features to show, those with the largest weights.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    labelgap.models.gmfs.StabilitySelection : Selects features again and again.

    Examples
    --------
    >>> from labelgap.auditing import SelectedFeature
    >>> from labelgap.plots import plot_selected_features
    >>> ax = plot_selected_features([SelectedFeature("beach", 2.0, 1.0)])
    >>> ax.get_yticklabels()[0].get_text()
    'beach'
    """
    at_least_one(n_features=n_features)
    labels, weights, stability = _selected(source, names)
    order = np.argsort(-weights, kind="stable")[:n_features]
    largest = max(float(weights.max(initial=0)), 1e-300)
    ax = new_axes(ax, (6.4, 0.28 * order.size + 1.3))
    places = np.arange(order.size)
    ax.barh(places, weights[order] / largest, height=0.66, color="#56b4e9", label="weight")
    if stability is not None:
        ax.plot(
            stability[order],
            places,
            linestyle="none",
            marker="D",
            markersize=6,
            color=COLOURS[1],
            markeredgecolor=INK,
            label="selected again",
            clip_on=False,
            zorder=3,
        )
        ax.legend(
            frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, borderaxespad=0.2
        )
    name_rows(ax, [labels[k] for k in order])
    ax.set_xlim(0, 1)
    ax.set_xlabel(
        "weight, relative to the largest"
        + ("" if stability is None else "; fraction of the repetitions")
    )
    return ax


def plot_trace(source: Any, ax: Axes | None = None) -> Axes:
    """Show the objective of every iteration, or the log posterior of every sweep of every chain.

    Parameters
    ----------
    source : fitted estimator with ``trace_``, Audit or one of its traces, or sequence of numbers
        With posterior samples (``samples_``), all chains are drawn and burn-in is shaded.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_topics : What a model of topics has learned.

    Examples
    --------
    >>> from labelgap.plots import plot_trace
    >>> ax = plot_trace([3.0, 2.0, 1.5])
    >>> ax.get_xlabel()
    'iteration'
    """
    if hasattr(source, "fit"):
        check_is_fitted(source, "trace_")
        samples = getattr(source, "samples_", None)
        if samples is not None:
            return _plot_chains(samples, ax)
        trace = source.trace_
        title = f"{trace.outcome.replace('_', ' ')} after {trace.n_iter} iterations"
        return _plot_objective(trace.objective, "objective", title, ax)
    if hasattr(source, "convergence"):
        if not source.convergence:
            raise ValueError("nothing of the audit was iterated: ask for topics, with n_topics=8")
        source = source.convergence[0]
    if hasattr(source, "converged"):
        ended = "converged" if source.converged else "not converged"
        title = f"{short(source.model)}: {ended} after {len(source.values)} iterations"
        return _plot_objective(source.values, source.name, title, ax)
    return _plot_objective(source, "objective", "", ax)


def _topics(source: Any) -> list[tuple[str, Sequence[Any], np.ndarray]]:
    """Heading, labels and weights of each topic."""
    listed = getattr(source, "topics_", None)
    if listed is None:
        listed = getattr(source, "topics", source)
    if not listed:
        raise ValueError("there are no topics: ask for some, as with audit(X, Y, n_topics=8)")
    found = []
    for position, topic in enumerate(listed, start=1):
        if hasattr(topic, "weights"):
            labels, weights, number = topic.labels, topic.weights, topic.number
        else:
            labels, weights = zip(*topic.labels, strict=True) if topic.labels else ((), ())
            number = position
        heading = f"topic {number}\n{100 * topic.fraction:.1f}%"
        found.append((heading, labels, np.asarray(weights, dtype=float)))
    return found


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
    weights = np.array([feature.weight for feature in listed])
    stability = np.array([feature.stability for feature in listed])
    return [str(feature.name) for feature in listed], weights, stability


def _plot_objective(values: Sequence[float], name: str, title: str, ax: Axes | None) -> Axes:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError("an objective is a sequence of numbers, one per iteration")
    ax = new_axes(ax, (6.0, 3.5))
    ax.plot(np.arange(1, numbers.size + 1), numbers, color=COLOURS[0])
    ax.set(xlabel="iteration", ylabel=short(name))
    ax.set_title(title, fontsize=10)
    open_frame(ax)
    return ax


def _plot_chains(samples: Any, ax: Axes | None) -> Axes:
    ax = new_axes(ax, (6.0, 3.5))
    for chain, values in enumerate(samples.log_posterior):
        ax.plot(
            np.arange(1, values.size + 1),
            values,
            color=COLOURS[chain % len(COLOURS)],
            linestyle=STYLES[chain % len(STYLES)],
            label=f"chain {chain}",
        )
    ax.axvspan(0.5, samples.n_burn_in + 0.5, color="0.9", zorder=0, label="burn-in")
    ax.set(xlabel="sweep", ylabel="log posterior")
    ax.legend(frameon=False)
    open_frame(ax)
    return ax
