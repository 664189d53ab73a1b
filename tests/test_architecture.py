"""Imports point one way, files stay readable, and public names are there."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "labelgap"
MODULES = sorted(SOURCE.rglob("*.py"))

_GROUND = {"_extras", "kernels", "labels", "views"}
_LEARNING = _GROUND | {"fitting", "estimator", "targets", "metrics", "cooccurrence", "zero_shot"}
_DATA = {"data", "metrics", "protocols", "splits", "generators"}
_METHODS = {"models", "baselines", "yardsticks", "mending"}

# What each part may import from the rest of the library; cli is for the door alone.
ALLOWED: dict[str, set[str]] = {
    "_extras": set(),
    "kernels": set(),
    "labels": {"_extras", "kernels"},
    "views": {"_extras", "kernels"},
    "data": _GROUND,
    "metrics": _GROUND,
    "cooccurrence": {"_extras", "kernels", "labels"},
    "protocols": _GROUND | {"cooccurrence"},
    "splits": _GROUND,
    "generators": _GROUND | {"protocols"},
    "targets": {"labels"},
    "estimator": {"labels", "targets", "metrics"},
    "zero_shot": {"labels", "targets", "metrics", "estimator", "cooccurrence"},
    "fitting": {"_extras", "kernels", "labels"},
    "yardsticks": _LEARNING,
    "models": _LEARNING | {"yardsticks"},
    "baselines": _LEARNING | {"yardsticks", "models"},
    "mending": _LEARNING | {"yardsticks", "models"},
    "bench": _LEARNING | _DATA | _METHODS,
    "audit": _LEARNING | _DATA | _METHODS,
    "export": _LEARNING | _METHODS,
    "plots": {"_extras", "kernels", "labels", "audit"},
    "report": _LEARNING | _DATA | _METHODS | {"bench", "audit", "plots"},
    "review": _LEARNING | _DATA | _METHODS | {"audit", "report"},
    "cli": _LEARNING | _DATA | _METHODS | {"bench", "audit", "export", "report", "review", ""},
    "__main__": {"cli"},
    "": _LEARNING | _DATA | _METHODS,
}


def part_of(module: str) -> str:
    """The part of the library a module name belongs to; "" for the package itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else ""


def name_of(path: Path) -> str:
    pieces = ["labelgap", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(pieces[:-1] if pieces[-1] == "__init__" else pieces)


def imports_of(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every module of the library that a source imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write absolute imports"
            from_package = node.module == "labelgap"
            names = [f"labelgap.{a.name}" if from_package else node.module for a in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "labelgap":
                yield node.lineno, name


def forbidden(module: str, source: str) -> list[str]:
    part = part_of(module)
    assert part in ALLOWED, f"{module}: add {part!r} to ALLOWED, and say what it may import"
    return [
        f"{module}, line {line}: {part or 'labelgap'} must not import {name}"
        for line, name in imports_of(source)
        if part_of(name) not in ALLOWED[part] | {part} and not _is_plain_name(name)
    ]


def _is_plain_name(name: str) -> bool:
    """``from labelgap import __version__`` and its like name no module."""
    part = part_of(name)
    return part != "" and not (SOURCE / part).is_dir() and not (SOURCE / f"{part}.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path):
    found = forbidden(name_of(path), path.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("labelgap.kernels.ranking", "from labelgap.labels import Labels"),
        ("labelgap.metrics._auc", "def f():\n    from labelgap import yardsticks"),
        ("labelgap.fitting._loops", "import labelgap.estimator"),
        ("labelgap.report", "import labelgap.cli"),
        ("labelgap", "from labelgap.cli import main"),
        ("labelgap.labels", "import labelgap"),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert len(forbidden(module, source)) == 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_prints(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    printing = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert not printing, f"{path.name} prints in the lines {printing}"


def test_files_can_be_read_in_one_sitting():
    files = [
        path
        for folder in ("src", "tests", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    too_long = {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > 500}
    assert not too_long


@pytest.mark.parametrize(
    "module",
    [
        name_of(path)
        for path in MODULES
        if not any(p.startswith("_") for p in name_of(path).split("."))
    ],
)
def test_public_names_exist(module):
    loaded = importlib.import_module(module)
    missing = [name for name in getattr(loaded, "__all__", ()) if not hasattr(loaded, name)]
    assert not missing


OPTIONAL = ["pandas", "polars", "pyarrow", "matplotlib", "jinja2", "typer", "rich", "dask", "onnx"]


def test_the_import_brings_no_optional_package():
    # scikit-learn imports some of them itself when they are installed
    code = (
        "import sys, sklearn.linear_model, sklearn.preprocessing, sklearn.neighbors;"
        f"before = sys.modules.keys() & {set(OPTIONAL)!r};"
        f"import labelgap; print(*(sys.modules.keys() & {set(OPTIONAL)!r} - before))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.split() == []
