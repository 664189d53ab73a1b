"""Charts of the audit page as inline SVG: histogram, learning curve, calibration, convergence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from labelgap.audit import CalibrationBin, Estimate, ItemAudit, LearningPoint, Trace

WIDTH, HEIGHT = 440, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 12, 42
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Frame:
    """Axes that turn values into places on the picture, and collect what is drawn."""

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        *,
        name: str,
        title: str,
        words: str,
    ) -> None:
        self._x, self._y = x_range, y_range
        self.parts = [
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="{name}-title {name}-words">'
            f'<title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-words">{escape(words)}</desc>'
        ]

    def x(self, value: float) -> float:
        low, high = self._x
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low or 1), 1)

    def y(self, value: float) -> float:
        low, high = self._y
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low), 1)

    def axes(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        x_name: str,
        y_name: str,
    ) -> None:
        for value, text in y_ticks:
            y = self.y(value)
            self.parts.append(
                f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
                f'<text class="tick" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>'
            )
        for value, text in x_ticks:
            self.parts.append(
                f'<text class="tick" x="{self.x(value)}" y="{HEIGHT - _BOTTOM + 19}" '
                f'text-anchor="middle">{text}</text>'
            )
        middle = (WIDTH + _LEFT - _RIGHT) / 2
        across = (HEIGHT + _TOP - _BOTTOM) / 2
        self.parts.append(
            f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">'
            f"{escape(x_name)}</text>"
            f'<text class="axis" transform="translate(12 {across}) rotate(-90)" '
            f'text-anchor="middle">{escape(y_name)}</text>'
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        places = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{places}"/>')

    def band(self, points: Sequence[tuple[float, float, float]]) -> None:
        there = [f"{self.x(x)},{self.y(high)}" for x, _, high in points]
        back = [f"{self.x(x)},{self.y(low)}" for x, low, _ in reversed(points)]
        self.parts.append(f'<polygon class="band" points="{" ".join(there + back)}"/>')

    def dot(self, x: float, estimate: Estimate, words: str) -> None:
        """A point with its interval, which says its numbers when pointed at."""
        at = self.x(x)
        self.parts.append(
            f"<g><title>{escape(words)}</title>"
            f'<line class="interval" x1="{at}" x2="{at}" y1="{self.y(estimate.low)}" '
            f'y2="{self.y(estimate.high)}"/>'
            f'<circle class="dot" cx="{at}" cy="{self.y(estimate.value)}" r="4.5"/></g>'
        )

    def box(self, x: tuple[float, float], value: float, words: str) -> None:
        left, right, top = self.x(x[0]), self.x(x[1]), self.y(value)
        self.parts.append(
            f'<rect class="box" x="{left + 1}" y="{top}" width="{max(right - left - 2, 1):.1f}" '
            f'height="{max(self.y(self._y[0]) - top, 0):.1f}"><title>{escape(words)}</title></rect>'
        )

    def done(self) -> str:
        return "".join([*self.parts, "</svg>"])


def learning_svg(points: Sequence[LearningPoint]) -> str:
    """Quality against the number of labels that were learned from."""
    low, high, y_ticks = _round_axis([point.average_precision for point in points])
    there = [
        (p.amount, p.average_precision, f"{learned_from(p)}: {said(p.average_precision)}")
        for p in points
    ]
    words = "; ".join(text for _, _, text in there)
    last = points[-1].amount
    frame = Frame((0, last), (low, high), name="learning", title="Learning curve", words=words)
    x_ticks = [(at, f"{at:,}") for at in _apart([at for at, _, _ in there])]
    unit = "items" if points[-1].n_labels is None else "labels"
    frame.axes(x_ticks, y_ticks, f"{unit} learned from", "average precision")
    frame.band([(at, one.low, one.high) for at, one, _ in there])
    frame.line([(at, one.value) for at, one, _ in there], "curve")
    for at, one, text in there:
        frame.dot(at, one, text)
    return frame.done()


def learned_from(point: LearningPoint) -> str:
    """What a point was learned from, in words."""
    items = f"{point.n_items:,} items"
    return items if point.n_labels is None else f"{point.n_labels:,} labels of {items}"


def _round_axis(
    estimates: Sequence[Estimate],
) -> tuple[float, float, list[tuple[float, str]]]:
    """Ends and ticks of an axis between 0 and 1 that holds the intervals, at round numbers."""
    least, most = min(one.low for one in estimates), max(one.high for one in estimates)
    step = next(one for one in (0.02, 0.05, 0.1, 0.25) if most - least <= 4 * one or one == 0.25)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    last = max(last, first + 2)
    if last * step > 1:
        first, last = min(first, round(1 / step) - 2), round(1 / step)
    ticks = [(k * step, f"{k * step:.2f}") for k in range(first, last + 1)]
    return first * step, last * step, ticks


def calibration_svg(bins: Sequence[CalibrationBin]) -> str:
    """What was predicted against what is recorded; on the diagonal the chances are right."""
    described = [
        f"predicted {one.predicted:.2f}, recorded {said(one.observed)}, {one.n:,} entries"
        for one in bins
    ]
    frame = Frame(
        (0, 1), (0, 1), name="calibration", title="Calibration", words="; ".join(described)
    )
    ticks = [(t, f"{t:g}") for t in _TICKS]
    frame.axes(ticks, ticks, "predicted chance", "share recorded")
    frame.line([(0, 0), (1, 1)], "diagonal")
    for one, words in zip(bins, described, strict=True):
        frame.dot(one.predicted, one.observed, words)
    return frame.done()


def items_svg(items: ItemAudit) -> str:
    """How many items have which share of their relevant labels recorded."""
    edges, counts = items.edges, items.counts
    described = [
        f"{low:.0%} to {high:.0%} recorded: {n:,} items"
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    top = max(1, *counts)
    frame = Frame(
        (edges[0], edges[-1]),
        (0, 1.05 * top),
        name="items",
        title="How completely items are labelled",
        words="; ".join(described),
    )
    y_ticks = [(t * top, f"{t * top:,.0f}") for t in ((0.0, 0.5, 1.0) if top > 1 else (0.0, 1.0))]
    x_ticks = [(edges[0] + t * (edges[-1] - edges[0]), f"{t:.0%}") for t in _TICKS]
    frame.axes(x_ticks, y_ticks, "share of an item's labels that is recorded", "items")
    for k, (n, words) in enumerate(zip(counts, described, strict=True)):
        frame.box((edges[k], edges[k + 1]), n, words)
    return frame.done()


def trace_svg(trace: Trace, number: int) -> str:
    """An objective over the iterations."""
    values = trace.values
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    frame = Frame(
        (1, max(2, len(values))),
        (low, high),
        name=f"trace-{number}",
        title=f"{trace.model}: {trace.name}",
        words=f"From {values[0]:.5g} to {values[-1]:.5g} in {len(values)} iterations.",
    )
    y_ticks = [(low + t * (high - low), _short(low + t * (high - low))) for t in (0.0, 0.5, 1.0)]
    last = max(2, len(values))
    frame.axes([(1, "1"), (last, f"{last}")], y_ticks, "iteration", trace.name)
    frame.line(list(enumerate(values, start=1)), "curve")
    return frame.done()


def said(estimate: Estimate) -> str:
    """The number and its interval in words."""
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _apart(places: Sequence[int]) -> list[int]:
    """Those whose numbers can stand below the axis without touching, the last one first."""
    kept: list[int] = []
    for place in reversed(places):
        if not kept or kept[-1] - place >= 0.15 * places[-1]:
            kept.append(place)
    return kept


def _short(value: float) -> str:
    """Three figures, thousands as k and so on, to fit beside an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
