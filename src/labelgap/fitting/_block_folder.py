"""Rows on disk: a folder of plain arrays that are mapped into memory block by block.

Every array is a ``.npy`` file: ``000007.X.npy`` for dense features, or the three parts of a
compressed sparse matrix, ``000007.X.data.npy``, ``.indices`` and ``.indptr``; the state codes of
the labels likewise under ``Y``. ``manifest.json`` is written last: a folder without it is not one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelgap._records import from_plain
from labelgap.files import naming, read_sealed, replacing, sealed
from labelgap.fitting._row_blocks import RowPair, RowSource, Zeros, block_labels
from labelgap.kernels.input_arrays import canonical_rows, check_indices, check_numbers
from labelgap.labels import Labels, State

MANIFEST = "manifest.json"
_FORMAT = {"format": "labelgap-blocks", "version": 2}
_PARTS = ("data", "indices", "indptr")
# what this process has read whole once; a fit visits each block many times
_VERIFIED: set[tuple[str, int, int, int]] = set()


def write_blocks(
    folder: str | os.PathLike,
    rows: Iterable[tuple[Any, Any]] | RowSource | tuple[Any, Any],
    *,
    block_rows: int,
    zeros: Zeros = "negative",
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
    zeros : {"negative", "unlabeled"}, default="negative"
        Meaning of a zero where the labels cannot say it.

    Returns
    -------
    BlockFolder

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelgap import BMLPL
    >>> from labelgap.fitting import write_blocks
    >>> folder = tempfile.mkdtemp()
    >>> blocks = write_blocks(folder, (np.eye(6), np.eye(6, 3)), block_rows=4)
    >>> len(blocks)
    2
    >>> BMLPL(2, max_iter=5, tol=0, random_state=0).fit(blocks).n_features_in_
    6
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
        blocks.append({"n_samples": X.shape[0], "n_features": X.shape[1], "files": files})
    if first is None:
        raise ValueError("rows is empty: give at least one part")
    names = getattr(rows, "names", None) if first.names is None else first.names
    manifest = _FORMAT | {
        "n_samples": sum(block["n_samples"] for block in blocks),
        "n_features": blocks[0]["n_features"],
        "n_labels": first.n_labels,
        "implicit": int(first.implicit),
        "unseen": np.flatnonzero(first.unseen).tolist(),
        "names": None if names is None else _plain_names(names),
        "blocks": blocks,
    }
    with replacing(folder / MANIFEST) as (partial,):
        partial.write_text(sealed(manifest))
    return BlockFolder(folder)


@dataclass(frozen=True)
class _File:
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class _Block:
    n_samples: int
    n_features: int
    files: dict[str, _File]


@dataclass(frozen=True)
class _Manifest:
    n_samples: int
    n_features: int
    n_labels: int
    implicit: int
    unseen: tuple[int, ...]
    names: tuple[Any, ...] | None
    blocks: tuple[_Block, ...]


class BlockFolder:
    """The rows of a folder that :func:`write_blocks` wrote; estimators take it as X.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    fingerprint : str
        Differs when any stored value differs: checksums of all files are in the manifest.

    See Also
    --------
    write_blocks : Writes the folder.
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
        self.fingerprint = hashlib.sha256(text).hexdigest()
        try:
            facts = read_sealed(text)
            if {key: facts.pop(key, None) for key in _FORMAT} != _FORMAT:
                raise ValueError("another format")
            self._read_manifest(from_plain(_Manifest, facts, "manifest"))
        except (ValueError, IndexError, MemoryError) as error:
            raise ValueError(
                f"{path} is damaged, or not of version {_FORMAT['version']} ({error}): write the "
                "blocks again"
            ) from error
        self._check_sizes()

    def _read_manifest(self, manifest: _Manifest) -> None:
        self._blocks = manifest.blocks
        self.n_samples, self.n_features = manifest.n_samples, manifest.n_features
        self.n_labels, names = manifest.n_labels, manifest.names
        sizes = [(block.n_samples, block.n_features) for block in self._blocks]
        if not sizes or min(min(sizes)) < 0 or sum(n for n, _ in sizes) != self.n_samples:
            raise ValueError(f"manifest.n_samples: {self.n_samples} is not that of the blocks")
        if {n for _, n in sizes} != {self.n_features}:
            raise ValueError(f"manifest.n_features: {self.n_features} is not that of the blocks")
        if names is not None and len(names) != self.n_labels:
            raise ValueError(f"manifest.names: {len(names)} of them for {self.n_labels} labels")
        self.names = None if names is None else np.array(names, object)
        self._implicit = int(State(manifest.implicit))
        self._unseen = np.zeros(self.n_labels, dtype=bool)
        self._unseen[list(manifest.unseen)] = True

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> RowPair:
        return self.reader(index)()

    def reader(self, index: int) -> Callable[[], RowPair]:
        block = self._blocks[index]
        shapes = [(block.n_samples, n) for n in (self.n_features, self.n_labels)]
        prefix = str(self.folder.absolute() / f"{range(len(self))[index]:06d}")
        checksums = {str(self.folder.absolute() / n): f.crc32 for n, f in block.files.items()}
        return partial(_read_block, prefix, shapes, self._implicit, self._unseen, checksums)

    def verify(self) -> None:
        """Read every file and compare it with its checksum; raises at the first difference.

        A fit does the same with each file before its first use in a process.
        """
        for block in self._blocks:
            for name, facts in block.files.items():
                _verify(self.folder / name, facts.crc32)

    def _check_sizes(self) -> None:
        for block in self._blocks:
            for name, facts in block.files.items():
                path = self.folder / name
                if not path.is_file() or path.stat().st_size != facts.bytes:
                    raise ValueError(
                        f"{path} is missing or not {facts.bytes} bytes long: write the blocks again"
                    )


