"""Curves: quality against the amount of labels, chances against shares, objectives over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelgap.kernels.surest import wilson
from labelgap.labels import State, as_labels
from labelgap.plots._look import (
    COLOURS,
    LINE,
    MARKS,
    SOFT,
    STYLES,
    Intervals,
    at_least_one,
    draw_curve,
    new_axes,
    only_left_and_bottom,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_calibration", "plot_learning_curve", "plot_trace"]


def plot_learning_curve(
    source: Any,
    values: Any = None,
    *,
    xlabel: str | None = None,
    ylabel: str = "average precision",
    ax: Axes | None = None,
) -> Axes:
    """Quality against the amount of labels, with a band for the intervals.

    Parameters
    ----------
    source : Audit, sequence of LearningPoint, sequence of numbers, or mapping of these
        Numbers are amounts, and go with `values`. A mapping has a curve per name: an audit, points,
        or a pair of amounts and values.
    values : array of shape (n,) or (n, 3), optional
        Quality at each amount; with its interval, value, lower and upper end.
    xlabel : str, optional
        "labels learned from", or items where an audit of an earlier version counted those.
    ylabel : str
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    named = isinstance(source, Mapping)
    curves = dict(source) if isinstance(source, Mapping) else {"": source}
    if not curves:
        raise ValueError("there is no curve: give at least one")
    ax = new_axes(ax, (6.0, 3.6))
    for number, (name, curve) in enumerate(curves.items()):
        x, numbers = _learning_points(curve, values, name)
        draw_curve(
            ax,
            x,
            numbers,
            colour=COLOURS[number % len(COLOURS)],
            style=STYLES[number % len(STYLES)],
            mark=MARKS[number % len(MARKS)],
            label=str(name) if named else None,
        )
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set(xlabel=xlabel or f"{_unit(curves.values())} learned from", ylabel=ylabel)
    ax.grid(color=LINE, linewidth=0.6)
    if named:
        ax.legend(frameon=False)
    only_left_and_bottom(ax)
    return ax


def _unit(curves: Iterable[Any]) -> str:
    points = [one for curve in curves for one in getattr(curve, "learning_curve", curve)]
    return "items" if any(getattr(one, "n_labels", 0) is None for one in points) else "labels"


def _learning_points(curve: Any, values: Any, name: str) -> tuple[np.ndarray, Intervals]:
    points = getattr(curve, "learning_curve", curve)
    if not len(points):
        raise ValueError("there is no learning curve: an audit needs at least 100 items for one")
    if hasattr(points[0], "average_precision"):
        sizes = np.array([one.amount for one in points])
        return sizes, Intervals.read([one.average_precision for one in points], "points")
    if values is None:
        if len(points) != 2:
            raise ValueError(f"values is missing{f' for {name!r}' if name else ''}: give both")
        points, values = points
    sizes, numbers = np.asarray(points, dtype=float), Intervals.read(values, "values")
    if sizes.shape != numbers.value.shape:
        raise ValueError(f"{sizes.size} amounts and {numbers.value.size} values: give one each")
    return sizes, numbers


