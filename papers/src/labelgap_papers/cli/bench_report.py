"""``labelgap bench report``: published figures beside ours, with a status each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from labelgap.cli import BadInputError, Terminal, table
from labelgap.extras import require
from labelgap_papers.bench import DEFAULT_ROWS, RowStore, load_experiments
from labelgap_papers.reproduction import (
    Reproduction,
    ReproductionStatus,
    build_reproduction,
    load_papers,
    load_reasons,
    page_contents,
    write_markdown_pages,
)
from labelgap_papers.reproduction.number_words import headline, provisional, remainder

EXPLANATIONS = "explanations.toml"


def report(
    terminal: Terminal,
    rows: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the rows of the experiments lie.")
    ] = DEFAULT_ROWS,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write an index, a page per paper, pictures."),
    ] = None,
    experiments: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Experiments of your own, beside the library's."),
    ] = None,
    explanations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"What holds of each paper in words; {EXPLANATIONS} beside the rows unless given.",
        ),
    ] = None,
) -> None:
    """Compare every published figure with the stored rows, and write the reproduction results.

    Prints how many figures were reproduced, beaten, not reached or refuted. Nothing is fitted.

    [bold]Examples[/bold]

    \b  labelgap bench report
      labelgap bench report --markdown papers/reproduction
      labelgap bench report --rows my-rows --experiments my-experiments --markdown mine
    """
    if not rows.is_dir():
        raise BadInputError(
            f"--rows {rows}: there is no such folder; labelgap bench run --rows {rows} makes it"
        )
    if markdown is not None:
        if markdown.is_file():
            raise BadInputError(f"--markdown {markdown}: is a file; give a folder")
        require("matplotlib", extra="report", purpose="labelgap bench report")
    explanations = _explanations_of(rows, explanations)
    found = build_reproduction(
        list(load_experiments(experiments).values()),
        RowStore(rows),
        load_papers(explanations),
        load_reasons(),
    )
    written = _write(found, markdown, _command(rows, experiments), terminal)
    payload = {
        "statuses": _plain(found.counts()),
        "papers": {one.name: _plain(found.counts(one.name)) for one in found.papers},
        "rows": found.n_samples,
        "written": [str(path) for path in written],
    }
    shown = [
        _table(found),
        f"[bold]{escape(headline(found.counts()))}[/bold]",
        escape(f"{remainder(found.counts())} {provisional(found.entries)}".strip()),
    ]
    if markdown is not None:
        shown.append(f"\nWritten: [bold]{escape(str(markdown))}[/bold]")
    terminal.result(payload, *shown)


def _explanations_of(rows: Path, given: Path | None) -> Path | None:
    """The words about the papers: as given, or beside the rows if there are any."""
    if given is None:
        beside = rows.resolve().parent / EXPLANATIONS
        return beside if beside.is_file() else None
    if not given.is_file():
        raise BadInputError(f"--explanations {given}: there is no such file")
    return given


def _write(
    found: Reproduction, markdown: Path | None, command: str, terminal: Terminal
) -> list[Path]:
    if markdown is None:
        return []
    view = page_contents(found)
    with terminal.progress("drawing") as advance:
        pictures = view.pictures()
        for done, picture in enumerate(pictures):
            advance(f"drawing {picture.name}", done, len(pictures))
            _ = picture.raw
    target = shlex.quote(markdown.as_posix())
    return write_markdown_pages(view, markdown, f"{command} --markdown {target}")


def _command(rows: Path, experiments: Path | None) -> str:
    parts = ["labelgap", "bench", "report"]
    parts += ["--rows", rows.as_posix()] if rows != DEFAULT_ROWS else []
    parts += ["--experiments", experiments.as_posix()] if experiments else []
    return shlex.join(parts)


def _plain(counts: dict[ReproductionStatus, int]) -> dict[str, int]:
    return {status.value: n for status, n in counts.items()}


def _table(found: Reproduction) -> Table:
    names = [one.name for one in found.papers]
    columns = {"": "left", **dict.fromkeys(names, "right"), "all": "right"}
    counts = [*(found.counts(name) for name in names), found.counts()]
    lines = [
        (
            f"{one.symbol} {one.value}",
            *(f"{count[one]:,}" if count[one] else "-" for count in counts),
        )
        for one in ReproductionStatus
    ]
    total = ("published figures", *(f"{sum(count.values()):,}" for count in counts))
    lines.append(tuple(f"[bold]{cell}[/bold]" for cell in total))
    return table(f"{found.n_samples:,} rows", columns, lines)
