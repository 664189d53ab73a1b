"""The table of commands, each imported when it is called, and how a function becomes a command.

A command is a function whose first parameter is a :class:`Terminal`. Further parameters are typer
options, or dataclasses whose fields are: such a group of options is written once and shared by all
commands that read data.
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import ArgumentInfo

import labelgap
from labelgap.cli._terminal import INTERRUPTED, Terminal, exit_code_of, explain

COMMANDS = {
    "demo": "Hide labels of a real data set, find them again, and show how well that went.",
    "audit": "Find out what gaps labels have, and which labels are probably missing.",
    "review": "Decide about probably missing labels, one question after another, in the browser.",
    "diff": "Compare two versions of a table, or two sources that labelled the same items.",
    "decisions": "Export, import or merge the decisions of reviews, or compare the reviewers.",
    "report": "Write the page of an audit again: one file, to be read offline.",
    "impute": "Add the labels that are probably missing, and write them all as a long table.",
    "compare": "Compare models by predictions of rows they did not see; unknown entries are skipped.",
    "fit": "Fit a model to rows whose labels have gaps, and save it.",
    "predict": "Predict the labels of rows with a saved model.",
    "evaluate": "Compare predictions with what is known of the truth; unknown entries are skipped.",
    "export": "Write a linear model as an ONNX file, which other languages and programs run.",
    "topics": "Find topics: labels that come together, and the features that predict them (BMLPL).",
    "select": "Choose features that predict the labels, when labels may be missing.",
    "extend": "Predict new labels for the rows of DATA: labels that no row carries.",
    "hide": "Hide labels on purpose, to see how well they can be recovered.",
    "datasets": "List the benchmark data sets, or show and fetch one.",
}
"""Our commands with what they do; each is the function of that name in the module of that name."""

_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": "rich",
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


class OnceCommand(TyperCommand):
    """A command that refuses an option given twice where only the last value would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            given = Counter(one.name for one in order if isinstance(one, TyperOption))
            for one in self.params:
                repeats = getattr(one, "multiple", False) or getattr(one, "is_flag", False)
                if given[one.name] > 1 and not repeats:
                    raise typer.BadParameter(
                        f"{one.opts[0]} is given {given[one.name]} times; give it once", ctx=ctx
                    )
        return super().parse_args(ctx, args)


class _Listed(TyperCommand):
    """A command as the list of commands shows it; ``load`` imports it."""

    def __init__(self, name: str, summary: str, plugin: EntryPoint | None = None) -> None:
        super().__init__(name, help=summary)
        self.plugin = plugin

    def load(self) -> Any:
        holder = typer.Typer(add_completion=False, **_SETTINGS)
        holder.callback()(lambda: None)
        assert self.name is not None
        if self.plugin is None:
            function = getattr(import_module(f"labelgap.cli.{self.name}"), self.name)
            holder.command(self.name, cls=OnceCommand)(as_command(function))
        else:
            holder.add_typer(self.plugin.load(), name=self.name)
        return typer.main.get_command(holder).commands[self.name]  # type: ignore[attr-defined]


