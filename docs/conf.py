"""Sphinx configuration; ``make docs`` builds with warnings as errors and without the network."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import labelgap

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# the pages of labelgap-papers lie in their own distribution; Sphinx wants them below this folder
shutil.rmtree(HERE / "reproduction", ignore_errors=True)
shutil.copytree(
    HERE.parent / "papers" / "reproduction",
    HERE / "reproduction",
    ignore=shutil.ignore_patterns("rows", "*.py", "*.toml"),
)

project = "labelgap"
author = "The labelgap developers"
copyright = f"2026, {author}"
version = release = labelgap.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "mathml",
    "public_names",
    "registry_tables",
    "result_tables",
]
exclude_patterns = ["_build", "_static", "notebooks/*.py"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# notebooks show what they printed and drew when they were run
nb_execution_mode = "off"

default_role = "py:obj"
# fields of several records have one name, `rows` say; such a reference needs no page
suppress_warnings = ["ref.python"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = False
napoleon_google_docstring = False
# documented attributes that are also members would appear twice otherwise
napoleon_use_ivar = True
napoleon_use_rtype = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "labelgap"
html_show_sourcelink = False
# the reference has its own index
html_use_index = False
html_static_path = ["_static"]
html_css_files = ["labelgap.css"]
# pages without pages below them have no section to navigate
html_sidebars = {
    name: []
    for name in (
        *("index", "getting-started", "examples", "datasets", "metrics", "notation"),
        *("how-to/audit", "how-to/review", "notebooks/*"),
    )
}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "logo": {"text": "labelgap"},
}

# What numpy-style docstrings write and reStructuredText would read as something else.
_PLAIN = (
    (re.compile(r"^(\s*)\.\. \[(\d+)\]"), r"\1\2."),  # references become a numbered list:
    (re.compile(r"(\[\d+\])_"), r"\1"),  # their numbers start anew in every docstring
    (re.compile(r"^(:\w+ \w+)_:"), r"\1\\_:"),  # the name of a fitted attribute is no link
    (re.compile(r"(?<=\w)_(?=-)"), r"\\_"),  # f_-i in a formula
)
# Types are sentences here: no word of them is looked up among the names of the library.
_TYPE = re.compile(r"^(:(?:var)?type \S+:) ([^`]+)$")


def _as_plain_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list) -> None:
    for position, line in enumerate(lines):
        for pattern, replacement in _PLAIN:
            line = pattern.sub(replacement, line)
        lines[position] = _TYPE.sub(_emphasised, line)


def _emphasised(match: re.Match) -> str:
    return f"{match[1]} *{match[2].strip().replace('*', chr(92) + '*')}*"


def _links_between_distributions(app: Any, name: str, source: list[str]) -> None:
    """Links are written for the repository; here the pages of both lie in one folder."""
    moved = source[0].replace("../papers/README.md", "../papers/reproduction/index.md")
    moved = moved.replace("../papers/reproduction/", "reproduction/")
    source[0] = moved.replace("../docs/", "") if name.startswith("reproduction/") else moved


def setup(app: Any) -> None:
    app.connect("source-read", _links_between_distributions)
    # after napoleon, which has the priority 500
    app.connect("autodoc-process-docstring", _as_plain_text, priority=600)
