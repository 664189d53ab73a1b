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

_GROUND = {"extras", "frames", "_records", "files", "kernels", "labels", "memory"}
_GROUND |= {"parameters", "views"}
_LEARNING = _GROUND | {"fitting", "estimator", "targets", "metrics", "cooccurrence", "zero_shot"}
_LEARNING |= {"propensity", "text"}
_DATA = {"data", "metrics", "protocols", "model_selection", "generators"}
_METHODS = {"models", "one_vs_rest", "baselines", "label_tree", "imputers", "networks", "mend"}

# What each part may import from the rest of the library; cli is for the door alone.
ALLOWED: dict[str, set[str]] = {
    "extras": set(),
    "_records": set(),
    "files": set(),
    "memory": set(),
    "parameters": set(),
    "kernels": {"memory"},
    "labels": {"extras", "kernels", "memory"},
    "views": {"extras", "kernels"},
    "frames": {"extras", "text"},
    "data": _GROUND,
    "metrics": _GROUND,
    "cooccurrence": {"extras", "kernels", "labels", "memory"},
    "protocols": _GROUND | {"cooccurrence"},
    "model_selection": _GROUND | {"metrics", "targets"},
    "generators": _GROUND | {"protocols"},
    "targets": {"kernels", "labels"},
    "propensity": {"kernels"},
    "estimation": {"labels"},
    "estimator": {"fitting", "frames", "kernels", "labels", "memory", "metrics"}
    | {"parameters", "targets"},
    "text": {"extras", "kernels", "labels", "memory"},
    "zero_shot": {"labels", "targets", "metrics", "estimator", "cooccurrence", "text"},
    "fitting": {"_records", "extras", "files", "kernels", "labels", "memory"},
    "one_vs_rest": {"extras", "fitting", "kernels", "labels", "memory"},
    "baselines": _LEARNING | {"one_vs_rest"},
    "label_tree": _LEARNING,
    "models": _LEARNING | {"one_vs_rest", "baselines"},
    "imputers": _LEARNING | {"one_vs_rest", "baselines", "models"},
    "losses": {"extras"},
    "networks": _LEARNING | {"losses"},
    "mend": _LEARNING | {"one_vs_rest", "baselines", "label_tree", "imputers", "networks"},
    "registry": _LEARNING | _METHODS,
    "auditing": _LEARNING | _DATA | _METHODS | {"estimation"},
    "export": _LEARNING | _METHODS,
    "plots": {"extras", "kernels", "labels", "propensity", "auditing"},
    "report": _LEARNING | _DATA | _METHODS | {"auditing", "plots"},
    "review": _LEARNING | _DATA | _METHODS | {"auditing", "estimation", "report"},
    "cli": _LEARNING
    | _DATA
    | _METHODS
    | {"registry", "auditing", "estimation", "export", "report", "review", ""},
    "__main__": {"cli"},
    "": _LEARNING | _DATA | _METHODS | {"auditing"},
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


def test_imports_point_one_way():
    found = [
        line
        for path in MODULES
        for line in forbidden(name_of(path), path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("labelgap.kernels.ranking", "from labelgap.labels import Labels"),
        ("labelgap.metrics._ranking_metrics", "def f():\n    from labelgap import baselines"),
        ("labelgap.fitting._loops", "import labelgap.estimator"),
        ("labelgap.report", "import labelgap.cli"),
        ("labelgap", "from labelgap.cli import main"),
        ("labelgap.labels", "import labelgap"),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert len(forbidden(module, source)) == 1


def test_files_can_be_read_in_one_sitting():
    files = [
        path
        for folder in ("src", "tests", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    too_long = {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > 500}
    assert not too_long


PACKAGES = {"labelgap": SOURCE, "labelgap_papers": ROOT / "papers" / "src" / "labelgap_papers"}


def private_imports(source: str, package: str) -> list[str]:
    """Names that a source in this package takes from a private module of another one."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
            parts = name.split(".")
            private = [k for k, part in enumerate(parts) if part[0] == "_" and part[:2] != "__"]
            if parts[0] in PACKAGES and private:
                owner = ".".join(parts[: private[0]])
                if not f"{package}.".startswith(f"{owner}."):
                    found.append(f"{package}: {name}")
    return found


def test_no_package_imports_a_private_module_of_another():
    found = []
    for name, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            package = ".".join([name, *path.relative_to(folder).parts[:-1]])
            found += private_imports(path.read_text(encoding="utf-8"), package)
    assert not found, "\n".join(found)


def test_a_private_import_is_found():
    source = "from labelgap.labels._labels import Labels"
    assert private_imports(source, "labelgap.metrics")
    assert not private_imports(source, "labelgap.labels")
    assert private_imports("from labelgap import _records", "labelgap_papers.bench")


def test_private_modules_leave_public_names_to_their_package():
    listing = [
        path.name
        for folder in PACKAGES.values()
        for path in folder.rglob("_*.py")
        if path.name != "__init__.py" and "\n__all__ = " in path.read_text(encoding="utf-8")
    ]
    assert not listing


def test_no_class_name_is_taken_twice():
    places: dict[str, list[str]] = {}
    for folder in PACKAGES.values():
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(path.name)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert not twice


def test_public_names_exist():
    public = [
        name_of(path)
        for path in MODULES
        if not any(part.startswith("_") for part in name_of(path).split("."))
    ]
    missing = [
        f"{module}.{name}"
        for module in public
        for name in getattr(importlib.import_module(module), "__all__", ())
        if not hasattr(importlib.import_module(module), name)
    ]
    assert not missing


OPTIONAL = [
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "typer",
    "rich",
    "dask",
    "onnx",
    "torch",
    "wordllama",
    "tokenizers",
    "safetensors",
]


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