class LazyGroup(TyperGroup):
    """A group of commands that imports a command when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, summary in COMMANDS.items():
            self.add_command(_Listed(name, summary))
        for entry in entry_points(group="labelgap.commands"):
            about = entry.dist.metadata["Summary"] if entry.dist else ""
            self.add_command(_Listed(entry.name, about, entry))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, _Listed) else command, rest


app = typer.Typer(name="labelgap", cls=LazyGroup, **_SETTINGS)


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
    """Multi-label learning when labels are missing.

    [bold]Start here[/bold]

    \b  labelgap demo         hide labels of a real set, recover them, show how well
      labelgap datasets     the benchmark sets, and where they are

    [bold]With your own table[/bold] (1, 0, and empty cells for unknown labels)

    \b  labelgap audit items.csv --labels 'tag_*' --item id
      labelgap review items.csv --labels 'tag_*' --item id --db decisions.sqlite
      labelgap fit items.csv --labels 'tag_*' --item id -o tags.model
      labelgap predict tags.model new.csv -o predictions.csv
      labelgap evaluate checked.csv --model tags.model
      labelgap export tags.model -o tags.onnx   (of fit --model binary-relevance)
      labelgap compare items.csv --labels 'tag_*' --item id

    Exit codes: 0 success, 1 something failed while running, 2 wrong usage or bad input.

    Every command takes [bold]--json[/bold] for machines and [bold]--help[/bold] for people.
    """


# -- from a function to a command --------------------------------------------------------------


def as_command(function: Callable[..., None], path: str | None = None) -> Callable[..., None]:
    """Return the function with flat options for typer, errors in one sentence and exit codes.

    Parameters
    ----------
    function : callable
        Its first parameter is a Terminal.
    path : str, default=None
        What to type to call it, such as "bench run"; the name of the function unless given.
    """
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(function)
    def run(*, as_json: bool, debug: bool, **values: Any) -> None:
        command = _command(path or function.__name__, parameters, values)
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        terminal = Terminal(as_json=as_json, command=command)
        with warnings.catch_warnings(), on_idle_cores():
            warnings.showwarning = terminal.show_warning
            _run(function, terminal, values, debug)

    parameters = sorted(
        _flat(function, hints), key=lambda option: option.default is not option.empty
    )
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = _joined_lines(function.__doc__ or "")
    run.__annotations__ = {option.name: option.annotation for option in parameters}
    return run


def _command(path: str, parameters: list[inspect.Parameter], values: dict[str, Any]) -> str:
    """What to type to get the same result again; options that have their default are left out."""
    words = ["labelgap", *path.split()]
    for parameter in parameters:
        value = values.get(parameter.name, parameter.default)
        option = get_args(parameter.annotation)[1]
        if isinstance(option, ArgumentInfo):
            words += [] if value is None else [str(value)]
        elif value is not None and value != parameter.default:
            # in an Annotated hint the first name stands where a default would
            declared = (option.default, *(option.param_decls or ()))
            names = [name for name in declared if isinstance(name, str) and name[:2] == "--"]
            flag = names[0].lstrip("-") if names else parameter.name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                several = value if isinstance(value, (list, tuple)) else [value]
                words += [word for each in several for word in (f"--{flag}", str(each))]
    return shlex.join(words)


def _joined_lines(text: str) -> str:
    r"""The text with one line per paragraph, for the terminal to wrap; ``\b`` keeps its lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        part if part.startswith("\b") else " ".join(part.split("\n")) for part in paragraphs
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


# -- threads ------------------------------------------------------------------------------------

# its first line: cpu, then ticks of users, nice ones, the system, idle, waiting for files, ...
_STATISTICS = Path("/proc/stat")
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@contextmanager
def on_idle_cores() -> Iterator[None]:
    """Hold linear algebra and numba to the idle cores, unless the environment says otherwise.

    Threads of linear algebra wait for each other by spinning. On a machine that is busy otherwise
    one of them is always late, and two threads take several times as long as one.
    """
    if any(os.environ.get(name) for name in _THREAD_VARIABLES):
        yield
        return
    import numba
    from threadpoolctl import threadpool_limits

    before, idle = numba.get_num_threads(), idle_cores()
    numba.set_num_threads(min(before, idle))
    try:
        with threadpool_limits(idle):
            yield
    finally:
        numba.set_num_threads(before)


def idle_cores() -> int:
    """Return how many cores this process may use and nobody else does, at least one."""
    from joblib import cpu_count

    own, idle = cpu_count(), _idle_now()
    return own if idle is None else max(1, min(own, round(idle)))


def _idle_now() -> float | None:
    """How many cores of the machine do nothing, over a tenth of a second; None where unknown."""
    before, start = _idle_seconds(), time.perf_counter()
    if before is None:
        return None
    time.sleep(0.1)
    after, end = _idle_seconds(), time.perf_counter()
    return None if after is None else (after - before) / (end - start)


def _idle_seconds() -> float | None:
    """Seconds that the cores of the machine have been idle, all together, since it was started."""
    try:
        ticks = _STATISTICS.read_text(encoding="ascii").split(maxsplit=6)[4:6]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
