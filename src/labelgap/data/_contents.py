"""The bytes of a file with the name to show in messages, and what can be wrong with them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from labelgap.files import expands_too_far

_LONGEST = 600


class DataFormatError(ValueError):
    """A file does not follow its format, with the place and the remedy in the message.

    Parameters
    ----------
    problem : str
    file : str
        The file as the user knows it.
    line : int, default=None
        Counted from 1.
    row : int, default=None
        For what has no lines: counted from 1 in files, from 0 in frames.
    remedy : str
        What the user can do about it.

    Examples
    --------
    >>> from labelgap.data import DataFormatError
    >>> str(DataFormatError("the id is empty", file="items.csv", line=7, remedy="Remove the line"))
    'items.csv, line 7: the id is empty. Remove the line'
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str,
        line: int | None = None,
        row: int | None = None,
        remedy: str,
    ) -> None:
        self.problem, self.file, self.line, self.row = problem, file, line, row
        self.remedy = remedy
        place = file if line is None else f"{file}, line {line}"
        place = place if row is None else f"{place}, row {row}"
        if len(problem) > _LONGEST:
            problem = f"{problem[: _LONGEST // 2]} ... {problem[-_LONGEST // 2 :]}"
        super().__init__(f"{place}: {problem}. {remedy}")

    def __reduce__(self):
        return _rebuild, (self.problem, self.file, self.line, self.row, self.remedy)


@contextmanager
def shown_damage(kind: str, file: Path, remedy: str) -> Iterator[None]:
    """Say which file is not what it should be, whatever its reader fails with."""
    try:
        yield
    except (DataFormatError, ImportError):
        raise
    # a damaged archive or document fails in a dozen ways
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise DataFormatError(
            f"is no {kind}, or is damaged ({type(error).__name__}: {said})",
            file=str(file),
            remedy=remedy,
        ) from error


class ChecksumError(DataFormatError):
    """A file is not the one that the registry describes."""


class DatasetUnavailableError(OSError):
    """A data set is neither on this machine nor could it be fetched."""


def _rebuild(
    problem: str, file: str, line: int | None, row: int | None, remedy: str
) -> DataFormatError:
    return DataFormatError(problem, file=file, line=line, row=row, remedy=remedy)


_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_DAMAGE = (OSError, EOFError, lzma.LZMAError, zlib.error)


@dataclass(frozen=True)
class Contents:
    """The bytes of one file; those that :func:`contents_of` returns are decompressed."""

    file: str
    data: bytes

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """UTF-8, or Latin-1 for old files that are not."""
        part = self.data[start:stop]
        try:
            return part.decode("utf-8-sig")
        except UnicodeDecodeError:
            return part.decode("latin-1")

    def check_expansion(self, n_bytes: int) -> None:
        """Refuse an archive that becomes far larger than it is."""
        _refuse_trap(n_bytes, len(self.data), self.file)

    def error(self, problem: str, *, line: int | None = None, remedy: str) -> DataFormatError:
        return DataFormatError(problem, file=self.file, line=line, remedy=remedy)


FileSource: TypeAlias = str | os.PathLike | Contents
"""A path, or bytes that were read before."""


def contents_of(source: FileSource) -> Contents:
    """Read a file; gzip, bz2 and xz are recognised by their first bytes, whatever the name says."""
    if isinstance(source, Contents):
        return decompressed(source.file, source.data)
    path = Path(source)
    return decompressed(str(path), path.read_bytes())


def decompressed(file: str, data: bytes) -> Contents:
    """`data` as it was before compression, if it is compressed."""
    stream = decompressing(io.BytesIO(data), file)
    return Contents(file, data if isinstance(stream, io.BytesIO) else stream.read())


def decompressing(stream: IO[bytes], file: str) -> IO[bytes]:
    """A stream of what was compressed; gzip, bz2 and xz are known by their first bytes."""
    start = stream.read(6)
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            source = opener(fileobj=stream) if opener is gzip.GzipFile else opener(stream)
            return io.BufferedReader(_Bounded(source, size, file))
    return stream


class _Bounded(io.RawIOBase):
    """What comes out of a decompressor, as long as it is not damaged and not far too much."""

    def __init__(self, source: Any, size: int, file: str) -> None:
        self._source, self._size, self._file = source, size, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        return self._source.seek(place, whence)

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._source.read(len(buffer))
        except _DAMAGE as error:
            raise DataFormatError(
                f"the compressed data is damaged or cut short ({error})",
                file=self._file,
                remedy="Download the file again",
            ) from error
        buffer[: len(data)] = data
        _refuse_trap(self._source.tell(), self._size, self._file)
        return len(data)


def _refuse_trap(n_bytes: int, size: int, file: str) -> None:
    if expands_too_far(n_bytes, size):
        raise DataFormatError(
            f"{size:,} bytes become more than {n_bytes - 1:,} when decompressed",
            file=file,
            remedy="If you trust the file, decompress it yourself and give the result",
        )
