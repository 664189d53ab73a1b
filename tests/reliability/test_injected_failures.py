"""Whatever fails while we write, what is there afterwards is old or new, and the next write succeeds."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reliability.writers import FOLDERS, LONG, NOT_SEEN, WRITERS

_OPERATIONS = {"open", "os.rename", "os.mkdir", "os.link", "os.chmod", "shutil.copyfile"}
_REMOVALS = {"os.remove", "os.rmdir", "shutil.rmtree", "os.listdir", "os.scandir", "ctypes.dlsym"}
_NUMBERS = (errno.ENOSPC, errno.EIO)
_FINE, _NO_NAME = 0, 150
# numpy and SQLite have no number for a file that must not grow
_OF_A_FULL_DISK = (errno.EFBIG, errno.EIO, errno.ENOSPC)
_ALL = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in WRITERS]
_SEEN = [one for one in _ALL if one.values[0] not in NOT_SEEN]

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    # it is for a cut of the power, which nothing here plays
    monkeypatch.setattr(os, "fsync", lambda _: None)


class _Injection:
    """Fails the n-th operation on files below a folder; a hook of the interpreter cannot be taken off."""

    def __init__(self) -> None:
        self.left, self.folder, self.number = 0, "", 0
        self.is_there = False

    def hook(self, event: str, arguments: tuple) -> None:
        if not self.left or event not in _OPERATIONS | _REMOVALS:
            return
        if event != "ctypes.dlsym" and self.folder not in str(arguments[0]):
            return
        kills = self.number == 0
        is_reading = event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        if not kills and (is_reading or event in _REMOVALS):
            return
        self.left -= 1
        if not self.left and kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if not self.left:
            raise OSError(self.number, os.strerror(self.number), str(arguments[0]))


_INJECTION = _Injection()


@contextmanager
def failing(n: int, folder: Path, number: int) -> Iterator[_Injection]:
    """Let the n-th operation fail with the number of an error; 0 kills the process."""
    if not _INJECTION.is_there:
        sys.addaudithook(_INJECTION.hook)
        _INJECTION.is_there = True
    _INJECTION.left, _INJECTION.folder, _INJECTION.number = n, str(folder), number
    try:
        yield _INJECTION
    finally:
        _INJECTION.left = 0


def _in_a_fork(call: Callable[[], int]) -> int:
    """The exit status of a call in a process of its own; minus the signal that ended it."""
    process = os.fork()
    if not process:
        status = 99
        try:
            status = call()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.parametrize("name", _SEEN)
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


@pytest.mark.parametrize("name", _SEEN)
def test_a_kill_at_any_operation_leaves_old_or_new(name, tmp_path):
    writer = WRITERS[name]
    seen = set()
    for n in range(1, 200):
        folder = tmp_path / str(n)
        folder.mkdir()
        writer.write(folder, 1)

        def write(folder=folder, n=n) -> int:
            with failing(n, folder, 0):
                writer.write(folder, 2)
            return _FINE

        status = _in_a_fork(write)
        assert status in (_FINE, -signal.SIGKILL)
        seen.add(writer.read(folder))
        writer.write(folder, 2)
        assert writer.read(folder) == 2
        assert not list(folder.rglob(".partial-*"))
        if status == _FINE:
            break
    assert seen == {1, 2}
    assert n > 3


@pytest.mark.parametrize("name", _ALL)
def test_a_disk_that_takes_a_part_only(name, tmp_path):
    """The system takes so many bytes of a file and refuses the others: a short write, then an error."""
    writer = WRITERS[name]
    whole = tmp_path / "whole"
    whole.mkdir()
    writer.write(whole, 1)
    before = {path for path in whole.rglob("*") if path.is_file()}
    writer.write(whole, 2)
    sizes = [path.stat().st_size for path in {*whole.rglob("*")} - before if path.is_file()]
    largest = max(sizes or [path.stat().st_size for path in before])
    refused = 0
    for n, limit in enumerate((0, 1, largest // 2, largest - 1)):
        folder = tmp_path / str(n)
        folder.mkdir()
        writer.write(folder, 1)

        def write(folder=folder, limit=limit) -> int:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                writer.write(folder, 2)
            except OSError as error:
                return error.errno if error.filename else _NO_NAME
            return _FINE

        status = _in_a_fork(write)
        refused += status != _FINE
        assert status in (_FINE, *_OF_A_FULL_DISK)
        assert writer.read(folder) == 2 if status == _FINE else writer.read(folder) in (1, 2)
        writer.write(folder, 2)
        assert writer.read(folder) == 2
        assert not list(folder.rglob(".partial-*"))
    assert refused


@pytest.mark.parametrize(
    "name", [one for one in _ALL if one.values[0] not in ("blocks", "checkpoint")]
)
def test_two_processes_write_one_place(name, tmp_path):
    writer = WRITERS[name]
    writer.write(tmp_path, 1)

    def write(version: int) -> int:
        for _ in range(8):
            writer.write(tmp_path, version)
        return _FINE

    processes = []
    for version in (1, 2):
        processes.append(os.fork())
        if not processes[-1]:
            status = 99
            try:
                status = write(version)
            finally:
                os._exit(status)
    ended: list[int] = []
    while len(ended) < 2:
        assert name in FOLDERS or writer.read(tmp_path) in (1, 2)
        for process in processes:
            found, status = os.waitpid(process, os.WNOHANG) if process not in ended else (0, 0)
            if found:
                assert os.waitstatus_to_exitcode(status) == _FINE
                ended.append(process)
    assert writer.read(tmp_path) in (1, 2)
    assert not list(tmp_path.rglob(".partial-*"))
