"""``labelgap bench run``: measure what is missing, keep every row."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from labelgap.cli import BadInputError, Terminal
from labelgap_papers.bench import (
    BUDGETS,
    DEFAULT_ROWS,
    Experiment,
    RowStore,
    Status,
    Summary,
    load_experiments,
    run_experiments,
)


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How much is done at once, where, and for how long."""

    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1
    threads: Annotated[
        int, typer.Option(min=1, help="Threads of linear algebra in each process.")
    ] = 1
    seconds: Annotated[
        float | None,
        typer.Option(min=0, help="Limit of one measurement, instead of the budget's."),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help='Where models that can are fitted: "cuda", as torch names it.'
        ),
    ] = None
    retry: Annotated[
        bool, typer.Option("--retry", help="Measure again what failed or took too long.")
    ] = False


def run(
    terminal: Terminal,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EXPERIMENT]...", help="Which to run; all by default."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(help="smoke, small or full; labelgap bench list says what each leaves out."),
    ] = "small",
    rows: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where rows are kept and added.")
    ] = DEFAULT_ROWS,
    experiments: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Experiments of your own, beside the library's."),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this set; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this method; may be repeated.")
    ] = None,
    *,
    limits: RunLimits,
) -> None:
    """Run published experiments, and keep one row per measurement.

    What has a row is not run again. A run that is interrupted or killed goes on where it ended when
    it is started again.

    A factory named in an experiment's file is imported from the current folder, too.

    [bold]Examples[/bold]

    \b  labelgap bench run --budget smoke --rows /tmp/rows
      labelgap bench run rmfl-4 --dataset emotions
      labelgap bench run --experiments my-experiments --rows my-rows --jobs 4
    """
    _check_place(budget, rows)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    known = load_experiments(experiments)
    chosen = names or list(known)
    _check("EXPERIMENT", chosen, known)
    _check("--dataset", dataset or [], {d.name for n in chosen for d in known[n].datasets})
    _check("--method", method or [], {m.name for n in chosen for m in known[n].methods})
    with terminal.progress("preparing") as progress:
        summary = run_experiments(
            chosen,
            known,
            RowStore(rows),
            budget,
            datasets=dataset or (),
            methods=method or (),
            n_jobs=limits.jobs,
            threads=limits.threads,
            seconds=limits.seconds,
            retry=limits.retry,
            device=limits.device,
            progress=progress,
        )
    _tell(terminal, summary, [known[name] for name in chosen], budget, rows)


def _check_place(budget: str, rows: Path) -> None:
    if budget not in BUDGETS:
        raise BadInputError(f"--budget {budget}: choose among {', '.join(BUDGETS)}")
    if rows.exists() and not rows.is_dir():
        raise BadInputError(f"--rows {rows}: is a file; give a folder")


def _check(option: str, given: list[str], known: object) -> None:
    wrong = [name for name in given if name not in known]  # type: ignore[operator]
    if wrong:
        raise BadInputError(f"{option} {wrong[0]}: no such name here; see labelgap bench list")


def _tell(
    terminal: Terminal, summary: Summary, chosen: list[Experiment], budget: str, rows: Path
) -> None:
    counts = {status.value: summary.counts[status] for status in Status if summary.counts[status]}
    for dataset, reason in summary.unavailable.items():
        terminal.note(f"{dataset} was left out: {reason}")
    payload = {
        "rows": str(rows),
        "budget": budget,
        "written": counts,
        "settings_chosen": summary.n_choices,
        "there_already": summary.n_there,
        "unavailable": summary.unavailable,
        "left_out": {one.name: one.left_out(budget) for one in chosen},
    }
    words = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items()) or "none"
    terminal.result(
        payload,
        f"[bold]{words}[/bold], {summary.n_there} there already; rows in "
        f"[bold]{escape(str(rows))}[/bold]",
        f"What the budget {budget} leaves out of an experiment: labelgap bench list NAME",
    )
