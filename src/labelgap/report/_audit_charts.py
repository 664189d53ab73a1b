"""The plots of the audit page, as inline SVG that says its numbers when pointed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from labelgap.auditing import Audit
from labelgap.plots import (
    plot_calibration,
    plot_cooccurrence,
    plot_item_completeness,
    plot_learning_curve,
    plot_trace,
)
from labelgap.plots.svg import drawing, inline_svg, new_figure, raw_svg
from labelgap.report._audit_words import (
    calibration_words,
    item_words,
    learning_words,
    map_summary,
    map_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE, _SQUARE = (5.4, 3.3), (4.8, 4.3)


def items_chart(audit: Audit) -> str:
    """How many items have which fraction of their labels recorded; "" without any."""
    if not any(audit.items.counts):
        return ""
    words = item_words(audit)
    tips = {f"items-{number}": [text] for number, text in enumerate(words)}
    plot = partial(plot_item_completeness, audit)
    return _chart(plot, "items", "How completely items are labelled", words, tips)


def learning_chart(audit: Audit) -> str:
    """Quality against the number of labels that were learned from; "" without a curve."""
    if not audit.learning_curve:
        return ""
    words = learning_words(audit)
    plot = partial(plot_learning_curve, audit)
    return _chart(plot, "learning", "Learning curve", words, {"curve-0": ["", *words]})


def calibration_chart(audit: Audit) -> str:
    """Predicted probabilities against what is recorded; "" when nothing was held out."""
    if not audit.calibration:
        return ""
    words = calibration_words(audit)
    plot = partial(plot_calibration, audit)
    return _chart(plot, "calibration", "Calibration", words, {"bins": words}, _SQUARE)


def cooccurrence_chart(audit: Audit) -> str:
    """How often labels come together; "" with fewer than two labels."""
    if len(audit.pairs.map.labels) < 2:
        return ""
    with drawing():
        raw = raw_svg(plot_cooccurrence(audit).figure)
    title = "How often labels come together"
    return inline_svg(raw, "map", title, map_summary(audit), {"pairs": map_words(audit)})


def trace_chart(trace: Any, number: int) -> str:
    """An objective over the iterations."""
    values = trace.values
    words = f"From {values[0]:.5g} to {values[-1]:.5g} in {len(values)} iterations."
    plot = partial(plot_trace, trace)
    return _chart(plot, f"trace-{number}", f"{trace.model}: {trace.name}", [words])


def _chart(
    plot: Callable[..., Axes],
    name: str,
    title: str,
    words: Sequence[str],
    tips: Mapping[str, Sequence[str]] | None = None,
    size: tuple[float, float] = _SIZE,
) -> str:
    with drawing():
        figure = new_figure(size)
        # the page has headings of its own
        plot(ax=figure.subplots()).set_title("")
        raw = raw_svg(figure)
    return inline_svg(raw, name, title, "; ".join(words), tips)