def _write_matrix(folder: Path, prefix: str, matrix: Any) -> dict[str, dict[str, Any]]:
    if sparse.issparse(matrix):
        arrays = {f"{prefix}.{part}.npy": getattr(matrix, part) for part in _PARTS}
    else:
        arrays = {f"{prefix}.npy": np.ascontiguousarray(matrix)}
    files = {}
    for name, array in arrays.items():
        path = folder / name
        with naming((path, path)), path.open("wb") as file:
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
    prefix: str,
    shapes: list[tuple[int, int]],
    implicit: int,
    unseen: np.ndarray,
    checksums: dict[str, int],
) -> tuple[Any, Labels]:
    is_first = _verified_now(checksums)
    dense = Path(f"{prefix}.X.npy")
    X = _map(dense) if dense.exists() else _map_sparse(f"{prefix}.X", shapes[0], is_first)
    if X.shape != shapes[0]:
        raise ValueError(f"{dense} is {X.shape}, not {shapes[0]}: write the blocks again")
    codes = _map_sparse(f"{prefix}.Y", shapes[1], is_first)
    return X, Labels(codes, State(implicit), unseen=unseen)


def _map_sparse(prefix: str, shape: tuple[int, int], is_first: bool) -> sparse.csr_array:
    parts = tuple(_map(Path(f"{prefix}.{part}.npy")) for part in _PARTS)
    matrix = sparse.csr_array(parts, shape=shape, copy=False)
    if is_first:
        check_indices(matrix, prefix)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _map(path: Path) -> np.ndarray:
    # copy on write, as a plain array: compiled kernels treat read-only arrays as another type
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _verify(path: Path, crc: int) -> None:
    if _checksum(path) != crc:
        raise ValueError(f"{path} is damaged: write the blocks again")


def _verified_now(checksums: dict[str, int]) -> bool:
    """Whether any of the files had not been verified as it is now."""
    fresh = set()
    for path, crc in checksums.items():
        facts = os.stat(path)
        fresh.add((path, crc, facts.st_mtime_ns, facts.st_ino))
    fresh -= _VERIFIED
    for path, crc, *_ in sorted(fresh):
        _verify(Path(path), crc)
    _VERIFIED.update(fresh)
    return bool(fresh)


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


def regroup(rows: Any, block_rows: int, zeros: Zeros = "negative") -> Iterator[RowPair]:
    """Blocks of ``block_rows`` rows (the last may be shorter) from parts of any size.

    All parts must have the same features (dense or sparse alike, of one type) and labels.
    """
    if block_rows < 1:
        raise ValueError(f"block_rows={block_rows}: a block needs at least one row")
    held: list[RowPair] = []
    n_held = 0
    for X, labels in _uniform(_parts(rows), zeros):
        start = 0
        while start < X.shape[0]:
            stop = min(X.shape[0], start + block_rows - n_held)
            held.append((X[start:stop], labels[start:stop]))
            n_held += stop - start
            start = stop
            if n_held == block_rows:
                yield _joined(held)
                held, n_held = [], 0
    if held:
        yield _joined(held)


def _parts(rows: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(rows, tuple) and len(rows) == 2 and not isinstance(rows[0], tuple):
        return [rows]
    if hasattr(rows, "reader"):
        return (rows[index] for index in range(len(rows)))
    return rows


def _uniform(parts: Iterable[tuple[Any, Any]], zeros: Zeros) -> Iterator[RowPair]:
    first: RowPair | None = None
    for position, (X, y) in enumerate(parts):
        X, labels = _features(X), block_labels(y, zeros)
        if labels.n_samples != X.shape[0]:
            raise ValueError(
                f"rows[{position}]: {X.shape[0]} rows of features, {labels.n_samples} of labels"
            )
        first = (X[:0], labels[:0]) if first is None else first
        if X.shape[1] != first[0].shape[1] or sparse.issparse(X) != sparse.issparse(first[0]):
            raise ValueError(
                f"rows[{position}] has other features than rows[0]: every part needs the same "
                f"{first[0].shape[1]} columns, all dense or all sparse"
            )
        if labels.n_labels != first[1].n_labels:
            raise ValueError(
                f"rows[{position}] has {labels.n_labels} labels, rows[0] {first[1].n_labels}"
            )
        yield X.astype(first[0].dtype, copy=False), labels.with_implicit(first[1].implicit)


def _features(X: Any) -> Any:
    X = canonical_rows(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"features with {X.ndim} dimensions: give rows x features")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    check_numbers(X)
    return X


def _joined(parts: list[RowPair]) -> RowPair:
    if len(parts) == 1:
        return parts[0]
    features = [X for X, _ in parts]
    if sparse.issparse(features[0]):
        return sparse.vstack(features, format="csr"), Labels.concatenate([y for _, y in parts])
    return np.concatenate(features), Labels.concatenate([y for _, y in parts])


class DiskStore:
    """Local states on disk: what is in memory is the one state that was asked for.

    States are named tuples of arrays, one ``.npy`` file per field. The store starts empty and
    removes its files when it is no longer used.

    Parameters
    ----------
    folder : path, default=None
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
        read = {n: None if f is None else np.load(f, allow_pickle=False) for n, f in files.items()}
        return kind(**read)

    def __setitem__(self, index: int, state: Any) -> None:
        """Keep a state; the one before stays until all files of the new one are written."""
        self._n_written += 1
        files: dict[str, Path | None] = {}
        for name, value in zip(state._fields, state, strict=True):
            files[name] = None
            if value is not None:
                file = self.folder / f"{index:06d}.{name}.{self._n_written}.npy"
                with naming((file, file)):
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
