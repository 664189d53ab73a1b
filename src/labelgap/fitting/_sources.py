"""Where rows come from: features and labels, block by block, before a model prepares them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse

from labelgap.fitting._rows import row_slices
from labelgap.labels import Labels, LabelWarning, State, as_labels

RowPair = tuple[Any, Labels]
Zeros = Literal["irrelevant", "ambiguous"]
Prepare = Callable[[int, Any, Labels], Any]


class RowSource(Protocol):
    """A sequence of blocks ``(X_rows, labels_rows)``, each read when asked for.

    The labels of a block carry no names; ``names`` holds them once.
    """

    n_rows: int
    n_features: int
    n_labels: int
    names: np.ndarray | None
    in_memory: bool

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> RowPair: ...

    def reader(self, index: int) -> Callable[[], RowPair]:
        """A function that reads one block and can be sent to another process."""


class ArrayRows:
    """Rows of arrays in memory.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    y : whatever :func:`labelgap.as_labels` takes
    block_rows : int, optional
        Rows in a block; all of them by default.
    zeros : {"irrelevant", "ambiguous"}
        Meaning of a zero where ``y`` cannot say it.
    """

    in_memory = True

    def __init__(
        self, X: Any, y: Any, *, block_rows: int | None = None, zeros: Zeros = "irrelevant"
    ) -> None:
        self._X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        self.n_rows, self.n_features = self._X.shape
        labels = as_labels(y, n_rows=self.n_rows, zeros=zeros)
        self.names, self.n_labels = labels.names, labels.n_labels
        self._labels = labels.with_names(None)
        self._slices = row_slices(self.n_rows, block_rows)

    def __len__(self) -> int:
        return len(self._slices)

    def __getitem__(self, index: int) -> RowPair:
        part = self._slices[index]
        return self._X[part], self._labels[part]

    def reader(self, index: int) -> Callable[[], RowPair]:
        return partial(tuple, self[index])


class PreparedBlocks:
    """Blocks as a model wants them, made again at every visit so that one is held at a time.

    Parameters
    ----------
    source : RowSource
    prepare : callable
        ``prepare(index, X_rows, labels_rows)`` gives the block of the model.
    """

    def __init__(self, source: RowSource, prepare: Prepare) -> None:
        self.source = source
        self.prepare = prepare

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        return self.prepare(index, *self.source[index])


def block_labels(y: Any, zeros: Zeros = "irrelevant") -> Labels:
    """Labels of a few rows, without the warning of labels that none of them observes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return as_labels(y, zeros=zeros)


def stored_labels(codes: sparse.csr_array, unstated: int, unseen: np.ndarray) -> Labels:
    """Labels of a block from state codes as they are stored."""
    return Labels(codes, State(unstated), unseen=unseen)
