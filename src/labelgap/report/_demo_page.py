"""The page of ``labelgap demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgap._extras import require
from labelgap.report import _demo_words as words
from labelgap.report._demo_result import DemoMethod, DemoResult
from labelgap.report._files import replacing
from labelgap.report._matrix_svg import legend, matrix_svg, symbols

_PANELS = (
    (
        "recovered",
        "auc_micro",
        "Telling a hidden yes from a hidden no",
        "AUC: how often a hidden yes gets a higher score than a hidden no. Guessing gives 0.5.",
    ),
    (
        "recovered",
        "f1_micro",
        "Filling in yes or no",
        "F1: right yeses against wrong and missed ones, when every gap is filled in.",
    ),
    (
        "unseen",
        "average_precision",
        "Ranking the labels of unseen rows",
        "Average precision: how far on top of the ranking the right labels are.",
    ),
    (
        "unseen",
        "f1_micro",
        "Deciding yes or no for unseen rows",
        "F1: right yeses against wrong and missed ones, at probability 0.5.",
    ),
)
_TABLE = {
    "recovered": ("auc_micro", "average_precision_micro", "f1_micro"),
    "unseen": ("average_precision", "auc_micro", "f1_micro", "log_loss"),
}
_NAMES = {
    "auc_micro": "AUC",
    "average_precision_micro": "avg. precision",
    "average_precision": "avg. precision",
    "f1_micro": "F1",
    "log_loss": "log-loss (lower is better)",
}


def demo_page(result: DemoResult) -> str:
    """The page as HTML.

    Parameters
    ----------
    result : DemoResult

    Returns
    -------
    str
        A whole document that refers to nothing outside itself.
    """
    jinja2 = require("jinja2", extra="report", purpose="the demo page")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("labelgap.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    safe = jinja2.filters.do_mark_safe
    return environment.get_template("demo.html.j2").render(
        result=result,
        verdict=words.verdict(result),
        facts=_facts(result),
        comparison=words.naive_words(result),
        symbols=safe(symbols()),
        matrix=safe(matrix_svg(result.sample)),
        legend=[(safe(picture), meaning) for picture, meaning in legend()],
        panels=[_panel(result, *panel) for panel in _PANELS],
        table_columns=[_NAMES[metric] for metrics in _TABLE.values() for metric in metrics],
        table_spans={part: len(metrics) for part, metrics in _TABLE.items()},
        values={one.key: _row(one) for one in result.methods},
    )


def write_demo_page(result: DemoResult, path: str | Path) -> None:
    """Write the page; an existing file is replaced only when the new one is complete."""
    page = demo_page(result)
    with replacing(Path(path)) as (partial,):
        partial.write_text(page, encoding="utf-8")


def _facts(result: DemoResult) -> list[tuple[str, str]]:
    """The numbers to remember, each with what it means."""
    n_hidden, n_yes = max(result.n_hidden, 1), max(result.n_hidden_yes, 1)
    best = result.ceiling.unseen["average_precision"]
    return [
        (
            f"{result.n_right / n_hidden:.0%}",
            f"of the {result.n_hidden:,} gaps filled in correctly; answering no everywhere "
            f"would give {1 - result.n_hidden_yes / n_hidden:.0%}",
        ),
        (f"{result.n_found / n_yes:.0%}", f"of the {result.n_hidden_yes:,} hidden yeses found"),
        (
            f"{result.model.unseen['average_precision']:.3f}",
            f"average precision on unseen rows; {best:.3f} had no label been hidden",
        ),
    ]


def _panel(result: DemoResult, part: str, metric: str, title: str, meaning: str) -> dict[str, Any]:
    bars = []
    for method in result.methods:
        values = getattr(method, part)
        if values is None:
            continue
        interval = method.intervals.get(metric) if part == "unseen" else None
        bars.append({"method": method, "value": values[metric], "interval": interval})
    return {"part": part, "title": title, "meaning": meaning, "bars": bars}


def _row(method: DemoMethod) -> list[str]:
    return [
        "–" if getattr(method, part) is None else f"{getattr(method, part)[metric]:.3f}"
        for part in _TABLE
        for metric in _TABLE[part]
    ]
