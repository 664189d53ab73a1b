"""Files are replaced whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from labelgap.files import (
    expands_too_far,
    read_json,
    read_sealed,
    replacing,
    replacing_folder,
    sealed,
)


def test_all_targets_are_replaced_together(tmp_path):
    targets = [tmp_path / "a.npz", tmp_path / "b.csv"]
    targets[0].write_text("old")
    with replacing(*targets) as partial:
        for path, target in zip(partial, targets, strict=True):
            assert path.suffix == target.suffix
            path.write_text("new")
        assert targets[0].read_text() == "old"
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["new", "new"]


def test_nothing_is_left_when_writing_fails(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as (partial,):
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


NAMES = ("a.txt", "b.txt")


def _write(folder, text: str) -> None:
    with replacing_folder(folder, NAMES) as paths:
        for path in paths:
            path.write_text(text)


def _state(folder) -> set[str]:
    return {(folder / name).read_text() for name in NAMES}


def test_a_folder_changes_in_one_step_and_keeps_what_else_is_in_it(tmp_path):
    out = tmp_path / "out"
    _write(out, "old")
    (out / "mine.sqlite").write_text("kept")
    (out / "sub").mkdir()
    (out / "sub" / "note").write_text("kept too")
    before = (out / "mine.sqlite").stat().st_ino
    _write(out, "new")
    assert _state(out) == {"new"}
    assert sorted(path.name for path in out.iterdir()) == [*NAMES, "mine.sqlite", "sub"]
    assert (out / "mine.sqlite").stat().st_ino == before
    assert (out / "sub" / "note").read_text() == "kept too"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_fails_is_not_there(tmp_path):
    def half() -> None:
        with replacing_folder(tmp_path / "out", NAMES) as paths:
            paths[0].write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert not list(tmp_path.iterdir())
    _write(tmp_path / "out", "old")
    with pytest.raises(RuntimeError):
        half()
    assert _state(tmp_path / "out") == {"old"}
    assert len(list(tmp_path.iterdir())) == 1


# a child that dies at the n-th operation on files, as if somebody had pulled the plug
_DIES = """
import os, sys
n, left = int(sys.argv[1]), 0
def counted(event, arguments):
    global left
    if event in {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.chmod",
                 "os.listdir", "os.scandir", "ctypes.dlsym", "os.replace"} and "out" in str(arguments):
        left += 1
        if left == n:
            os.kill(os.getpid(), 9)
sys.path[:0] = sys.argv[3:]
from test_files import _write
from pathlib import Path
sys.addaudithook(counted)
_write(Path(sys.argv[2]), "new")
"""


def test_a_kill_at_any_operation_leaves_old_or_new(tmp_path):
    out = tmp_path / "out"
    seen, n = set(), 0
    while True:
        n += 1
        _write(out, "old")
        (out / "mine").write_text("kept")
        done = subprocess.run([sys.executable, "-c", _DIES, str(n), str(out), *sys.path])
        assert (out / "mine").read_text() == "kept"
        (state,) = _state(out)
        seen.add(state)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert seen == {"old", "new"}
    assert n > 6
    _write(out, "last")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_others_are_writing_is_left_alone(tmp_path):
    target = tmp_path / "a.txt"
    with replacing(target) as (first,):
        first.write_text("first")
        with replacing(target) as (second,):
            second.write_text("second")
        assert first.exists()
    assert target.read_text() == "first"


def test_a_full_disk_names_the_file(tmp_path):
    def full(path) -> None:
        with replacing(path), open("/dev/full", "w") as stream:
            stream.write("x")

    with pytest.raises(OSError, match=r"No space left.*page\.html"):
        full(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_seal_shows_any_change():
    text = sealed({"a": [1, 2.5, None], "b": "ü"})
    assert read_sealed(text) == {"a": [1, 2.5, None], "b": "ü"}
    for place in range(len(text)):
        changed = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        try:
            assert read_sealed(changed) == {"a": [1, 2.5, None], "b": "ü"}
        except ValueError:
            continue
    with pytest.raises(ValueError, match="not JSON"):
        read_sealed("[" * 100_000)


def test_what_json_says_can_be_written_again():
    assert read_json(b'{"a": [1, -2.5e3, null, "\\u00fc\\ud83d\\ude00"]}')["a"] == [
        1,
        -2500,
        None,
        "ü😀",
    ]
    assert read_json(str(2**63 - 1)) == 2**63 - 1
    assert read_json(str(-(2**63))) == -(2**63)
    for text in (str(2**63), str(-(2**63) - 1), "1" * 5_000, "1e999", "NaN", "-Infinity"):
        with pytest.raises(ValueError, match=r"too large|no number"):
            read_json(f"[{text}]")
    for text in (
        '"\\ud83d"',
        '{"\\ude00": 1}',
        b'"\xff"',
        b'"\xed\xa0\xbd"',
        "[" * 9_999,
        "",
        "{1}",
    ):
        with pytest.raises(ValueError, match="it is not JSON"):
            read_json(text)


def test_what_expands_too_far():
    assert not expands_too_far(2**30, size=1)
    assert expands_too_far(2**30 + 1, size=1)
    assert not expands_too_far(200 * 10**7, size=10**7)
    assert expands_too_far(200 * 10**7 + 1, size=10**7)
