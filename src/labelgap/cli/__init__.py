"""The command line, ``labelgap``: audit and review of your tables, models, benchmarks.

One thin file per command, listed in :mod:`labelgap.cli._app` and imported when it is called.
Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 something
failed while running (nothing to fetch from, a package missing, a full disk), 2 wrong usage or bad
input, 130 interrupted.

A package adds commands with an entry point in the group ``labelgap.commands`` that names a
``typer.Typer``. The other names here are what such commands share with ours.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgap.cli._app import as_command
    from labelgap.cli._table_files import check_target
    from labelgap.cli._terminal import BadInputError, Terminal, table

__all__ = ["BadInputError", "Terminal", "as_command", "check_target", "main", "table"]

_NEEDED = ("typer", "rich")
_HOMES = {
    "BadInputError": "labelgap.cli._terminal",
    "Terminal": "labelgap.cli._terminal",
    "as_command": "labelgap.cli._app",
    "check_target": "labelgap.cli._table_files",
    "table": "labelgap.cli._terminal",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def main() -> None:
    """Run the command line of this process; exits with the code of the command."""
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        sys.stderr.write(
            f"labelgap: the command line needs {' and '.join(missing)}: "
            "pip install 'labelgap[cli]'\n"
        )
        raise SystemExit(1)
    from labelgap.cli._app import app

    app(prog_name="labelgap")
