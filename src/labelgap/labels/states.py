"""The states of a label entry, and how the values that users have are read as states."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from scipy import sparse

ImplicitName = Literal["negative", "unknown", "unlabeled"]
ZerosName = Literal["negative", "unlabeled"]
EmptyName = Literal["auto", "zero", "unknown"]


class LabelWarning(UserWarning):
    """Warn that labels can be used, but probably not as their owner expects.

    Examples
    --------
    >>> import warnings
    >>> from labelgap import Labels, LabelWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     labels = Labels.from_dense([[1, float("nan")], [0, float("nan")]])
    >>> issubclass(caught[0].category, LabelWarning)
    True
    """


class LabelCellError(ValueError):
    """Say which cell of a table of labels cannot be read.

    Attributes
    ----------
    column, row, value
        Its place, rows counted from 0, and what it holds.
    """

    def __init__(self, column: Any, row: int, value: Any, message: str) -> None:
        super().__init__(message)
        self.column, self.row, self.value = column, row, value


class State(IntEnum):
    """Name what one entry of a label matrix says.

    The codes are what :attr:`labelgap.Labels.entries` stores; none of them is zero, so that a
    sparse matrix of codes never confuses "stored" with "zero".

    Examples
    --------
    >>> from labelgap import Labels, State
    >>> Labels.from_signed([[1, -1, 0], [0, 1, 1]]).states() == State.UNKNOWN
    array([[False, False,  True],
           [ True, False, False]])
    """

    RELEVANT = 1
    NEGATIVE = 2
    UNKNOWN = 3
    UNLABELED = 4


def implicit_state(argument: str, value: State | str) -> State:
    """The state that unstored entries have, from its name."""
    for state in (State.NEGATIVE, State.UNKNOWN, State.UNLABELED):
        if value is state or value == state.name.lower():
            return state
    raise ValueError(f"{argument}={value!r}: use 'negative', 'unknown' or 'unlabeled'")


def zero_state(zeros: State | str) -> State:
    """The state of a plain zero: known to be irrelevant, or 0-or-unknown."""
    if isinstance(zeros, State):
        zeros = zeros.name.lower()
    if zeros not in ("negative", "unlabeled"):
        raise ValueError(
            f"zeros={zeros!r}: use 'negative' (a zero means no) or 'unlabeled' "
            "(positive-only data: a zero may mean that nobody looked)"
        )
    return State.NEGATIVE if zeros == "negative" else State.UNLABELED


Place = Callable[[tuple[int, ...]], str]

CODINGS = (
    "labels are 1 (relevant), 0 (irrelevant) or NaN (unknown); "
    "signed labels {+1, 0 = unknown, -1} go through Labels.from_signed, "
    "a number that means unknown through Labels.from_dense(..., unknown=number)"
)


def cell(index: tuple[int, ...]) -> str:
    """How an entry of a label matrix is named in messages."""
    return f"y[{', '.join(map(str, index))}]"


_LONGEST = 80


def shown(value: Any) -> str:
    """A value as its owner wrote it, without the type that numpy gave it, and not all of a novel."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def read_matrix(array: Any, place: Place = cell) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`read_values`, for a matrix."""
    try:
        values, gaps = read_values(array, place)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            "y is ragged, its rows have different lengths: give a matrix (rows x labels); "
            "lists of tags go through Labels.from_tag_sets"
        ) from error
    if values.ndim != 2:
        raise ValueError(
            f"y has {values.ndim} dimension(s), shape {values.shape}: labels are a matrix "
            "(rows x labels); reshape a single label with y.reshape(-1, 1), or turn classes "
            "into labels with sklearn.preprocessing.label_binarize"
        )
    return values, gaps


