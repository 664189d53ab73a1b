"""``python tests/reliability/mutation.py``: which small faults in the code do the tests notice?

One place of a file is changed at a time (a comparison, a sign, a constant, a condition, a return),
the tests of its room are run, and a mutant that no test notices is printed: a survivor. Sampled, with
a seed; nothing of the working tree is changed, the mutants live in a copy.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# rooms and the tests that should notice
ROOMS = {
    "labels": "tests/labels tests/kernels/test_input_arrays.py",
    "metrics": "tests/metrics",
    "imputers": "tests/imputers tests/mend",
    "mend": "tests/mend",
    "propensity": "tests/propensity",
    "auditing": "tests/auditing tests/cli/test_audit.py",
    "files.py": "tests/test_files.py",
    "kernels/input_arrays.py": "tests/kernels/test_input_arrays.py",
}
_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def n_mutants(source: str) -> int:
    """In how many places a module can be changed."""
    return sum(1 for _ in _places(ast.parse(source)))


def mutant(source: str, number: int) -> tuple[int, str, str]:
    """Line, description and source of one mutant of a module."""
    tree = ast.parse(source)
    node, change, words = list(_places(tree))[number]
    change()
    return node.lineno, words, ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.AST) -> Iterator[tuple]:
    quiet = {id(node) for part in ast.walk(tree) for node in _not_code(part)}
    for node in ast.walk(tree):
        if id(node) in quiet:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
            yield node, _swap(node, "ops"), type(node.ops[0]).__name__
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in _SWAPS:
            yield node, _swap(node, "op"), type(node.op).__name__
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node, _set(node, "value", node.value + 1), f"{node.value} + 1"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, _set(node, "value", not node.value), f"not {node.value}"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            yield node, _set(node, "op", ast.UAdd()), f"no {type(node.op).__name__}"
        elif isinstance(node, ast.If):
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield node, _set(node, "test", negated), "if not"


def _not_code(node: ast.AST) -> Iterator[ast.AST]:
    """Messages, annotations and docstrings, whose faults no test has to notice."""
    if isinstance(node, ast.Raise):
        yield from ast.walk(node)
    if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from ast.walk(node.returns)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        yield from ast.walk(node)


def _swap(node: ast.AST, field: str):
    def change() -> None:
        if field == "ops":
            node.ops[0] = _SWAPS[type(node.ops[0])]()  # type: ignore[attr-defined]
        else:
            node.op = _SWAPS[type(node.op)]()  # type: ignore[attr-defined]

    return change


def _set(node: ast.AST, field: str, value: object):
    return lambda: setattr(node, field, value)


def _nearest_first(tests: str, module: Path, source: str) -> list[str]:
    """The examples of the changed module, then test files, first those that share words with it."""
    words = set(re.findall(r"\w{4,}", source))
    places = [ROOT / one for one in tests.split()]
    files = [
        file for one in places for file in ([one] if one.is_file() else one.rglob("test_*.py"))
    ]

    def shared(file: Path) -> int:
        return -len(words & set(re.findall(r"\w{4,}", file.read_text(encoding="utf-8"))))

    dotted = ".".join(module.with_suffix("").parts).removesuffix(".__init__")
    examples = [f"{ROOT}/tests/test_docstrings.py::test_examples_run[{dotted}]"]
    return [*(examples if ">>> " in source else ()), *map(str, sorted(files, key=shared))]


def survives(copy: Path, tests: list[str], python: str) -> bool:
    """Whether the tests pass with the code in the copy."""
    environment = {**os.environ, "PYTHONPATH": f"{copy}:{ROOT / 'papers' / 'src'}"}
    environment["NUMBA_CACHE_DIR"] = str(copy.parent / "numba")
    command = [python, "-m", "pytest", "-q", "-x", "-m", "not slow and not browser"]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", *tests],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=1800,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        raise RuntimeError(f"pytest did not run: {done.stderr.decode()[-500:]}")
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--n", type=int, default=10, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="mutants that were tried before")
    parser.add_argument("--python", default=sys.executable, help="what runs the tests")
    options = parser.parse_args()
    total = killed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "src")
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        for room in options.rooms:
            place = copy / "labelgap" / room
            files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
            every = [(path, k) for path in files for k in range(n_mutants(path.read_text()))]
            random.Random(options.seed).shuffle(every)
            for path, number in every[options.skip : options.n]:
                before = path.read_text()
                line, words, source = mutant(before, number)
                path.write_text(source)
                tests = _nearest_first(ROOMS[room], path.relative_to(copy), before)
                alive = survives(copy, tests, options.python)
                path.write_text(before)
                total, killed = total + 1, killed + (not alive)
                where = f"{path.relative_to(copy)}:{line}: {words}"
                print(f"{'SURVIVED' if alive else 'killed  '} {where}", flush=True)
    print(f"{killed} of {total} killed")


if __name__ == "__main__":
    main()
