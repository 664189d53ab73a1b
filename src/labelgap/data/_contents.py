"""The bytes of a file with the name to show in messages, and what can be wrong with them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np


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
        super().__init__(f"{place}: {problem}. {remedy}")

    def __reduce__(self):
        return _rebuild, (self.problem, self.file, self.line, self.row, self.remedy)


class ChecksumError(DataFormatError):
    """A file is not the one that the registry describes."""


class DatasetUnavailableError(OSError):
    """A data set is neither on this machine nor could it be fetched."""


def _rebuild(
    problem: str, file: str, line: int | None, row: int | None, remedy: str
) -> DataFormatError:
    return DataFormatError(problem, file=file, line=line, row=row, remedy=remedy)


_DECOMPRESSORS = (
    (b"\x1f\x8b", gzip.decompress),
    (b"BZh", bz2.decompress),
    (b"\xfd7zXZ\x00", lzma.decompress),
)


@dataclass(frozen=True)
class Contents:
    """The bytes of one file; those that :func:`contents_of` returns are decompressed."""

    file: str
    data: bytes

    @property
    def buffer(self) -> np.ndarray:
        return np.frombuffer(self.data, dtype=np.uint8)

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """UTF-8, or Latin-1 for old files that are not."""
        part = self.data[start:stop]
        try:
            return part.decode("utf-8-sig")
        except UnicodeDecodeError:
            return part.decode("latin-1")

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
    for magic, decompress in _DECOMPRESSORS:
        if data.startswith(magic):
            try:
                return Contents(file, decompress(data))
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise DataFormatError(
                    f"the compressed data is damaged ({error})",
                    file=file,
                    remedy="Download the file again",
                ) from error
    return Contents(file, data)


def read_pending(
    contents: Contents,
    pending: list[tuple[int, int, int]],
    values: np.ndarray,
    indptr: np.ndarray,
    lines: np.ndarray,
) -> None:
    """Fill in the values that were not exact, in place, or say where the first non-number is.

    `pending` holds (entry, first byte, last byte + 1); `lines` the line of every row.
    """
    for entry, first, last in pending:
        token = contents.data[first:last]
        try:
            values[entry] = float(token)
        except ValueError:
            row = int(np.searchsorted(indptr, entry, side="right")) - 1
            raise contents.error(
                f"{token[:30].decode('utf-8', 'replace')!r} is not a number",
                line=int(lines[row]),
                remedy="Correct the value, or declare the column as what it is",
            ) from None
