"""Labels from matrices: dense with gaps, signed, sparse positives with a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import _csr
from labelgap.labels._states import State, zero_state
from labelgap.labels._values import cell, check_binary, read_matrix, shown

Parts = tuple[sparse.csr_array, State]


def parse_dense(array: Any, *, zeros: str, unknown: Any) -> Parts:
    if sparse.issparse(array):
        raise TypeError("array is sparse: use Labels.from_sparse, where unstored means 0")
    zero = zero_state(zeros)
    values, gaps = read_matrix(array)
    if unknown is not None:
        if unknown in (0, 1):
            raise ValueError(f"unknown={unknown!r} is the code of a known label: use another")
        gaps = gaps | (values == unknown)
    return pack(check_binary(values, gaps, cell), gaps, zero)


def pack(is_one: np.ndarray, gaps: np.ndarray, zero: State) -> Parts:
    """State codes of a dense block, the most frequent of zero and unknown left unstored."""
    unstated = State.UNKNOWN if 2 * np.count_nonzero(gaps) > gaps.size else zero
    codes = np.where(gaps, np.int8(State.UNKNOWN), np.int8(zero))
    codes[is_one] = State.RELEVANT
    codes[codes == unstated] = 0
    return sparse.csr_array(codes), unstated


def parse_signed(array: Any) -> Parts:
    if sparse.issparse(array):
        entries = _summed(array, "y")
        shape, values = entries.shape, entries.data
        rows, columns = _csr.rows_of(entries), entries.indices
    else:
        dense, gaps = read_matrix(array)
        shape = dense.shape
        rows, columns = np.nonzero((dense != 0) & ~gaps)
        values = dense[rows, columns]
    bad = np.flatnonzero(~np.isin(values, (-1, 0, 1)))
    if bad.size:
        i, j, value = rows[bad[0]], columns[bad[0]], values[bad[0]]
        raise ValueError(
            f"y[{i}, {j}] = {shown(value)} is not a signed label: use +1 (relevant), "
            "-1 (irrelevant) and 0 (unknown)"
        )
    stated = values != 0
    codes = np.where(values == 1, State.RELEVANT, State.IRRELEVANT)
    entries = _csr.from_sorted(rows[stated], columns[stated], codes[stated], shape)
    return entries, State.UNKNOWN


def parse_sparse(positives: Any, *, observed: Any, zeros: str) -> Parts:
    if not sparse.issparse(positives):
        raise TypeError("positives: expected a scipy sparse matrix; see Labels.from_dense")
    zero = zero_state(zeros)
    ones = _binary_entries(positives, "positives")
    if observed is None:
        return ones, zero
    if not sparse.issparse(observed):
        observed = np.asarray(observed)
    if observed.shape != ones.shape:
        raise ValueError(
            f"observed has shape {observed.shape}, positives {ones.shape}: they must be equal"
        )
    if sparse.issparse(observed):
        seen_keys = _csr.keys_of(_binary_entries(observed, "observed"))
    else:
        seen_keys = np.flatnonzero(_check_mask(observed))
    one_keys = _csr.keys_of(ones)
    missing = one_keys[~np.isin(one_keys, seen_keys, assume_unique=True)]
    if missing.size:
        i, j = divmod(int(missing[0]), ones.shape[1])
        raise ValueError(
            f"positives[{i}, {j}] is 1 but observed[{i}, {j}] is False: an entry cannot be both "
            "relevant and unknown; drop it from positives or mark it observed"
        )
    return _from_masked_keys(one_keys, seen_keys, ones.shape, zero)


def _from_masked_keys(one_keys, seen_keys, shape, zero: State) -> Parts:
    """Stores the smaller of the observed zeros and the unknown entries."""
    size = shape[0] * shape[1]
    if 2 * seen_keys.size < size:
        codes = np.full(seen_keys.size, zero, dtype=np.int8)
        codes[np.searchsorted(seen_keys, one_keys)] = State.RELEVANT
        return _csr.from_keys(seen_keys, codes, shape), State.UNKNOWN
    hidden = np.ones(size, dtype=bool)
    hidden[seen_keys] = False
    hidden_keys = np.flatnonzero(hidden)
    keys = np.concatenate([one_keys, hidden_keys])
    codes = np.repeat(
        np.array([State.RELEVANT, State.UNKNOWN], dtype=np.int8), [one_keys.size, hidden_keys.size]
    )
    order = np.argsort(keys, kind="stable")
    return _csr.from_keys(keys[order], codes[order], shape), zero


def _summed(matrix: Any, argument: str) -> sparse.csr_array:
    """CSR in canonical form; duplicates add up, as everywhere in scipy."""
    if matrix.ndim != 2:
        raise ValueError(f"{argument} has shape {matrix.shape}: labels are a matrix")
    entries = sparse.csr_array(matrix)
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    return entries


def _binary_entries(matrix: Any, argument: str) -> sparse.csr_array:
    entries = _summed(matrix, argument)
    bad = np.flatnonzero(~((entries.data == 1) | (entries.data == 0)))
    if bad.size:
        i, j = _csr.rows_of(entries)[bad[0]], entries.indices[bad[0]]
        remedy = (
            "unknown entries go into the mask, Labels.from_sparse(positives, observed=mask); "
            "counts and entries stored twice are made binary with (positives > 0)"
            if argument == "positives"
            else "use True or 1 where somebody looked"
        )
        raise ValueError(
            f"{argument}[{i}, {j}] = {shown(entries.data[bad[0]])} is neither 0 nor 1: {remedy}"
        )
    ones = np.full(entries.nnz, State.RELEVANT, dtype=np.int8)
    return _csr.select(entries, np.asarray(entries.data == 1), ones)


def _check_mask(mask: np.ndarray) -> np.ndarray:
    bad = np.argwhere(~np.asarray((mask == 1) | (mask == 0), dtype=bool))
    if bad.size:
        i, j = bad[0]
        raise ValueError(
            f"observed[{i}, {j}] = {shown(mask[i, j])}: use True where somebody looked"
        )
    return mask.astype(bool)
