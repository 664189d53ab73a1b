"""Figures of the GMFS page, drawn by ``figures.py``. Fields that they need, one row per run:

- missing: ``method``, ``missing``, ``average_precision``, ``hamming_loss``
- priors: ``method``, ``sizes``, ``average_precision_by_size``
- neighbours: ``params`` with ``k``, ``average_precision``
- factors: ``params`` with ``n_factors``, ``average_precision``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import pyplot

Rows = list[dict[str, Any]]
Points = dict[str, list[tuple[float, float]]]
_LOOKS = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", "-", "v"),
    ("#56B4E9", "--", "P"),
    ("#000000", "-.", "x"),
    ("#8C6D31", ":", "*"),
)
_PRECISION = "average precision, test rows"


def draw_missing(rows: Rows) -> Any:
    """Average precision and Hamming loss against the share of hidden positives."""
    figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    panels = {"average_precision": _PRECISION, "hamming_loss": "Hamming loss, test rows"}
    for ax, (measure, words) in zip(axes, panels.items(), strict=True):
        points: Points = {}
        for row in rows:
            points.setdefault(row["method"], []).append((100 * row["missing"], row[measure]))
        _curves(ax, points)
        ax.set_xlabel("% of training positives hidden")
        ax.set_ylabel(words)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
    return figure


def draw_priors(rows: Rows) -> Any:
    """Average precision against the number of features kept, for two priors."""
    points: Points = {}
    for row in rows:
        values = zip(row["sizes"], row["average_precision_by_size"], strict=True)
        points.setdefault(row["method"], []).extend(values)
    return _one_panel(points, "features kept")


def draw_neighbours(rows: Rows) -> Any:
    """Average precision against the number of neighbours that tell observability."""
    points = [(row["params"]["k"], row["average_precision"]) for row in rows]
    return _one_panel({"GMFS": points}, "neighbours k")


def draw_factors(rows: Rows) -> Any:
    """Average precision against the number of factors."""
    points = [(row["params"]["n_factors"], row["average_precision"]) for row in rows]
    return _one_panel({"GMFS": points}, "factors c")


def _one_panel(points: Points, title: str) -> Any:
    figure, ax = pyplot.subplots(figsize=(5.4, 3.6), layout="constrained")
    _curves(ax, points)
    ax.set_xlabel(title)
    ax.set_ylabel(_PRECISION)
    if len(points) > 1:
        ax.legend(frameon=False, loc="lower right")
    return figure


def _curves(ax: Any, points: Points) -> None:
    """Means over runs at each place, with the standard error of the mean as bars."""
    looks = _LOOKS[: len(points)]
    for (name, pairs), (colour, line, mark) in zip(points.items(), looks, strict=True):
        places = sorted({place for place, _ in pairs})
        groups = [[value for at, value in pairs if at == place] for place in places]
        errors = [np.std(g, ddof=1) / np.sqrt(len(g)) if len(g) > 1 else 0.0 for g in groups]
        look = {"color": colour, "linestyle": line, "marker": mark, "markersize": 3.5}
        means = [np.mean(group) for group in groups]
        ax.errorbar(places, means, errors, capsize=2, elinewidth=0.8, label=name, **look)


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "gmfs_missing": draw_missing,
    "gmfs_priors": draw_priors,
    "gmfs_neighbours": draw_neighbours,
    "gmfs_factors": draw_factors,
}
