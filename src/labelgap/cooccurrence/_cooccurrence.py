"""Counts of seen with all labels, some of them perhaps missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.kernels.input_arrays import canonical_rows
from labelgap.labels import LabelWarning
from labelgap.labels.state_matrix import rows_of
from labelgap.labels.states import check_names, object_array, shown


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
    seen : int array of shape (n_seen,), default=None
        Column of each row's label; by default the rows are the first labels, in their order.
    names : sequence of length n_labels, default=None
        Names of the labels, in the order of the columns.
    missing : sparse or dense bool matrix of shape (n_seen, n_labels), default=None
        The counts that nobody made; what ``counts`` has there is not kept.

    See Also
    --------
    as_cooccurrence : From frames, dense and sparse matrices.
    count_cooccurrence : From tag sets, label matrices, a stream of items or a table of pairs.

    Examples
    --------
    >>> from scipy import sparse
    >>> from labelgap.cooccurrence import Cooccurrence
    >>> counts = Cooccurrence(sparse.csr_array([[5, 2, 1]]), names=["sea", "beach", "ski"])
    >>> counts
    <Cooccurrence: 1 seen of 3 labels>
    >>> counts.unseen_names.tolist()
    ['beach', 'ski']
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
        fields = {"counts": counts, "seen": seen, "names": names, "missing": missing}
        for field, value in fields.items():
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
    def unconnected(self) -> np.ndarray:
        """Columns of the unseen labels that have no positive count with any seen label."""
        connected = np.bincount(self.counts.indices, minlength=self.n_labels) > 0
        return self.unseen[~connected[self.unseen]]

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
        """Return the diagonal ``n_s``: items that carry each seen label; NaN where it is missing."""
        rows = np.arange(self.n_seen)
        diagonal = values_at(self.counts, rows, self.seen).astype(np.float64)
        diagonal[values_at(self.missing, rows, self.seen)] = np.nan
        return diagonal

    def dense(self, missing: float = np.nan) -> np.ndarray:
        """Return a dense float array (n_seen, n_labels), with the given value for missing counts."""
        dense = self.counts.toarray().astype(np.float64)
        gaps = self.missing.tocoo()
        dense[gaps.row, gaps.col] = missing
        return dense

    def rows(self, labels: Iterable) -> Cooccurrence:
        """Return the counts of some seen labels, in the order given; the others become unseen.

        ``labels`` are names, or columns of labels when they have no names.
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
        """Return the counts with some labels, in the order given.

        ``labels`` are names, or columns when labels have no names. A label that is left out loses
        its row too: seen labels are always among all labels. The rows that stay keep their order.
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


# -- what counts must satisfy, and what their owner should know about them ------------------------

_LARGEST = 2**53


def check_matrix(counts: Any) -> sparse.csr_array:
    """Return canonical CSR in arrays of its own; the values are looked at with their names."""
    if not sparse.issparse(counts) or counts.ndim != 2:
        raise TypeError(
            "counts: expected a sparse matrix (seen x all labels); dense arrays and frames go "
            "through as_cooccurrence"
        )
    if counts.dtype.kind not in "biuf":
        raise ValueError(f"counts has the type {counts.dtype}: give whole numbers")
    matrix = canonical_rows(counts, "counts").copy()
    n_seen, n_labels = matrix.shape
    if n_seen > n_labels:
        raise ValueError(
            f"cooccurrence has shape ({n_seen}, {n_labels}), more rows than columns: it has one "
            "row per seen label and one column per label, the seen ones included"
        )
    return matrix


def unique_names(argument: str, names: Any) -> np.ndarray:
    """Return names as an array of objects; raises on the first that is there twice."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{argument}={names!r} is a string: give a sequence of labels")
    array = object_array(names)
    taken = set()
    for position, name in enumerate(array):
        if name in taken:
            raise ValueError(f"{argument}[{position}] = {name!r} is there twice; keep one of them")
        taken.add(name)
    return array


def positions(wanted: Any, names: Any, argument: str) -> np.ndarray:
    """Return where the wanted labels are among the names."""
    position_of = {name: position for position, name in enumerate(names)}
    wanted = unique_names(argument, wanted)
    for position, name in enumerate(wanted):
        if name not in position_of:
            raise ValueError(
                f"{argument}[{position}] = {name!r} is not a label of the corpus or of all_labels; "
                "correct the spelling, or leave it out"
            )
    return np.array([position_of[name] for name in wanted], dtype=np.intp)


