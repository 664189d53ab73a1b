"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

import labelgap
from labelgap.cli._command import as_command
from labelgap.cli.audit import audit
from labelgap.cli.bench import bench
from labelgap.cli.compare import compare
from labelgap.cli.complete import complete
from labelgap.cli.datasets import datasets
from labelgap.cli.demo import demo
from labelgap.cli.evaluate import evaluate
from labelgap.cli.export import export
from labelgap.cli.extend import extend
from labelgap.cli.fit import fit
from labelgap.cli.hide import hide
from labelgap.cli.predict import predict
from labelgap.cli.report import report
from labelgap.cli.review import review
from labelgap.cli.select import select
from labelgap.cli.topics import topics

COMMANDS = (
    demo,
    audit,
    review,
    report,
    complete,
    compare,
    fit,
    predict,
    evaluate,
    export,
    topics,
    select,
    extend,
    hide,
    datasets,
)

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

    \b  labelgap audit items.csv --labels 'tag_*' --item id
      labelgap review items.csv --labels 'tag_*' --item id --db decisions.sqlite
      labelgap fit items.csv --labels 'tag_*' -o tags.model
      labelgap predict tags.model new.csv -o predictions.csv
      labelgap evaluate checked.csv --model tags.model
      labelgap export tags.model -o tags.onnx
      labelgap compare items.csv --labels 'tag_*' --item id

    Exit codes: 0 success, 1 something failed while running, 2 wrong usage or bad input.

    Every command takes [bold]--json[/bold] for machines and [bold]--help[/bold] for people.
    """


for _function in COMMANDS:
    app.command(_function.__name__)(as_command(_function))
app.add_typer(bench)
