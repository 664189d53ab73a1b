"""Notebooks of the docs were run from top to bottom, say what their scripts say, and show pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = ["audit", "mend", "zero_shot"]


def code_of(script: Path) -> list[str]:
    cells = script.read_text(encoding="utf-8").split("# %%")[1:]
    return [cell.strip() for cell in cells if not cell.startswith(" [markdown]")]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_was_run_as_its_script_is(name):
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]) for cell in cells] == code_of(NOTEBOOKS / f"{name}.py")
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert all(output["output_type"] != "error" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
