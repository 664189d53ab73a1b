"""Features that lie in blocks, indexed like an array and summed over where they lie."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.fitting._open_rows import open_rows
from labelgap.fitting._row_blocks import Rows, RowSource, row_slices, sum_of
from labelgap.kernels.input_arrays import canonical_rows, check_numbers
from labelgap.labels import Labels
from labelgap.memory import block_size

Change = Callable[[Any], Any]


class _Survey(NamedTuple):
    """What a block says of itself: its rows, its columns, and its labels."""

    n_samples: int
    n_features: int
    labels: Labels


class _Task(NamedTuple):
    """What is computed on a block: a function of changed features and what lies beside them."""

    function: Callable
    changes: tuple[Change, ...]
    argument: Any


class StoredFeatures:
    """Features of rows that lie in blocks, read when they are asked for.

    Indexing by a slice or by positions reads the blocks that hold these rows and returns an array
    or a sparse matrix; :func:`sum_rows` sums over all blocks where they lie.

    Parameters
    ----------
    source : RowSource
    client : distributed.Client or "running", default=None
        Where sums over blocks are computed; "running" or a Dask array take the client in use.

    Attributes
    ----------
    labels : Labels
        Those of all rows, in memory.
    starts : int array
        Where the blocks begin and, last, where they end.
    shape : (int, int)

    See Also
    --------
    row_source : Makes a row source of what you have.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import ArrayRows, StoredFeatures, sum_rows
    >>> X = StoredFeatures(ArrayRows(np.arange(6.0).reshape(3, 2), np.eye(3), block_rows=2))
    >>> X.shape, X[[2, 0]].tolist()
    ((3, 2), [[4.0, 5.0], [0.0, 1.0]])
    >>> sum_rows(lambda part, argument: part.sum(axis=0), X).tolist()
    [6.0, 9.0]
    """

    ndim = 2

    def __init__(self, source: RowSource, *, client: Any = None) -> None:
        self._rows: Rows = open_rows(source, client=client)
        self._source = source
        self._rows.update(_survey, None)
        found: list[_Survey] = list(self._rows.local_states())
        self.starts = np.cumsum([0, *(block.n_samples for block in found)])
        self.labels = Labels.concatenate([block.labels for block in found])
        if source.names is not None:
            self.labels = self.labels.with_names(source.names)
        self._changes: tuple[Change, ...] = ()
        self._taken: np.ndarray | None = None
        self._held: tuple[int, Any] = (-1, None)
        self.shape = (int(self.starts[-1]), found[0].n_features)

    def changed(self, change: Change, n_features: int | None = None) -> StoredFeatures:
        """Return the same rows with features changed by a function of those of some rows."""
        other = copy.copy(self)
        other._changes = (*self._changes, change)
        other._held = (-1, None)
        if n_features is not None:
            other.shape = (self.shape[0], n_features)
        return other

    def take(self, rows: np.ndarray) -> StoredFeatures:
        """Return some of the rows, by ascending positions, without reading them."""
        other = copy.copy(self)
        other._taken = rows if self._taken is None else self._taken[rows]
        other.shape = (rows.size, self.shape[1])
        return other

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = np.asarray(rows)
        wanted = rows if self._taken is None else self._taken[rows]
        unique, place = np.unique(wanted, return_inverse=True)
        edges = np.searchsorted(unique, self.starts)
        parts = []
        for index in np.flatnonzero(np.diff(edges)):
            here = unique[edges[index] : edges[index + 1]] - self.starts[index]
            block = self._block(int(index))
            parts.append(block if here.size == block.shape[0] else block[here])
        if not parts:
            return np.empty((0, self.shape[1]))
        found = parts[0] if len(parts) == 1 else _stacked(parts)
        return found if np.array_equal(place, np.arange(place.size)) else found[place]

    def blocks(self) -> Iterator[Any]:
        """Yield the features block by block."""
        for index, (taken,) in enumerate(self._beside(())):
            block = self._block(index)
            yield block if taken is None else block[taken]

    def sum(self, function: Callable, beside: Sequence[Any] = (), argument: Any = None) -> Any:
        """Return the sum of ``function(X, *beside, argument)`` over the blocks, where these lie."""
        self._rows.restore(self._beside(beside))
        return self._rows.total(_on_block, _Task(function, self._changes, argument))

    def _beside(self, beside: Sequence[Any]) -> Iterator[tuple]:
        """Yield for each block which of its rows are taken, and what lies beside these."""
        for start, stop in pairwise(self.starts):
            if self._taken is None:
                yield None, *(matrix[start:stop] for matrix in beside)
                continue
            low, high = np.searchsorted(self._taken, [start, stop])
            yield self._taken[low:high] - start, *(matrix[low:high] for matrix in beside)

    def _block(self, index: int) -> Any:
        held, X = self._held  # threads may read different blocks
        if held != index:
            X = _features(self._source[index][0])
            for change in self._changes:
                X = change(X)
            self._held = (index, X)
        return X


def sum_rows(function: Callable, X: Any, beside: Sequence[Any] = (), argument: Any = None) -> Any:
    """Return the sum of ``function(X, *beside, argument)`` over parts of the rows.

    Parameters
    ----------
    function : callable
        Of some rows of the features, of the same rows of ``beside``, and of the argument. Returns
        arrays, or a named tuple of such.
    X : array, sparse matrix or StoredFeatures
    beside : sequence of arrays, sparse matrices or Labels, default=()
        With the rows of X.
    argument : object, default=None

    See Also
    --------
    StoredFeatures : Features that lie in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import sum_rows
    >>> sum_rows(lambda part, argument: part.T @ part, np.ones((5, 2))).tolist()
    [[5.0, 5.0], [5.0, 5.0]]
    """
    if isinstance(X, StoredFeatures):
        return X.sum(function, beside, argument)
    parts = row_slices(X.shape[0], block_size(X.shape[1], fraction=1 / 8)) or [slice(0, 0)]
    return sum_of(function(X[part], *(one[part] for one in beside), argument) for part in parts)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows by ascending positions; X itself where these are all.

    Parameters
    ----------
    X : array, sparse matrix or StoredFeatures
        Of the last nothing is read.
    rows : int array

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import take_rows
    >>> take_rows(np.arange(4.0)[:, None], np.array([1, 3])).ravel().tolist()
    [1.0, 3.0]
    """
    if rows.size == X.shape[0]:
        return X
    return X.take(rows) if isinstance(X, StoredFeatures) else X[rows]


def _survey(block: Any, local: Any, argument: None) -> tuple[_Survey, None]:
    X, labels = block
    check_numbers(X)
    return _Survey(X.shape[0], X.shape[1], labels), None


def _features(X: Any) -> Any:
    return canonical_rows(X) if sparse.issparse(X) else np.asarray(X)


def _on_block(block: Any, local: tuple, task: _Task) -> Any:
    X = _features(block[0])
    for change in task.changes:
        X = change(X)
    taken, *beside = local
    return task.function(X if taken is None else X[taken], *beside, task.argument)


def _stacked(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)
