"""What every computation relies on in an array that somebody gave: the one door for numbers.

A sparse matrix may store an entry twice, out of order, as an explicit zero or in indices of 64
bits, and scipy takes all of these for the same matrix. Kernels that walk through the stored
entries do not, so they are given one form.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

__all__ = [
    "LARGEST",
    "LARGEST_FOR_LIBLINEAR",
    "canonical_rows",
    "check_indices",
    "check_not_tiny",
    "check_numbers",
    "first_nan",
    "named_non_numbers",
    "refuse_complex",
]

# its square, summed over all rows of any table and multiplied by another such sum, is still finite
LARGEST = 1e30
LARGEST_SINGLE = 1e15  # the same in single precision
# beyond, liblinear may go on for ever where columns depend on each other: seen from 1e13 on
LARGEST_FOR_LIBLINEAR = 1e10
_NO_NUMBERS = (
    "could not convert string",
    "float() argument must be",
    "setting an array element with a sequence",
    "inhomogeneous shape",
)


def canonical_rows(matrix: Any, name: str = "X") -> sparse.csr_array:
    """Return compressed rows with each entry stored once, in order, and no zero stored.

    Entries that are stored twice are added up, in a type in which the sum cannot overflow. The
    arrays are those of the matrix where nothing has to change, and copies otherwise.

    matrix : sparse matrix
    name : str, default="X". What the matrix is called, for messages.
    Returns csr_array

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from labelgap.kernels.input_arrays import canonical_rows
    >>> twice = sparse.coo_array((np.int8([100, 100]), ([0, 0], [1, 1])), shape=(1, 2))
    >>> canonical_rows(twice).toarray()
    array([[  0, 200]])
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} has shape {matrix.shape}: give a matrix, rows x columns")
    rows = matrix
    if matrix.format in ("csr", "csc"):
        # of its own attributes, with the same arrays: the check may set some
        rows = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        check_indices(rows, name)
    if matrix.format != "csr" or not rows.has_canonical_format:
        rows = sparse.csr_array(rows.astype(_summable(matrix.dtype), copy=True))
        rows.sum_duplicates()
    rows = sparse.csr_array(rows)
    if np.count_nonzero(rows.data) < rows.nnz:
        rows = rows.copy()
        rows.eliminate_zeros()
    return _narrow(rows)


def check_indices(matrix: Any, name: str = "X") -> None:
    """Raise a ValueError for indices outside of a compressed matrix, which kernels would follow.

    matrix : csr_array, csc_array
    name : str, default="X". What the matrix is called, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from labelgap.kernels.input_arrays import check_indices
    >>> matrix = sparse.csr_array(np.eye(2))
    >>> matrix.indices = np.array([0, 7])
    >>> check_indices(matrix)
    Traceback (most recent call last):
      ...
    ValueError: X is a damaged sparse matrix (indices must be < 2): build it again
    """
    try:
        matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is a damaged sparse matrix ({error}): build it again") from error


def check_numbers(
    X: Any, name: str = "X", *, allow_nan: bool = False, most: float = LARGEST
) -> None:
    """Raise a ValueError for the first number that is missing, infinite or too large to square.

    X : float array or sparse matrix of shape (n_samples, n_features)
    name : str, default="X". What the matrix is called, for messages.
    allow_nan : bool, default=False. Whether NaN stands for a missing measurement.
    most : float, default=1e30. What numbers may be, whatever their sign.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.kernels.input_arrays import check_numbers
    >>> check_numbers(np.array([[0.0, 1e300]]))
    Traceback (most recent call last):
      ...
    ValueError: X[0, 1] = 1e+300 is beyond 1e+30, too large to compute with: scale the column
    """
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return
    if values.dtype.itemsize < 8:
        most = min(most, LARGEST_SINGLE)
    largest, smallest = (np.fmax, np.fmin) if allow_nan else (np.maximum, np.minimum)
    ends = largest.reduce(values, axis=None), smallest.reduce(values, axis=None)
    if all(-most <= end <= most or (allow_nan and np.isnan(end)) for end in ends):
        return
    bad = ~(np.abs(values) <= most)
    if allow_nan:
        bad &= ~np.isnan(values)
    row, column = _place(X, bad)
    value = X[row, column]
    if not np.isfinite(value):
        raise ValueError(
            f"Input {name} contains {'NaN' if np.isnan(value) else 'infinity'}, first in "
            f"{name}[{row}, {column}]: drop the row, or fill in the value, for example with "
            "sklearn.impute.SimpleImputer"
        )
    raise ValueError(
        f"{name}[{row}, {column}] = {value:.3g} is beyond {most:.0e}, too large to compute "
        "with: scale the column"
    )


