"""From a plain function to a command: options in groups, errors in one sentence, exit codes.

A command is a function whose first parameter is a :class:`Terminal`. Further parameters are typer
options, or dataclasses whose fields are: such a group of options is written once and shared by all
commands that read data.
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from labelgap.cli._failures import INTERRUPTED, exit_code_of, explain
from labelgap.cli._terminal import Terminal
from labelgap.cli._threads import on_idle_cores

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function with flat options, for typer."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(function)
    def run(*, as_json: bool, debug: bool, **values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        terminal = Terminal(as_json=as_json)
        with warnings.catch_warnings(), on_idle_cores():
            warnings.showwarning = terminal.show_warning
            _run(function, terminal, values, debug)

    parameters = sorted(_flat(function, hints), key=lambda one: one.default is not one.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = joined_lines(function.__doc__ or "")
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def joined_lines(text: str) -> str:
    r"""The text with one line per paragraph, for the terminal to wrap; ``\b`` keeps its lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        one if one.startswith("\b") else " ".join(one.split("\n")) for one in paragraphs
    )


def _run(function: Callable[..., None], terminal: Terminal, values: dict, debug: bool) -> None:
    try:
        function(terminal, **values)
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        terminal.error("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # whoever read our output has seen enough; nothing is wrong
        sys.stdout = None  # type: ignore[assignment]
        raise typer.Exit(0) from None
    except Exception as error:
        if debug:
            terminal.plain(traceback.format_exc())
        terminal.error(explain(error))
        raise typer.Exit(exit_code_of(error)) from None


def _flat(function: Callable[..., None], hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint is Terminal:
            continue
        if is_dataclass(hint):
            field_hints = get_type_hints(hint, include_extras=True)
            for field in fields(hint):
                yield _keyword(field.name, field_hints[field.name], _default(field))
        else:
            yield _keyword(name, hint, parameter.default)
    yield _keyword("as_json", AsJson, False)
    yield _keyword("debug", Debug, False)


def _default(field: Field) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _keyword(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
