"""Methods by their mean ranks, and which of them are not told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelgap.plots.svg import COLOURS, INK, SOFT, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_critical_difference"]


def plot_critical_difference(ranking: Any, main: str | None = None, ax: Axes | None = None) -> Axes:
    """Show mean ranks on a line; bars connect methods that Nemenyi's test does not tell apart.

    Parameters
    ----------
    ranking : MethodRanking
        From :func:`rank_methods`.
    main : str, optional, default=None
        The method to stress.
    ax : matplotlib axes, optional, default=None
        A new figure by default. Names stand to the left and right of the line, outside of the axes:
        leave room for them.

    Returns
    -------
    matplotlib axes

    References
    ----------
    .. [1] Demšar (2006). Statistical comparisons of classifiers over multiple data sets. Journal
       of Machine Learning Research 7, 1-30.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from labelgap_papers.bench import plot_critical_difference
    >>> ranking = SimpleNamespace(
    ...     methods=["Mend", "BMLPL", "RMFL"],
    ...     mean_ranks=[1.2, 2.3, 2.5],
    ...     critical_difference=0.8,
    ...     cliques=lambda: [["BMLPL", "RMFL"]],
    ... )
    >>> ax = plot_critical_difference(ranking, "Mend")
    >>> [text.get_text() for text in ax.texts if "Mend" in text.get_text()]
    ['Mend  1.20']
    """
    methods, ranks, cliques = ranking.methods, ranking.mean_ranks, ranking.cliques()
    if main is not None and main not in methods:
        raise ValueError(f"main={main!r}: the methods are {', '.join(methods)}")
    if ax is None:
        width, height, side = _size(ranking)
        ax = new_figure((width, height), layout=None).subplots()
        ax.figure.subplots_adjust(left=side, right=1 - side, top=0.98, bottom=0.02)
    half = (len(methods) + 1) // 2
    deep = 0.9 + 0.26 * len(cliques)
    low, high = 1, len(methods)
    apart = 0.02 * (high - low)
    ax.set(xlim=(low, high), ylim=(deep + 0.42 * half, -1.25))
    ax.axis("off")
    ax.plot([low, high], [0, 0], color=INK, linewidth=1.2)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.16], color=INK, linewidth=1.2)
        ax.text(tick, -0.27, str(tick), ha="center", va="bottom", fontsize=9.5, color=SOFT)
    _draw_difference(ax, ranking.critical_difference, low, high)
    for place, (method, rank) in enumerate(zip(methods, ranks, strict=True)):
        left = place < half
        y = deep + 0.42 * (place if left else len(methods) - 1 - place)
        end = low - apart if left else high + apart
        colour = COLOURS[0] if method == main else INK
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
        ax.plot(ends, [y, y], color=COLOURS[1], linewidth=4, solid_capstyle="round")
    return ax


def _size(ranking: Any) -> tuple[float, float, float]:
    """Width and height in inches, and the fraction of the width that names need on either side."""
    margin = 0.55 + 0.082 * max(map(len, ranking.methods))
    width = 4.6 + 2 * margin
    half = (len(ranking.methods) + 1) // 2
    return width, 0.9 + 0.21 * len(ranking.cliques()) + 0.29 * half, margin / width


def _draw_difference(ax: Axes, difference: float, low: float, high: float) -> None:
    width = min(difference, high - low)
    ax.plot([low, low + width], [-1, -1], color=SOFT, linewidth=1.4, marker="|", markersize=7)
    label = f"critical difference {difference:.2f}"
    x = low + width + 0.02 * high
    ax.text(x, -1, label, va="center", fontsize=9.5, color=SOFT)
