"""``labelgap bench list``: the experiments, what is measured, and what budgets leave out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelgap.cli import BadInputError, Terminal, table
from labelgap_papers.bench import (
    BUDGETS,
    DEFAULT_ROWS,
    Experiment,
    RowStore,
    Status,
    load_experiments,
)


def list_experiments(
    terminal: Terminal,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one, with all details.")
    ] = None,
    rows: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the rows of the experiments lie.")
    ] = DEFAULT_ROWS,
    experiments: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Experiments of your own, beside the library's."),
    ] = None,
) -> None:
    """List the experiments, or tell what one of them runs under each budget.

    [bold]Examples[/bold]

    \b  labelgap bench list
      labelgap bench list rmfl-4
    """
    known = load_experiments(experiments)
    if name is not None and name not in known:
        raise BadInputError(f"NAME {name}: there is no such experiment; see labelgap bench list")
    counted = {
        one: _entry(known[one], known, RowStore(rows)) for one in ([name] if name else known)
    }
    payload = {"experiments": list(counted.values())}
    terminal.result(payload, _details(known[name], counted[name]) if name else _overview(counted))


def _entry(
    experiment: Experiment, known: Mapping[str, Experiment], store: RowStore
) -> dict[str, Any]:
    measured = {
        row.cell.key
        for other in (experiment.name, *experiment.borrows)
        for row in store.results(other)
        if row.status is Status.MEASURED
    }
    budgets = {}
    for budget in BUDGETS:
        cells = [experiment.owner(cell, known) for cell in experiment.cells(budget)]
        there = sum(cell.key in measured for cell in cells)
        left_out = experiment.left_out(budget)
        budgets[budget] = {"cells": len(cells), "measured": there, "left_out": left_out}
    return {
        "name": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "table": experiment.table,
        "published_figures": len(experiment.figures()),
        "protocol": experiment.protocol,
        "datasets": [one.name for one in experiment.datasets],
        "methods": [one.name for one in experiment.methods],
        "budgets": budgets,
    }


def _overview(entries: Mapping[str, dict[str, Any]]) -> Any:
    columns = {"experiment": "left", "title": "left", "published": "right"}
    columns |= dict.fromkeys(BUDGETS, "right")
    lines = [
        (
            f"[bold]{escape(name)}[/bold]",
            escape(one["title"]),
            str(one["published_figures"] or "-"),
            *(f"{b['measured']}/{b['cells']}" for b in one["budgets"].values()),
        )
        for name, one in entries.items()
    ]
    caption = (
        "published: figures in the paper; smoke, small, full: cells measured, and cells in all\n"
        "what a budget leaves out: labelgap bench list NAME"
    )
    return table("Experiments", columns, lines, caption)


def _details(experiment: Experiment, entry: dict[str, Any]) -> Any:
    lines = [("about", escape(experiment.about)), ("protocol", escape(experiment.protocol))]
    lines.append(("sets", ", ".join(f"{one.name} ({one.runs})" for one in experiment.datasets)))
    lines.append(("methods", escape("; ".join(entry["methods"]))))
    lines.append(("metrics", ", ".join(one.name for one in experiment.metrics)))
    if experiment.borrows:
        lines.append(("rows also from", ", ".join(experiment.borrows)))
    for budget, one in entry["budgets"].items():
        words = f"{one['measured']} of {one['cells']} cells measured"
        if one["left_out"]:
            words += "; left out: " + "; ".join(one["left_out"])
        lines.append((budget, escape(words)))
    return table(f"{experiment.name}: {escape(experiment.title)}", {"": "left", " ": "left"}, lines)
