"""Rows: one JSON line per measurement, appended whole, never changed.

A file begins with the environments its rows were measured in, ``{"environment": 0, "commit": ...}``;
more follow where they are first needed, and every row names its own. A row leaves out what is at its
default. Measured numbers keep seven significant digits, settings all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from labelgap_papers.bench._experiment import BUDGETS, Cell

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

DEFAULT_ROWS = Path("papers/reproduction/rows")
"""Where the committed rows of the reproduction results lie, seen from the root of the project."""


class Status(StrEnum):
    """What became of a cell; every status but MEASURED comes with a reason."""

    MEASURED = "measured"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    NOT_BUILT = "not_built"
    DATA_NOT_PUBLIC = "data_not_public"


class Kind(StrEnum):
    """A result on test rows, or a choice of settings on training rows."""

    RESULT = "result"
    SELECTION = "selection"


@dataclass(frozen=True)
class Row:
    """A measurement that says where it comes from.

    Attributes
    ----------
    experiment, dataset, setting, run, method
        The cell; ``setting`` holds what the experiment varies (``{"missing": 0.4}``).
    kind : Kind
        Of a selection row, ``metrics`` is empty, ``params`` are the chosen settings, and
        ``candidates`` and ``scores`` say what was tried and what it reached on training rows.
    status : Status
    reason : str
        Why there is no measurement.
    params : dict
        Settings of the method.
    metrics : dict from metric name to value
    curve : dict from name to list of values
        What changes over the iterations of one fit.
    details : dict
        What is neither a number nor a curve, such as the labels of topics.
    fit_seconds, predict_seconds : float or None
        By the clock on the wall.
    fit_cpu_seconds : float or None
        Of the processor, all threads together: what else the machine does matters little.
    peak_gigabytes : float or None
    budget : {"smoke", "small", "full"}
        The budget under which settings were chosen.
    source : str
        ``"labelgap bench"``, or the script that measured the row.
    commit, versions, cpu, blas, threads, python
        The code and the machine.
    device : str
        Where the model was fitted if not on the processor, as torch names it; of a row without a
        measurement, where it was to be.
    """

    experiment: str
    dataset: str
    setting: dict[str, Any]
    run: int
    method: str
    kind: Kind = Kind.RESULT
    status: Status = Status.MEASURED
    reason: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    curve: dict[str, list[float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    fit_seconds: float | None = None
    fit_cpu_seconds: float | None = None
    predict_seconds: float | None = None
    peak_gigabytes: float | None = None
    budget: str = "full"
    source: str = "labelgap bench"
    commit: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    cpu: str = ""
    blas: str = ""
    threads: int | None = None
    python: str = ""
    device: str = ""

    @property
    def cell(self) -> Cell:
        return Cell(self.experiment, self.dataset, self.setting, self.run, self.method)

    @property
    def worth(self) -> tuple[bool, int]:
        """Measured rows before others, and larger budgets before smaller ones."""
        return self.status is Status.MEASURED, BUDGETS.index(self.budget)

    @property
    def environment(self) -> dict[str, Any]:
        """The code, the machine and the source, without what is not known."""
        return {name: value for name in _ENVIRONMENT if (value := getattr(self, name))}

    def to_json(self, environment: int) -> str:
        """One line, without the fields that are at their default or of the file."""
        kept = {"environment": environment}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in (*_ENVIRONMENT, "experiment") and value not in _DEFAULTS.get(
                one.name, ()
            ):
                kept[one.name] = _rounded(value) if one.name in _ROUNDED else value
        return json.dumps(kept, allow_nan=False)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Row:
        """A row from the values of its line, its file and its environment."""
        unknown = values.keys() - {one.name for one in fields(cls)}
        if unknown:
            raise ValueError(f"a row has no field {sorted(unknown)[0]!r}")
        return cls(**{**values, **_enums(values)})


_ENVIRONMENT = ("source", "commit", "versions", "cpu", "blas", "threads", "python", "device")
_SECONDS = ("fit_seconds", "fit_cpu_seconds", "predict_seconds")
_ROUNDED = ("metrics", "curve", "details", "scores", "peak_gigabytes", *_SECONDS)
_DEFAULTS: dict[str, tuple] = {
    one.name: ({}, []) if one.default is MISSING else (one.default,)
    for one in fields(Row)
    if (one.default, one.default_factory) != (MISSING, MISSING)
}


def _rounded(value: Any) -> Any:
    """Floats with seven significant digits, in lists and dictionaries too."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def _enums(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": Kind(values.get("kind", Kind.RESULT)),
        "status": Status(values.get("status", Status.MEASURED)),
    }


