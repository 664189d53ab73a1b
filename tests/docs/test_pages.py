"""The code on the pages runs, prints what the pages say, and their links lead somewhere."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from run_examples import EXAMPLES, data_of, is_slow, output_of, stored  # noqa: E402

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
_NUMBER = re.compile(r"-?\d+\.\d+")
_FENCE = re.compile(r"^(`{3,}).*?^\1`*\s*$", flags=re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INCLUDED = re.compile(r"^```\{literalinclude\} (\S+)$(.*?)^```$", re.MULTILINE | re.DOTALL)


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def same_output(printed: str, stored: str, tolerance: float = 0.02) -> bool:
    """Equal text; figures with decimals may differ a little between versions of libraries."""
    words = [" ".join(_NUMBER.sub("#", text).split()) for text in (printed, stored)]
    numbers = [np.array(_NUMBER.findall(text), dtype=float) for text in (printed, stored)]
    return words[0] == words[1] and bool(np.allclose(*numbers, rtol=0, atol=tolerance))


def _scripts():
    for script in EXAMPLES:
        marks = [pytest.mark.slow] if is_slow(script) else []
        yield pytest.param(script, id=_id(script), marks=marks)


@pytest.mark.parametrize("script", list(_scripts()))
def test_example_prints_what_its_page_shows(script, tmp_path, monkeypatch):
    dataset, or_generated = data_of(script)
    if dataset is not None and not os.environ.get("LABELGAP_DATA"):
        if not or_generated:
            pytest.skip("LABELGAP_DATA is not set")
        monkeypatch.setenv("LABELGAP_CACHE", str(tmp_path))
        assert "generated" in output_of(script)
        return
    printed = output_of(script, tmp_path / "picture.png")
    assert same_output(printed, stored(script).read_text(encoding="utf-8")), (
        f"{script.name} now prints\n{printed}\nIf that is right: python docs/run_examples.py"
    )
    assert (tmp_path / "picture.png").exists() == stored(script, ".png").exists()


def test_other_output_is_noticed():
    assert same_output("AUC 0.931\n", "AUC  0.925\n")
    assert not same_output("AUC 0.931\n", "AUC 0.831\n")
    assert not same_output("3 rows\n", "4 rows\n")


def test_every_example_is_on_a_page():
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target, _ in _INCLUDED.findall(page.read_text(encoding="utf-8"))
    }
    assert {script.resolve() for script in EXAMPLES} <= shown


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), f"{page.name} links {target}, which does not exist"
        assert not anchor or anchor in _anchors(linked), f"{page.name}: no heading for {target}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_included_parts_exist(page):
    for target, options in _INCLUDED.findall(page.read_text(encoding="utf-8")):
        included = (page.parent / target).read_text(encoding="utf-8")
        for mark in re.findall(r'^:(?:start-after|end-before): "(.+)"$', options, re.MULTILINE):
            assert mark in included, f"{page.name}: {target} has no {mark}"


_IMAGE = re.compile(r"^```\{image\} (\S+)$(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_pictures_are_there_small_and_described(page):
    for target, options in _IMAGE.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).stat().st_size < 200_000, target
        assert re.search(r"^:alt: .{20,}$", options, re.MULTILINE), f"{target} needs an :alt:"


SECTIONS = ("A model", "A metric", "A data set", "A published method", "A table")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_kind_of_contribution_links_a_real_file(section):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    body = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert body, f"CONTRIBUTING.md has no section {section!r}"
    linked = [ROOT / target for target in _LINK.findall(body[1])]
    assert any(path.is_file() for path in linked)


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("myst_parser", reason="pip install 'labelgap[docs]'")
    pytest.importorskip("pydata_sphinx_theme", reason="pip install 'labelgap[docs]'")
    import subprocess

    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    result = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
