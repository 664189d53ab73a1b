"""``labelgap report``: the page of an audit, from its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import Terminal
from labelgap.cli.audit import read_audit
from labelgap.report import write_audit_page


def report(
    terminal: Terminal,
    audit: Annotated[
        Path, typer.Argument(metavar="AUDIT", show_default=False, help="audit.json, or its folder.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
) -> None:
    """Write the page of an audit again: one file, to be read offline.

    [bold]Examples[/bold]

    \b  labelgap report audit/audit.json -o report.html
    """
    check_target(out)
    found = read_audit(audit)
    write_audit_page(found, out)
    terminal.result(
        {"audit_id": found.audit_id, "audit": str(audit), "out": str(out)},
        f"the audit of {found.summary.n_items:,} items and {found.summary.n_labels:,} labels is in "
        f"[bold]{escape(str(out))}[/bold]",
    )
