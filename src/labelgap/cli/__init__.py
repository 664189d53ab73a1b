"""The command line, ``labelgap``: audit and review of one's own tables, models, benchmarks.

One thin file per command; a command is a function listed in :mod:`labelgap.cli._app`. Results go
to standard output, everything else to standard error. Exit codes: 0 success, 1 something failed
while running (nothing to fetch from, a package missing, a full disk), 2 wrong usage or bad input,
130 interrupted.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich")


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
