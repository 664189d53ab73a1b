"""What all plots share: new axes, short names, and numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labelgap.extras import require
from labelgap.plots.svg import COLOURS, LINE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 24


class Intervals(NamedTuple):
    """Numbers and the ends of their intervals, NaN where there is none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def read(cls, given: Any, argument: str) -> Intervals:
        """From estimates with ``value``, ``low`` and ``high``, or an array (n,) or (n, 3)."""
        lines = [
            (one.value, one.low, one.high) if hasattr(one, "low") else one for one in list(given)
        ]
        if any(one is None for one in lines):
            lines = [(np.nan,) * 3 if one is None else one for one in lines]
        numbers = np.asarray(lines, dtype=float)
        if numbers.ndim == 1:
            nothing = np.full(numbers.shape, np.nan)
            return cls(numbers, nothing, nothing)
        if numbers.ndim != 2 or numbers.shape[1] != 3:
            raise ValueError(
                f"{argument} has the shape {numbers.shape}: give one number each, or value, lower "
                "and upper end of each"
            )
        return cls(*numbers.T)

    def take(self, places: np.ndarray) -> Intervals:
        return Intervals(*(part[places] for part in self))

    @property
    def wide(self) -> bool:
        """Whether any of them has an interval."""
        return bool(np.isfinite(self.low).any() and (self.high != self.low).any())


def new_axes(
    ax: Axes | None, size: tuple[float, float], layout: str | None = "constrained"
) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    return new_figure(size, layout).subplots()


def short(name: Any) -> str:
    """A name that leaves room for the picture, and in which a dollar is a dollar."""
    text = "".join(one for one in str(name) if one.isprintable())
    text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$")


def at_least_one(**numbers: int) -> None:
    """Refuse to show nothing."""
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name}={number}: show at least one")


def names_of(given: Any, number: int, what: str) -> list[str]:
    """Names as text; positions where there are none."""
    names = [str(one) for one in (range(number) if given is None else given)]
    if len(names) != number:
        raise ValueError(f"{len(names)} names for {number} {what}")
    return names


def percent(value: float, _: Any = None) -> str:
    return f"{100 * value:.0f}%"


def open_frame(ax: Axes, grid: str | None = None) -> None:
    """Lines on the left and below only, and a pale grid behind what is drawn."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, color=LINE, linewidth=0.6)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def name_rows(ax: Axes, names: Sequence[Any]) -> None:
    """A name per row, the first one at the top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    open_frame(ax, "x")


def draw_intervals(ax: Axes, names: Sequence[str], numbers: Intervals) -> None:
    """A row per name: a dot, and its interval as a bar."""
    places = np.arange(len(names))
    if numbers.wide:
        ax.hlines(places, numbers.low, numbers.high, color=COLOURS[0], linewidth=2.5, alpha=0.45)
    ax.plot(
        numbers.value,
        places,
        color=COLOURS[0],
        linestyle="none",
        marker="o",
        markersize=6,
        clip_on=False,
        zorder=3,
    )
    name_rows(ax, names)


def draw_matrix(ax: Axes, values: np.ndarray, names: Sequence[Any], limit: float, gid: str) -> Any:
    """A coloured table of labels by labels, orange below zero and blue above, named on two sides.

    Colours fade to nothing towards zero, so that the table suits any ground.
    """
    n = len(names)
    edges = np.arange(n + 1) - 0.5
    mesh = ax.pcolormesh(edges, edges, values, cmap=_orange_blue(), vmin=-limit, vmax=limit)
    mesh.set_gid(gid)
    labels = [short(name) for name in names]
    ax.set_xticks(range(n), labels, rotation=90, fontsize=9)
    ax.set_yticks(range(n), labels, fontsize=9)
    ax.set(aspect="equal", xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return mesh


def _orange_blue() -> Any:
    colors = require("matplotlib.colors", extra="report", purpose="labelgap.plots")
    orange, blue = (colors.to_rgb(COLOURS[k]) for k in (1, 0))
    stops = [(0.0, (*orange, 1)), (0.5, (*orange, 0)), (0.5, (*blue, 0)), (1.0, (*blue, 1))]
    # fewer than 50 steps: of more, colour bars are pictures of pixels
    made = colors.LinearSegmentedColormap.from_list("orange_blue", stops, N=47)
    return made.with_extremes(bad=LINE)