class RowStore:
    """The rows of all experiments in a folder, ``<experiment>.jsonl`` each.

    A row is appended with one write and reaches the disk before `append` returns. A process that
    is killed while it writes leaves at most an incomplete last line, which is dropped when the
    file is read and cut off before the next row is appended.

    Parameters
    ----------
    folder : path, default=DEFAULT_ROWS
        Made when the first row is appended.
    """

    def __init__(self, folder: str | os.PathLike[str] = DEFAULT_ROWS) -> None:
        self.folder = Path(folder)

    def path(self, experiment: str) -> Path:
        return self.folder / f"{experiment}.jsonl"

    def experiments(self) -> list[str]:
        """Names of the experiments that have rows."""
        return sorted(path.stem for path in self.folder.glob("*.jsonl"))

    def rows(self, experiment: str, kind: Kind | None = None) -> list[Row]:
        """All rows in the order they were written; of one kind, if asked."""
        found, _ = _read(self.path(experiment))
        return found if kind is None else [row for row in found if row.kind is kind]

    def results(self, experiment: str) -> list[Row]:
        """One result per cell: of several, that of the largest budget, and of these the last.

        A measured row comes before one that says why there is none.
        """
        best: dict[str, Row] = {}
        for row in self.rows(experiment, Kind.RESULT):
            before = best.get(row.cell.key)
            if before is None or row.worth >= before.worth:
                best[row.cell.key] = row
        return list(best.values())

    def find(self, cell: Cell, kind: Kind = Kind.RESULT) -> Row | None:
        """The row of a cell, if there is one; of several as in `results`."""
        found = [row for row in self.rows(cell.experiment, kind) if row.cell.key == cell.key]
        return max(reversed(found), key=lambda row: row.worth, default=None)

    def append(self, row: Row) -> None:
        """Add a row; it is on the disk when this returns."""
        path = self.path(row.experiment)
        with self._alone(), path.open("ab+") as file:
            _cut_torn_line(file)
            file.write(_lines([row], _read(path)[1]).encode())
            file.flush()
            os.fsync(file.fileno())

    def rewrite(self, experiment: str, change: Callable[[list[Row]], Iterable[Row]]) -> None:
        """Replace the rows of an experiment by what a function makes of them, or not at all."""
        with self._alone():
            path = self.path(experiment)
            lines = _lines(change(self.rows(experiment)), [])
            if not lines:
                path.unlink(missing_ok=True)
                return
            part = path.with_suffix(".part")
            part.write_text(lines, encoding="utf-8")
            os.replace(part, path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other run changes the folder meanwhile, where the system can lock folders."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if fcntl is None:
            yield
            return
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _lines(rows: Iterable[Row], environments: list[dict[str, Any]]) -> str:
    """The rows as lines, each new environment before the first row that was measured in it."""
    found = []
    for row in rows:
        if row.environment not in environments:
            found.append(json.dumps({"environment": len(environments), **row.environment}))
            environments.append(row.environment)
        found.append(row.to_json(environments.index(row.environment)))
    return "".join(line + "\n" for line in found)


def _read(path: Path) -> tuple[list[Row], list[dict[str, Any]]]:
    """The rows of a file and its environments, without an incomplete last line."""
    rows: list[Row] = []
    environments: list[dict[str, Any]] = []
    *lines, _torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            place = values.pop("environment")
            if "dataset" in values:
                rows.append(
                    Row.from_values({"experiment": path.stem, **environments[place], **values})
                )
            elif place == len(environments):
                environments.append(values)
            else:
                raise ValueError(
                    f"environment {place} comes before environment {len(environments)}"
                )
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ValueError(f"{path}, line {number}: {error}; remove the line") from error
    return rows, environments


def _cut_torn_line(file: Any) -> None:
    """Leave the file at the end of its last whole line."""
    file.seek(0, os.SEEK_END)
    end = file.tell()
    if not end:
        return
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    if whole < end:
        file.truncate(whole)
    file.seek(0, os.SEEK_END)
