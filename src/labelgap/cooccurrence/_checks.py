"""What counts must satisfy, and what their owner should know about them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap.labels import LabelWarning
from labelgap.labels._checks import object_array
from labelgap.labels._csr import rows_of
from labelgap.labels._values import shown

if TYPE_CHECKING:
    from labelgap.cooccurrence._container import Cooccurrence

_LARGEST = 2**53


def check_matrix(counts: Any) -> sparse.csr_array:
    """Canonical CSR in arrays of its own; the values are looked at with their names."""
    if not sparse.issparse(counts) or counts.ndim != 2:
        raise TypeError(
            "counts: expected a sparse matrix (seen x all labels); dense arrays and frames go "
            "through as_cooccurrence"
        )
    matrix = sparse.csr_array(counts, copy=True)
    if matrix.data.dtype.kind not in "biuf":
        raise ValueError(f"counts has the type {matrix.data.dtype}: give whole numbers")
    matrix.sum_duplicates()
    n_seen, n_labels = matrix.shape
    if n_seen > n_labels:
        raise ValueError(
            f"cooccurrence has shape ({n_seen}, {n_labels}), more rows than columns: it has one "
            "row per seen label and one column per label, the seen ones included"
        )
    return matrix


def unique_names(argument: str, names: Any) -> np.ndarray:
    """Names as an array of objects; raises on the first that is there twice."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{argument}={names!r} is a string: give a sequence of labels")
    array = object_array(names)
    taken = set()
    for place, name in enumerate(array):
        if name in taken:
            raise ValueError(f"{argument}[{place}] = {name!r} is there twice; keep one of them")
        taken.add(name)
    return array


def positions(wanted: Any, names: Any, argument: str) -> np.ndarray:
    """Where the wanted labels are among the names."""
    position = {name: place for place, name in enumerate(names)}
    wanted = unique_names(argument, wanted)
    for place, name in enumerate(wanted):
        if name not in position:
            raise ValueError(
                f"{argument}[{place}] = {name!r} is not a label of the corpus or of all_labels; "
                "correct the spelling, or leave it out"
            )
    return np.array([position[name] for name in wanted], dtype=np.intp)


def check_seen(seen: Any, shape: tuple[int, int]) -> np.ndarray:
    """Columns of the rows' labels."""
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
        place = int(outside[0])
        raise ValueError(
            f"seen[{place}] = {columns[place]} is not a column: there are {shape[1]} labels"
        )
    _, first = np.unique(columns, return_index=True)
    twice = np.setdiff1d(np.arange(columns.size), first)
    if twice.size:
        place = int(twice[0])
        raise ValueError(f"seen[{place}] = {columns[place]} is there twice; keep one row per label")
    return columns.astype(np.intp)


def values_at(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The entries at coordinates; scipy answers an empty question with a sparse array."""
    if not len(rows):
        return np.empty(0, dtype=matrix.dtype)
    return np.asarray(matrix[rows, columns]).ravel()


def check_missing(
    counts: sparse.csr_array, missing: Any, seen: np.ndarray, names: np.ndarray | None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Integer counts without those that are missing, and where these are: NaN, or as told."""
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
    place = f"{row}, {column}"
    if names is not None:
        place = f"{names[seen[row]]!r}, {names[column]!r}"
    if value < 0:
        reason = "is negative: counts are 0, 1, 2, ...; NaN stands for a missing count"
    elif not np.isfinite(value):
        reason = "is infinite: counts are 0, 1, 2, ...; NaN stands for a missing count"
    elif value > _LARGEST:
        reason = "is too large to be exact: divide all counts by a common number"
    else:
        reason = (
            "is not a count: give how often the two labels occur together, not a share or "
            "similarity made from it"
        )
    raise ValueError(f"cooccurrence[{place}] = {shown(value)} {reason}")


def unconnected(cooccurrence: Cooccurrence) -> np.ndarray:
    """Columns of the unseen labels that have no positive count with any seen label."""
    connected = np.bincount(cooccurrence.counts.indices, minlength=cooccurrence.n_labels) > 0
    return cooccurrence.unseen[~connected[cooccurrence.unseen]]


def warn_unusual(cooccurrence: Cooccurrence, stacklevel: int = 2) -> None:
    """Warns of a seen block that is not symmetric, and of unseen labels without a count."""
    _warn_asymmetry(cooccurrence, stacklevel + 1)
    alone = unconnected(cooccurrence)
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
