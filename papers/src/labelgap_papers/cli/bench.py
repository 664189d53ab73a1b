"""``labelgap bench``: the table of its commands."""

from __future__ import annotations

from collections.abc import Callable

import typer

from labelgap.cli import as_command
from labelgap_papers.cli.bench_list import list_experiments
from labelgap_papers.cli.bench_report import report
from labelgap_papers.cli.bench_run import run

bench = typer.Typer(
    name="bench",
    help="Run published experiments, and set their figures beside ours.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
COMMANDS: dict[str, Callable[..., None]] = {
    "run": run,
    "list": list_experiments,
    "report": report,
}
for _name, _function in COMMANDS.items():
    bench.command(_name)(as_command(_function, f"bench {_name}"))
