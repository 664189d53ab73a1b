"""Labels one by one: how completely they are recorded, how well predicted, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labelgap.labels import Labels
from labelgap.plots._look import (
    COLOURS,
    LINE,
    SOFT,
    Intervals,
    at_least_one,
    draw_intervals,
    names_of,
    new_axes,
    only_left_and_bottom,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_label_quality", "plot_recording", "plot_suggestions"]

_QUALITIES = {"average_precision": "average precision", "auc": "area under the ROC curve"}
_STATES = {"zero": "recorded as zero", "unknown": "unknown"}


def plot_recording(
    source: Any,
    names: Any = None,
    *,
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """How completely each label is recorded, the least recorded first, with intervals.

    Parameters
    ----------
    source : Audit, sequence of LabelAudit, Labels, or array
        Of an audit: the estimated share of a label's relevant entries that is recorded; labels too
        rare for an estimate are left out. Of :class:`labelgap.Labels`: the share of rows in which
        the label is known. An array holds one number per label, or value, lower and upper end.
    names : sequence of length n_labels, optional
        Only for arrays; positions by default.
    n_labels : int
        Labels to show, those with the smallest shares.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_labels=n_labels)
    if isinstance(source, Labels):
        values = source.n_observed(axis=0, ambiguous=True) / max(source.n_rows, 1)
        what = "share of the rows in which the label is known"
        names = source.names if names is None else names
    else:
        values, names = _of_labels(source, "recorded", names)
        what = "estimated share of the relevant entries that is recorded"
    ax = _intervals(values, names, n_labels, ax)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(_percent)
    ax.set_xlabel(what)
    return ax


def plot_label_quality(
    source: Any,
    names: Sequence[Any] | None = None,
    *,
    metric: Literal["average_precision", "auc"] = "average_precision",
    n_labels: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """How well each label is predicted, the worst first, with intervals.

    Parameters
    ----------
    source : Audit, sequence of LabelAudit, or array
        An array holds one number per label, or value, lower and upper end.
    names : sequence of length n_labels, optional
        Only for arrays; positions by default.
    metric : {"average_precision", "auc"}
        Which of the two that an audit measures; for arrays what they hold.
    n_labels : int
        Labels to show, those with the smallest values.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_labels=n_labels)
    if metric not in _QUALITIES:
        raise ValueError(f"metric={metric!r}: use 'average_precision' or 'auc'")
    values, names = _of_labels(source, metric, names)
    ax = _intervals(values, names, n_labels, ax)
    ax.set_xlim(0, 1)
    ax.set_xlabel(_QUALITIES[metric])
    if metric == "auc":
        ax.axvline(0.5, color=SOFT, linestyle=":", linewidth=1.2)
    return ax


def plot_suggestions(source: Any, n_suggestions: int = 20, ax: Axes | None = None) -> Axes:
    """The most likely missing labels with their chances, the likeliest first.

    Parameters
    ----------
    source : Audit, or sequence of Suggestion
    n_suggestions : int
        How many to show.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_suggestions=n_suggestions)
    every = list(getattr(source, "suggestions", source))
    if not every:
        raise ValueError("nothing is suggested: there is nothing to show")
    shown = every[:n_suggestions]
    ax = new_axes(ax, (7.0, 0.28 * len(shown) + 1.1))
    for number, (state, words) in enumerate(_STATES.items()):
        places = [place for place, one in enumerate(shown) if one.state == state]
        if not places:
            continue
        ax.barh(
            places,
            [shown[place].probability for place in places],
            height=0.72,
            color=COLOURS[5 if number == 0 else 4],
            hatch="" if number == 0 else "///",
            edgecolor="white",
            label=words,
        )
    for place, one in enumerate(shown):
        inside = one.probability > 0.15
        ax.text(
            one.probability + (-0.01 if inside else 0.01),
            place,
            f"{one.probability:.0%}",
            ha="right" if inside else "left",
            va="center",
            fontsize=8,
        )
    ax.set_yticks(range(len(shown)), [f"{short(one.label)}  {short(one.item)}" for one in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(_percent)
    ax.set_xlabel(f"chance that the label is missing ({len(shown):,} of {len(every):,})")
    ax.grid(axis="x", color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    if len({one.state for one in shown}) > 1:
        ax.legend(frameon=False, loc="lower right")
    only_left_and_bottom(ax)
    return ax


def _of_labels(source: Any, attribute: str, names: Any) -> tuple[Any, Any]:
    """Estimates of an audit's labels with their names, or arrays as they are."""
    labels = getattr(source, "labels", source)
    if not len(labels) or not hasattr(labels[0], "too_rare"):
        return labels, names
    if names is not None:
        raise ValueError("names: an audit has its own; leave them out")
    known = [one for one in labels if getattr(one, attribute) is not None]
    return [getattr(one, attribute) for one in known], [one.name for one in known]


def _intervals(values: Any, names: Any, n_labels: int, ax: Axes | None) -> Axes:
    numbers = Intervals.read(values, "source")
    shown_names = names_of(names, len(numbers.value), "labels")
    order = np.argsort(numbers.value, kind="stable")
    order = order[np.isfinite(numbers.value[order])]
    if not order.size:
        raise ValueError("no label has an estimate: there is nothing to show")
    shown = order[:n_labels]
    ax = new_axes(ax, (6.4, 0.26 * shown.size + 1.0))
    draw_intervals(ax, [shown_names[k] for k in shown], numbers.take(shown))
    if shown.size < order.size:
        ax.set_title(f"the {shown.size:,} lowest of {order.size:,} labels", fontsize=10)
    return ax


def _percent(value: float, _: Any = None) -> str:
    return f"{100 * value:.0f}%"
