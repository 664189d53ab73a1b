"""Whatever fails while we write, what is there afterwards is old or new, and the next write succeeds."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fitting.topic_problem import BLOCK_ROWS, fit, prepare, problem
from labelgap.auditing import ReviewDecisions, read_decisions, write_decisions
from labelgap.files import replacing, replacing_folder
from labelgap.fitting import ArrayRows, BlockFolder, Checkpoint, open_rows, write_blocks
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal

_OPERATIONS = {"open", "os.rename", "os.mkdir", "os.link", "os.chmod", "shutil.copyfile"}
_NUMBERS = (errno.ENOSPC, errno.EIO)


class _Injection:
    """Fails the n-th operation on files below a folder; a hook of the interpreter cannot be taken off."""

    def __init__(self) -> None:
        self.left, self.folder, self.number = 0, "", 0
        self.is_there = False

    def hook(self, event: str, arguments: tuple) -> None:
        if not self.left or event not in _OPERATIONS or self.folder not in str(arguments[0]):
            return
        is_reading = event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        if is_reading:
            return
        self.left -= 1
        if not self.left:
            raise OSError(self.number, os.strerror(self.number), str(arguments[0]))


_INJECTION = _Injection()


@contextmanager
def failing(n: int, folder: Path, number: int) -> Iterator[_Injection]:
    if not _INJECTION.is_there:
        sys.addaudithook(_INJECTION.hook)
        _INJECTION.is_there = True
    _INJECTION.left, _INJECTION.folder, _INJECTION.number = n, str(folder), number
    try:
        yield _INJECTION
    finally:
        _INJECTION.left = 0


class Writer(NamedTuple):
    """Writes a version into a folder, and reads which one is there (None: nothing)."""

    write: Callable[[Path, int], Any]
    read: Callable[[Path], int | None]


def _write_file(folder: Path, version: int) -> None:
    with replacing(folder / "a.txt") as (path,):
        path.write_text(str(version))


def _read_file(folder: Path) -> int | None:
    path = folder / "a.txt"
    return int(path.read_text()) if path.exists() else None


def _write_folder(folder: Path, version: int) -> None:
    with replacing_folder(folder / "out", ["a", "b", "c"]) as paths:
        for path in paths:
            path.write_text(str(version))


def _read_folder(folder: Path) -> int | None:
    if not (folder / "out").exists():
        return None
    (version,) = {int(path.read_text()) for path in (folder / "out").iterdir()}
    return version


def _write_decisions(folder: Path, version: int) -> None:
    write_decisions(ReviewDecisions(str(version) * 16, ()), folder / "d.json")


def _read_decisions(folder: Path) -> int | None:
    path = folder / "d.json"
    return int(read_decisions(path).audit[0]) if path.exists() else None


def _write_blocks(folder: Path, version: int) -> None:
    write_blocks(folder / f"rows{version}", (np.eye(4), np.eye(4, 2)), block_rows=3)


def _read_blocks(folder: Path) -> int | None:
    for version in (2, 1):
        try:
            BlockFolder(folder / f"rows{version}").verify()
        except FileNotFoundError:
            continue
        return version
    return None


def _checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(folder / "c", local_type=BMLPLLocal, every=1)


def _write_checkpoint(folder: Path, version: int) -> None:
    X, labels = problem(gaps=True)
    rows = open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(True))
    fit(rows, max_iter=version, checkpoint=_checkpoint(folder))


def _read_checkpoint(folder: Path) -> int | None:
    if not (folder / "c" / "current.json").exists():
        return None
    X, labels = problem(gaps=True)
    rows = open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(True))
    return fit(rows, max_iter=1, checkpoint=_checkpoint(folder))[1].n_iter


WRITERS = {
    "file": Writer(_write_file, _read_file),
    "folder": Writer(_write_folder, _read_folder),
    "decisions": Writer(_write_decisions, _read_decisions),
    "blocks": Writer(_write_blocks, _read_blocks),
    "checkpoint": Writer(_write_checkpoint, _read_checkpoint),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_there_is_old_or_new(name, tmp_path):
    writer = WRITERS[name]
    n_failed = 0
    for n in range(1, 200):
        folder = tmp_path / str(n)
        folder.mkdir()
        writer.write(folder, 1)
        error = None
        with failing(n, folder, _NUMBERS[n % 2]) as injection:
            try:
                writer.write(folder, 2)
            except OSError as raised:
                error = raised
            if injection.left:
                break
        if error is None:
            # a step that is not needed, such as the removal of what is old
            assert writer.read(folder) == 2
        else:
            n_failed += 1
            assert (error.errno, bool(error.filename)) == (_NUMBERS[n % 2], True)
            assert writer.read(folder) in (1, 2)
        writer.write(folder, 2)
        assert writer.read(folder) == 2
        assert not list(folder.rglob(".partial-*"))
    assert writer.read(folder) == 2
    assert n_failed >= 2
