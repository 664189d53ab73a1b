"""Pictures of the reproduction results: critical differences, curves, time and memory against size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from labelgap.extras import require
from labelgap.plots.svg import COLOURS, INK, LINE, MARKS, SOFT, STYLES, drawing, new_figure, raw_svg
from labelgap_papers.bench.critical_difference import plot_critical_difference
from labelgap_papers.bench.statistics import Ranking

Curve = Mapping[Any, tuple[float, float, float]]
"""Mean, least and largest value at each place of the horizontal axis."""


@dataclass(frozen=True)
class Picture:
    """A drawing and what it shows, in words.

    name : str. For files and identifiers.
    title, description : str
    draw : callable. Makes the drawing; see :mod:`labelgap.plots.svg`.
    """

    name: str
    title: str
    description: str
    draw: Callable[[], str] = field(compare=False, repr=False)

    @cached_property
    def raw(self) -> str:
        """The drawing, made when it is first asked for."""
        return self.draw()


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a curve for each method."""

    title: str
    x_label: str
    y_label: str
    curves: Mapping[str, Curve]


def critical_difference_picture(name: str, title: str, ranking: Ranking, main: str) -> Picture:
    """Mean ranks on a line; bars connect methods that Nemenyi's test does not tell apart.

    name, title : str
    ranking : Ranking
    main : str. The method to stress.
    Returns Picture
    """
    methods, ranks = ranking.methods, ranking.mean_ranks
    cliques = ranking.cliques()
    order = ", ".join(f"{m} {r:.2f}" for m, r in zip(methods, ranks, strict=True))
    groups = "; ".join(" and ".join(clique) for clique in cliques) or "none"
    words = (
        f"Mean ranks over {ranking.n_blocks} blocks: {order}. Critical difference "
        f"{ranking.critical_difference:.2f}. Not told apart: {groups}."
    )
    return Picture(name, title, words, lambda: _draw_ranking(ranking, main))


def _draw_ranking(ranking: Ranking, main: str) -> str:
    with drawing():
        return raw_svg(plot_critical_difference(ranking, main).figure)


def curves_picture(name: str, title: str, panels: Sequence[Panel]) -> Picture:
    """Curves side by side, methods in the same colours everywhere, a band from least to largest.

    name, title : str
    panels : sequence of Panel
    Returns Picture
    """
    return Picture(name, title, _curves_in_words(panels), lambda: _draw_panels(panels))


def _draw_panels(panels: Sequence[Panel]) -> str:
    methods = list(dict.fromkeys(method for panel in panels for method in panel.curves))
    styles = {method: number for number, method in enumerate(methods)}
    n_columns = 2 if len(panels) == 4 else min(3, len(panels))
    n_lines = math.ceil(len(panels) / n_columns)
    size = (3.1 * n_columns + 0.6 if n_columns > 1 else 5.2, 2.6 * n_lines + 0.5)
    with drawing():
        figure = new_figure(size)
        axes = figure.subplots(n_lines, n_columns, squeeze=False)
        for ax, panel in zip(axes.flat, panels, strict=False):
            for method, curve in panel.curves.items():
                _draw_curve(ax, curve, styles[method], method)
            ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
            ax.grid(visible=True)
            _set_scale(ax, [x for curve in panel.curves.values() for x in curve])
        for ax in list(axes.flat)[len(panels) :]:
            ax.axis("off")
        if len(methods) > 1:
            _legend(figure, axes, n_columns)
        return raw_svg(figure)


