"""Figures of the RMFL page, drawn by ``figures.py``. Fields that they need:

- sensitivity: ``varied``, ``value``, ``average_precision``; one row per run
- convergence: ``dataset``, ``start``, ``iterations``, ``change``, ``objective``
- correlation: ``labels``, ``correlation``; one row
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import pyplot

from labelgap.plots import plot_label_correlation

Rows = list[dict[str, Any]]
_BLUE, _ORANGE = "#0072B2", "#D55E00"
_WORDS = {
    "lambda_1": r"$\lambda_1$, neighbours",
    "lambda_2": r"$\lambda_2$, label manifold",
    "lambda_3": r"$\lambda_3$, regression",
    "lambda_4": r"$\lambda_4$, its ridge",
    "ridge_v": "ridge of V",
    "n_factors": "factors $k$",
    "n_neighbors": "neighbours $K$",
}
_COUNTS = ("n_factors", "n_neighbors")


def draw_sensitivity(rows: Rows) -> Any:
    """One panel per setting: mean and range over the runs, on one scale."""
    names = [name for name in _WORDS if any(row["varied"] == name for row in rows)]
    n_rows = -(-len(names) // 4)
    figure, axes = pyplot.subplots(
        n_rows, 4, figsize=(9.6, 2.5 * n_rows), sharey=True, layout="constrained", squeeze=False
    )
    for ax, name in zip(axes.flat, names, strict=False):
        found: dict[float, list[float]] = {}
        for row in rows:
            if row["varied"] == name:
                found.setdefault(row["value"], []).append(row["average_precision"])
        places = sorted(found)
        low, mean, high = ([of(found[p]) for p in places] for of in (min, np.mean, max))
        ax.fill_between(places, low, high, color=_BLUE, alpha=0.2, linewidth=0)
        ax.plot(places, mean, color=_BLUE, marker="o", markersize=3)
        if name not in _COUNTS:
            ax.set_xscale("log")
        ax.set_xlabel(_WORDS[name])
    for ax in axes.flat[len(names) :]:
        ax.remove()
    for ax in axes[:, 0]:
        ax.set_ylabel("average precision")
    return figure


def draw_convergence(rows: Rows) -> Any:
    """Change of the product per iteration; one panel per set, one curve per start."""
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(4.2 * len(names), 3.4), layout="constrained", squeeze=False
    )
    looks = {"labels": (_BLUE, "-", "o"), "random": (_ORANGE, "--", "s")}
    for ax, name in zip(axes.flat, names, strict=True):
        for start, (colour, line, mark) in looks.items():
            curve = sorted(
                (row["iterations"], row["change"])
                for row in rows
                if row["dataset"] == name and row["start"] == start
            )
            if curve:
                ax.plot(
                    *zip(*curve, strict=True),
                    color=colour,
                    linestyle=line,
                    marker=mark,
                    markersize=3,
                    label=f"start from {start}" if start == "labels" else "random start",
                )
        ax.set_yscale("log")
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("iteration")
        ax.set_ylabel("relative change of $UV^T$")
    axes[0, 0].legend(frameon=False)
    return figure


def draw_correlation(rows: Rows) -> Any:
    """The learned correlation of the labels."""
    return plot_label_correlation(np.array(rows[0]["correlation"]), rows[0]["labels"]).figure


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "rmfl_sensitivity": draw_sensitivity,
    "rmfl_convergence": draw_convergence,
    "rmfl_correlation": draw_correlation,
}
