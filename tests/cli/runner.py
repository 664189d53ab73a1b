"""Fixtures: a runner for the command line, and small tables to run it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from typer.testing import CliRunner

from cli.sample_tables import table_rows, write_rows
from labelgap.cli._app import app


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, an empty cache and a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABELGAP_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LABELGAP_DATA", raising=False)
    return tmp_path


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: Any) -> Ran:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def fails(run: Run, workplace: Path) -> Callable[..., str]:
    """Run, expect exit code 2 and no new file; returns what was said."""

    def invoke(*arguments: Any) -> str:
        before = {path: path.stat().st_mtime_ns for path in workplace.rglob("*")}
        ran = run(*arguments)
        assert ran.code == 2, ran
        assert ran.out == ""
        assert "Traceback" not in ran.err
        assert {path: path.stat().st_mtime_ns for path in workplace.rglob("*")} == before
        return " ".join(ran.err.split())

    return invoke


@pytest.fixture
def items(workplace: Path) -> Path:
    """A table with ids, features, text and two label columns with gaps."""
    return write_rows(workplace / "items.csv", table_rows())


@pytest.fixture
def model(run: Run, items: Path) -> Path:
    """A model of the two tags."""
    fitted = run("fit", items, "-l", "tag_*", "--item", "id", "--drop", "note", "-o", "tags.model")
    assert fitted.code == 0, fitted
    return Path("tags.model")
