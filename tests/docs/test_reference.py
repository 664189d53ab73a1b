"""Every public name of the library is on a page of the reference."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
_MODULE = re.compile(r"\s*\.\. currentmodule:: (\S+)")
_NAME = re.compile(r"\s*\.\. (?:auto(?:function|class|data|exception)|py:data):: (\S+)")
PACKAGES = (
    "audit baselines bench cooccurrence data estimator export fitting generators labels mending "
    "metrics models.bmlpl models.gmfs models.imvwl models.mllcs models.rmfl plots protocols report "
    "review splits views yardsticks zero_shot"
)


def documented() -> set[str]:
    found, module = set(), ""
    for page in sorted(DOCS.rglob("*.md")):
        if "_build" in page.parts:
            continue
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := _MODULE.match(line):
                module = match.group(1)
            elif match := _NAME.match(line):
                name = match.group(1)
                found.add(name if name.startswith("labelgap.") else f"{module}.{name}")
    return found


@pytest.mark.parametrize("package", PACKAGES.split())
def test_every_public_name_is_documented(package):
    module = importlib.import_module(f"labelgap.{package}")
    objects = {id(_resolve(name)) for name in documented()}
    assert [name for name in module.__all__ if id(getattr(module, name)) not in objects] == []


def _resolve(name: str) -> object:
    """The object that a page names; a name that leads nowhere is an error."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"{name}: there is no such name")


def test_every_model_that_takes_a_device_is_on_its_page():
    page = (DOCS / "how-to" / "accelerator.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))))
    found = set()
    for package in (
        "baselines",
        "mending",
        "models.gmfs",
        "models.mllcs",
        "models.rmfl",
        "yardsticks",
    ):
        module = importlib.import_module(f"labelgap.{package}")
        classes = [getattr(module, name) for name in module.__all__]
        found |= {
            one.__name__
            for one in classes
            if isinstance(one, type) and "device" in _parameters(one)
        }
    assert listed == found


def _parameters(model: type) -> set[str]:
    names = getattr(model, "_get_param_names", None)
    return set(names()) if names else set()
