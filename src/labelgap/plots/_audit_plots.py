"""Plots of an audit: labels, items, what is suggested, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labelgap.labels import Labels, State, as_labels
from labelgap.plots._plot_style import (
    Intervals,
    at_least_one,
    draw_intervals,
    name_rows,
    names_of,
    new_axes,
    open_frame,
    percent,
    short,
)
from labelgap.plots.svg import COLOURS, MARKS, PAPER, SOFT, STYLES
from labelgap.propensity import wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUALITIES = {"average_precision": "average precision", "auc": "area under the ROC curve"}
_STATES = {"zero": "recorded as zero", "unknown": "unknown"}


def plot_label_completeness(
    source: Any, names: Any = None, *, n_labels: int = 30, ax: Axes | None = None
) -> Axes:
    """Show how completely each label is recorded, the least complete first, with intervals.

    Parameters
    ----------
    source : Audit, sequence of LabelAudit, Labels, or array
        Of an audit: the estimated label frequency, the fraction of a label's relevant entries that
        is recorded; labels too rare for an estimate are left out. Where the table does not tell
        labels apart, the one frequency of all labels is shown, and without that, as of labels, the
        fraction of items in which each is known. Of :class:`labelgap.Labels`: the
        fraction of items in which the label is known. An array holds one number per label, or
        value, lower and upper end.
    names : sequence of length n_labels, optional, default=None
        Names of the labels of an array; positions by default.
    n_labels : int, default=30
        Labels to show, those with the smallest fractions.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_item_completeness : The same by item.

    Examples
    --------
    >>> from labelgap.plots import plot_label_completeness
    >>> ax = plot_label_completeness([0.9, 0.4, 0.7], ["sun", "sea", "tree"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['sea', 'tree', 'sun']
    """
    at_least_one(n_labels=n_labels)
    what, title = "label frequency: fraction of the relevant entries that is recorded", ""
    known = "fraction of the items in which the label is known"
    if isinstance(source, Labels):
        values = source.n_observed(axis=0, unlabeled=True) / max(source.n_samples, 1)
        what, names = known, source.names if names is None else names
    else:
        values, names = _of_labels(source, "label_frequency", names)
    if not len(values):
        frequency = source.summary.label_frequency if hasattr(source, "summary") else None
        title = "no label has a frequency of its own"
        if frequency is not None:
            values, names = [frequency], ["all labels"]
        else:
            values, names = _of_labels(source, "observed", None)
            what = known
    ax = _lowest_first(values, names, n_labels, ax)
    ax.xaxis.set_major_formatter(percent)
    ax.set_xlabel(what)
    if title and not ax.get_title():
        ax.set_title(title, fontsize=10)
    return ax


def plot_label_quality(
    source: Any,
    names: Sequence[Any] | None = None,
    *,
    metric: Literal["average_precision", "auc"] = "average_precision",
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Show how well each label is predicted, the worst first, with intervals.

    Parameters
    ----------
    source : Audit, sequence of LabelAudit, or array
        An array holds one number per label, or value, lower and upper end.
    names : sequence of length n_labels, optional, default=None
        Names of the labels of an array; positions by default.
    metric : {"average_precision", "auc"}, default="average_precision"
        Which of the two that an audit measures; for arrays what they hold.
    n_labels : int, default=30
        Labels to show, those with the smallest values.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_calibration : Whether the probabilities are right.

    Examples
    --------
    >>> from labelgap.plots import plot_label_quality
    >>> ax = plot_label_quality([[0.9, 0.8, 1.0], [0.2, 0.1, 0.4]], ["sun", "sea"])
    >>> ax.get_xlabel()
    'average precision'
    """
    at_least_one(n_labels=n_labels)
    if metric not in _QUALITIES:
        raise ValueError(f"metric={metric!r}: use 'average_precision' or 'auc'")
    values, names = _of_labels(source, metric, names)
    ax = _lowest_first(values, names, n_labels, ax)
    ax.set_xlabel(_QUALITIES[metric])
    if metric == "auc":
        ax.axvline(0.5, color=SOFT, linestyle=":", linewidth=1.2)
    return ax


def plot_item_completeness(source: Any, ax: Axes | None = None) -> Axes:
    """Show how many items have which fraction of their relevant labels recorded.

    Parameters
    ----------
    source : Audit or ItemAudit
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_label_completeness : The same by label.

    Examples
    --------
    >>> from labelgap.auditing import ItemAudit
    >>> from labelgap.plots import plot_item_completeness
    >>> items = ItemAudit((0.0, 0.5, 1.0), (3, 7), n_without_labels=0, worst=())
    >>> [int(bar.get_height()) for bar in plot_item_completeness(items).patches]
    [3, 7]
    """
    items = getattr(source, "items", source)
    if not any(items.counts):
        raise ValueError("there are no items with an estimate: there is nothing to show")
    edges, counts = np.array(items.edges), np.array(items.counts)
    ax = new_axes(ax, (6.0, 3.4))
    bars = ax.bar(
        edges[:-1], counts, np.diff(edges), align="edge", color=COLOURS[0], edgecolor=PAPER
    )
    for number, bar in enumerate(bars):
        bar.set_gid(f"items-{number}")
    ax.set_xlim(edges[0], edges[-1])
    ax.xaxis.set_major_formatter(percent)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value == int(value) else "")
    ax.set(xlabel="fraction of an item's relevant labels that is recorded", ylabel="items")
    open_frame(ax, "y")
    return ax


def plot_suggestions(source: Any, n_suggestions: int = 20, ax: Axes | None = None) -> Axes:
    """Show the most probable missing labels with their probabilities.

    Parameters
    ----------
    source : Audit, or sequence of Suggestion
    n_suggestions : int, default=20
        How many to show.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    labelgap.audit : Finds missing labels.

    Examples
    --------
    >>> from labelgap.auditing import Suggestion
    >>> from labelgap.plots import plot_suggestions
    >>> ax = plot_suggestions([Suggestion(1, "photo 7", "sea", 0.93, "zero")])
    >>> [text.get_text() for text in ax.texts]
    ['93%']
    """
    at_least_one(n_suggestions=n_suggestions)
    every = list(getattr(source, "suggestions", source))
    if not every:
        raise ValueError("nothing is suggested: there is nothing to show")
    shown = every[:n_suggestions]
    ax = new_axes(ax, (7.0, 0.28 * len(shown) + 1.1))
    for number, (state, words) in enumerate(_STATES.items()):
        places = [place for place, suggestion in enumerate(shown) if suggestion.state == state]
        if places:
            ax.barh(
                places,
                [shown[place].probability for place in places],
                height=0.72,
                color=("#56b4e9", "#e69f00")[number],
                hatch="" if number == 0 else "///",
                edgecolor="white",
                label=words,
            )
    for place, suggestion in enumerate(shown):
        inside = suggestion.probability > 0.15
        ax.text(
            suggestion.probability + (-0.01 if inside else 0.01),
            place,
            f"{suggestion.probability:.0%}",
            ha="right" if inside else "left",
            va="center",
            fontsize=8,
        )
    name_rows(ax, [f"{short(one.label)}  {short(one.item)}" for one in shown])
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(percent)
    ax.set_xlabel(f"probability that the label is missing ({len(shown):,} of {len(every):,})")
    if len({suggestion.state for suggestion in shown}) > 1:
        ax.legend(frameon=False, loc="lower right")
    return ax


def plot_learning_curve(
    source: Any,
    values: Any = None,
    *,
    xlabel: str = "labels learned from",
    ylabel: str = "average precision",
    ax: Axes | None = None,
) -> Axes:
    """Show the quality of predictions against the number of labels, with a band of intervals.

    Parameters
    ----------
    source : Audit, sequence of LearningPoint, sequence of numbers, or mapping of these
        Numbers are amounts, and go with `values`. A mapping has a curve per name: an audit, points,
        or a pair of amounts and values.
    values : array of shape (n,) or (n, 3), optional, default=None
        Quality at each amount; with its interval, value, lower and upper end.
    xlabel : str, default="labels learned from"
    ylabel : str, default="average precision"
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_calibration : Whether the probabilities are right.

    Examples
    --------
    >>> from labelgap.plots import plot_learning_curve
    >>> ax = plot_learning_curve([100, 200, 400], [0.42, 0.51, 0.55])
    >>> ax.lines[0].get_ydata().tolist()
    [0.42, 0.51, 0.55]
    """
    named = isinstance(source, Mapping)
    curves = dict(source) if isinstance(source, Mapping) else {"": source}
    if not curves:
        raise ValueError("there is no curve: give at least one")
    ax = new_axes(ax, (6.0, 3.6))
    for number, (name, curve) in enumerate(curves.items()):
        x, numbers = _learning_points(curve, values, name)
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)]
        (line,) = ax.plot(
            x,
            numbers.value,
            color=colour,
            linestyle=style,
            marker=MARKS[number % len(MARKS)],
            markersize=5,
            label=short(name) if named else None,
        )
        line.set_gid(f"curve-{number}")
        if numbers.wide:
            ax.fill_between(x, numbers.low, numbers.high, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    open_frame(ax, "both")
    if named:
        ax.legend(frameon=False)
    return ax


def plot_calibration(
    source: Any, y_proba: Any = None, *, n_bins: int = 10, ax: Axes | None = None
) -> Axes:
    """Show predicted probabilities against what is recorded; on the diagonal they are right.

    The size of a dot grows with the logarithm of the number of entries that it stands for; bars are
    95% intervals (Wilson).

    Parameters
    ----------
    source : Audit, sequence of CalibrationBin, or true labels
        Labels are whatever :func:`labelgap.as_labels` takes; unknown entries are left out and
        unlabeled zeros count as zeros.
    y_proba : array of shape (n_samples, n_labels), optional, default=None
        Probabilities that belong to true labels.
    n_bins : int, default=10
        Bins of equal width, for labels and probabilities.
    ax : matplotlib axes, optional, default=None

    Returns
    -------
    matplotlib axes

    See Also
    --------
    plot_label_quality : How well each label is predicted.

    Examples
    --------
    >>> from labelgap.plots import plot_calibration
    >>> ax = plot_calibration([[1, 0], [0, 1]], [[0.8, 0.1], [0.3, 0.7]], n_bins=2)
    >>> ax.collections[-1].get_offsets().round(2).tolist()
    [[0.2, 0.0], [0.75, 1.0]]
    """
    at_least_one(n_bins=n_bins)
    if y_proba is None:
        predicted, observed, n = _bins_of_audit(source)
    else:
        predicted, observed, n = _bins_of_arrays(source, y_proba, n_bins)
    ax = new_axes(ax, (4.4, 4.2))
    ax.plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1)
    ax.vlines(predicted, observed.low, observed.high, color=COLOURS[0], linewidth=2, alpha=0.5)
    sizes = 14 + 16 * np.log10(np.maximum(n, 1))
    dots = ax.scatter(predicted, observed.value, s=sizes, color=COLOURS[0], zorder=3)
    dots.set_gid("bins")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="predicted probability", ylabel="fraction recorded")
    open_frame(ax, "both")
    return ax


