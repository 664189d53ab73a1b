"""What a command says: results on stdout, as tables or JSON; notes and progress on stderr."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

Advance = Callable[[str, int, int | None], None]
"""Called with what is going on, how much is done and of how much (None: not known)."""


class Terminal:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Whether results are for machines: then stdout holds one JSON document and nothing else,
        and there is no progress bar.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def result(self, payload: Mapping[str, Any], *shown: Any) -> None:
        """Print the payload as JSON, or what is to be shown to a person."""
        if self.as_json:
            typer.echo(json.dumps(_plain(payload), indent=2, allow_nan=False, ensure_ascii=False))
            return
        for one in shown:
            self._out.print(one)

    def note(self, text: str) -> None:
        """A remark for people, which is no part of the result."""
        self._err.print(f"[dim]{escape(text)}[/dim]", soft_wrap=True)

    def error(self, text: str) -> None:
        self._err.print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)

    def plain(self, text: str) -> None:
        """Text on stderr, as it is."""
        self._err.print(text, markup=False, highlight=False, soft_wrap=True)

    def show_warning(self, message: Any, *_: Any, **__: Any) -> None:
        """In place of :func:`warnings.showwarning`: the message without the source line."""
        text = escape(" ".join(str(message).split()))
        self._err.print(f"[yellow]warning:[/yellow] {text}", soft_wrap=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Advance]:
        """A bar on stderr with the time left; silent for machines and when nobody watches."""
        silent = self.as_json or not self._err.is_terminal
        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TimeRemainingColumn(),
            console=self._err,
            transient=True,
            disable=silent,
        )
        with bar:
            task = bar.add_task(escape(title), total=None)

            def advance(stage: str, done: int, total: int | None) -> None:
                bar.update(task, description=escape(stage), completed=done, total=total)

            yield advance


def table(title: str, columns: Mapping[str, str], rows: Any, caption: str | None = None) -> Table:
    """A rich table.

    Parameters
    ----------
    title : str
    columns : mapping from heading to "left" or "right"
    rows : iterable of sequences of str
        Markup is taken as it is: escape what comes from the user.
    caption : str, optional
    """
    made = Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        caption_style="dim",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for position, (heading, justify) in enumerate(columns.items()):
        made.add_column(heading, justify=justify, no_wrap=position == 0)  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*row)
    return made


def bullets(texts: Iterable[str]) -> Table:
    """A list whose lines hang behind their bullets; markup is taken as text."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(width=3, justify="right")
    made.add_column(overflow="fold")
    for text in texts:
        made.add_row("•", escape(text))
    return made


def _plain(value: Any) -> Any:
    """The same in the types of JSON; what is not a number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)
