"""Draw the figures of the model pages from the measured rows in ``benchmarks/results``.

    python docs/models/figures.py

A figure without rows is not drawn, and the page says so. Fields that a figure needs:

- inference: ``method``, ``iterations``, ``seconds``, ``auc_instance``; one row per moment
- scaling: ``n_positives``, ``seconds_per_iteration``
- topics: ``topic``, ``share``, ``labels``, ``weights``; one row per topic
- reliability: ``predicted``, ``observed``, ``n``; one row per bin, with ``method`` where several
- shares: ``method``, ``share_seen``, ``precision_at_1``, ``precision_at_3``; one row per draw
- iterations: ``method``, ``iterations``, ``precision_at_1``, ``unseen_at_1``

Every file carries the checksum of its rows; ``tests/docs/test_results.py`` compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot

sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
sys.path.insert(0, str(Path(__file__).parent))
from figures_gmfs import DRAWN as GMFS_FIGURES
from figures_imvwl import DRAWN as IMVWL_FIGURES
from figures_mend import DRAWN as MEND_FIGURES
from figures_rmfl import DRAWN as RMFL_FIGURES
from measured_rows import checksum, read_rows

from labelgap.plots import plot_topics

FIGURES = Path(__file__).parent / "figures"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKS = ("o", "s", "^", "D")
_STYLES = ("-", "--", "-.", ":")
_LOOK = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "labelgap",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}
Rows = list[dict[str, Any]]


def draw_inference(rows: Rows) -> Any:
    """AUC against time, one curve per way of inference."""
    figure, ax = _figure()
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for position, method in enumerate(methods):
        points = sorted(
            (row["iterations"], row["seconds"], row["auc_instance"])
            for row in rows
            if row["method"] == method
        )
        curve = [point[1:] for point in points]
        look = position % len(_COLOURS)
        ax.plot(
            *zip(*curve, strict=True),
            color=_COLOURS[look],
            linestyle=_STYLES[look],
            marker=_MARKS[look],
            markersize=3.5,
            label=method,
        )
    ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("AUC per instance, test rows")
    ax.legend(frameon=False, loc="lower right")
    return figure


def draw_scaling(rows: Rows) -> Any:
    """Seconds per iteration against positives, with the fitted line."""
    figure, ax = _figure()
    positives = np.array([row["n_positives"] for row in rows], dtype=float)
    seconds = np.array([row["seconds_per_iteration"] for row in rows], dtype=float)
    slope, start = np.polyfit(positives, seconds, 1)
    residual = seconds - (slope * positives + start)
    explained = 1 - residual @ residual / np.square(seconds - seconds.mean()).sum()
    ends = np.array([0, positives.max()])
    ax.plot(ends / 1000, slope * ends + start, color="0.4", linestyle="--", zorder=1)
    ax.plot(positives / 1000, seconds, linestyle="none", marker="o", color=_COLOURS[0])
    ax.set_title(
        f"{1e6 * slope:.2f} µs per positive + {start:.3f} s, $R^2$ = {explained:.4f}", fontsize=10
    )
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("thousand positives")
    ax.set_ylabel("seconds per iteration")
    return figure


def draw_topics(rows: Rows) -> Any:
    """Topics as a picture, in the order of the rows."""
    topics = [
        SimpleNamespace(
            number=row["topic"], share=row["share"], labels=row["labels"], weights=row["weights"]
        )
        for row in rows
    ]
    return plot_topics(SimpleNamespace(topics_=topics), n_topics=5, n_labels=6).figure


def draw_reliability(rows: Rows) -> Any:
    """Observed against predicted frequency, on logarithmic axes; marks grow with the bins."""
    figure, ax = _figure((4.6, 4.2))
    methods = list(dict.fromkeys(row.get("method", "") for row in rows))
    for position, method in enumerate(methods):
        bins = [
            r
            for r in rows
            if r.get("method", "") == method and min(r["predicted"], r["observed"]) > 0
        ]
        look = position % len(_COLOURS)
        predicted, observed = ([row[name] for row in bins] for name in ("predicted", "observed"))
        ax.plot(predicted, observed, color=_COLOURS[look], linestyle=_STYLES[look], linewidth=1)
        size = 8 + 8 * np.log10(np.maximum([row["n"] for row in bins], 1))
        ax.scatter(
            predicted, observed, s=size, color=_COLOURS[look], marker=_MARKS[look], label=method
        )
    least = min(min(row["predicted"], row["observed"]) for row in rows if row["observed"] > 0)
    ax.plot([max(least, 1e-6), 1], [max(least, 1e-6), 1], color="0.4", linestyle=":", zorder=0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed share of positives")
    if any(methods):
        ax.legend(frameon=False)
    return figure


def draw_shares(rows: Rows) -> Any:
    """Precision against the share of seen labels: means over draws, two panels."""
    panels = {"precision_at_1": "P@1, all labels", "precision_at_3": "P@3, all labels"}
    return _curves(rows, "share_seen", "share of labels that are seen", panels)


def draw_iterations(rows: Rows) -> Any:
    """Precision against EM iterations, over all labels and over unseen ones."""
    panels = {"precision_at_1": "P@1, all labels", "unseen_at_1": "P@1, unseen labels"}
    figure = _curves(rows, "iterations", "EM iterations", panels)
    for ax in figure.axes:
        ax.set_xscale("log")
    return figure


def _curves(rows: Rows, across: str, title: str, panels: dict[str, str]) -> Any:
    """One panel per measure, one curve per method: means of the rows at each place."""
    figure, axes = pyplot.subplots(1, len(panels), figsize=(8.4, 3.6), layout="constrained")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    places = sorted({row[across] for row in rows})
    for ax, (measure, words) in zip(axes, panels.items(), strict=True):
        for look, method in enumerate(methods):
            found = {p: [] for p in places}
            for row in rows:
                if row["method"] == method:
                    found[row[across]].append(row[measure])
            held = [place for place in places if found[place]]
            ax.plot(
                held,
                [np.mean(found[place]) for place in held],
                color=_COLOURS[look],
                linestyle=_STYLES[look],
                marker=_MARKS[look],
                markersize=3.5,
                label=method,
            )
        ax.set_xlabel(title)
        ax.set_ylabel(words)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "bmlpl_inference": draw_inference,
    "bmlpl_scaling": draw_scaling,
    "bmlpl_topics": draw_topics,
    "bmlpl_reliability": draw_reliability,
    "mllcs_shares": draw_shares,
    "mllcs_iterations": draw_iterations,
    **GMFS_FIGURES,
    **IMVWL_FIGURES,
    **MEND_FIGURES,
    **RMFL_FIGURES,
}


def rows_of(name: str) -> Rows:
    """The rows behind a figure: those of one model and one experiment."""
    model, _, experiment = name.partition("_")
    return read_rows(f"{model}_", experiment=experiment)


def _figure(size: tuple[float, float] = (6.0, 3.6)) -> tuple[Any, Any]:
    return pyplot.subplots(figsize=size, layout="constrained")


def main(folder: Path = FIGURES) -> list[Path]:
    """Draw every figure that has rows; returns the files written."""
    folder.mkdir(exist_ok=True)
    written = []
    for name, draw in DRAWN.items():
        rows = rows_of(name)
        if not rows:
            continue
        path = folder / f"{name}.svg"
        with mpl.rc_context(_LOOK):
            figure = draw(rows)
            about = {"Date": None, "Creator": None, "Description": f"rows {checksum(rows)}"}
            figure.savefig(path, metadata=about)
            pyplot.close(figure)
        written.append(path)
    return written


if __name__ == "__main__":
    for path in main():
        print(path)