def read_values(array: Any, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and where there are none: NaN, None, pandas.NA or masked."""
    masked = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
    values = np.asarray(array if masked is None else np.ma.getdata(array))
    if values.dtype.kind in "OUST":
        values = _as_numbers(values, masked, place)
    elif values.dtype.kind == "c":
        raise ValueError("y: Complex data not supported")
    elif values.dtype.kind not in "biuf":
        raise ValueError(f"y has the type {values.dtype}: {CODINGS}")
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
    return values, gaps if masked is None else gaps | masked


def check_binary(values: np.ndarray, gaps: np.ndarray, place: Place) -> np.ndarray:
    """Where the value is 1; raises on the first value that is neither 0 nor 1 nor a gap."""
    is_one = values == 1
    is_bad = ~(is_one | (values == 0) | gaps)
    if is_bad.any():
        first = tuple(int(i) for i in np.argwhere(is_bad)[0])
        raise ValueError(f"{place(first)} = {shown(values[first])} is not a label state: {CODINGS}")
    return is_one & ~gaps


def is_missing(value: Any) -> bool:
    """Whether one object stands for "nothing here"."""
    pandas = sys.modules.get("pandas")
    if value is None or (pandas is not None and value is pandas.NA):
        return True
    return isinstance(value, float) and value != value


def _as_numbers(values: np.ndarray, masked: np.ndarray | None, place: Place) -> np.ndarray:
    result = np.full(values.size, np.nan)
    skip = np.zeros(values.size, dtype=bool) if masked is None else masked.ravel()
    for position, value in enumerate(values.ravel().tolist()):
        if skip[position] or is_missing(value):
            continue
        if not isinstance(value, (numbers.Real, np.bool_)):
            first = tuple(int(i) for i in np.unravel_index(position, values.shape))
            raise ValueError(f"{place(first)} = {shown(value)} is not a label state: {CODINGS}")
        result[position] = float(value)
    return result.reshape(values.shape)


Parts = tuple[sparse.csr_array, State]


def parse_dense(array: Any, *, zeros: str, unknown: Any) -> Parts:
    """Return state codes of a dense array, and what the entries that are not stored mean."""
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
    """Return state codes of a dense block, the most frequent of zero and unknown left unstored."""
    implicit = State.UNKNOWN if 2 * np.count_nonzero(gaps) > gaps.size else zero
    codes = np.where(gaps, np.int8(State.UNKNOWN), np.int8(zero))
    codes[is_one] = State.RELEVANT
    codes[codes == implicit] = 0
    return sparse.csr_array(codes), implicit


# -- names and ids ------------------------------------------------------------------------------


def object_array(values: Any) -> np.ndarray:
    """One Python object per element, whatever the elements are."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def check_names(names: Sequence | np.ndarray | None, n_labels: int) -> np.ndarray | None:
    if names is None:
        return None
    if isinstance(names, (str, bytes)):
        raise TypeError(f"names={names!r} is a string: give a sequence with one name per label")
    array = object_array(names)
    if len(array) != n_labels:
        raise ValueError(
            f"names has {len(array)} entries for {n_labels} labels: give one name per column"
        )
    seen: dict[Any, int] = {}
    for j, name in enumerate(array):
        if name in seen:
            raise ValueError(
                f"names[{j}] = {name!r} is the name of label {seen[name]} too: "
                "label names must be unique; rename or merge the columns"
            )
        seen[name] = j
    return array


def texts_of_names(texts: Any, names: np.ndarray | None, n_labels: int) -> np.ndarray | None:
    """Return one text per label, None where a mapping has none."""
    if texts is None:
        return None
    if isinstance(texts, Mapping):
        known = [] if names is None else list(names)
        unknown = [name for name in texts if name not in set(known)]
        if unknown:
            raise ValueError(f"texts: {unknown[0]!r} is the name of no label")
        texts = [texts.get(name) for name in known]
    if isinstance(texts, str) or len(texts) != n_labels:
        raise ValueError(
            f"texts has {len(texts)} entries for {n_labels} labels: give one text per label"
        )
    return object_array(texts)


def same_names(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.tolist() == second.tolist()


def sorted_names(tags: set) -> list:
    try:
        return sorted(tags)
    except TypeError as error:
        raise ValueError(
            "the labels have several types and cannot be sorted: give their order as names="
        ) from error


def read_ids(column: Any, what: str) -> list:
    """The ids of a column as Python objects, so that equal ids of two types meet."""
    keys = column.tolist() if hasattr(column, "tolist") else list(column)
    distinct = set(keys)
    if any(is_missing(key) for key in distinct):
        line = next(line for line, key in enumerate(keys) if is_missing(key))
        raise ValueError(f"line {line}: the {what} is missing; drop the line")
    if any(isinstance(key, np.generic) for key in distinct):
        return [key.item() if isinstance(key, np.generic) else key for key in keys]
    return keys
