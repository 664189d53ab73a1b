"""CITATION.cff says what the package says of itself, and names the five papers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml", reason="reading CITATION.cff needs a YAML parser")


@pytest.fixture(scope="module")
def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_it_has_what_the_format_requires(citation):
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= reference.keys()
        assert all(a.keys() == {"given-names", "family-names"} for a in reference["authors"])


def test_it_agrees_with_the_package(citation):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]


def test_the_five_papers_are_there(citation):
    systems = {reference["notes"] for reference in citation["references"]}
    assert systems == {"BMLPL", "ML-LCS", "iMVWL", "GMFS", "RMFL"}
