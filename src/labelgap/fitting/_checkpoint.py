"""Stopping and resuming a fit: all it needs, in one folder, replaced whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from labelgap.files import naming, read_sealed, replacing, sealed, sweep
from labelgap.fitting._monitor import Outcome, Trace
from labelgap.fitting._row_blocks import Rows

_CURRENT = "current.json"
_FORMAT = {"format": "labelgap-checkpoint", "version": 1}


class CheckpointError(ValueError):
    """A checkpoint that is damaged or belongs to another fit."""


class Checkpoint:
    """Parameters, local states and trace of a fit in a folder (no pickles).

    Each write goes to a folder of its own inside, one file per block, so that memory holds one
    local state at a time; then the small file ``current.json`` is replaced to point there and the
    older folder is removed. A fit that is killed at any moment finds the last complete write.

    Parameters
    ----------
    path : path
        The folder; it may not exist yet.
    local_type : named tuple class
        The type of the local states.
    every : int, default=10
        Iterations between two writes.
    identity : mapping, default=None
        Settings and facts of the data that must be the same when the fit resumes: numbers,
        strings, arrays (compared by checksum), and lists or mappings of them. ``tol`` belongs to
        them; ``max_iter`` does not, and a fit that ran out of iterations goes on with more.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        local_type: type,
        every: int = 10,
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        if every < 1:
            raise ValueError(f"every={every}: write after at least one iteration")
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path} is a file: give a folder")
        self.every = every
        self.local_type = local_type
        self._identity = {} if identity is None else _plain(dict(identity), "identity")
        self._written: tuple[int, str] | None = None

    def resume(self, params: Any, rows: Rows, trace: Trace) -> Any:
        """Return the stored parameters, with local states and trace put back; or what was given."""
        current = self.path / _CURRENT
        if not current.exists():
            return params
        with self._readable():
            facts = read_sealed(current.read_bytes())
            if {key: facts.get(key) for key in _FORMAT} != _FORMAT:
                raise ValueError(f"{_CURRENT} is not of version {_FORMAT['version']}")
            self._check_identity(facts["identity"])
            folder, n_blocks = self.path / facts["folder"], facts["n_blocks"]
            stored = _read(folder / "global.npz")
            restored = _tuple(type(params), stored, "params")
            objective, seconds = (stored[name].tolist() for name in ("objective", "seconds"))
            self._check_blocks(folder, n_blocks)
            if facts["outcome"] not in ("converged", "running"):
                raise ValueError(f"outcome {facts['outcome']!r}")
        rows.restore(self._local_states(folder, n_blocks))
        trace.objective[:], trace.seconds[:] = objective, seconds
        trace.outcome = facts["outcome"]
        self._written = (trace.n_iter, trace.outcome)
        return restored

    def offer(self, params: Any, rows: Rows, trace: Trace) -> None:
        """Write when it is time to."""
        if trace.n_iter % self.every == 0:
            self.write(params, rows, trace)

    def finish(self, params: Any, rows: Rows, trace: Trace) -> None:
        """Write the end of a fit, so that resuming it does nothing.

        A fit that a callback stopped halfway through an iteration is left at the last write, from
        which it can go on exactly.
        """
        if trace.outcome != "stopped" and self._written != (trace.n_iter, _lasting(trace)):
            self.write(params, rows, trace)

    def write(self, params: Any, rows: Rows, trace: Trace) -> None:
        """Write now."""
        self.path.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"iteration-{trace.n_iter:06d}-", dir=self.path))
        try:
            facts = self._write_into(folder, params, rows, trace)
            with replacing(self.path / _CURRENT) as (partial,):
                partial.write_text(sealed(facts))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._written = (trace.n_iter, _lasting(trace))
        self._remove_all_but(folder)

    def _write_into(self, folder: Path, params: Any, rows: Rows, trace: Trace) -> dict[str, Any]:
        arrays = {"objective": np.asarray(trace.objective), "seconds": np.asarray(trace.seconds)}
        arrays |= _arrays(params, "params")
        _save(folder / "global.npz", arrays)
        n_blocks = 0
        for index, state in enumerate(rows.local_states()):
            _save(_block_file(folder, index), {} if state is None else _arrays(state, "local"))
            n_blocks += 1
        return _FORMAT | {
            "identity": self._identity,
            "folder": folder.name,
            "n_blocks": n_blocks,
            "outcome": _lasting(trace),
        }

    def _remove_all_but(self, folder: Path) -> None:
        """Remove the write before, and what a killed one left."""
        for other in self.path.glob("iteration-*"):
            if other.name != folder.name:
                shutil.rmtree(other, ignore_errors=True)
        sweep(self.path / _CURRENT)

    def _local_states(self, folder: Path, n_blocks: int) -> Iterator[Any]:
        for index in range(n_blocks):
            stored = _read(_block_file(folder, index))
            yield _tuple(self.local_type, stored, "local") if stored else None

    def _check_blocks(self, folder: Path, n_blocks: int) -> None:
        """Read every block once: a damaged one must be found before any state is put back."""
        for index in range(n_blocks):
            _read(_block_file(folder, index))

    def _check_identity(self, stored: dict[str, Any]) -> None:
        for name in sorted(stored.keys() | self._identity.keys()):
            before, now = stored.get(name), self._identity.get(name)
            if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
                raise CheckpointError(
                    f"{self.path} belongs to another fit: {name} was {_short(before)}, is "
                    f"{_short(now)}; delete the folder or give another one"
                )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except CheckpointError:
            raise
        # a damaged archive fails in a dozen ways: zlib, struct, unknown compression, ...
        except Exception as error:
            raise CheckpointError(
                f"{self.path} is damaged ({error}): delete the folder to start the fit again"
            ) from error


def _lasting(trace: Trace) -> Outcome:
    """Only convergence is an end for good: more iterations may be allowed next time."""
    return "converged" if trace.outcome == "converged" else "running"


def _block_file(folder: Path, index: int) -> Path:
    return folder / f"block-{index:06d}.npz"


def _save(path: Path, arrays: dict[str, Any]) -> None:
    with naming((path, path)), path.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _arrays(fields: Any, prefix: str) -> dict[str, np.ndarray]:
    named = zip(fields._fields, fields, strict=True)
    arrays = {f"{prefix}.{name}": np.asarray(value) for name, value in named if value is not None}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"{name} does not hold plain numbers: it cannot be written")
    return arrays


def _tuple(kind: Any, stored: dict[str, np.ndarray], prefix: str) -> Any:
    return kind(**{name: stored.get(f"{prefix}.{name}") for name in kind._fields})


def _plain(value: Any, name: str) -> Any:
    """What JSON gives back after a round trip, with arrays as checksums."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        digest = hashlib.sha256(data.tobytes()).hexdigest()
        return f"{data.dtype} {data.shape} {digest}"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{name}[{position}]") for position, item in enumerate(value)]
    raise TypeError(f"{name} is a {type(value).__name__}: use numbers, strings, arrays or lists")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
