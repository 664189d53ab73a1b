"""Dask arrays as rows: every chunk of rows is a block."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from labelgap._extras import require
from labelgap.fitting._sources import RowPair, Zeros, block_labels
from labelgap.labels import Labels, as_labels


class DaskArrays:
    """Features and labels whose row chunks are the blocks.

    Parameters
    ----------
    X : Dask array of shape (n_rows, n_features)
        Chunks may be dense or scipy sparse. Several chunks of columns are joined.
    y : Dask array, or whatever :func:`labelgap.as_labels` takes
        A Dask array is cut into the row chunks of ``X``; its chunks may be dense (NaN for
        unknown) or sparse.
    zeros : {"irrelevant", "ambiguous"}
        Meaning of a zero where ``y`` cannot say it.
    """

    in_memory = False

    def __init__(self, X: Any, y: Any, *, zeros: Zeros = "irrelevant") -> None:
        require("dask.array", extra="dask", purpose="A Dask array as X")
        self._X = _whole_rows(X, "X")
        self.n_rows, self.n_features = self._X.shape
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
        labels = as_labels(y, n_rows=self.n_rows, zeros=zeros)
        self.names, self.n_labels = labels.names, labels.n_labels
        bounds = np.concatenate([[0], np.cumsum(heights)]).astype(int)
        self._y = [labels[start:stop].with_names(None) for start, stop in pairwise(bounds)]

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
        return delayed(_pair, pure=True)(X, _opaque(self._y[index]), self._zeros)

    def running_client(self) -> Any:
        """The client of the cluster that is in use, or None."""
        distributed = require("distributed", extra="dask", purpose="A Dask array as X")
        try:
            return distributed.default_client()
        except ValueError:
            return None

    def _chunks_of(self, y: Any) -> list[Any]:
        y = _whole_rows(y, "y")
        rows = self._X.chunks[0]
        sizes_known = not any(math.isnan(size) for size in rows + y.chunks[0])
        if sizes_known and y.shape[0] != self.n_rows:
            raise ValueError(
                f"X and y have inconsistent numbers of samples: X has {self.n_rows} rows, "
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


def _whole_rows(array: Any, argument: str) -> Any:
    if getattr(array, "ndim", None) != 2:
        raise ValueError(f"{argument} must be a Dask array with two dimensions")
    return array if array.numblocks[1] == 1 else array.rechunk({1: -1})


def _opaque(y: Any) -> Any:
    """Labels as a single argument that Dask does not look into; delayed chunks as they are."""
    return _Held(y) if isinstance(y, Labels) else y


class _Held:
    def __init__(self, labels: Labels) -> None:
        self.labels = labels


def _pair(X: Any, y: Any, zeros: Zeros) -> RowPair:
    labels = y.labels if isinstance(y, _Held) else block_labels(y, zeros)
    if labels.n_rows != X.shape[0]:
        raise ValueError(f"a chunk of X has {X.shape[0]} rows, that of y {labels.n_rows}")
    return X, labels
