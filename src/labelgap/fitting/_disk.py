"""Files that are there whole or not at all, and local states kept in them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name when the block succeeds and vanishes when it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class DiskStore:
    """Local states on disk: what is in memory is the one state that was asked for.

    States are named tuples of arrays, one ``.npy`` file per field. The store starts empty and
    removes its files when it is no longer used.

    Parameters
    ----------
    folder : path, optional
        Where to make the store's own temporary folder; the system's place by default. That place
        must not be in memory if memory is what is short.
    """

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="labelgap-local-", dir=folder))
        self._kept: dict[int, tuple[type, dict[str, Path | None]]] = {}
        self._n_written = 0
        self._cleanup = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def get(self, index: int) -> Any:
        if index not in self._kept:
            return None
        kind, files = self._kept[index]
        return kind(
            **{
                name: None if file is None else np.load(file, allow_pickle=False)
                for name, file in files.items()
            }
        )

    def put(self, index: int, state: Any) -> None:
        """Keep a state; the one before stays until all files of the new one are written."""
        self._n_written += 1
        files: dict[str, Path | None] = {}
        for name, value in zip(state._fields, state, strict=True):
            files[name] = None
            if value is not None:
                file = self.folder / f"{index:06d}.{name}.{self._n_written}.npy"
                np.save(file, value, allow_pickle=False)
                files[name] = file
        _, old = self._kept.get(index, (None, {}))
        self._kept[index] = (type(state), files)
        for stale in old.values():
            if stale is not None:
                stale.unlink()

    def close(self) -> None:
        """Remove the files now."""
        self._kept.clear()
        self._cleanup()
