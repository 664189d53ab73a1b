"""What all pictures share: colours, new axes, short names, and numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labelgap._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "INK", "SOFT", "STYLES", "Intervals", "at_least_one", "new_axes", "short"]

# Okabe and Ito's colours: told apart with any colour vision, and in grey by marks and line styles
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P")
INK, SOFT, LINE = "#1b1f24", "#59636e", "#d0d7de"
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
        return bool(np.isfinite(self.low).any())


def new_axes(
    ax: Axes | None, size: tuple[float, float], layout: str | None = "constrained"
) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="report", purpose="labelgap.plots")
    return pyplot.subplots(figsize=size, layout=layout)[1]


def short(name: Any) -> str:
    """A name that leaves room for the picture."""
    text = str(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


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


def only_left_and_bottom(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def draw_intervals(
    ax: Axes, names: Sequence[str], numbers: Intervals, *, colour: str = COLOURS[0]
) -> None:
    """A line per name, from the top: a dot, and its interval as a bar."""
    places = np.arange(len(names))
    if numbers.wide:
        ax.hlines(places, numbers.low, numbers.high, color=colour, linewidth=2.5, alpha=0.45)
    dots: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markersize": 6,
        "clip_on": False,
        "zorder": 3,
    }
    ax.plot(numbers.value, places, color=colour, **dots)
    ax.set_yticks(places, [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    only_left_and_bottom(ax)


def draw_curve(
    ax: Axes,
    x: Any,
    numbers: Intervals,
    *,
    colour: str,
    style: Any = "-",
    mark: str | None = "o",
    label: str | None = None,
) -> None:
    """A line with marks, and a band between the ends of the intervals."""
    ax.plot(x, numbers.value, color=colour, linestyle=style, marker=mark, markersize=4, label=label)
    if numbers.wide and (numbers.high != numbers.low).any():
        ax.fill_between(x, numbers.low, numbers.high, color=colour, alpha=0.15, linewidth=0)