def check_seen(seen: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the columns of the rows' labels."""
    if seen is None:
        return np.arange(shape[0])
    columns = np.asarray(seen)
    if columns.dtype == bool and columns.shape == (shape[1],):
        columns = np.flatnonzero(columns)
    if columns.shape != (shape[0],) or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(
            f"seen has shape {columns.shape} and type {columns.dtype}: give the column of each of "
            f"the {shape[0]} rows' labels"
        )
    outside = np.flatnonzero((columns < 0) | (columns >= shape[1]))
    if outside.size:
        position = int(outside[0])
        raise ValueError(
            f"seen[{position}] = {columns[position]} is not a column: there are {shape[1]} labels"
        )
    _, first = np.unique(columns, return_index=True)
    twice = np.setdiff1d(np.arange(columns.size), first)
    if twice.size:
        position = int(twice[0])
        raise ValueError(
            f"seen[{position}] = {columns[position]} is there twice; keep one row per label"
        )
    return columns.astype(np.intp)


def values_at(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the entries at coordinates; scipy answers an empty question with a sparse array."""
    if not len(rows):
        return np.empty(0, dtype=matrix.dtype)
    return np.asarray(matrix[rows, columns]).ravel()


def check_missing(
    counts: sparse.csr_array, missing: Any, seen: np.ndarray, names: np.ndarray | None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return integer counts without those that are missing, and where these are: NaN, or as given."""
    gaps = sparse.csr_array(counts.shape, dtype=bool)
    if missing is not None:
        gaps = sparse.csr_array(missing).astype(bool)
        if gaps.shape != counts.shape:
            raise ValueError(
                f"missing has shape {gaps.shape}, counts {counts.shape}: they must be equal"
            )
    if counts.data.dtype.kind == "f":
        is_nan = counts.copy()
        is_nan.data = np.isnan(counts.data)
        gaps = gaps + is_nan.astype(bool)
    gaps.eliminate_zeros()
    gaps.sort_indices()
    known = counts
    if gaps.nnz:
        rows, columns = rows_of(counts), counts.indices
        stated = ~values_at(gaps, rows, columns)
        known = sparse.csr_array(
            (counts.data[stated], (rows[stated], columns[stated])), shape=counts.shape
        )
    check_counts(known, seen, names)
    known = known.astype(np.int64)
    known.eliminate_zeros()
    known.sort_indices()
    return known, gaps


def check_counts(counts: sparse.csr_array, seen: np.ndarray, names: np.ndarray | None) -> None:
    """Raises on the first value that is not 0, 1, 2, ..."""
    values = counts.data
    with np.errstate(invalid="ignore"):
        good = (values >= 0) & (values <= _LARGEST) & (values == np.floor(values))
    bad = np.flatnonzero(~good)
    if not bad.size:
        return
    row, column = int(rows_of(counts)[bad[0]]), int(counts.indices[bad[0]])
    value = values[bad[0]]
    entry = f"{row}, {column}"
    if names is not None:
        entry = f"{names[seen[row]]!r}, {names[column]!r}"
    if value < 0:
        reason = "is negative: counts are 0, 1, 2, ...; NaN stands for a missing count"
    elif not np.isfinite(value):
        reason = "is infinite: counts are 0, 1, 2, ...; NaN stands for a missing count"
    elif value > _LARGEST:
        reason = "is too large to be exact: divide all counts by a common number"
    else:
        reason = (
            "is not a count: give how often the two labels occur together, not a fraction or "
            "similarity made from it"
        )
    raise ValueError(f"cooccurrence[{entry}] = {shown(value)} {reason}")


def warn_unusual(cooccurrence: Cooccurrence, stacklevel: int = 2) -> None:
    """Warns of a seen block that is not symmetric, and of unseen labels without a count."""
    _warn_asymmetry(cooccurrence, stacklevel + 1)
    alone = cooccurrence.unconnected
    if alone.size:
        others = f", nor do {alone.size - 1} others" if alone.size > 1 else ""
        warnings.warn(
            f"the unseen label {_label(cooccurrence, alone[0])} co-occurs with no seen label"
            f"{others}: its prediction falls back to a prior, the same for every row",
            LabelWarning,
            stacklevel=stacklevel + 1,
        )


def _warn_asymmetry(cooccurrence: Cooccurrence, stacklevel: int) -> None:
    block = cooccurrence.counts[:, cooccurrence.seen]
    difference = abs(block - block.T).tocoo()
    if cooccurrence.has_missing:
        gaps = cooccurrence.missing[:, cooccurrence.seen]
        either = sparse.csr_array(gaps + gaps.T)
        known = ~values_at(either, difference.row, difference.col)
        difference.data = difference.data * known
    if not difference.nnz or not difference.data.any():
        return
    largest = int(difference.data.argmax())
    a, b = int(difference.row[largest]), int(difference.col[largest])
    left, right = (_label(cooccurrence, cooccurrence.seen[i]) for i in (a, b))
    warnings.warn(
        f"the counts of the seen labels are not symmetric: {left} with {right} "
        f"{block[a, b]}, {right} with {left} {block[b, a]} is the largest difference. They are "
        "used as given, which is right for a directional corpus; otherwise check that the columns "
        "of the seen labels are in the order of the rows",
        LabelWarning,
        stacklevel=stacklevel + 1,
    )


def _label(cooccurrence: Cooccurrence, column: int) -> str:
    return str(column) if cooccurrence.names is None else repr(cooccurrence.names[column])
