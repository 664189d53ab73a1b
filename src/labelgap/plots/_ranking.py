"""Methods by their mean ranks, and which of them are not told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from labelgap.plots._look import COLOURS, INK, SOFT, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Inks", "draw_ranking", "plot_critical_difference", "ranking_size"]


class Inks(NamedTuple):
    """Colours by what they are for."""

    ink: str = INK
    soft: str = SOFT
    main: str = COLOURS[0]
    group: str = COLOURS[1]


def plot_critical_difference(ranking: Any, main: str | None = None, ax: Axes | None = None) -> Axes:
    """Mean ranks on a line; bars connect methods that Nemenyi's test does not tell apart.

    Parameters
    ----------
    ranking : Ranking
        Of :func:`labelgap.bench.rank_methods`.
    main : str, optional
        The method to stress.
    ax : matplotlib axes, optional
        Names stand to the left and right of the line, outside of the axes: leave room for them.

    Returns
    -------
    matplotlib axes

    References
    ----------
    .. [1] Demšar (2006). Statistical comparisons of classifiers over multiple data sets. Journal
       of Machine Learning Research 7, 1-30.
    """
    if main is not None and main not in ranking.methods:
        raise ValueError(f"main={main!r}: the methods are {', '.join(ranking.methods)}")
    width, height, side = ranking_size(ranking)
    if ax is None:
        ax = new_axes(None, (width, height), layout=None)
        ax.figure.subplots_adjust(left=side, right=1 - side, top=0.98, bottom=0.02)
    draw_ranking(ax, ranking, main, Inks())
    return ax


def ranking_size(ranking: Any) -> tuple[float, float, float]:
    """Width and height in inches, and the share of the width that names need on either side."""
    margin = 0.55 + 0.082 * max(map(len, ranking.methods))
    width = 4.6 + 2 * margin
    half = (len(ranking.methods) + 1) // 2
    return width, 0.9 + 0.21 * len(ranking.cliques()) + 0.29 * half, margin / width


def draw_ranking(ax: Axes, ranking: Any, main: str | None, inks: Inks) -> None:
    """The picture on axes that leave room for the names."""
    methods, ranks, cliques = ranking.methods, ranking.mean_ranks, ranking.cliques()
    half = (len(methods) + 1) // 2
    deep = 0.9 + 0.26 * len(cliques)
    low, high = 1, len(methods)
    apart = 0.02 * (high - low)
    ax.set(xlim=(low, high), ylim=(deep + 0.42 * half, -1.25))
    ax.axis("off")
    ax.plot([low, high], [0, 0], color=inks.ink, linewidth=1.2)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.16], color=inks.ink, linewidth=1.2)
        ax.text(tick, -0.27, str(tick), ha="center", va="bottom", fontsize=9.5, color=inks.soft)
    _difference_bar(ax, ranking, low, inks)
    for place, (method, rank) in enumerate(zip(methods, ranks, strict=True)):
        left = place < half
        y = deep + 0.42 * (place if left else len(methods) - 1 - place)
        end = low - apart if left else high + apart
        colour = inks.main if method == main else inks.ink
        ax.plot([rank, rank, end], [0, y, y], color=colour, linewidth=1.1, clip_on=False)
        ax.text(
            end + (-apart / 2 if left else apart / 2),
            y,
            f"{method}  {rank:.2f}" if left else f"{rank:.2f}  {method}",
            ha="right" if left else "left",
            va="center",
            color=colour,
            fontweight="bold" if method == main else "normal",
        )
    for depth, clique in enumerate(cliques):
        first, last = (ranks[methods.index(clique[end])] for end in (0, -1))
        ends = [first - apart / 2, last + apart / 2]
        y = 0.32 + 0.26 * depth
        ax.plot(ends, [y, y], color=inks.group, linewidth=4, solid_capstyle="round")


def _difference_bar(ax: Axes, ranking: Any, low: float, inks: Inks) -> None:
    width = min(ranking.critical_difference, len(ranking.methods) - 1)
    ax.plot([low, low + width], [-1, -1], color=inks.soft, linewidth=1.4, marker="|", markersize=7)
    label = f"critical difference {ranking.critical_difference:.2f}"
    ax.text(
        low + width + 0.02 * len(ranking.methods),
        -1,
        label,
        va="center",
        fontsize=9.5,
        color=inks.soft,
    )