def _draw_curve(ax: Any, curve: Curve, style: int, method: str) -> None:
    numeric = _numeric(curve)
    places = sorted(curve) if numeric else list(curve)
    means, lows, highs = zip(*(curve[place] for place in places), strict=True)
    colour = COLOURS[style % len(COLOURS)]
    ax.plot(
        places if numeric else [str(place) for place in places],
        means,
        color=colour,
        linestyle=STYLES[style // len(COLOURS) % len(STYLES)],
        marker=_mark(style) if len(places) <= 25 else None,
        markersize=4,
        label=method,
    )
    # there is nothing between places that have no order
    if numeric and lows != highs:
        ax.fill_between(places, lows, highs, color=colour, alpha=0.15, linewidth=0)


def _mark(style: int) -> str:
    """When colours begin anew, marks do not begin with them."""
    return MARKS[(style + 3 * (style // len(COLOURS))) % len(MARKS)]


def _set_scale(ax: Any, places: Sequence[Any]) -> None:
    if not places or not _numeric(places):
        return
    positive = [x for x in places if x > 0]
    if len(positive) == len(places) and max(positive) / min(positive) >= 50:
        ax.set_xscale("log")
    elif positive and min(places) == 0 and max(positive) / min(positive) >= 50:
        ax.set_xscale("symlog", linthresh=min(positive))
    ax.minorticks_off()


def _legend(figure: Any, axes: Any, n_columns: int) -> None:
    found: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside upper center",
        ncols=min(len(found), 2 * n_columns if n_columns > 1 else 2),
        frameon=False,
        labelcolor=INK,
        fontsize=10,
    )


def _numeric(places: Any) -> bool:
    return all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in places)


def _curves_in_words(panels: Sequence[Panel]) -> str:
    parts = []
    for panel in panels:
        for method, curve in panel.curves.items():
            places = list(curve)
            first, last = places[0], places[-1]
            where = f"{panel.title}, {panel.y_label}" if panel.title else panel.y_label
            parts.append(
                f"{where}, {method}: {curve[first][0]:.4g} at {panel.x_label} {_short(first)}, "
                f"{curve[last][0]:.4g} at {_short(last)}"
            )
    return "; ".join(parts) + "."


def _short(place: Any) -> str:
    return f"{place:.4g}" if isinstance(place, float) else str(place)


def cost_picture(
    name: str, title: str, y_label: str, points: Mapping[str, Mapping[str, tuple[int, float]]]
) -> Picture:
    """A cost of each method against the number of rows of each set, on logarithmic axes.

    name, title, y_label : str
    points : mapping from method to mapping from set to (rows, cost)
    Returns Picture
    """
    words = "; ".join(
        f"{method}: " + ", ".join(f"{s} {c:.3g}" for s, (_, c) in sorted(places.items()))
        for method, places in points.items()
    )
    return Picture(name, title, words + ".", lambda: _draw_costs(y_label, points))


def _draw_costs(y_label: str, points: Mapping[str, Mapping[str, tuple[int, float]]]) -> str:
    with drawing():
        figure = new_figure((7.2, 4.2))
        ax = figure.subplots()
        ax.grid(visible=True)
        for style, (method, places) in enumerate(points.items()):
            ordered = sorted(places.values())
            ax.plot(
                [rows for rows, _ in ordered],
                [cost for _, cost in ordered],
                color=COLOURS[style % len(COLOURS)],
                marker=_mark(style),
                linestyle=STYLES[style // len(COLOURS) % len(STYLES)],
                linewidth=0.9,
                markersize=5,
                label=method,
            )
        ax.set(xscale="log", yscale="log", xlabel="rows of the set", ylabel=y_label)
        _name_sets(ax, points)
        _few_ticks(ax)
        figure.legend(loc="outside right upper", frameon=False, fontsize=10, labelcolor=INK)
        return raw_svg(figure)


def _few_ticks(ax: Any) -> None:
    """Plain numbers, at powers of ten and, on short axes, at some numbers between."""
    ticker = require(
        "matplotlib.ticker", extra="report", purpose="pictures of the reproduction results"
    )
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        decades = math.log10(high / low)
        steps = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 4 else (1.0,)
        axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=20))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.minorticks_off()


def _name_sets(ax: Any, points: Mapping[str, Mapping[str, tuple[int, float]]]) -> None:
    """Names of sets at the top, at their numbers of rows."""
    rows = {name: n for places in points.values() for name, (n, _) in places.items()}
    last = 0.0
    for name, n in sorted(rows.items(), key=lambda item: item[1]):
        ax.axvline(n, color=LINE, linewidth=0.6, zorder=0)
        if n > 1.18 * last:
            ax.annotate(
                name,
                (n, 1.01),
                xycoords=("data", "axes fraction"),
                rotation=40,
                fontsize=8.5,
                color=SOFT,
                ha="left",
                va="bottom",
            )
            last = n
