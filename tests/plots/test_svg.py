"""Drawings on pages take the colours of the page, need no styles, and say what they show."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from labelgap.plots import plot_label_completeness, plot_label_correlation, plot_trace  # noqa: E402
from labelgap.plots.svg import drawing, inline_svg, raw_svg, svg_file  # noqa: E402


def _raw(plot, *arguments) -> str:
    with drawing():
        return raw_svg(plot(*arguments).figure)


@pytest.mark.parametrize(
    ("plot", "source"),
    [
        (plot_trace, [3.0, 2.0, 1.0]),
        (plot_label_completeness, [[0.5, 0.4, 0.6], [0.9, 0.8, 1.0]]),
        (plot_label_correlation, np.eye(3)),
    ],
)
def test_inline_drawings_have_the_colours_of_the_page_and_no_styles(plot, source):
    picture = inline_svg(_raw(plot, source), "p", "A <title>", "Some words")
    assert "style" not in picture
    assert "<image" not in picture
    assert not re.search("#[0-9a-f]{6}", picture)
    assert {"var(--series-1)", "var(--ink)", "var(--soft)"} <= set(
        re.findall(r"var\([^)]*\)", picture)
    )
    tree = ElementTree.fromstring(picture)
    assert [tree[0].text, tree[1].text] == ["A <title>", "Some words"]
    ids = re.findall(r' id="([^"]+)"', picture)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', picture)) <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", picture)) <= set(ids)
    assert not re.search(r"url\([^#]|href=\"[^#]", picture)


def test_shapes_say_what_they_are_when_pointed_at():
    words = [f"pair <{k}>" for k in range(9)]
    raw = _raw(plot_label_correlation, np.eye(3))
    tree = ElementTree.fromstring(inline_svg(raw, "p", "", "", {"correlations": words}))
    said = [one.text for one in tree.iter("title")][1:]
    assert said == words


def test_the_same_drawing_is_the_same_text():
    first = _raw(plot_trace, [3.0, 2.0, 1.0])
    assert _raw(plot_trace, [3.0, 2.0, 1.0]) == first
    assert "<title>Objective</title>" in svg_file(first, "Objective")


def test_drawings_leave_the_figures_and_settings_of_the_caller_alone():
    pyplot.close("all")
    before = dict(matplotlib.rcParams)
    _raw(plot_trace, [1.0])
    assert pyplot.get_fignums() == []
    assert dict(matplotlib.rcParams) == before
    plot_trace([1.0])
    assert len(pyplot.get_fignums()) == 1
    pyplot.close("all")
