"""What was read from DATA, and what a model says beforehand about how to read it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from labelgap.data._places import TableName
from labelgap.labels import Labels


@dataclass(frozen=True)
class Hints:
    """What is known about rows before they are read, from a model or from predictions.

    Attributes
    ----------
    n_features : int, optional
        For formats that do not say it.
    text, item : str, optional
        The column of text; the column of ids, used where it is there and none was asked for.
    labels : list of str
        The label columns where none were given; left out of the features in any case.
    zero_based : bool
        Where the feature numbers of svmlight files start.
    only_labels : bool
        Whether the features of a table are of no interest.
    """

    n_features: int | None = None
    text: str | None = None
    item: str | None = None
    labels: list[str] = field(default_factory=list)
    zero_based: bool = False
    only_labels: bool = False


@dataclass(frozen=True, eq=False)
class Loaded:
    """Rows of DATA with everything a command may want to know about them.

    Attributes
    ----------
    place : str
        The file or data set, for messages.
    X : array or csr_array
    features : list of str, optional
        The names of its columns, where the format has names.
    items : array
        What identifies the rows, in the column ``item``.
    item : str
    Y : Labels, optional
    texts : array of str, optional
        The column of text, called ``text``.
    lists_labels : bool
        Whether the source lists the labels of each row, so that a label it never mentions is one
        that no row has; otherwise such a label is unknown.
    part : {"all", "train", "test"}
    table : TableName, optional
        Which files the rows of a table come from.
    """

    place: str
    X: Any
    features: list[str] | None
    items: np.ndarray
    item: str
    Y: Labels | None = None
    texts: np.ndarray | None = None
    text: str | None = None
    lists_labels: bool = False
    part: str = "all"
    table: TableName | None = None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def labels(self) -> Labels:
        """The labels, under names that can be written into a table."""
        assert self.Y is not None
        names = range(self.Y.n_labels) if self.Y.names is None else self.Y.names
        return self.Y.with_names([str(name) for name in names])

    def take(self, rows: np.ndarray, part: str) -> Loaded:
        """Some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            items=self.items[rows],
            Y=None if self.Y is None else self.Y[rows],
            texts=None if self.texts is None else self.texts[rows],
            part=part,
        )
