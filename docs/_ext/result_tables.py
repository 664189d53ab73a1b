"""Tables and figures of measured results, so that no figure on a page is typed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from measured_rows import ROOT, averaged, files_of, read_rows, shown
from sphinx.util.docutils import SphinxDirective

_ABSENT = "*Not measured yet.*"


class ResultTable(SphinxDirective):
    """Measured rows, by their name, as a table.

    ``:columns:`` lists fields, each with a heading after ``=`` if it needs another one; ``:where:``
    keeps rows (``dataset=bibtex, experiment=accuracy``); ``:averaged:`` gives the mean and the
    standard deviation of rows that differ in figures alone, and ``:by:`` the figures that they must
    not differ in; ``:script:`` is what makes the rows.
    """

    required_arguments = 1
    option_spec: ClassVar = {
        "columns": directives.unchanged_required,
        "where": directives.unchanged,
        "averaged": directives.flag,
        "by": directives.unchanged,
        "script": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        for path in files_of(self.arguments[0]):
            self.env.note_dependency(str(path))
        rows = read_rows(self.arguments[0], **pairs(self.options.get("where", "")))
        columns = pairs(self.options["columns"])
        if "averaged" in self.options:
            rows = averaged(rows, columns, pairs(self.options.get("by", "")))
        text = table(rows, columns) if rows else _ABSENT
        return self.parse_text_to_nodes(text + command(self.options.get("script")))


class ResultFigure(SphinxDirective):
    """A drawn figure beside the page, or the remark that it was not measured yet."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"script": directives.unchanged, "alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        target = self.arguments[0]
        text = _ABSENT
        if (Path(self.env.doc2path(self.env.docname)).parent / target).exists():
            caption = "\n".join(self.content)
            text = f"```{{figure}} {target}\n:alt: {self.options['alt']}\n\n{caption}\n```"
        return self.parse_text_to_nodes(text + command(self.options.get("script")))


def pairs(text: str) -> dict[str, str]:
    """``a=b, c`` as ``{"a": "b", "c": "c"}``."""
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): value.strip() or name.strip() for name, _, value in parts}


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """A Markdown table; columns that no row has are left out."""
    held = {name: title for name, title in columns.items() if any(name in row for row in rows)}
    lines = [list(held.values()), ["---"] * len(held)]
    lines += [[shown(row.get(name), name).replace("|", "\\|") for name in held] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def command(script: str | None) -> str:
    """How to measure again, for a script that is there."""
    is_there = script is not None and (ROOT / script).exists()
    return f"\n\nTo measure: `python {script}`." if is_there else ""


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("result-table", ResultTable)
    app.add_directive("result-figure", ResultFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