def check_not_tiny(X: Any, name: str = "X") -> None:
    """Raise a ValueError where all numbers are so small that none of their squares is a number.

    X : float array or sparse matrix of shape (n_samples, n_features)
    name : str, default="X". What the matrix is called, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.kernels.input_arrays import check_not_tiny
    >>> check_not_tiny(np.zeros((2, 2)))
    >>> check_not_tiny(np.array([[0.0, 1e-300]]))
    Traceback (most recent call last):
      ...
    ValueError: no number of X is beyond 1e-300, too small to compute with: scale the columns
    """
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return
    largest = max(
        float(np.fmax.reduce(values, axis=None)), -float(np.fmin.reduce(values, axis=None))
    )
    if 0 < largest < 1 / LARGEST:
        raise ValueError(
            f"no number of {name} is beyond {largest:.3g}, too small to compute with: scale the columns"
        )


def refuse_complex(X: Any, name: str = "X") -> None:
    """Raise a ValueError for complex numbers.

    X : array, frame or sparse matrix
    name : str, default="X". What the matrix is called, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.kernels.input_arrays import refuse_complex
    >>> refuse_complex(np.array([[1j]]))
    Traceback (most recent call last):
      ...
    ValueError: Complex data not supported: X has the type complex128; give two real columns
    """
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(
            f"Complex data not supported: {name} has the type {X.dtype}; give two real columns"
        )


@contextmanager
def named_non_numbers(X: Any, name: str = "X") -> Iterator[None]:
    """Name the first entry that is no number in errors of numpy about it.

    X : array-like
    name : str, default="X". What the matrix is called, for messages.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if not any(words in said for words in _NO_NUMBERS):
            raise
        place = _first_non_number(X)
        where = name if place is None else f"{name}[{place[0]}, {place[1]}]"
        remedy = "encode text (OneHotEncoder, TfidfVectorizer), or drop the column"
        if "inhomogeneous" in said or "sequence" in said:
            remedy = "give every row the same number of features"
        raise type(error)(f"{where} is no number ({said[:200]}): {remedy}") from error


def first_nan(values: np.ndarray) -> tuple[int, ...] | None:
    """Return the place of the first NaN, or None.

    values : float array

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.kernels.input_arrays import first_nan
    >>> first_nan(np.array([[0.0, np.nan]]))
    (0, 1)
    """
    # one pass without a copy: the largest is NaN when one is
    if not values.size or not np.isnan(np.max(values)):
        return None
    return tuple(int(i) for i in np.argwhere(np.isnan(values))[0])


def _narrow(rows: sparse.csr_array) -> sparse.csr_array:
    """The same with indices of 32 bits where they suffice, as most compiled code expects."""
    parts = (rows.indices, rows.indptr)
    if all(part.dtype == np.int32 for part in parts):
        return rows
    if max(rows.nnz, *rows.shape) > np.iinfo(np.int32).max:
        return rows
    indices, indptr = (part.astype(np.int32) for part in parts)
    narrow = sparse.csr_array((rows.data, indices, indptr), shape=rows.shape)
    narrow.has_canonical_format = True
    return narrow


def _first_non_number(X: Any) -> tuple[int, int] | None:
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    for row, cells in enumerate(values):
        for column, cell in enumerate(cells if np.iterable(cells) else ()):
            try:
                float(cell)
            except (TypeError, ValueError):
                return row, column
    return None


def _summable(dtype: np.dtype) -> Any:
    if dtype.kind in "iu":
        return np.int64
    return np.float64 if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def _place(X: Any, bad: np.ndarray) -> tuple[int, int]:
    first = int(np.argmax(bad))
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        return row, int(X.indices[first])
    return divmod(first, X.shape[1])
