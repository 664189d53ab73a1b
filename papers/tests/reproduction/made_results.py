"""Experiments and rows with made-up numbers, shaped like the published tables."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from labelgap_papers.bench import (
    BudgetPlan,
    DatasetPlan,
    Experiment,
    MethodPlan,
    MetricPlan,
    PublishedFigure,
    Row,
    RowStore,
    SettingPlan,
    Status,
    published_figures,
)

LOSSES = {"one_error", "hamming_loss", "ranking_loss", "coverage"}


def lower_is_better(metric: str) -> bool:
    return metric in LOSSES or metric.startswith("seconds")


def settings_of(text: str) -> dict:
    """``"missing=0.4"`` as the values of a setting."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {key: value or "yes" for key, _, value in pairs}


def experiment_of(paper: str, table: str, runs: int = 5, **changes: object) -> Experiment:
    """The experiment of a published table, with the paper's own names and one baseline."""
    figures = [f for f in published_figures() if (f.paper, f.table) == (paper, table)]
    datasets = tuple(DatasetPlan(name, runs, name) for name in unique(figures, "dataset"))
    return Experiment(
        **{
            "name": f"{paper.lower()}-{table.lower()}",
            "title": f"Made-up rows for table {table}",
            "about": "Rows of this experiment were drawn by a generator.",
            "paper": paper,
            "table": table,
            "protocol": "none",
            "datasets": datasets,
            "settings": tuple(
                SettingPlan(settings_of(one), one) for one in unique(figures, "setting")
            ),
            "metrics": tuple(
                MetricPlan(one, not lower_is_better(one), one) for one in unique(figures, "metric")
            ),
            "methods": (
                *(MethodPlan(one, published=one) for one in unique(figures, "method")),
                MethodPlan("one per label", baseline=True),
            ),
            "budgets": {
                "small": BudgetPlan("small", tuple(d.name for d in datasets), 2, 4, 600.0),
                "full": BudgetPlan("full", tuple(d.name for d in datasets), None, None, 600.0),
            },
            **changes,
        }
    )


def unique(figures: list[PublishedFigure], name: str) -> list[str]:
    return list(dict.fromkeys(getattr(figure, name) for figure in figures))


def rows_of(experiment: Experiment, shift: float = 0.0, spread: float = 0.004) -> list[Row]:
    """A row for each cell: published means, moved to the better side by ``shift``, with noise."""
    means = {
        (place.dataset, str(place.setting), place.method, place.metric): figure.mean
        for figure, place in experiment.figures()
    }
    rows = []
    for cell in experiment.cells("full"):
        rng = np.random.default_rng(zlib.crc32(cell.key.encode()))
        metrics = {}
        for metric in experiment.metrics:
            place = (cell.dataset, str(cell.setting), cell.method, metric.name)
            sign = 1 if metric.higher_is_better else -1
            noise = spread * rng.normal()
            metrics[metric.name] = means.get(place, 0.6) + sign * shift + noise
        rows.append(
            Row(
                cell.experiment,
                cell.dataset,
                cell.setting,
                cell.run,
                cell.method,
                metrics=metrics,
                fit_seconds=float(rng.lognormal()),
                peak_gigabytes=float(rng.lognormal()),
            )
        )
    return rows


def picture_experiment(x_axis: str = "missing") -> Experiment:
    """A figure of a paper: two methods, two metrics, along a setting or the iterations."""
    values = (
        [{"missing": fraction} for fraction in (0.1, 0.3, 0.5)] if x_axis == "missing" else [{}]
    )
    return Experiment(
        name=f"gmfs-{x_axis}",
        title=f"Along {x_axis}",
        about="",
        paper="GMFS",
        table="fig2" if x_axis == "missing" else "fig4",
        protocol="none",
        datasets=(DatasetPlan("emotions", 2, ""), DatasetPlan("yeast", 2, "")),
        settings=tuple(SettingPlan(one) for one in values),
        metrics=(MetricPlan("average_precision", True, ""), MetricPlan("hamming_loss", False, "")),
        methods=(MethodPlan("GMFS"), MethodPlan("All features", baseline=True)),
        budgets={"full": BudgetPlan("full", ("emotions", "yeast"), None, None, 600.0)},
        x_axis=x_axis,
    )


def picture_rows(experiment: Experiment) -> list[Row]:
    rows = []
    for cell in experiment.cells("full"):
        fraction = cell.setting.get("missing", 0.0)
        best = 0.8 if cell.method == "GMFS" else 0.7
        curve = {"objective": [10 / (t + cell.run) for t in range(1, 31)]}
        rows.append(
            Row(
                cell.experiment,
                cell.dataset,
                cell.setting,
                cell.run,
                cell.method,
                metrics={
                    "average_precision": best - fraction / 4 + cell.run / 100,
                    "hamming_loss": fraction,
                },
                curve={} if cell.setting else curve,
            )
        )
    return rows


def stored(folder: Path, *rows: list[Row]) -> RowStore:
    """A folder with these rows."""
    folder.mkdir(exist_ok=True)
    store = RowStore(folder)
    found: dict[str, list[Row]] = {}
    for row in (row for some in rows for row in some):
        found.setdefault(row.experiment, []).append(row)
    for name, several in found.items():
        store.rewrite(name, lambda _, several=several: several)
    return store


def failed(row: Row, status: Status = Status.TIMED_OUT, reason: str = "600 s") -> Row:
    return Row(
        row.experiment, row.dataset, row.setting, row.run, row.method, status=status, reason=reason
    )
