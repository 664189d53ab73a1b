"""What every loader returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.data._frames import TableName
from labelgap.labels import Labels
from labelgap.views import Views


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Features and labels of the same rows, with names, ids, texts and views where known.

    Parameters
    ----------
    name : str
    X : ndarray, csr_array or frame of shape (n_samples, n_features)
    Y : Labels of shape (n_samples, n_labels)
    feature_names : array of str, default=None
    train, test : int arrays, default=None
        The rows of the official split: training rows come first in `X`.
    views : Views, default=None
        Named views of the columns of `X`.
    ids : array of shape (n_samples,), default=None
        What identifies the rows, where the source says it.
    texts : array of str of shape (n_samples,), default=None
        The text of each row, where there is a column of text.
    table : TableName, default=None
        The files that the rows come from, for messages about a row.
    labels_read : str, default=None
        A sentence of how labels were read from a table.

    See Also
    --------
    read_table, load_dataset : Two of the functions that return one.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import Labels
    >>> from labelgap.data import Dataset
    >>> Dataset("toy", np.ones((2, 3)), Labels.from_dense([[1, 0], [0, 1]]))
    Dataset('toy': 2 rows x 3 features (dense float64) x 2 labels; 1.00 labels per row)
    """

    name: str
    X: Any
    Y: Labels
    feature_names: np.ndarray | None = None
    train: np.ndarray | None = None
    test: np.ndarray | None = None
    views: Views | None = None
    ids: np.ndarray | None = None
    texts: np.ndarray | None = None
    table: TableName | None = None
    labels_read: str | None = None

    def __post_init__(self) -> None:
        if self.X.shape[0] != self.Y.n_samples:
            raise ValueError(
                f"{self.name}: X has {self.X.shape[0]} rows and Y has {self.Y.n_samples}: "
                "both must describe the same items"
            )
        for what in ("ids", "texts"):
            given = getattr(self, what)
            if given is not None and len(given) != self.X.shape[0]:
                raise ValueError(
                    f"{self.name}: {len(given)} {what} for {self.X.shape[0]} rows: give one per row"
                )
        if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
            raise ValueError(
                f"{self.name}: {len(self.feature_names)} feature names for "
                f"{self.X.shape[1]} columns of X: give one per column"
            )

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def label_names(self) -> np.ndarray | None:
        """The names of the labels, those of `Y`."""
        return self.Y.names

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, features and labels."""
        return (*self.X.shape, self.Y.n_labels)

    @property
    def cardinality(self) -> float:
        """Mean number of relevant labels per row."""
        return self.Y.n_positives() / max(self.Y.n_samples, 1)

    def take(self, rows: np.ndarray) -> Dataset:
        """Return some of the rows, without the split."""
        chosen: dict[str, Any] = {
            what: None if getattr(self, what) is None else getattr(self, what)[rows]
            for what in ("Y", "ids", "texts")
        }
        chosen["X"] = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return replace(self, **chosen, train=None, test=None, table=None)

    def __repr__(self) -> str:
        n_samples, n_features, n_labels = self.shape
        kind = "frame"
        if not hasattr(self.X, "columns"):
            kind = f"{'sparse' if sparse.issparse(self.X) else 'dense'} {self.X.dtype}"
        parts = [
            f"{n_samples} rows x {n_features} features ({kind}) x {n_labels} labels",
            f"{self.cardinality:.2f} labels per row",
        ]
        if self.train is not None and self.test is not None:
            parts.append(f"split {len(self.train)}/{len(self.test)}")
        if self.views is not None:
            parts.append(f"views {', '.join(self.views)}")
        return f"Dataset({self.name!r}: {'; '.join(parts)})"


def stack_splits(name: str, train: Dataset, test: Dataset) -> Dataset:
    """Return one data set of its training and test part, training rows first.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import Labels
    >>> from labelgap.data import Dataset, stack_splits
    >>> part = Dataset("part", np.ones((2, 3)), Labels.from_dense([[1, 0], [0, 1]]))
    >>> stack_splits("toy", part, part).test.tolist()
    [2, 3]

    Raises
    ------
    ValueError
        If the parts differ in their numbers of features or labels, or in their names.
    """
    for what, first, second in (
        ("features", train.X.shape[1], test.X.shape[1]),
        ("labels", train.Y.n_labels, test.Y.n_labels),
    ):
        if first != second:
            raise ValueError(
                f"{name}: {first} {what} in the training part and {second} in the test part: "
                "read both with the same columns"
            )
    if train.feature_names is not None and test.feature_names is not None:
        differs = np.flatnonzero(train.feature_names != test.feature_names)
        if differs.size:
            j = differs[0]
            raise ValueError(
                f"{name}: column {j} is {train.feature_names[j]!r} in the training part and "
                f"{test.feature_names[j]!r} in the test part: put the columns in the same order"
            )
    if sparse.issparse(train.X):
        X = sparse.csr_array(sparse.vstack([train.X, test.X], format="csr"))
    else:
        X = np.concatenate([train.X, test.X])
    n_train, n_samples = train.X.shape[0], X.shape[0]
    return replace(
        train,
        name=name,
        X=X,
        Y=Labels.concatenate([train.Y, test.Y]),
        train=np.arange(n_train),
        test=np.arange(n_train, n_samples),
        ids=_joined(train.ids, test.ids),
        texts=_joined(train.texts, test.texts),
        table=None,
    )


def _joined(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    return None if first is None or second is None else np.concatenate([first, second])
