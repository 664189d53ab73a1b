"""Formulas as MathML, which browsers show by themselves: no script, no network to read a page."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_logger = logging.getLogger(__name__)


def _markup(node: nodes.Element, *, as_block: bool) -> str:
    source = node.astext()
    try:
        return tex2mathml(source, as_block=as_block)
    except MathError as error:
        _logger.warning("formula %r: %s", source, error, location=node)
        return ""


def visit_inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_markup(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math-block"))
    translator.body.append(_markup(node, as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
