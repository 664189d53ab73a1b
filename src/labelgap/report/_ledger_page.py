"""The ledger as one HTML page without references to anything outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelgap._extras import require
from labelgap.report import _words as words
from labelgap.report._curves import table_lines
from labelgap.report._files import replacing
from labelgap.report._ledger_words import (
    footnotes,
    grid_counts,
    grid_title,
    is_first,
    ranks_words,
)
from labelgap.report._pictures import Picture
from labelgap.report._svg import as_inline_svg
from labelgap.report._views import LedgerView


def ledger_page(view: LedgerView, command: str, version: str) -> str:
    """The page as HTML.

    Parameters
    ----------
    view : LedgerView
    command : str
        What writes the page.
    version : str
        Of the library.

    Returns
    -------
    str
    """
    jinja2 = require("jinja2", extra="report", purpose="the page of the ledger")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("labelgap.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        {name: getattr(words, name) for name in words.__all__},
        inline=lambda picture: jinja2.filters.do_mark_safe(_inline(picture)),
        grid_counts=grid_counts,
        grid_title=grid_title,
        is_first=is_first,
        footnotes=footnotes,
        ranks_words=ranks_words,
        table_lines=table_lines,
    )
    page = environment.get_template("ledger.html.j2").render(
        view=view,
        version=version,
        command=command,
        headline=words.headline(view.counts),
        remainder=words.remainder(view.counts),
        provisional=words.provisional(view.ledger.entries),
        machines=machines(view),
    )
    return page.lstrip()


def write_ledger_page(view: LedgerView, path: str | Path, command: str, version: str) -> None:
    """Write the page; an existing file is replaced only when the new one is complete."""
    page = ledger_page(view, command, version)
    with replacing(Path(path)) as (partial,):
        partial.write_text(page, encoding="utf-8")


def _inline(picture: Picture) -> str:
    return as_inline_svg(picture.raw, picture.name, picture.title, picture.description)


def machines(view: LedgerView) -> list[tuple[Any, ...]]:
    """Numbers of rows by the software and the machine they were measured with."""
    found: Counter[tuple[str, ...]] = Counter()
    for results in view.ledger.results:
        for row in results.rows:
            threads = "" if row.threads is None else str(row.threads)
            found[row.python, _versions(row.versions), row.cpu, row.blas, threads] += 1
    return [(n, *(one or "–" for one in facts)) for facts, n in found.most_common()]


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())
