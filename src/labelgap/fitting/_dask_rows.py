"""Rows on a Dask cluster: blocks and their local states stay on the workers.

Whatever a worker holds can be made again when the worker dies, because nothing is scattered: data
and parameters travel inside tasks, which the scheduler keeps as long as something depends on them.
That history would grow with every iteration, so every few iterations local states are put into
tasks of their own and the history before them is dropped. What the scheduler keeps is then one copy
of the local states (and of the rows, if they came from this process) and the parameters of a few
iterations.
"""

from __future__ import annotations

import math
import pickle
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any

import numba
import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.fitting._row_blocks import (
    BlockSource,
    PreparedBlocks,
    RowPair,
    Rows,
    Step,
    Zeros,
    add,
    block_labels,
    one_per_block,
)
from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels import Labels, as_labels

# one block at a time on all threads of the worker: not every threading layer of the kernels lets
# two of them in
_one_block = threading.Lock()
# a task costs a millisecond or two of the scheduler: a group of blocks is one
_MOST_GROUPED, _TASKS_PER_WORKER = 16, 2
_MOST_THREADS: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


class DaskRows(Rows):
    """Rows whose blocks are futures on the workers of a Dask cluster.

    Sums are taken over a fixed binary tree of blocks: the same blocks give the same result
    however many workers there are, whichever of them computes what, and when some of them die.

    Parameters
    ----------
    client : distributed.Client or "running"
        The cluster; "running" for the client in use, where an object cannot be kept (a parameter
        of an estimator that is cloned). A worker takes one block at a time, on all its threads.
    blocks : PreparedBlocks, RowSource or sequence of blocks
        Sources that read files need paths that mean the same on every worker. Blocks of a
        sequence and arrays in memory are sent to the cluster.
    keep_history : int, default=10
        Iterations after which local states become the start of a new history. A lost local state
        is computed again from there.
    """

    def __init__(
        self, client: Any, blocks: BlockSource | Sequence[Any], *, keep_history: int = 10
    ) -> None:
        distributed = require("distributed", extra="dask", purpose="DaskRows")
        if keep_history < 1:
            raise ValueError(f"keep_history={keep_history}: use at least one iteration")
        if not len(blocks):
            raise ValueError("blocks is empty: a fit needs at least one block of rows")
        self.client = distributed.default_client() if client == "running" else client
        self.keep_history = keep_history
        self._id = uuid.uuid4().hex
        self._n_tasks = 0
        self._n_updates = 0
        self._groups = _groups_of(len(blocks), len(self.client.nthreads()))
        self._blocks = self._send(blocks)
        # the local states of a group lie in one list
        self._locals: list[Any] = [None] * len(self._groups)

    def update(self, step: Step, argument: Any) -> Any:
        if self._n_updates == self.keep_history:
            self.restore(self.local_states())
        pairs = self._on_groups(_update_group, "step", step, argument)
        self._locals = [self._submit("local", itemgetter(0), pair, priority=1) for pair in pairs]
        parts = [self._submit("part", itemgetter(1), pair, priority=1) for pair in pairs]
        self._n_updates += 1
        del pairs
        return self._reduce(parts)

    def total(self, function: Callable[[Any, Any, Any], Any], argument: Any) -> Any:
        return self._reduce(self._on_groups(_total_of_group, "term", function, argument))

    def local_states(self) -> Iterator[Any]:
        for group, future in zip(self._groups, list(self._locals), strict=True):
            yield from [None] * len(group) if future is None else future.result()

    def restore(self, states: Iterable[Any]) -> None:
        holders = self.client.who_has(self._blocks)
        roots = []
        states = one_per_block(states, len(self._blocks))
        for group in self._groups:
            own = list(islice(states, len(group)))
            near = _prefer(holders.get(self._blocks[group[0]].key, ()))
            empty = all(state is None for state in own)
            roots.append(None if empty else self._embed("root", own, **near))
        # the last one says whether there are too many
        for _ in states:
            pass
        self._locals = roots
        self._n_updates = 0

    def _send(self, blocks: Any) -> list[Any]:
        is_prepared = isinstance(blocks, PreparedBlocks)
        source = blocks.source if is_prepared else blocks
        workers = sorted(self.client.nthreads())
        if not workers:
            raise RuntimeError("the Dask cluster has no workers: add some before the fit")
        futures = []
        for index in range(len(blocks)):
            # neighbours lie together, so that the first sums need no transfer
            group = index // len(self._groups[0])
            near = _prefer([workers[group * len(workers) // len(self._groups)]])
            if hasattr(source, "delayed"):
                block = self.client.compute(source.delayed(index))
            elif hasattr(source, "reader"):
                block = self._submit("rows", _call, _dump(source.reader(index)), **near)
            else:
                block = self._embed("block", source[index], **near)
            if is_prepared:
                prepare = _dump(blocks.prepare)
                block = self._submit("block", _prepare, prepare, index, block, **near)
            futures.append(block)
        return futures

    def _on_groups(self, apply: Callable, what: str, function: Callable, argument: Any) -> list:
        shared, code = self._embed("argument", argument), _dump(function)
        tasks = []
        for index, (group, local) in enumerate(zip(self._groups, self._locals, strict=True)):
            # in the order of the sums, and sums first: few statistics wait in memory
            order = {"priority": -index / len(self._groups)}
            blocks = [self._blocks[block] for block in group]
            tasks.append(self._submit(what, apply, code, blocks, local, shared, **order))
        return tasks

    def _reduce(self, parts: list[Any]) -> Any:
        """Sum neighbours until one is left; in place, so that no future outlives its use."""
        while len(parts) > 1:
            parts[:] = [
                self._submit("sum", add, *parts[i : i + 2], priority=1)
                if i + 1 < len(parts)
                else parts[i]
                for i in range(0, len(parts), 2)
            ]
        return parts[0].result()

    def _embed(self, what: str, value: Any, **options: Any) -> Any:
        return self._submit(what, pickle.loads, _dump(value), **options)

    def _submit(self, what: str, function: Callable, *arguments: Any, **options: Any) -> Any:
        dask = require("dask", extra="dask", purpose="DaskRows")
        self._n_tasks += 1
        key = f"labelgap-{what}-{self._id}-{self._n_tasks}"
        # data inside tasks is meant here: it is what makes them repeatable
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self.client.submit(function, *arguments, key=key, pure=False, **options)


def _prefer(workers: Iterable[str]) -> dict[str, Any]:
    """A place for a task that is left when the workers there are gone."""
    workers = list(workers)
    return {"workers": workers, "allow_other_workers": True} if workers else {}


def _dump(value: Any) -> bytes:
    """One argument of bytes, which Dask does not search for futures."""
    return require("cloudpickle", extra="dask", purpose="DaskRows").dumps(value)


def _call(reader: bytes) -> Any:
    return pickle.loads(reader)()


def _prepare(prepare: bytes, index: int, rows: tuple[Any, Any]) -> Any:
    return pickle.loads(prepare)(index, *rows)


def _groups_of(n_blocks: int, n_workers: int) -> list[range]:
    """Neighbouring blocks that one task computes, so that few tasks are sent.

    Their number is a power of two, so that sums over groups are those of the tree of all blocks.
    """
    size = 1
    while size < _MOST_GROUPED and n_blocks >= 2 * size * _TASKS_PER_WORKER * max(n_workers, 1):
        size *= 2
    return [range(start, min(start + size, n_blocks)) for start in range(0, n_blocks, size)]


def _update_group(function: bytes, blocks: list, locals_: Any, argument: Any) -> tuple[list, Any]:
    pairs = _apply(function, blocks, locals_, argument)
    return [local for local, _ in pairs], _tree_sum([part for _, part in pairs])


def _total_of_group(function: bytes, blocks: list, locals_: Any, argument: Any) -> Any:
    return _tree_sum(_apply(function, blocks, locals_, argument))


def _apply(function: bytes, blocks: list, locals_: list | None, argument: Any) -> list[Any]:
    code = pickle.loads(function)
    n_threads = require("distributed", extra="dask", purpose="DaskRows").get_worker().state.nthreads
    states = [None] * len(blocks) if locals_ is None else locals_
    with _one_block:
        numba.set_num_threads(min(n_threads, _MOST_THREADS))
        return [code(block, local, argument) for block, local in zip(blocks, states, strict=True)]


def _tree_sum(parts: list[Any]) -> Any:
    """The sum over the same tree as that of tasks."""
    while len(parts) > 1:
        parts = [
            add(parts[i], parts[i + 1]) if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), 2)
        ]
    return parts[0]


class DaskArrays:
    """Dask arrays of features and labels, whose row chunks are the blocks.

    Parameters
    ----------
    X : Dask array of shape (n_samples, n_features)
        Chunks may be dense or scipy sparse. Several chunks of columns are joined.
    y : Dask array, or whatever :func:`labelgap.as_labels` takes
        A Dask array is cut into the row chunks of ``X``; its chunks may be dense (NaN for
        unknown) or sparse.
    zeros : {"negative", "unlabeled"}, default="negative"
        Meaning of a zero where ``y`` cannot say it.

    See Also
    --------
    DaskRows : Where the blocks are computed.
    """

    in_memory = False

    def __init__(self, X: Any, y: Any, *, zeros: Zeros = "negative") -> None:
        require("dask.array", extra="dask", purpose="A Dask array as X")
        self._X = whole_rows(X, "X")
        self.n_samples, self.n_features = self._X.shape
        self._zeros = zeros
        self.names: np.ndarray | None = None
        heights = self._X.chunks[0]
        if hasattr(y, "to_delayed"):
            self._y: list[Any] = self._chunks_of(y)
            self.n_labels = y.shape[1]
            return
        if any(math.isnan(height) for height in heights):
            raise ValueError(
                "X has chunks of unknown size: call X.compute_chunk_sizes(), or give y as a Dask "
                "array with the same chunks"
            )
        labels = as_labels(y, n_samples=self.n_samples, zeros=zeros)
        self.names, self.n_labels = labels.names, labels.n_labels
        bounds = np.concatenate([[0], np.cumsum(heights)]).astype(int)
        self._y = [_Held(labels[a:b].with_names(None)) for a, b in pairwise(bounds)]

    def __len__(self) -> int:
        return self._X.numblocks[0]

    def __getitem__(self, index: int) -> RowPair:
        return self.delayed(index).compute()

    def reader(self, index: int) -> Callable[[], RowPair]:
        return partial(self.__getitem__, index)

    def delayed(self, index: int) -> Any:
        """One block as a Dask computation."""
        delayed = require("dask", extra="dask", purpose="A Dask array as X").delayed
        X = self._X.blocks[index].to_delayed().item()
        return delayed(_pair, pure=True)(X, self._y[index], self._zeros)

    def running_client(self) -> Any:
        """The client of the cluster that is in use, or None."""
        distributed = require("distributed", extra="dask", purpose="A Dask array as X")
        try:
            return distributed.default_client()
        except ValueError:
            return None

    def _chunks_of(self, y: Any) -> list[Any]:
        y = whole_rows(y, "y")
        rows = self._X.chunks[0]
        sizes_known = not any(math.isnan(size) for size in rows + y.chunks[0])
        if sizes_known and y.shape[0] != self.n_samples:
            raise ValueError(
                f"X and y have inconsistent numbers of samples: X has {self.n_samples} rows, "
                f"y has {y.shape[0]}; give one row of labels per row of X"
            )
        if sizes_known and y.chunks[0] != rows:
            y = y.rechunk({0: rows})
        if y.numblocks[0] != len(rows):
            raise ValueError(
                f"X has {len(rows)} chunks of rows, y has {y.numblocks[0]}, some of unknown size: "
                "chunk them alike"
            )
        return list(y.to_delayed()[:, 0])


def whole_rows(array: Any, argument: str) -> Any:
    """Return a Dask array of which every chunk has all columns."""
    if getattr(array, "ndim", None) != 2:
        raise ValueError(f"{argument} must be a Dask array with two dimensions")
    return array if array.numblocks[1] == 1 else array.rechunk({1: -1})


class _Held:
    """Labels as a single argument that Dask does not look into."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels


def _pair(X: Any, y: Any, zeros: Zeros) -> RowPair:
    labels = y.labels if isinstance(y, _Held) else block_labels(y, zeros)
    if labels.n_samples != X.shape[0]:
        raise ValueError(f"a chunk of X has {X.shape[0]} rows, that of y {labels.n_samples}")
    return canonical_rows(X) if sparse.issparse(X) else X, labels
