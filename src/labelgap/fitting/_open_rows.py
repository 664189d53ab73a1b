"""Rows from arrays, folders, Parquet files or Dask, ready for the loops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from labelgap.fitting._block_folder import BlockFolder, DiskStore
from labelgap.fitting._dask_rows import DaskArrays, DaskRows, whole_rows
from labelgap.fitting._row_blocks import (
    ArrayRows,
    LocalRows,
    Prepare,
    PreparedBlocks,
    Rows,
    RowSource,
    Zeros,
)


def row_source(
    X: Any, y: Any = None, *, block_rows: int | None = None, zeros: Zeros = "negative"
) -> RowSource:
    """Return the rows of a source, a folder of blocks, arrays or Dask arrays, block by block.

    Parameters
    ----------
    X : RowSource, path of a block folder, array, sparse matrix or Dask array
    y : labels, default=None
        Only with arrays and Dask arrays; the other sources bring their own.
    block_rows : int, default=None
        Rows in a block of arrays in memory; all other sources have their own blocks.
    zeros : {"negative", "unlabeled"}, default="negative"
        Meaning of a zero where ``y`` cannot say it.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import row_source
    >>> len(row_source(np.ones((5, 2)), np.eye(5, 3), block_rows=2))
    3
    """
    is_folder = isinstance(X, (str, os.PathLike))
    if (is_folder or hasattr(X, "reader")) and y is not None:
        raise ValueError(f"y: X={X!r} brings its own labels; give y=None")
    is_array = not (is_folder or hasattr(X, "reader") or hasattr(X, "to_delayed"))
    if block_rows is not None and not is_array:
        raise ValueError(f"block_rows={block_rows}: the blocks of X={X!r} are fixed")
    if is_array:
        return ArrayRows(X, y, block_rows=block_rows, zeros=zeros)
    if is_folder:
        return BlockFolder(X)
    return X if hasattr(X, "reader") else DaskArrays(X, y, zeros=zeros)


def is_elsewhere(X: Any) -> bool:
    """Return whether rows are read block by block: a path, a Dask array or a row source.

    Parameters
    ----------
    X : object

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import ArrayRows, is_elsewhere
    >>> is_elsewhere(np.eye(2)), is_elsewhere(ArrayRows(np.eye(2), np.eye(2)))
    (False, True)
    """
    is_dask = hasattr(X, "to_delayed") and hasattr(X, "numblocks")
    return is_dask or isinstance(X, (str, os.PathLike)) or hasattr(X, "reader")


def feature_blocks(X: Any) -> Iterator[Any]:
    """Yield features block by block, of whatever predictions are made for.

    Parameters
    ----------
    X : RowSource, path of a block folder, Dask array, iterator over parts; or anything else
        Anything else, an array or a frame, is the only block.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import feature_blocks
    >>> [part.shape for part in feature_blocks(iter([np.ones((2, 3)), np.ones((1, 3))]))]
    [(2, 3), (1, 3)]
    """
    if hasattr(X, "to_delayed") and hasattr(X, "numblocks"):
        X = whole_rows(X, "X")
        yield from (X.blocks[index].compute() for index in range(X.numblocks[0]))
    elif hasattr(X, "__next__"):
        yield from X
    elif isinstance(X, (str, os.PathLike)) or hasattr(X, "reader"):
        source = row_source(X)
        yield from (source[index][0] for index in range(len(source)))
    else:
        yield X


def open_rows(
    source: RowSource,
    prepare: Prepare | None = None,
    *,
    client: Any = None,
    scratch: str | os.PathLike | None = None,
) -> Rows:
    """Return the blocks of a source, ready for the loops.

    Blocks in memory are prepared once. Blocks on disk are prepared at every visit and their local
    states lie on disk too, so that memory holds one block at a time. With a client, blocks and
    local states stay on its workers.

    Parameters
    ----------
    source : RowSource
    prepare : callable, default=None
        ``prepare(index, X_rows, labels_rows)`` gives the block of a model; without it blocks are
        pairs of features and labels, for sums that a model needs before it can prepare them.
    client : distributed.Client or "running", default=None
        "running" is the client in use. For Dask arrays that is also the default, when there is
        one.
    scratch : path, default=None
        Folder for the local states of blocks on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.fitting import open_rows, row_source
    >>> rows = open_rows(row_source(np.ones((5, 2)), np.eye(5, 3), block_rows=2))
    >>> float(rows.total(lambda block, local, argument: block[0].sum(), None))
    10.0
    """
    blocks: Any = source if prepare is None else PreparedBlocks(source, prepare)
    if client is None and isinstance(source, DaskArrays):
        client = source.running_client()
    if client is not None:
        return DaskRows(client, blocks)
    if source.in_memory:
        return LocalRows([blocks[index] for index in range(len(blocks))])
    return LocalRows(blocks, None if prepare is None else DiskStore(scratch))
