"""Rows on disk: a folder of plain arrays that are mapped into memory block by block.

Every array is a ``.npy`` file: ``000007.X.npy`` for dense features, or the three parts of a
compressed sparse matrix, ``000007.X.data.npy``, ``.indices`` and ``.indptr``; the state codes of
the labels likewise under ``Y``. ``manifest.json`` is written last: a folder without it is not one.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.fitting._disk import whole_file
from labelgap.fitting._regroup import regroup
from labelgap.fitting._sources import RowPair, RowSource, Zeros, stored_labels
from labelgap.labels import Labels

MANIFEST = "manifest.json"
_FORMAT = {"format": "labelgap-blocks", "version": 1}
_PARTS = ("data", "indices", "indptr")


def write_blocks(
    folder: str | os.PathLike,
    rows: Iterable[tuple[Any, Any]] | RowSource | tuple[Any, Any],
    *,
    block_rows: int,
    zeros: Zeros = "irrelevant",
) -> BlockFolder:
    """Write rows to a folder of blocks that a fit can read one at a time.

    Memory holds one block and one part of the input. A write that is interrupted leaves no
    manifest, hence no folder that could be mistaken for a complete one; writing again into it
    starts over.

    Parameters
    ----------
    folder : path
        Made when it does not exist; must not hold a complete set of blocks.
    rows : iterable of (X_rows, labels_rows), a row source, or one pair (X, y)
        Parts of any size in row order; labels as :func:`labelgap.as_labels` takes them.
    block_rows : int
        Rows in a block (the last one may have fewer).
    zeros : {"irrelevant", "ambiguous"}
        Meaning of a zero where the labels cannot say it.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        raise FileExistsError(f"{folder} holds blocks already: delete it or choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("[0-9]*.[XY].*npy"):
        stale.unlink()
    blocks: list[dict[str, Any]] = []
    first: Labels | None = None
    for X, labels in regroup(rows, block_rows, zeros):
        first = labels[:0] if first is None else first
        files = _write_matrix(folder, f"{len(blocks):06d}.X", X)
        files |= _write_matrix(folder, f"{len(blocks):06d}.Y", labels.entries)
        blocks.append({"n_rows": X.shape[0], "n_features": X.shape[1], "files": files})
    if first is None:
        raise ValueError("rows is empty: give at least one part")
    names = getattr(rows, "names", None) if first.names is None else first.names
    manifest = _FORMAT | {
        "n_rows": sum(block["n_rows"] for block in blocks),
        "n_features": blocks[0]["n_features"],
        "n_labels": first.n_labels,
        "unstated": int(first.unstated),
        "unseen": np.flatnonzero(first.unseen).tolist(),
        "names": None if names is None else _plain_names(names),
        "blocks": blocks,
    }
    with whole_file(folder / MANIFEST) as file:
        file.write(json.dumps(manifest).encode())
    return BlockFolder(folder)


class BlockFolder:
    """The rows of a folder that :func:`write_blocks` wrote.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    fingerprint : str
        Differs when any stored value differs: checksums of all files are in the manifest.
    """

    in_memory = False

    def __init__(self, folder: str | os.PathLike) -> None:
        self.folder = Path(folder)
        path = self.folder / MANIFEST
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: {self.folder} was not written by write_blocks, "
                "or writing was interrupted; write it again"
            )
        text = path.read_bytes()
        manifest = json.loads(text)
        if {key: manifest.get(key) for key in _FORMAT} != _FORMAT:
            raise ValueError(f"{path} is not a manifest of version {_FORMAT['version']}")
        self.fingerprint = hashlib.sha256(text).hexdigest()
        self.n_rows: int = manifest["n_rows"]
        self.n_features: int = manifest["n_features"]
        self.n_labels: int = manifest["n_labels"]
        self.names = None if manifest["names"] is None else np.array(manifest["names"], object)
        self._unstated: int = manifest["unstated"]
        self._unseen = np.zeros(self.n_labels, dtype=bool)
        self._unseen[manifest["unseen"]] = True
        self._blocks: list[dict[str, Any]] = manifest["blocks"]
        self._check_sizes()

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> RowPair:
        return self.reader(index)()

    def reader(self, index: int) -> Callable[[], RowPair]:
        shapes = [(self._blocks[index]["n_rows"], n) for n in (self.n_features, self.n_labels)]
        prefix = str(self.folder.absolute() / f"{range(len(self))[index]:06d}")
        return partial(_read_block, prefix, shapes, self._unstated, self._unseen)

    def verify(self) -> None:
        """Read every file and compare it with its checksum; raises at the first difference."""
        for block in self._blocks:
            for name, facts in block["files"].items():
                if _checksum(self.folder / name) != facts["crc32"]:
                    raise ValueError(f"{self.folder / name} is damaged: write the blocks again")

    def _check_sizes(self) -> None:
        for block in self._blocks:
            for name, facts in block["files"].items():
                path = self.folder / name
                if not path.exists() or path.stat().st_size != facts["bytes"]:
                    raise ValueError(
                        f"{path} is missing or not {facts['bytes']} bytes long: "
                        "write the blocks again"
                    )


def _write_matrix(folder: Path, prefix: str, matrix: Any) -> dict[str, dict[str, Any]]:
    if sparse.issparse(matrix):
        arrays = {f"{prefix}.{part}.npy": getattr(matrix, part) for part in _PARTS}
    else:
        arrays = {f"{prefix}.npy": np.ascontiguousarray(matrix)}
    files = {}
    for name, array in arrays.items():
        path = folder / name
        with path.open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        files[name] = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "bytes": path.stat().st_size,
            "crc32": _checksum(path),
        }
    return files


def _read_block(
    prefix: str, shapes: list[tuple[int, int]], unstated: int, unseen: np.ndarray
) -> tuple[Any, Labels]:
    dense = Path(f"{prefix}.X.npy")
    X = _map(dense) if dense.exists() else _map_sparse(f"{prefix}.X", shapes[0])
    codes = _map_sparse(f"{prefix}.Y", shapes[1])
    return X, stored_labels(codes, unstated, unseen)


def _map_sparse(prefix: str, shape: tuple[int, int]) -> sparse.csr_array:
    parts = tuple(_map(Path(f"{prefix}.{part}.npy")) for part in _PARTS)
    matrix = sparse.csr_array(parts, shape=shape, copy=False)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _map(path: Path) -> np.ndarray:
    # copy on write, as a plain array: compiled kernels treat read-only arrays as another type
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while piece := file.read(2**20):
            value = zlib.crc32(piece, value)
    return value


def _plain_names(names: np.ndarray) -> list:
    for position, name in enumerate(names):
        if not isinstance(name, (str, int)):
            raise TypeError(
                f"names[{position}] = {name!r} cannot be written: label names must be strings "
                "or integers here; rename them (Labels.with_names)"
            )
    return list(names)
