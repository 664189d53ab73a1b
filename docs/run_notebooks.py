"""Write the notebooks of the docs from their cells, run them, and keep what they show.

    python docs/run_notebooks.py           # all
    python docs/run_notebooks.py mend      # one

Needs ``pip install nbformat nbclient ipykernel`` and the data of emotions and yeast.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent / "notebooks"
_WORDS, _CODE = "# %% [markdown]", "# %%"


def cells_of(script: Path) -> list[nbformat.NotebookNode]:
    """The cells of a script in the percent format, which editors know."""
    found, kind, lines = [], None, []

    def close() -> None:
        text = "\n".join(lines).strip()
        if kind == _WORDS:
            plain = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.split("\n"))
            found.append(nbformat.v4.new_markdown_cell(plain))
        elif kind == _CODE and text:
            found.append(nbformat.v4.new_code_cell(text))

    for line in script.read_text(encoding="utf-8").split("\n"):
        if line in (_WORDS, _CODE):
            close()
            kind, lines = line, []
        else:
            lines.append(line)
    close()
    for number, cell in enumerate(found):
        cell["id"] = f"cell-{number}"
    return found


def run(script: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=cells_of(script))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    NotebookClient(notebook, timeout=600).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            # what a terminal draws while it works
            if output.get("name") == "stderr":
                cell.outputs = [one for one in cell.outputs if one is not output]
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, script.with_suffix(".ipynb"))


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.py")):
        if all(word in path.stem for word in sys.argv[1:]):
            run(path)
            print(path.with_suffix(".ipynb"))