def plot_calibration(
    source: Any, y_proba: Any = None, *, n_bins: int = 10, ax: Axes | None = None
) -> Axes:
    """Predicted chances against what is recorded; on the diagonal the chances are right.

    The size of a dot tells how many entries it stands for, on a scale of logarithms; bars are 95%
    intervals (Wilson).

    Parameters
    ----------
    source : Audit, sequence of CalibrationBin, or true labels
        Labels are whatever :func:`labelgap.as_labels` takes; unknown entries are left out and
        ambiguous zeros count as zeros.
    y_proba : array of shape (n_rows, n_labels), optional
        Probabilities that belong to true labels.
    n_bins : int
        Bins of equal width, for labels and probabilities.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    at_least_one(n_bins=n_bins)
    if y_proba is None:
        predicted, observed, n = _bins_of_audit(source)
    else:
        predicted, observed, n = _bins_of_arrays(source, y_proba, n_bins)
    ax = new_axes(ax, (4.4, 4.2))
    ax.plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1, label="right chances")
    ax.vlines(predicted, observed.low, observed.high, color=COLOURS[0], linewidth=2, alpha=0.5)
    sizes = 14 + 16 * np.log10(np.maximum(n, 1))
    ax.scatter(predicted, observed.value, s=sizes, color=COLOURS[0], zorder=3)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="predicted chance", ylabel="share recorded")
    ax.grid(color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    only_left_and_bottom(ax)
    return ax


def _bins_of_audit(source: Any) -> tuple[np.ndarray, Intervals, np.ndarray]:
    bins = getattr(source, "calibration", source)
    if not len(bins):
        raise ValueError("there is no calibration to show: nothing was held out")
    if not hasattr(bins[0], "observed"):
        raise ValueError("y_proba is missing: true labels need their probabilities")
    predicted = np.array([one.predicted for one in bins])
    return (
        predicted,
        Intervals.read([one.observed for one in bins], "bins"),
        np.array([one.n for one in bins]),
    )


def _bins_of_arrays(
    y_true: Any, y_proba: Any, n_bins: int
) -> tuple[np.ndarray, Intervals, np.ndarray]:
    chances = np.asarray(y_proba, dtype=float)
    labels = as_labels(y_true, n_rows=len(chances))
    if labels.shape != chances.shape:
        raise ValueError(f"the labels are {labels.shape} and y_proba is {chances.shape}")
    states = labels.states()
    known = states != State.UNKNOWN
    if not known.any():
        raise ValueError("no label is known: there is nothing to compare the chances with")
    p, hit = chances[known], states[known] == State.RELEVANT
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("y_proba must lie between 0 and 1: give probabilities, not scores")
    place = np.minimum((p * n_bins).astype(int), n_bins - 1)
    n = np.bincount(place, minlength=n_bins)
    there = n > 0
    hits = np.bincount(place, hit, n_bins)[there]
    predicted = np.bincount(place, p, n_bins)[there] / n[there]
    low, high = wilson(hits, n[there])
    return predicted, Intervals(hits / n[there], low, high), n[there]


def plot_trace(source: Any, ax: Axes | None = None) -> Axes:
    """The objective of every iteration, or the log posterior of every sweep of every chain.

    Parameters
    ----------
    source : fitted estimator with ``trace_``, Audit or its Trace, or sequence of numbers
        With posterior samples (``samples_``), all chains are drawn and burn-in is shaded.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    if hasattr(source, "fit"):
        check_is_fitted(source, "trace_")
        samples = getattr(source, "samples_", None)
        if samples is not None:
            return _plot_chains(samples, ax)
        trace = source.trace_
        title = f"{trace.outcome} after {trace.n_iter} iterations"
        return _plot_objective(trace.objective, "objective", title, ax)
    if hasattr(source, "convergence"):
        if not source.convergence:
            raise ValueError("nothing of the audit was iterated: ask for topics, with n_topics=8")
        source = source.convergence[0]
    if hasattr(source, "converged"):
        ended = "converged" if source.converged else "not converged"
        title = f"{source.model}: {ended} after {len(source.values)} iterations"
        return _plot_objective(source.values, source.name, title, ax)
    return _plot_objective(source, "objective", "", ax)


def _plot_objective(values: Sequence[float], name: str, title: str, ax: Axes | None) -> Axes:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError("an objective is a sequence of numbers, one per iteration")
    ax = new_axes(ax, (6.0, 3.5))
    ax.plot(np.arange(1, numbers.size + 1), numbers, color=COLOURS[0])
    ax.set(xlabel="iteration", ylabel=name)
    ax.set_title(title, fontsize=10)
    only_left_and_bottom(ax)
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
    only_left_and_bottom(ax)
    return ax
