"""Drawings as SVG: inside a page they take its colours, as files they have their own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from labelgap._extras import require

# Drawn in colours that stand for names; a page puts its variables in their place.
INK, SOFT, LINE, PAPER = "#010101", "#020202", "#030303", "#040404"
SERIES = ("#050501", "#050502", "#050503", "#050504", "#050505", "#050506", "#050507")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))

# Okabe and Ito's colours, the yellow replaced by a brown that can be read on white
_ON_WHITE = {
    INK: "#1b1f24",
    SOFT: "#59636e",
    LINE: "#d0d7de",
    PAPER: "#ffffff",
    SERIES[0]: "#0072b2",
    SERIES[1]: "#d55e00",
    SERIES[2]: "#009e73",
    SERIES[3]: "#b5548c",
    SERIES[4]: "#c28000",
    SERIES[5]: "#3d8fc4",
    SERIES[6]: "#7a5c3e",
}
_VARIABLES = {INK: "ink", SOFT: "soft", LINE: "line", PAPER: "paper"} | {
    colour: f"series-{number}" for number, colour in enumerate(SERIES, 1)
}
_LOOK = {
    "font.size": 11,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.titlesize": 11,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "labelgap",
}


@contextmanager
def drawing() -> Iterator[Any]:
    """Matplotlib's pyplot, set up for `as_inline_svg`; figures are closed at the end."""
    matplotlib = require("matplotlib", extra="report", purpose="pictures of the ledger")
    with matplotlib.rc_context():
        matplotlib.use("Agg", force=False)
        pyplot = require("matplotlib.pyplot", extra="report", purpose="pictures of the ledger")
        matplotlib.rcParams.update(_LOOK)
        before = set(pyplot.get_fignums())
        try:
            yield pyplot
        finally:
            for number in set(pyplot.get_fignums()) - before:
                pyplot.close(number)


def raw_svg(figure: Any) -> str:
    """The drawing, in colours that stand for names; the same for the same drawing."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def as_inline_svg(raw: str, name: str, title: str, description: str) -> str:
    """A drawing for the inside of a page, where ``name`` keeps its identifiers apart."""
    body = raw[raw.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    body = body.replace("xlink:href", "href")
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    view = re.search(r'viewBox="0 0 ([\d.]+) [\d.]+"', body)
    width = float(view[1]) if view else 600.0
    # wide drawings are scrolled on a phone rather than shrunk until nobody can read them
    least = min(width, max(420.0, 0.85 * width))
    head = (
        f'<svg class="drawing" viewBox="{view[0][9:-1] if view else ""}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" '
        f'style="max-width:{1.25 * width:.0f}px;min-width:{least:.0f}px">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    return head + body[body.index(">") + 1 :].strip()


def as_svg_file(raw: str, title: str) -> str:
    """A drawing with its own colours, to be read on white."""
    for colour, own in _ON_WHITE.items():
        raw = raw.replace(colour, own)
    start = raw.index("<svg")
    end = raw.index(">", start) + 1
    return f"{raw[start:end]}\n <title>{escape(title)}</title>{raw[end:]}"
