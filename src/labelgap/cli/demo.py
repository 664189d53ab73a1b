"""``labelgap demo``: take labels of a real set away, find them again, show how well."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from labelgap._extras import require
from labelgap.cli._demo_experiment import generated_data
from labelgap.cli._demo_forgotten import show_forgotten
from labelgap.cli._demo_unknown import show_unknown
from labelgap.cli._failures import BadInputError
from labelgap.cli._sources import check_dataset_name
from labelgap.cli._terminal import Terminal
from labelgap.data import Dataset, DatasetUnavailableError, load_dataset


class Gaps(StrEnum):
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"


_USUAL = {Gaps.FORGOTTEN: "bibtex", Gaps.UNKNOWN: "yeast"}


def demo(
    terminal: Terminal,
    gaps: Annotated[
        Gaps,
        typer.Option(
            help="forgotten: labels are deleted without a trace, and an audit looks for them. "
            "unknown: entries are marked as unknown, and models learn from the rest."
        ),
    ] = Gaps.FORGOTTEN,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="A data set, or 'generated'; bibtex (forgotten) or yeast (unknown) unless given.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.95, help="How much of the labels is taken away.")
    ] = 0.4,
    seed: Annotated[int, typer.Option(min=0, help="The same seed takes away the same.")] = 0,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; made if need be."),
    ] = Path("labelgap-demo"),
    max_rows: Annotated[int, typer.Option(min=20, help="Use at most so many rows.")] = 10_000,
    fetch: Annotated[bool, typer.Option(help="Whether the data set may be fetched.")] = True,
) -> None:
    """Take labels of a real data set away, find them again, and show how well that went.

    Says in plain words what was found, and writes pages that work offline. If the data set is
    neither here nor can be fetched, generated data are used, and the result says so.

    [bold]Examples[/bold]

    \b  labelgap demo
      labelgap demo --dataset emotions --share 0.3 --seed 1 --out songs
      labelgap demo --gaps unknown --dataset scene
      labelgap demo --dataset generated --json
    """
    if out.exists() and not out.is_dir():
        raise BadInputError(f"--out {out}: is a file; give the name of a folder")
    require("jinja2", extra="cli", purpose="labelgap demo")
    data, reason = _load(dataset or _USUAL[gaps], seed, terminal, fetch)
    show = show_forgotten if gaps is Gaps.FORGOTTEN else show_unknown
    show(terminal, data, reason, share=share, seed=seed, max_rows=max_rows, out=out)


def _load(name: str, seed: int, terminal: Terminal, fetch: bool) -> tuple[Dataset, str | None]:
    if name == "generated":
        return generated_data(seed), "They were asked for, from a low-rank model with known truth."
    name = check_dataset_name(name)
    try:
        with terminal.progress(f"loading {name}") as progress:
            data = load_dataset(name, fetch=fetch, progress=progress)
    except DatasetUnavailableError as error:
        terminal.note(f"{error}")
        reason = f"The data set {name} is neither on this machine nor could it be fetched."
        return generated_data(seed), reason
    if data.Y.has_unknown or not np.isfinite(getattr(data.X, "data", data.X)).all():
        raise BadInputError(
            f"--dataset {name}: has gaps itself; the demo needs complete features and labels"
        )
    return data, None
