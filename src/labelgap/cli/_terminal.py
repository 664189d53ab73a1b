"""What a command says: results on stdout; notes, progress and errors on stderr; exit codes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

Advance = Callable[[str, int, int | None], None]
"""Called with what is going on, how much is done and of how much (None: not known)."""


class ToCopy(str):
    """A line with a command to copy, which stays one line however narrow the terminal is."""


class Terminal:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Whether results are for machines: then stdout holds one JSON document and nothing else,
        and there is no progress bar.
    command : str, default=""
        What to type to get the same result again.
    """

    def __init__(self, *, as_json: bool, command: str = "") -> None:
        self.as_json, self.command = as_json, command
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def result(self, payload: Mapping[str, Any], *shown: Any) -> None:
        """Print the payload as JSON, or what is to be shown to a person."""
        if self.as_json:
            payload = {**payload, "command": self.command}
            typer.echo(json.dumps(_plain(payload), indent=2, allow_nan=False, ensure_ascii=False))
            return
        for one in shown:
            self._out.print(one, soft_wrap=isinstance(one, ToCopy))

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
    """Return a table for the terminal, in the style of all commands.

    Parameters
    ----------
    title : str
    columns : mapping from heading to "left" or "right"
    rows : iterable of sequences of str
        Markup is taken as it is: escape what comes from the user.
    caption : str, default=None

    Examples
    --------
    >>> from labelgap.cli import table
    >>> table("Models", {"name": "left", "score": "right"}, [("Mend", "0.54")]).row_count
    1
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
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)


# -- errors

# remedies of the library, as one would type them here
_IN_SHELL = (
    (
        r"Pass drop=\['(.*?)'\], text='.*?' for TF-IDF, or encode it first",
        r"Leave it out with --drop '\1', give --item '\1' if it identifies the rows, or --text '\1' "
        r"if it is text",
    ),
    (r"Pass zero_based=True", "Give --zero-based"),
    (r"Pass labels= as", "Give --labels as"),
)

_LONGEST = 2_000
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class BadInputError(ValueError):
    """The user gave something that cannot be used; the message says what, where and what to do."""


@contextmanager
def reading(place: str | PathLike) -> Iterator[None]:
    """Put the file (or data set) in front of an error about its contents."""
    try:
        yield
    except BadInputError:
        raise
    except FileNotFoundError as error:
        missing = error.filename or place
        raise BadInputError(f"{missing}: there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise BadInputError(f"{place}: is a folder; give a file") from error
    except ValueError as error:
        said = _one_line(error)
        # errors of formats name their file themselves
        named = said.startswith(f"{place}:") or hasattr(error, "remedy")
        raise BadInputError(said if named else f"{place}: {said}") from error


def exit_code_of(error: Exception) -> int:
    """2 for what the user can correct in the call or the files, 1 for everything else."""
    return BAD_INPUT if isinstance(error, ValueError) else FAILED


def explain(error: Exception) -> str:
    """One sentence or two, without a traceback."""
    if isinstance(error, (ValueError, ImportError)):
        return _one_line(error)
    if isinstance(error, OSError):
        if error.errno is None:
            return _one_line(error)
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory: use fewer items or labels"
    return f"unexpected {type(error).__name__}: {_one_line(error)}; run again with --debug"


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        # place and remedy are at the ends
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    for said, typed in _IN_SHELL:
        text = re.sub(said, typed, text)
    return text
