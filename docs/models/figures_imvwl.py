"""Figures of the iMVWL page, drawn by ``figures.py``. Fields that they need:

- curves: ``method``, ``labels``, ``views`` (shares that are missing), ``ap``, ``auc``; one row per
  run
- sensitivity: ``alpha``, ``beta``, ``ap``, ``auc``
- convergence: ``method``, ``objective`` (by iteration)
- correlation: ``labels``, ``correlation``; one row
- scaling: ``varied``, ``value``, ``seconds_per_iteration``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import pyplot

from labelgap.plots import plot_label_correlation

Rows = list[dict[str, Any]]
_LOOKS = (
    ("#0072B2", ":", "o"),
    ("#0072B2", "--", "s"),
    ("#0072B2", "-", "^"),
    ("#D55E00", "-.", "D"),
    ("#009E73", "-", "v"),
)


def draw_curves(rows: Rows) -> Any:
    """Average precision and AUC against what is missing; the other share stays at one half."""
    figure, axes = pyplot.subplots(2, 2, figsize=(8.4, 6.4), layout="constrained", sharey="row")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    names = {"ap": "average precision", "auc": "AUC"}
    for line, (measure, words) in zip(axes, names.items(), strict=True):
        for ax, (varied, other) in zip(
            line, (("labels", "views"), ("views", "labels")), strict=True
        ):
            for method, look in zip(methods, _LOOKS, strict=False):
                points: dict[float, list[float]] = {}
                for row in rows:
                    if row["method"] == method and row[other] == 0.5:
                        points.setdefault(row[varied], []).append(row[measure])
                places = sorted(points)
                means = [np.mean(points[place]) for place in places]
                colour, style, mark = look
                ax.plot(
                    100 * np.array(places), means, style, color=colour, marker=mark, label=method
                )
            ax.set_xlabel(f"% of {'labels' if varied == 'labels' else 'rows of each view'} missing")
        line[0].set_ylabel(f"{words}, test rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def draw_sensitivity(rows: Rows) -> Any:
    """Average precision and AUC for pairs of alpha and beta."""
    figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
    names = {"ap": "average precision", "auc": "AUC"}
    for ax, (measure, words) in zip(axes, names.items(), strict=True):
        _draw_pairs(ax, rows, measure)
        ax.set_title(f"{words}, test rows", fontsize=10)
    axes[0].set_ylabel("beta")
    return figure


def _draw_pairs(ax: Any, rows: Rows, measure: str) -> None:
    alphas, betas = (sorted({row[name] for row in rows}) for name in ("alpha", "beta"))
    table = np.full((len(betas), len(alphas)), np.nan)
    for row in rows:
        table[betas.index(row["beta"]), alphas.index(row["alpha"])] = row[measure]
    ax.imshow(table, origin="lower", cmap="viridis", aspect="auto")
    middle = (np.nanmin(table) + np.nanmax(table)) / 2
    for (y, x), value in np.ndenumerate(table):
        colour = "white" if value < middle else "black"
        words = "" if np.isnan(value) else f"{value:.3f}"
        ax.text(x, y, words, ha="center", va="center", color=colour, fontsize=8)
    ax.set_xticks(range(len(alphas)), [f"{value:g}" for value in alphas])
    ax.set_yticks(range(len(betas)), [f"{value:g}" for value in betas])
    ax.set_xlabel("alpha")


def draw_convergence(rows: Rows) -> Any:
    """How far the objective is above its last value, as a share of that, by iteration."""
    figure, ax = pyplot.subplots(figsize=(6.0, 3.6), layout="constrained")
    for row, (colour, style, _) in zip(rows, _LOOKS[1:], strict=False):
        values = np.array(row["objective"])
        height = (values - values[-1]) / values[-1]
        steps = np.arange(1, values.size + 1)
        ax.plot(steps[:-1], height[:-1], style, color=colour, label=row["method"])
    ax.set_yscale("log")
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective above its last value, relative")
    ax.legend(frameon=False)
    return figure


def draw_correlation(rows: Rows) -> Any:
    """Which labels share directions, in the last row."""
    return plot_label_correlation(np.array(rows[-1]["correlation"]), rows[-1]["labels"]).figure


def draw_scaling(rows: Rows) -> Any:
    """Seconds per iteration against rows, columns and factors."""
    titles = {"n_rows": "rows", "n_features": "columns of all views", "n_factors": "factors k"}
    figure, axes = pyplot.subplots(1, 3, figsize=(8.8, 3.2), layout="constrained")
    for ax, (varied, title) in zip(axes, titles.items(), strict=True):
        points = sorted(
            (row["value"], row["seconds_per_iteration"]) for row in rows if row["varied"] == varied
        )
        places, seconds = np.array(points, dtype=float).T
        slope, start = np.polyfit(places, seconds, 1)
        ends = np.array([0.0, places.max()])
        ax.plot(ends, start + slope * ends, "--", color="0.4")
        ax.plot(places, seconds, "o", color=_LOOKS[0][0])
        rest = seconds - (start + slope * places)
        explained = 1 - rest @ rest / np.square(seconds - seconds.mean()).sum()
        ax.set_title(f"$R^2$ = {explained:.3f}", fontsize=10)
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(title)
    axes[0].set_ylabel("seconds per iteration")
    return figure


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "imvwl_curves": draw_curves,
    "imvwl_sensitivity": draw_sensitivity,
    "imvwl_convergence": draw_convergence,
    "imvwl_correlation": draw_correlation,
    "imvwl_scaling": draw_scaling,
}
