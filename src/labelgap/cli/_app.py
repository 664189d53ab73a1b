"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

import labelgap
from labelgap.cli._command import as_command
from labelgap.cli.datasets import datasets
from labelgap.cli.demo import demo
from labelgap.cli.evaluate import evaluate
from labelgap.cli.fit import fit
from labelgap.cli.hide import hide
from labelgap.cli.predict import predict

COMMANDS = (demo, datasets, hide, fit, predict, evaluate)

app = typer.Typer(
    name="labelgap",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelgap {labelgap.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Multi-label learning when the labels have gaps.

    [bold]Start here[/bold]

    \b  labelgap demo         hide labels of a real set, recover them, show how well
      labelgap datasets     the benchmark sets, and where they are

    [bold]With your own table[/bold] (1, 0, and empty cells where nobody looked)

    \b  labelgap fit items.csv --labels 'tag_*' -o tags.model
      labelgap predict tags.model new.csv -o predictions.csv
      labelgap evaluate checked.csv --model tags.model

    Exit codes: 0 success, 1 something failed while running, 2 wrong usage or bad input.

    Every command takes [bold]--json[/bold] for machines and [bold]--help[/bold] for people.
    """


for _function in COMMANDS:
    app.command(_function.__name__)(as_command(_function))