def _of_labels(source: Any, attribute: str, names: Any) -> tuple[Any, Any]:
    """Estimates of an audit's labels with their names, or arrays as they are."""
    labels = getattr(source, "labels", source)
    if not len(labels) or not hasattr(labels[0], "too_rare"):
        return labels, names
    if names is not None:
        raise ValueError("names: an audit has its own; leave them out")
    known = [label for label in labels if getattr(label, attribute) is not None]
    return [getattr(label, attribute) for label in known], [label.name for label in known]


def _lowest_first(values: Any, names: Any, n_labels: int, ax: Axes | None) -> Axes:
    numbers = Intervals.read(values, "source")
    shown_names = names_of(names, len(numbers.value), "labels")
    order = np.argsort(numbers.value, kind="stable")
    order = order[np.isfinite(numbers.value[order])]
    if not order.size:
        raise ValueError("no label has an estimate: there is nothing to show")
    shown = order[:n_labels]
    ax = new_axes(ax, (6.4, 0.26 * shown.size + 1.0))
    draw_intervals(ax, [shown_names[k] for k in shown], numbers.take(shown))
    ax.set_xlim(0, 1)
    if shown.size < order.size:
        ax.set_title(f"the {shown.size:,} lowest of {order.size:,} labels", fontsize=10)
    return ax


