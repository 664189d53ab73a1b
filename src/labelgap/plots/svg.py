"""Drawings as SVG: on a page they take the colours of the page, as files they keep their own.

The colours of :mod:`labelgap.plots` are known by name. A page defines them as CSS variables
(``--ink``, ``--soft``, ``--line``, ``--paper``, ``--series-1`` to ``--series-7``), once for light
and once for dark, and a drawing inside it follows. Inline drawings have neither styles nor
references to anything outside, so that a strict content security policy lets them through.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from labelgap.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "INK",
    "LINE",
    "MARKS",
    "PAPER",
    "SOFT",
    "STYLES",
    "drawing",
    "inline_svg",
    "new_figure",
    "raw_svg",
    "svg_file",
]

# Okabe and Ito's colours, the pale ones darkened so that they can be read on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5548c", "#c28000", "#3d8fc4", "#7a5c3e")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
INK, SOFT, LINE, PAPER = "#1b1f24", "#59636e", "#d0d7de", "#ffffff"

_VARIABLES = {INK: "ink", SOFT: "soft", LINE: "line", PAPER: "paper"} | {
    colour: f"series-{number}" for number, colour in enumerate(COLOURS, 1)
}
_RC = {
    "font.size": 11,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.titlesize": 11,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
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
# settings of matplotlib belong to the process: one drawing at a time
_ONE_AT_A_TIME = threading.RLock()
_HERE = threading.local()


@contextmanager
def drawing() -> Iterator[None]:
    """Set matplotlib up for drawings that go to :func:`raw_svg`.

    Inside, plots draw on figures that need no display; the settings and the open figures of the
    caller stay as they are.

    See Also
    --------
    raw_svg : The drawing as text.

    Examples
    --------
    >>> from labelgap.plots import plot_trace
    >>> from labelgap.plots.svg import drawing, inline_svg, raw_svg
    >>> with drawing():
    ...     raw = raw_svg(plot_trace([3.0, 2.0, 1.5]).figure)
    >>> inline_svg(raw, "trace", "Objective", "From 3 to 1.5.")[:47]
    '<svg class="drawing" viewBox="0 0 432 252" widt'
    """
    matplotlib = require("matplotlib", extra="report", purpose="drawings on pages")
    with _ONE_AT_A_TIME, matplotlib.rc_context(_RC):
        _HERE.drawing = True
        try:
            yield
        finally:
            _HERE.drawing = False


def new_figure(size: tuple[float, float], layout: str | None = "constrained") -> Figure:
    """Return a new figure: within :func:`drawing` one of no display, else one of pyplot.

    Parameters
    ----------
    size : tuple of float
        Width and height in inches.
    layout : str, default="constrained"
        The layout engine of matplotlib.
    """
    if getattr(_HERE, "drawing", False):
        figures = require("matplotlib.figure", extra="report", purpose="drawings on pages")
        return figures.Figure(figsize=size, layout=layout)
    pyplot = require("matplotlib.pyplot", extra="report", purpose="labelgap.plots")
    return pyplot.figure(figsize=size, layout=layout)


def raw_svg(figure: Any) -> str:
    """Return a figure as SVG, the same text for the same drawing."""
    file = io.StringIO()
    with warnings.catch_warnings():
        # letters that the font lacks are drawn by what shows the text; long names leave little room
        for said in ("Glyph .* missing from", "constrained_layout not applied"):
            warnings.filterwarnings("ignore", said, UserWarning)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def inline_svg(
    raw: str,
    name: str,
    title: str,
    description: str,
    tips: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a drawing for the inside of a page, in the colours of the page.

    Parameters
    ----------
    raw : str
        From :func:`raw_svg`.
    name : str
        Keeps the identifiers of one drawing apart from those of others on the page.
    title, description : str
        What the drawing is, and what it shows, for those who cannot see it.
    tips : mapping from group to sequence of str, optional, default=None
        What the shapes of a group say when they are pointed at, in the order in which they were
        drawn; "" for nothing. Groups are those that plots name with ``set_gid``.

    Returns
    -------
    str
        An ``<svg>`` element without styles and scripts.

    See Also
    --------
    svg_file : A drawing in a file of its own.
    """
    body = raw[raw.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*<defs>\s*</defs>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r' style="([^"]*)"', _as_attributes, body)
    for group, words in (tips or {}).items():
        body = _with_tips(body, group, words)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    body = re.sub(r"\n\s*", "\n", body.replace("xlink:href", "href"))
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body)
    assert view is not None, "matplotlib writes a viewBox"
    head = (
        f'<svg class="drawing" {view[0]} width="{float(view[1]):.0f}" '
        f'height="{float(view[2]):.0f}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    return head + body[body.index(">") + 1 :].strip()


def svg_file(raw: str, title: str) -> str:
    """Return what :func:`raw_svg` gave as the content of a file, with a title."""
    end = raw.index(">", raw.index("<svg")) + 1
    return f"{raw[:end]}\n <title>{escape(title)}</title>{raw[end:]}"


def _as_attributes(style: re.Match[str]) -> str:
    """Declarations as attributes of their own, colours by the names of the page."""
    attributes = []
    for declaration in filter(None, map(str.strip, style[1].split(";"))):
        key, value = (part.strip() for part in declaration.split(":", 1))
        if key == "font":
            size = re.search(r"([\d.]+)px", value)
            attributes.append(f'font-size="{size[1] if size else 11}"')
            if value.startswith(("bold", "600", "700")):
                attributes.append('font-weight="700"')
        else:
            variable = _VARIABLES.get(value)
            attributes.append(f'{key}="{f"var(--{variable})" if variable else value}"')
    return "".join(f" {one}" for one in attributes)


def _with_tips(body: str, group: str, words: Sequence[str]) -> str:
    """A title in every shape of a group."""
    start = body.index(f'<g id="{group}">')
    end = _end_of_group(body, start)
    inside = re.sub(
        r"<defs>.*?</defs>",
        lambda found: found[0].replace("<path", "<PATH"),
        body[start:end],
        flags=re.DOTALL,
    )
    left = iter(words)
    inside = re.sub(r"<(use|path)\b([^>]*)/>", lambda found: _with_title(found, next(left)), inside)
    return body[:start] + inside.replace("<PATH", "<path") + body[end:]


def _with_title(shape: re.Match[str], words: str) -> str:
    if not words:
        return shape[0]
    return f"<{shape[1]}{shape[2]}><title>{escape(words)}</title></{shape[1]}>"


def _end_of_group(body: str, start: int) -> int:
    depth = 0
    for tag in re.finditer(r"<g\b|</g>", body[start:]):
        depth += 1 if tag[0] == "<g" else -1
        if not depth:
            return start + tag.end()
    raise ValueError("a group is not closed")
