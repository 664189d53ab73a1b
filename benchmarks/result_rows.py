"""Result rows: JSON lines that say where they come from; what is there is not run again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import labelgap

FOLDER = Path(__file__).parent / "results"


class ResultRows:
    """An append-only file of rows, each written whole.

    Parameters
    ----------
    name : str
        The file is ``benchmarks/results/<name>.jsonl``.
    key : tuple of str
        The fields that tell one measurement from another.
    """

    def __init__(self, name: str, key: tuple[str, ...]) -> None:
        self.path = FOLDER / f"{name}.jsonl"
        self.key = key
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def find(self, **fields: Any) -> dict[str, Any] | None:
        """The row with these key fields, if it was measured already."""
        wanted = json.loads(json.dumps(fields))
        for row in self.rows:
            if all(row.get(name) == wanted.get(name) for name in self.key):
                return row
        return None

    def add(self, row: Mapping[str, Any]) -> None:
        full = {**row, **machine_facts()}
        FOLDER.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(full, default=_plain) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(json.loads(json.dumps(full, default=_plain)))
        print(json.dumps(row, default=_plain), flush=True)


def machine_facts() -> dict[str, Any]:
    """Where a row comes from; a commit with "+" was measured with uncommitted source."""
    commit = _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "-s", "../src") else "")
    versions = {m.__name__: m.__version__ for m in (labelgap, np, scipy, sklearn)}
    facts = {"commit": commit, "versions": versions, "cpus": os.cpu_count()}
    return {**facts, "python": platform.python_version()}


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    here = Path(__file__).parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    return done.stdout.strip()


def peak_gigabytes() -> float:
    """Peak memory of this process since its start."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 2**20
    return float("nan")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value)} cannot be stored in a row")