def _learning_points(curve: Any, values: Any, name: str) -> tuple[np.ndarray, Intervals]:
    points = getattr(curve, "learning_curve", curve)
    if not len(points):
        raise ValueError("there is no learning curve: an audit needs at least 100 items for one")
    if hasattr(points[0], "average_precision"):
        sizes = np.array([point.n_labels for point in points])
        return sizes, Intervals.read([point.average_precision for point in points], "points")
    if values is None:
        if len(points) != 2:
            raise ValueError(f"values is missing{f' for {name!r}' if name else ''}: give both")
        points, values = points
    sizes, numbers = np.asarray(points, dtype=float), Intervals.read(values, "values")
    if sizes.shape != numbers.value.shape:
        raise ValueError(f"{sizes.size} amounts and {numbers.value.size} values: give one each")
    return sizes, numbers


def _bins_of_audit(source: Any) -> tuple[np.ndarray, Intervals, np.ndarray]:
    bins = getattr(source, "calibration", source)
    if not len(bins):
        raise ValueError("there is no calibration to show: nothing was held out")
    if not hasattr(bins[0], "observed"):
        raise ValueError("y_proba is missing: true labels need their probabilities")
    observed = Intervals.read([one.observed for one in bins], "bins")
    return np.array([one.predicted for one in bins]), observed, np.array([one.n for one in bins])


def _bins_of_arrays(
    y_true: Any, y_proba: Any, n_bins: int
) -> tuple[np.ndarray, Intervals, np.ndarray]:
    probabilities = np.asarray(y_proba, dtype=float)
    labels = as_labels(y_true, n_samples=len(probabilities))
    if labels.shape != probabilities.shape:
        raise ValueError(f"the labels are {labels.shape} and y_proba is {probabilities.shape}")
    states = labels.states()
    known = states != State.UNKNOWN
    if not known.any():
        raise ValueError("no label is known: there is nothing to compare the probabilities with")
    p, hit = probabilities[known], states[known] == State.RELEVANT
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("y_proba must lie between 0 and 1: give probabilities, not scores")
    place = np.minimum((p * n_bins).astype(int), n_bins - 1)
    n = np.bincount(place, minlength=n_bins)
    there = n > 0
    hits = np.bincount(place, hit, n_bins)[there]
    predicted = np.bincount(place, p, n_bins)[there] / n[there]
    low, high = wilson_interval(hits, n[there])
    return predicted, Intervals(hits / n[there], low, high), n[there]
