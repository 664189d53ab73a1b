"""Every public package is on a page of the reference, and the page on accelerators lists all devices."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import labelgap
from labelgap_papers import methods

DOCS = Path(__file__).parents[2] / "docs"
# pure functions that estimators are made of, and what the packages that are listed re-export
INSIDE = ("labelgap.kernels", "labelgap.cli", "labelgap.files", "labelgap.memory")


def on_pages() -> set[str]:
    pages = (DOCS / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return set(re.findall(r"^```\{public-names\} (\S+)$", text, re.MULTILINE))


def test_every_public_package_is_on_a_page():
    found = set()
    for module in pkgutil.walk_packages(labelgap.__path__, "labelgap."):
        private = any(part.startswith("_") for part in module.name.split("."))
        if private or module.name.startswith(INSIDE):
            continue
        names = getattr(importlib.import_module(module.name), "__all__", ())
        if names:
            found.add(module.name)
    shown = {
        id(getattr(importlib.import_module(package), name))
        for package in on_pages()
        for name in importlib.import_module(package).__all__
    }
    missing = [
        f"{package}.{name}"
        for package in sorted(found - on_pages())
        for name in importlib.import_module(package).__all__
        if id(getattr(importlib.import_module(package), name)) not in shown
    ]
    assert not missing


def test_every_page_of_the_reference_is_in_its_index():
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    pages = {page.stem for page in (DOCS / "reference").glob("*.md")} - {"index"}
    assert pages == set(re.findall(r"^(\w+)$", index, re.MULTILINE))


def test_every_model_that_takes_a_device_is_on_its_page():
    page = (DOCS / "how-to" / "accelerator.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))))
    rooms = (
        "baselines",
        "imputers",
        "mend",
        "models.gmfs",
        "models.mllcs",
        "models.rmfl",
        "networks",
    )
    modules = [importlib.import_module(f"labelgap.{room}") for room in rooms]
    classes = [getattr(module, name) for module in [*modules, methods] for name in module.__all__]
    found = {
        item.__name__
        for item in classes
        if isinstance(item, type) and "device" in getattr(item, "_get_param_names", lambda: ())()
    }
    assert listed == found
