"""Draw the figures of the model pages from measured rows.

    python docs/models/figures.py

The figures of the papers are drawn by ``labelgap bench report``. Every file carries the checksum of
its rows; ``tests/docs/test_results.py`` compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot

sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
from measured_rows import checksum, read_rows

from labelgap.plots import plot_label_correlation
from labelgap_papers.bench import Ranking, plot_critical_difference

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
    ax.set_ylabel("observed fraction of positives")
    if any(methods):
        ax.legend(frameon=False)
    return figure


def draw_correlation(rows: Rows) -> Any:
    """The learned correlation of labels, in the last row."""
    return plot_label_correlation(np.array(rows[-1]["correlation"]), rows[-1]["labels"]).figure


def draw_scaling(rows: Rows) -> Any:
    """Seconds per iteration against rows, columns and factors."""
    titles = {"n_samples": "rows", "n_features": "columns of all views", "n_factors": "factors k"}
    figure, axes = pyplot.subplots(1, 3, figsize=(8.8, 3.2), layout="constrained")
    for ax, (varied, title) in zip(axes, titles.items(), strict=True):
        points = sorted(
            (row["value"], row["seconds_per_iteration"]) for row in rows if row["varied"] == varied
        )
        places, seconds = np.array(points, dtype=float).T
        slope, start = np.polyfit(places, seconds, 1)
        ends = np.array([0.0, places.max()])
        ax.plot(ends, start + slope * ends, "--", color="0.4")
        ax.plot(places, seconds, "o", color=_COLOURS[0])
        rest = seconds - (start + slope * places)
        explained = 1 - rest @ rest / np.square(seconds - seconds.mean()).sum()
        ax.set_title(f"$R^2$ = {explained:.3f}", fontsize=10)
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(title)
    axes[0].set_ylabel("seconds per iteration")
    return figure


def draw_ranks(rows: Rows) -> Any:
    """Mean ranks by average precision, with the methods that cannot be told apart."""
    some = [row for row in rows if row["metric"] == "average_precision"]
    ranking = Ranking(
        methods=tuple(row["method"] for row in some),
        mean_ranks=tuple(row["mean_rank"] for row in some),
        n_blocks=some[0]["blocks"],
        friedman_p=some[0]["friedman_p"],
        critical_difference=some[0]["critical_difference"],
        alpha=0.05,
    )
    return plot_critical_difference(ranking, "mended").figure


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "bmlpl_reliability": draw_reliability,
    "imvwl_correlation": draw_correlation,
    "imvwl_scaling": draw_scaling,
    "mend_ranks": draw_ranks,
    "mend_rivals": draw_ranks,
    "rmfl_correlation": draw_correlation,
}


def rows_of(name: str) -> Rows:
    """The rows behind a figure."""
    if name.startswith("mend_"):
        return read_rows("mend_summary", experiment=name.removeprefix("mend_"))
    return read_rows(name)


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
