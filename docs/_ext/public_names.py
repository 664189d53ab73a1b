"""The public names of packages as a page of the reference, read from ``__all__`` when it is built."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import labelgap

# below the folder of the reference; made when the pages are built
FOLDER = "names"


def items(module_name: str) -> Iterator[tuple[str, Any]]:
    """Names as a user imports them: from the package itself where it has them."""
    module = importlib.import_module(module_name)
    for name in module.__all__:
        item = getattr(module, name)
        top = name in labelgap.__all__ and getattr(labelgap, name) is item
        yield f"labelgap.{name}" if top else f"{module_name}.{name}", item


def members(item: type) -> list[str]:
    """Documented public methods and properties, the inherited ones of the library included."""
    found = []
    for name, member in inspect.getmembers(item):
        owner = next((c for c in item.__mro__ if name in vars(c)), None)
        function = inspect.unwrap(getattr(member, "__func__", member))
        documented = inspect.isroutine(function) or isinstance(member, property)
        if name.startswith(("_", "set_")) or not documented or not inspect.getdoc(member):
            continue
        if name in getattr(item, "_fields", ()) or name in getattr(item, "__annotations__", ()):
            continue
        if owner is not None and owner.__module__.startswith(("labelgap.", "labelgap_papers.")):
            found.append(name)
    return found


def entry(name: str, item: Any) -> list[str]:
    if inspect.isclass(item):
        kind = "autoexception" if issubclass(item, BaseException) else "autoclass"
        listed = members(item)
        return [f".. {kind}:: {name}"] + ([f"   :members: {', '.join(listed)}"] if listed else [])
    if callable(item):
        return [f".. autofunction:: {name}"]
    if isinstance(item, Mapping):
        text = "By name: " + ", ".join(f"``{key}``" for key in item) + "."
    elif isinstance(item, (tuple, list)):
        text = "One of " + ", ".join(f"``{value}``" for value in item) + "."
    else:
        text = f"``{item!r}``."
    return [f".. py:data:: {name}", "", f"   {text}"]


class PublicNames(SphinxDirective):
    """``public-names:: package`` lists what the package offers; each class and function has a page."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for module in self.arguments[0].split():
            found = list(items(module))
            own = [name for name, item in found if callable(item)]
            lines += [".. autosummary::", "   :nosignatures:", ""]
            lines += [f"   ~{name}" for name in own] + [""]
            lines += [".. toctree::", "   :hidden:", ""]
            lines += [f"   {FOLDER}/{name}" for name in own] + [""]
            for name, item in found:
                if not callable(item):
                    lines += [*entry(name, item), ""]
        text = "\n".join(lines)
        # reStructuredText inside a Markdown page
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n{text}\n```")


def write_pages(app: Any) -> None:
    """Write a page for each class and function of the packages that pages of the reference list."""
    reference = Path(app.srcdir) / "reference"
    folder = reference / FOLDER
    folder.mkdir(exist_ok=True)
    pages = {}
    for page in reference.glob("*.md"):
        listed = re.findall(r"^```\{public-names\} (.+)$", page.read_text("utf-8"), re.MULTILINE)
        for module in " ".join(listed).split():
            for name, item in items(module):
                if callable(item):
                    title = name.rpartition(".")[2]
                    lines = [title, "=" * len(title), "", *entry(name, item), ""]
                    pages[f"{name}.rst"] = "\n".join(lines)
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("public-names", PublicNames)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
