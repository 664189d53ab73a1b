"""One door to rows, wherever they lie."""

from __future__ import annotations

import os
from typing import Any

from labelgap.fitting._dask import DaskRows
from labelgap.fitting._dask_arrays import DaskArrays
from labelgap.fitting._disk import DiskStore
from labelgap.fitting._disk_blocks import BlockFolder
from labelgap.fitting._rows import LocalRows, Rows
from labelgap.fitting._sources import ArrayRows, Prepare, PreparedBlocks, RowSource, Zeros


def row_source(
    X: Any, y: Any = None, *, block_rows: int | None = None, zeros: Zeros = "irrelevant"
) -> RowSource:
    """The rows of whatever the user has: a source, a folder of blocks, arrays or Dask arrays.

    Parameters
    ----------
    X : RowSource, path of a block folder, array, sparse matrix or Dask array
    y : labels
        Only with arrays and Dask arrays; the other sources bring their own.
    block_rows : int, optional
        Rows in a block of arrays in memory; all other sources have their own blocks.
    zeros : {"irrelevant", "ambiguous"}
        Meaning of a zero where ``y`` cannot say it.
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


def open_rows(
    source: RowSource,
    prepare: Prepare | None = None,
    *,
    client: Any = None,
    scratch: str | os.PathLike | None = None,
) -> Rows:
    """The blocks of a source, ready for the loops.

    Blocks in memory are prepared once. Blocks on disk are prepared at every visit and their local
    states lie on disk too, so that memory holds one block at a time. With a client, blocks and
    local states stay on its workers.

    Parameters
    ----------
    source : RowSource
    prepare : callable, optional
        ``prepare(index, X_rows, labels_rows)`` gives the block of a model; without it blocks are
        pairs of features and labels, for sums that a model needs before it can prepare them.
    client : distributed.Client or "running", optional
        "running" is the client in use. For Dask arrays that is also the default, when there is
        one.
    scratch : path, optional
        Folder for the local states of blocks on disk.
    """
    blocks: Any = source if prepare is None else PreparedBlocks(source, prepare)
    if client is None and isinstance(source, DaskArrays):
        client = source.running_client()
    if client is not None:
        return DaskRows(client, blocks)
    if source.in_memory:
        return LocalRows([blocks[index] for index in range(len(blocks))])
    return LocalRows(blocks, None if prepare is None else DiskStore(scratch))
