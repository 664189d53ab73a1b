"""Labels in other people's encodings, and in other storage of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelgap._extras import require
from labelgap.labels import _csr
from labelgap.labels._checks import check_names
from labelgap.labels._states import State

if TYPE_CHECKING:
    from labelgap.labels._container import Labels

_MAX_CELLS = 2**28


def as_array(labels: Labels, dtype: Any) -> np.ndarray:
    """What :func:`numpy.asarray` gives: never a number that stands for "unknown"."""
    kind = None if dtype is None else np.dtype(dtype).kind
    if kind == "O":
        whole = np.empty((), dtype=object)
        whole[()] = labels
        return whole
    if labels.n_rows * labels.n_labels > _MAX_CELLS:
        raise ValueError(
            f"these labels ({labels.n_rows} x {labels.n_labels}) are too large to be made dense "
            "unasked; use their sparse form (positives, to_sparse), blocks of rows, or to_dense"
        )
    if kind != "f" and labels.has_unknown:
        raise ValueError(
            "labels with unknown entries have no integer array that other code would read right: "
            "score them with labelgap.metrics, or choose a code with to_dense(unknown=...)"
        )
    return labels.to_dense(dtype=np.int8 if dtype is None else dtype)


def to_dense(labels: Labels, unknown: Any, ambiguous: Any, dtype: Any) -> np.ndarray:
    dense = np.empty(labels.shape, dtype=dtype)
    value = np.zeros(5, dtype=dtype)
    value[State.RELEVANT] = 1
    if labels.has_unknown:
        value[State.UNKNOWN] = _representable(unknown, "unknown", dtype)
    if labels.ambiguous:
        value[State.AMBIGUOUS] = _representable(ambiguous, "ambiguous", dtype)
    for rows in _csr.row_blocks(*labels.shape):
        dense[rows] = value[labels.states(rows)]
    return dense


def to_signed(labels: Labels, dtype: Any, as_sparse: bool) -> np.ndarray | sparse.csr_array:
    _refuse_ambiguous(labels, "to_signed")
    value = np.zeros(5, dtype=dtype)
    value[State.RELEVANT], value[State.IRRELEVANT] = 1, -1
    if not as_sparse:
        return value[labels.states()]
    entries = labels.with_unstated(State.UNKNOWN).entries
    return _csr.select(entries, np.ones(entries.nnz, dtype=bool), value[entries.data])


def to_masked(labels: Labels) -> np.ma.MaskedArray:
    _refuse_ambiguous(labels, "to_masked")
    codes = labels.states()
    values = (codes == State.RELEVANT).astype(np.int8)
    return np.ma.MaskedArray(values, mask=codes == State.UNKNOWN)


def to_frame(labels: Labels, library: str) -> Any:
    _refuse_ambiguous(labels, "to_frame")
    masked = to_masked(labels)
    mask = np.ma.getmaskarray(masked)
    names = _names(labels).tolist()
    if library == "pandas":
        pandas = require("pandas", extra="frames", purpose="Labels.to_frame")
        columns = {
            j: pandas.arrays.IntegerArray(masked.data[:, j].copy(), mask[:, j].copy())
            for j in range(labels.n_labels)
        }
        frame = pandas.DataFrame(columns, index=pandas.RangeIndex(labels.n_rows))
        unnamed = labels.names is None
        frame.columns = pandas.RangeIndex(len(names)) if unnamed else _pandas_index(pandas, names)
        return frame
    if library == "polars":
        polars = require("polars", extra="frames", purpose="Labels.to_frame('polars')")
        names = [str(name) for name in names]
        check_names(names, len(names))
        columns = {}
        for j, name in enumerate(names):
            series = polars.Series(name, masked.data[:, j].copy(), dtype=polars.Int8)
            columns[name] = series.set(polars.Series(mask[:, j].copy()), None)
        return polars.DataFrame(columns)
    raise ValueError(f"library={library!r}: use 'pandas' or 'polars'")


def _pandas_index(pandas: Any, names: list) -> Any:
    # tuples stay names of one level
    return pandas.Index(names, tupleize_cols=False)


def to_sparse(labels: Labels) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    _refuse_mixed_zeros(labels, "to_sparse")
    observed = labels.observed(ambiguous=True) if labels.has_unknown else None
    return labels.positives(), observed


def to_tag_sets(labels: Labels) -> list[set | None]:
    _refuse_mixed_zeros(labels, "to_tag_sets")
    n_known = labels.n_observed(axis=1, ambiguous=True)
    partly = np.flatnonzero((n_known > 0) & (n_known < labels.n_labels))
    if partly.size:
        raise ValueError(
            f"row {partly[0]} has unknown entries beside known ones, and a tag set cannot say "
            "'unknown': fill them first (with_entries) or export with to_long"
        )
    positives, names = labels.positives(), _names(labels)
    bounds = zip(positives.indptr[:-1], positives.indptr[1:], strict=True)
    rows = [set(names[positives.indices[start:stop]].tolist()) for start, stop in bounds]
    unknown = (n_known == 0) & (labels.n_labels > 0)
    return [None if unknown[i] else tags for i, tags in enumerate(rows)]


def to_long(labels: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    entries = labels.entries
    value = np.array([np.nan, 1.0, 0.0, np.nan, np.nan])
    if (entries.data == State.AMBIGUOUS).any():
        raise ValueError(
            "a long table cannot say 'ambiguous' for single entries: "
            "use with_unstated('ambiguous') or with_zeros first"
        )
    return _csr.rows_of(entries), _names(labels)[entries.indices], value[entries.data]


def _names(labels: Labels) -> np.ndarray:
    return np.arange(labels.n_labels) if labels.names is None else labels.names


def _refuse_ambiguous(labels: Labels, method: str) -> None:
    if labels.ambiguous:
        raise ValueError(
            f"{method} would lose that these zeros are ambiguous; decide with "
            "with_zeros('irrelevant'), or export with to_dense(ambiguous=...)"
        )


def _refuse_mixed_zeros(labels: Labels, method: str) -> None:
    known_zeros = labels.n_observed() > labels.n_positives()
    if labels.ambiguous and known_zeros:
        raise ValueError(
            f"{method} would lose which zeros are ambiguous and which are known; decide with "
            "with_zeros('irrelevant') or with_zeros('ambiguous')"
        )


def _representable(value: Any, argument: str, dtype: Any) -> Any:
    if np.dtype(dtype).kind in "fO":
        return value
    if value != value or not np.array_equal(np.array(value).astype(dtype), value):
        raise ValueError(
            f"{argument}={value!r} cannot be stored as {np.dtype(dtype)}: give another value or "
            "dtype"
        )
    return value
