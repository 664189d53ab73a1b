"""Which tests run which lines of the library, and whether they notice a changed module.

All of it happens in forks of a process in which pytest and the libraries are imported and ours is not.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TextIO

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelgap"


class Seen(NamedTuple):
    """What a test took, whether it passed, and the lines it ran, by file."""

    seconds: float
    passed: bool
    lines: dict[str, list[int]]


def record(arguments: list[str], out: Path) -> int:
    """Run tests and write a line about each as it ends: what it took and ran."""
    with out.open("w") as file:
        return _pytest(arguments, _Recorder(file))


def recorded(out: Path) -> dict[str, Seen]:
    """What :func:`record` wrote, also when it did not come to its end."""
    whole = [line for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return {name: Seen(**one) for name, one in map(json.loads, whole)}


def notice(module: str, tree: ast.Module, tests: list[str], out: Path) -> int:
    """Run tests with another tree in the place of a module; write which one failed."""
    sys.meta_path.insert(0, _Changed(module, tree))
    first = _FirstFailure()
    status = _pytest(["-x", *tests], first)
    out.write_text(first.name)
    return status


def _pytest(arguments: list[str], plugin: Any) -> int:
    from hypothesis import settings

    settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutation")
    os.chdir(ROOT)
    options = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow and not browser"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


class _Changed(importlib.abc.MetaPathFinder):
    """Finds one module with other code."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module, self.tree = module, tree

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert isinstance(spec.loader, SourceFileLoader)
        spec.loader = _Loader(fullname, spec.loader.path, self.tree)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, tree: ast.Module) -> None:
        super().__init__(fullname, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _FirstFailure:
    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"import of {report.nodeid}"


class _Recorder:
    def __init__(self, file: TextIO) -> None:
        self.file, self.lines = file, _lines()
        self.seconds, self.outcomes = 0.0, set[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.seconds, self.outcomes = 0.0, set()
        self.lines.begin()
        result = yield
        ran: dict[str, list[int]] = {}
        for file, line in sorted(self.lines.found):
            ran.setdefault(str(Path(file).relative_to(SOURCE)), []).append(line)
        seen = Seen(self.seconds, self.outcomes == {"passed"}, ran)
        self.file.write(json.dumps([item.nodeid, seen._asdict()]) + "\n")
        self.file.flush()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        self.outcomes.add(report.outcome)


class _TracedLines:
    """By a trace function, which every Python has."""

    def __init__(self) -> None:
        self.found: set[tuple[str, int]] = set()
        threading.settrace(self._call)
        sys.settrace(self._call)

    def begin(self) -> None:
        self.found = set()

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(str(SOURCE)) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.found.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class _MonitoredLines:
    """By the monitoring of Python 3.12, which costs little."""

    def __init__(self) -> None:
        self.found: set[tuple[str, int]] = set()
        events, tool = sys.monitoring.events, sys.monitoring.COVERAGE_ID  # type: ignore[attr-defined]
        self.monitoring, self.tool, self.line = sys.monitoring, tool, events.LINE  # type: ignore[attr-defined]
        self.monitoring.use_tool_id(tool, "mutation")
        self.monitoring.register_callback(tool, events.PY_START, self._start)
        self.monitoring.register_callback(tool, events.LINE, self._line)
        self.monitoring.set_events(tool, events.PY_START)

    def begin(self) -> None:
        self.found = set()
        # each line is told once; now again
        self.monitoring.restart_events()

    def _start(self, code: CodeType, _: int) -> Any:
        if code.co_filename.startswith(str(SOURCE)):
            self.monitoring.set_local_events(self.tool, code, self.line)
        return self.monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> Any:
        self.found.add((code.co_filename, line))
        return self.monitoring.DISABLE


def _lines() -> Any:
    return _MonitoredLines() if hasattr(sys, "monitoring") else _TracedLines()
