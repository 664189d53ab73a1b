"""Files and folders that appear complete or not at all, and what a killed run left of them."""

from __future__ import annotations

import ctypes
import errno
import json
import math
import os
import re
import secrets
import socket
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["expands_too_far", "naming", "read_json", "read_sealed", "replacing"]
__all__ += ["replacing_folder", "sealed", "sweep"]

_SEAL = "crc32"
# a table of zeros and ones rarely shrinks to less than a hundredth of itself
_MOST_TIMES, _ALWAYS_FINE = 200, 2**30
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_PARTIAL = re.compile(r"\.partial-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}-(.*)", re.DOTALL)
_DAY = 86_400


@contextmanager
def replacing(*targets: str | Path) -> Iterator[tuple[Path, ...]]:
    """Give temporary paths that take the places of the targets when the block succeeds.

    When the block fails, what was written vanishes and the targets stay as they were. What a
    killed process left beside the targets is removed first. Each file is replaced in one step;
    files that belong together go into a folder of their own, see :func:`replacing_folder`.

    Parameters
    ----------
    *targets : path
        The files to write; their folders must exist.

    Yields
    ------
    tuple of Path
        One path per target, in the same folder and with the same suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "page.html")
    ...     with replacing(target) as (partial,):
    ...         _ = partial.write_text("<p>Hello</p>")
    ...     target.read_text()
    '<p>Hello</p>'
    """
    paths = [Path(target) for target in targets]
    sweep(*paths)
    partial = tuple(map(_partial_of, paths))
    try:
        with naming(*zip(partial, paths, strict=True)):
            yield partial
            for source in partial:
                _to_disk(source)
        for source, path in zip(partial, paths, strict=True):
            os.replace(source, path)
    finally:
        for source in partial:
            source.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: str | Path, names: Iterable[str]) -> Iterator[tuple[Path, ...]]:
    """Give paths for the files of a folder, all of which are replaced in one step.

    The files are written into a folder beside it, which then changes places with it. Whatever
    else lies in the folder stays there. When the block fails, everything stays as it was.

    Parameters
    ----------
    folder : path
        Made when it does not exist.
    names : iterable of str
        The files to write.

    Yields
    ------
    tuple of Path
        One path per name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.files import replacing_folder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with replacing_folder(Path(place, "out"), ["a.txt", "b.txt"]) as paths:
    ...         for path in paths:
    ...             _ = path.write_text("new")
    ...     sorted(path.name for path in Path(place, "out").iterdir())
    ['a.txt', 'b.txt']
    """
    target, names = Path(os.path.realpath(folder)), list(names)
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.ismount(target) or not os.access(target.parent, os.W_OK):
        # it cannot change places with another one
        with replacing(*(target / name for name in names)) as paths:
            yield paths
        return
    sweep(target, names=names)
    partial = _partial_of(target)
    partial.mkdir()
    try:
        paths = tuple(partial / name for name in names)
        with naming(*((path, target / path.name) for path in paths)):
            yield paths
            for path in paths:
                _to_disk(path)
        if target.exists():
            partial.chmod(target.stat().st_mode)
            _link_others(target, partial, names)
            _exchange(partial, target)
        else:
            os.rename(partial, target)
    finally:
        if partial.exists():
            _dissolve(partial, target, names)


def sweep(*targets: str | Path, names: Iterable[str] = ()) -> None:
    """Remove what killed processes left of attempts to replace the targets.

    Parameters
    ----------
    *targets : path
        Files or folders, as given to :func:`replacing` or :func:`replacing_folder`.
    names : iterable of str, default=()
        The files that were to be replaced in folders; others that are found move home.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.files import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep(Path(folder, "page.html"))
    """
    by_folder: dict[Path, set[str]] = {}
    for target in map(Path, targets):
        by_folder.setdefault(target.parent, set()).add(target.name)
    for folder, wanted in by_folder.items():
        for left in folder.glob(".partial-*"):
            found = _PARTIAL.fullmatch(left.name)
            if found and found[3] in wanted and not _is_alive(left, found[1], int(found[2])):
                if left.is_dir():
                    _dissolve(left, folder / found[3], list(names))
                else:
                    left.unlink(missing_ok=True)


def _partial_of(path: Path) -> Path:
    return path.with_name(f".partial-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}-{path.name}")


def _is_alive(left: Path, host: str, process: int) -> bool:
    """Whether the process that made it may still be writing."""
    if host == _HOST and os.name == "posix":
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    with suppress(FileNotFoundError):
        return time.time() - left.stat().st_mtime < _DAY
    return False


