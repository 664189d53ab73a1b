"""The bytes of a file with the name to show in messages, and their decompression."""

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

from labelgap.data._errors import DataFormatError

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
