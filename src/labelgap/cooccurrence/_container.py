"""Counts of seen with all labels, some of them perhaps missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.cooccurrence._checks import check_matrix, check_missing, check_seen, values_at
from labelgap.labels._checks import check_names
from labelgap.labels._values import shown


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """How many items carry a seen label and any label, for all pairs of them.

    ``M[s, t]`` is the number of items that carry both, so that the diagonal holds the number of
    items that carry s. It is neither an array nor a sequence on purpose: scikit-learn's searches
    hand it to ``fit`` whole, and never cut it as if it had one row per sample.

    Parameters
    ----------
    counts : sparse matrix of shape (n_seen, n_labels)
        Whole, non-negative numbers. What is not stored is a zero, unless it is missing.
    seen : int array of shape (n_seen,), optional
        Column of each row's label; by default the rows are the first labels, in their order.
    names : sequence of length n_labels, optional
        Names of the labels, in the order of the columns.
    missing : sparse or dense bool matrix of shape (n_seen, n_labels), optional
        The counts that nobody made; what ``counts`` has there is not kept.

    See Also
    --------
    as_cooccurrence : from frames, dense and sparse matrices.
    count_cooccurrence : from tag sets, label matrices, a stream of items or a table of pairs.
    """

    counts: sparse.csr_array
    seen: np.ndarray = None  # type: ignore[assignment]
    names: np.ndarray | None = None
    missing: sparse.csr_array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        counts = check_matrix(self.counts)
        seen = check_seen(self.seen, counts.shape)
        names = check_names(self.names, counts.shape[1])
        counts, missing = check_missing(counts, self.missing, seen, names)
        for field, value in (
            ("counts", counts),
            ("seen", seen),
            ("names", names),
            ("missing", missing),
        ):
            object.__setattr__(self, field, value)

    @property
    def n_seen(self) -> int:
        """Number of seen labels."""
        return self.counts.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels, seen and unseen."""
        return self.counts.shape[1]

    @property
    def unseen(self) -> np.ndarray:
        """Columns of the unseen labels, ascending."""
        return np.setdiff1d(np.arange(self.n_labels), self.seen, assume_unique=True)

    @property
    def seen_names(self) -> np.ndarray | None:
        """Names of the seen labels, in the order of the rows."""
        return None if self.names is None else self.names[self.seen]

    @property
    def unseen_names(self) -> np.ndarray | None:
        """Names of the unseen labels, in the order of :attr:`unseen`."""
        return None if self.names is None else self.names[self.unseen]

    @property
    def has_missing(self) -> bool:
        """Whether any count is missing."""
        return self.missing.nnz > 0

    @property
    def observed(self) -> np.ndarray:
        """Dense bool array (n_seen, n_labels): where there is a count."""
        return ~self.missing.toarray()

    def seen_counts(self) -> np.ndarray:
        """The diagonal ``n_s``: items that carry each seen label; NaN where it is missing."""
        rows = np.arange(self.n_seen)
        diagonal = values_at(self.counts, rows, self.seen).astype(np.float64)
        diagonal[values_at(self.missing, rows, self.seen)] = np.nan
        return diagonal

    def dense(self, missing: float = np.nan) -> np.ndarray:
        """Dense float array (n_seen, n_labels), with the given value for missing counts."""
        dense = self.counts.toarray().astype(np.float64)
        gaps = self.missing.tocoo()
        dense[gaps.row, gaps.col] = missing
        return dense

    def rows(self, labels: Iterable) -> Cooccurrence:
        """The counts of some seen labels, in the order given; the others become unseen.

        Parameters
        ----------
        labels : label names, or columns of labels when they have no names
        """
        row_of = {int(column): row for row, column in enumerate(self.seen)}
        labels = list(labels)
        columns = self._columns_of(labels)
        for label, column in zip(labels, columns, strict=True):
            if column not in row_of:
                raise ValueError(
                    f"cooccurrence has no row for the label {shown(label)}, only a column: "
                    "give its counts with all labels, or leave it unseen"
                )
        picked = np.array([row_of[column] for column in columns], dtype=np.intp)
        return Cooccurrence(
            self.counts[picked], self.seen[picked], self.names, self.missing[picked]
        )

    def columns(self, labels: Iterable) -> Cooccurrence:
        """The counts with some labels, in the order given.

        A label that is left out loses its row too: seen labels are always among all labels. The
        rows that stay keep their order.

        Parameters
        ----------
        labels : label names, or columns of labels when they have no names
        """
        columns = np.array(self._columns_of(list(labels)), dtype=np.intp)
        new_column = np.full(self.n_labels, -1)
        new_column[columns] = np.arange(columns.size)
        rows = np.flatnonzero(new_column[self.seen] >= 0)
        return Cooccurrence(
            self.counts[rows][:, columns],
            new_column[self.seen[rows]],
            None if self.names is None else self.names[columns],
            self.missing[rows][:, columns],
        )

    def _columns_of(self, labels: list) -> list[int]:
        known: Any = range(self.n_labels) if self.names is None else self.names
        column_of = {name: column for column, name in enumerate(known)}
        taken: set = set()
        for label in labels:
            if label not in column_of:
                raise ValueError(
                    f"cooccurrence has no label {shown(label)}: its {self.n_labels} labels are "
                    f"{_some(list(known))}; add its counts, or correct the spelling"
                )
            if label in taken:
                raise ValueError(f"labels: {shown(label)} is there twice; keep one of them")
            taken.add(label)
        return [column_of[label] for label in labels]

    def __repr__(self) -> str:
        gaps = f", {self.missing.nnz} counts missing" if self.has_missing else ""
        return f"<Cooccurrence: {self.n_seen} seen of {self.n_labels} labels{gaps}>"


def _some(names: list, n: int = 3) -> str:
    shown = ", ".join(map(repr, names[:n]))
    return shown + (", ..." if len(names) > n else "")
