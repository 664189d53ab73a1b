"""Blocks of rows with their local state, wherever they lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from labelgap.fitting._stats import add, add_into

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


class LocalStore(Protocol):
    """Where local states are kept between steps."""

    def get(self, index: int) -> Any: ...

    def put(self, index: int, state: Any) -> None: ...


class MemoryStore:
    """Local states in memory."""

    def __init__(self) -> None:
        self._states: dict[int, Any] = {}

    def get(self, index: int) -> Any:
        return self._states.get(index)

    def put(self, index: int, state: Any) -> None:
        self._states[index] = state


class LocalRows(Rows):
    """Rows visited one block after the other in this process.

    Parameters
    ----------
    blocks : sequence of blocks
        A list keeps the blocks in memory; a source that reads them when asked keeps one at a
        time.
    store : LocalStore, optional
        Where local states lie; in memory by default.
    """

    def __init__(
        self, blocks: BlockSource | Sequence[Any], store: LocalStore | None = None
    ) -> None:
        if not len(blocks):
            raise ValueError("blocks is empty: a fit needs at least one block of rows")
        self.blocks = blocks
        self.store = MemoryStore() if store is None else store

    def update(self, step: Step, argument: Any) -> Any:
        return _sum(self._step(index, step, argument) for index in range(len(self.blocks)))

    def _step(self, index: int, step: Step, argument: Any) -> Any:
        local, part = step(self.blocks[index], self.store.get(index), argument)
        self.store.put(index, local)
        return part

    def total(self, function: Callable[[Any, Any, Any], Any], argument: Any) -> Any:
        return _sum(
            function(self.blocks[index], self.store.get(index), argument)
            for index in range(len(self.blocks))
        )

    def local_states(self) -> Iterator[Any]:
        for index in range(len(self.blocks)):
            yield self.store.get(index)

    def restore(self, states: Iterable[Any]) -> None:
        for index, state in enumerate(one_per_block(states, len(self.blocks))):
            self.store.put(index, state)


def one_per_block(states: Iterable[Any], n_blocks: int) -> Iterator[Any]:
    """The states themselves; raises unless there is one for every block."""
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


def _sum(parts: Iterable[Any]) -> Any:
    """Left to right. The first sum is a new one: a part may share its arrays with a block."""
    total, owned = None, False
    for part in parts:
        if total is None:
            total = part
        else:
            total, owned = (add_into if owned else add)(total, part), True
    return total


def row_slices(n_rows: int, block_rows: int | None) -> list[slice]:
    """Consecutive slices of at most ``block_rows`` rows."""
    step = n_rows if block_rows is None else block_rows
    if step < 1:
        raise ValueError(f"block_rows={block_rows}: a block needs at least one row")
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