@contextmanager
def naming(*places: tuple[Path, Path]) -> Iterator[None]:
    """Name the file in errors of the system, which name a temporary file or none at all.

    Parameters
    ----------
    *places : (Path, Path)
        What is written, and the file that the user knows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from labelgap.files import naming
    >>> with naming((Path(".partial"), Path("page.html"))):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
      ...
    OSError: [Errno 28] No space left on device: 'page.html'
    """
    try:
        yield
    except OSError as error:
        known = {str(partial): str(target) for partial, target in places}
        if error.filename is not None and str(error.filename) not in known:
            raise
        first = places[0][1]
        name = known.get(str(error.filename), str(first if len(places) == 1 else first.parent))
        # numpy says how much was written, and no number
        number, said = error.errno or errno.EIO, error.strerror or str(error)
        raise OSError(number, said, name) from error


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _link_others(old: Path, new: Path, names: list[str]) -> None:
    """Give the new folder the files of the old one that are not replaced, without a copy."""
    for path in old.iterdir():
        if path.name not in names and path.is_file() and not path.is_symlink():
            with suppress(OSError):
                os.link(path, new / path.name)


def _exchange(first: Path, second: Path) -> None:
    """Let two folders change names, in one step where the system can."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            _exchange_on_linux(first, second)
            return
    aside = _partial_of(second)
    os.rename(second, aside)
    os.rename(first, second)
    os.rename(aside, first)


def _exchange_on_linux(first: Path, second: Path) -> None:
    here, exchange = -100, 2
    paths = os.fsencode(first), os.fsencode(second)
    call = ctypes.CDLL(None, use_errno=True).renameat2
    if call(here, paths[0], here, paths[1], exchange):
        number = ctypes.get_errno() or errno.ENOSYS
        raise OSError(number, os.strerror(number), str(second))


def _dissolve(left: Path, home: Path, names: list[str]) -> None:
    """Remove a folder of files that were replaced or not finished; others in it go home."""
    for path in left.iterdir():
        there = home / path.name
        is_half = _PARTIAL.fullmatch(path.name) is not None
        if path.name in names or is_half or (there.exists() and there.samefile(path)):
            path.unlink()
        elif home.is_dir() and not there.exists():
            os.rename(path, there)
    with suppress(OSError):
        left.rmdir()


def read_json(text: str | bytes) -> Any:
    """Return what JSON says, if all of it can be written again; raise a ValueError otherwise.

    Numbers are finite, whole ones fit into 64 bits, and characters are whole.

    Parameters
    ----------
    text : str or bytes

    Examples
    --------
    >>> from labelgap.files import read_json
    >>> read_json(b'{"a": 1e400}')
    Traceback (most recent call last):
      ...
    ValueError: it is not JSON (1e400 is too large)
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        found = json.loads(
            text, parse_float=_finite, parse_int=_of_64_bits, parse_constant=_no_number
        )
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from error
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _of_64_bits(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError(f"{text[:40]} is too large")
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def sealed(facts: dict[str, Any]) -> str:
    """Return a dictionary as JSON with a checksum of itself.

    Parameters
    ----------
    facts : dict
        Whatever JSON can hold.

    Examples
    --------
    >>> from labelgap.files import read_sealed, sealed
    >>> read_sealed(sealed({"n_samples": 3}))
    {'n_samples': 3}
    """
    return json.dumps({**facts, _SEAL: _crc_of(facts)})


def read_sealed(text: str | bytes) -> dict[str, Any]:
    """Return what :func:`sealed` wrote; raise a ValueError for anything else.

    Parameters
    ----------
    text : str or bytes

    Examples
    --------
    >>> from labelgap.files import read_sealed
    >>> read_sealed('{"n_samples": 3}')
    Traceback (most recent call last):
      ...
    ValueError: the checksum differs
    """
    facts = read_json(text)
    if not isinstance(facts, dict) or facts.pop(_SEAL, None) != _crc_of(facts):
        raise ValueError("the checksum differs")
    return facts


def _crc_of(facts: Any) -> int:
    return zlib.crc32(json.dumps(facts).encode())


def expands_too_far(n_bytes: int, size: int) -> bool:
    """Return whether a file becomes so large when decompressed that it may be a trap.

    Parameters
    ----------
    n_bytes : int
        Decompressed.
    size : int
        Of the file.

    Examples
    --------
    >>> from labelgap.files import expands_too_far
    >>> expands_too_far(10_000, size=100), expands_too_far(10**10, size=10**6)
    (False, True)
    """
    return n_bytes > max(_ALWAYS_FINE, _MOST_TIMES * size)
