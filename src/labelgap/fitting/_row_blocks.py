"""Blocks of rows with their local state, where they come from, and what a model does with them."""

from __future__ import annotations

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse

from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels import Labels, LabelWarning, as_labels

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


class Rows(ABC):
    """The two things a loop can ask of rows: a step on every block, or a sum over them.

    Functions are called as ``function(block, local, argument)`` with the local state that the
    last :meth:`update` left for the block, or None before the first. They may not write into
    what they are given. Sums are taken in an order that the number of blocks alone decides, so
    that a result does not depend on timing; from one kind of rows to another it changes by
    rounding at most.
    """

    @abstractmethod
    def update(self, step: Step, argument: Any) -> Any:
        """Replace the local state of every block and return the summed statistics."""

    @abstractmethod
    def total(self, function: Callable[[Any, Any, Any], Any], argument: Any) -> Any:
        """The sum of ``function`` over the blocks; local states stay as they are."""

    @abstractmethod
    def local_states(self) -> Iterator[Any]:
        """The local state of each block, in order."""

    @abstractmethod
    def restore(self, states: Iterable[Any]) -> None:
        """Put back local states as :meth:`local_states` gave them."""


class BlockSource(Protocol):
    """A sequence of blocks, each made or read when asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Any: ...


class LocalRows(Rows):
    """Rows visited one block after the other in this process.

    Parameters
    ----------
    blocks : sequence of blocks
        A list keeps the blocks in memory; a source that reads them when asked keeps one at a
        time.
    store : dict or DiskStore, default=None
        Where local states lie; in memory by default.

    Examples
    --------
    >>> from labelgap.fitting import LocalRows
    >>> rows = LocalRows([[1, 2], [3]])
    >>> rows.total(lambda block, local, power: sum(x**power for x in block), 2)
    14
    """

    def __init__(self, blocks: BlockSource | Sequence[Any], store: Any = None) -> None:
        if not len(blocks):
            raise ValueError("blocks is empty: a fit needs at least one block of rows")
        self.blocks = blocks
        self.store = {} if store is None else store

    def update(self, step: Step, argument: Any) -> Any:
        return sum_of(self._step(index, step, argument) for index in range(len(self.blocks)))

    def _step(self, index: int, step: Step, argument: Any) -> Any:
        local, part = step(self.blocks[index], self.store.get(index), argument)
        self.store[index] = local
        return part

    def total(self, function: Callable[[Any, Any, Any], Any], argument: Any) -> Any:
        return sum_of(
            function(self.blocks[index], self.store.get(index), argument)
            for index in range(len(self.blocks))
        )

    def local_states(self) -> Iterator[Any]:
        for index in range(len(self.blocks)):
            yield self.store.get(index)

    def restore(self, states: Iterable[Any]) -> None:
        for index, state in enumerate(one_per_block(states, len(self.blocks))):
            self.store[index] = state


def one_per_block(states: Iterable[Any], n_blocks: int) -> Iterator[Any]:
    """Yield the states themselves; raise unless there is one for every block."""
    n_states = 0
    for n_states, state in enumerate(states, start=1):
        if n_states > n_blocks:
            break
        yield state
    if n_states != n_blocks:
        raise ValueError(
            f"local states of other blocks: there are {n_blocks} blocks now; cut the rows as they "
            "were (block_rows)"
        )


def sum_of(parts: Iterable[Any]) -> Any:
    """Return the sum of statistics, left to right.

    The first sum is a new one: a part may share its arrays with a block.
    """
    total, owned = None, False
    for part in parts:
        if total is None:
            total = part
        else:
            total, owned = _combine(total, part, _accumulate if owned else operator.add), True
    return total


def row_slices(n_samples: int, block_rows: int | None) -> list[slice]:
    """Return consecutive slices of at most ``block_rows`` rows."""
    step = n_samples if block_rows is None else block_rows
    if step < 1:
        raise ValueError(f"block_rows={block_rows}: a block needs at least one row")
    return [slice(start, min(start + step, n_samples)) for start in range(0, n_samples, step)]


# -- statistics: named tuples of arrays and numbers that add up over rows -------------------------


def add(left: Any, right: Any) -> Any:
    """Return the sum of two statistics, field by field; ``None`` fields stay ``None``."""
    return _combine(left, right, operator.add)


def scale(stats: Any, factor: float) -> Any:
    """Return statistics as if every row had the weight ``factor``."""
    if stats is None:
        return None
    if isinstance(stats, tuple):
        return type(stats)(*(scale(field, factor) for field in stats))
    return stats * factor


def blend_stats(running: Any, fresh: Any, step_size: float) -> Any:
    """Return running sums for online EM; the gradient belongs to the current weights alone."""

    def mixed(before: Any, now: Any) -> Any:
        return (1 - step_size) * before + step_size * now

    return _combine(running, fresh, mixed)._replace(gradient=fresh.gradient)


def _combine(left: Any, right: Any, operation: Any) -> Any:
    if left is None and right is None:
        return None
    if left is None or right is None:
        raise TypeError("statistics of two blocks must have the same fields")
    if isinstance(left, tuple):
        pairs = zip(left, right, strict=True)
        return type(left)(*(_combine(a, b, operation) for a, b in pairs))
    return operation(left, right)


def _accumulate(total: Any, part: Any) -> Any:
    if isinstance(total, np.ndarray):
        total += part
        return total
    return total + part


# -- what a model must write to be fitted by every loop over every kind of rows -------------------


class RowModel(Protocol):
    """A model whose unknowns are local to a row, or global with additive statistics.

    Blocks, local states, statistics and parameters are named tuples of arrays; the model itself
    holds settings only, so that it can be sent to other processes.
    """

    def start(self, block: Any, params: Any) -> Any:
        """The local state of a block before the first step."""

    def step(self, block: Any, local: Any, params: Any) -> tuple[Any, Any]:
        """New local state and statistics of a block: the E step and the M step of its rows."""

    def maximise(
        self,
        stats: Any,
        params: Any,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> Any:
        """New parameters from summed statistics; may ask ``rows`` for further sums.

        In online EM ``rows`` is the mini-batch, each row standing for ``row_scale`` rows, and
        steps that rest on the mini-batch alone are taken with length ``step_size``.
        """

    def objective(self, stats: Any, params: Any) -> float:
        """The objective at ``params``, from the statistics of the step taken there."""

    def blend(self, running: Any, fresh: Any, step_size: float) -> Any:
        """Exponentially weighted statistics for online EM."""


# -- where rows come from -------------------------------------------------------------------------

RowPair = tuple[Any, Labels]
Zeros = Literal["negative", "unlabeled"]
Prepare = Callable[[int, Any, Labels], Any]


class RowSource(Protocol):
    """A sequence of blocks ``(X_rows, labels_rows)``, each read when asked for.

    The labels of a block carry no names; ``names`` holds them once.
    """

    n_samples: int
    n_features: int
    n_labels: int
    names: np.ndarray | None
    in_memory: bool

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> RowPair: ...

    def reader(self, index: int) -> Callable[[], RowPair]:
        """A function that reads one block and can be sent to another process."""


class ArrayRows:
    """Samples of arrays in memory, cut into blocks.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : whatever :func:`labelgap.as_labels` takes
    block_rows : int, default=None
        Rows in a block; all of them by default.
    zeros : {"negative", "unlabeled"}, default="negative"
        Meaning of a zero where ``y`` cannot say it.

    See Also
    --------
    row_source : Choose the source that fits what you have.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import ArrayRows
    >>> rows = ArrayRows(np.ones((5, 2)), np.eye(5, 3), block_rows=2)
    >>> len(rows), rows[2][0].shape
    (3, (1, 2))
    """

    in_memory = True

    def __init__(
        self, X: Any, y: Any, *, block_rows: int | None = None, zeros: Zeros = "negative"
    ) -> None:
        self._X = canonical_rows(X) if sparse.issparse(X) else np.asarray(X)
        self.n_samples, self.n_features = self._X.shape
        labels = as_labels(y, n_samples=self.n_samples, zeros=zeros)
        self.names, self.n_labels = labels.names, labels.n_labels
        self._labels = labels.with_names(None)
        self._slices = row_slices(self.n_samples, block_rows)

    def __len__(self) -> int:
        return len(self._slices)

    def __getitem__(self, index: int) -> RowPair:
        part = self._slices[index]
        return self._X[part], self._labels[part]

    def reader(self, index: int) -> Callable[[], RowPair]:
        return partial(tuple, self[index])


class PreparedBlocks:
    """Blocks as a model wants them, made again at every visit so that one is held at a time.

    ``prepare(index, X_rows, labels_rows)`` makes the block of the model from one of the source.
    """

    def __init__(self, source: RowSource, prepare: Prepare) -> None:
        self.source = source
        self.prepare = prepare

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        return self.prepare(index, *self.source[index])


def block_labels(y: Any, zeros: Zeros = "negative") -> Labels:
    """Return the labels of a few rows, without the warning of labels that none of them observes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return as_labels(y, zeros=zeros)
