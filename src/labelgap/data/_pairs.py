"""Text files of ``labels index:value ...`` rows: extreme classification, svmlight."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.labels import Labels, State

_LABEL_REMEDY = (
    "Write rows as 'label,label index:value', and a row without labels with a blank in front"
)
_PAIR_REMEDY = "Write features as a whole number, a colon and a value, separated by blanks"


class _Rows(NamedTuple):
    label_indptr: np.ndarray
    labels: np.ndarray
    indptr: np.ndarray
    features: np.ndarray
    values: np.ndarray
    lines: np.ndarray

    @property
    def n_samples(self) -> int:
        return len(self.indptr) - 1


def read_xc(path: FileSource) -> Dataset:
    """Read the text format of the extreme-classification repository.

    The first line holds the numbers of rows, features and labels; every other line is a row
    ``label,label index:value ...`` with indices from 0. A row may lack labels or features.

    Parameters
    ----------
    path : path
        Plain or compressed (gzip, bz2, xz).

    Returns
    -------
    Dataset
        With sparse ``X``.

    See Also
    --------
    read_svmlight : Files without the line of sizes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.data import read_xc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.txt")
    ...     _ = path.write_text("2 3 4\\n0,2 0:1.5 2:1\\n3 1:0.5\\n")
    ...     read_xc(path).shape
    (2, 3, 4)
    """
    contents = contents_of(path)
    header, _, _ = contents.data.partition(b"\n")
    sizes = [int(word) if word.isdigit() else -1 for word in header.split()]
    if len(sizes) != 3 or min(sizes) < 0:
        raise contents.error(
            f"the first line is {contents.text(0, 40).splitlines()[:1]}, not three sizes",
            line=1,
            remedy="It must read 'rows features labels'; for a file without it use read_svmlight",
        )
    n_samples, n_features, n_labels = sizes
    rows = _read(contents, len(header) + 1, skip_empty=False, first_line=1)
    if rows.n_samples > n_samples and rows.indptr[n_samples] == rows.indptr[-1]:
        rows = _first(rows, n_samples)
    if rows.n_samples != n_samples:
        raise contents.error(
            f"the header promises {n_samples} rows and there are {rows.n_samples}",
            line=1,
            remedy="Check that the file is complete, or correct its first line",
        )
    _check_range(contents, rows.labels, rows.label_indptr, rows.lines, n_labels, "label")
    _check_range(contents, rows.features, rows.indptr, rows.lines, n_features, "feature")
    return Dataset(
        name=Path(contents.file).stem,
        X=_csr(contents, rows, rows.features, n_features),
        Y=_labels(rows, rows.labels, n_labels, names=None),
    )


def read_svmlight(
    path: FileSource,
    *,
    n_features: int | None = None,
    label_ids: Sequence[int] | None = None,
    zero_based: bool | Literal["auto"] = "auto",
) -> Dataset:
    """Read multi-label svmlight (LIBSVM) rows ``label,label index:value ...``.

    Parameters
    ----------
    path : path
        Plain or compressed (gzip, bz2, xz). Empty lines and ``#`` comments are skipped.
    n_features : int, default=None
        Number of columns; by default the largest index decides. Give it when several files
        belong together.
    label_ids : sequence of int, default=None
        The labels in column order; by default those in the file, sorted. Labels are named after
        their numbers.
    zero_based : bool or "auto", default="auto"
        Whether feature indices start at 0; "auto" says so when the file holds an index 0.

    Returns
    -------
    Dataset
        With sparse ``X``.

    See Also
    --------
    read_xc : Files that begin with their sizes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.data import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.svm")
    ...     _ = path.write_text("1,2 1:1 3:0.5\\n2 2:1\\n")
    ...     read_svmlight(path).Y.to_dense().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    contents = contents_of(path)
    rows = _read(contents, 0, skip_empty=True, first_line=0)
    smallest = rows.features.min(initial=1)
    if zero_based == "auto":
        zero_based = bool(smallest == 0)
    if not zero_based and smallest == 0:
        entry = int(np.argmin(rows.features))
        raise contents.error(
            "there is a feature 0 in a file whose indices start at 1",
            line=_line_of(rows.lines, rows.indptr, entry),
            remedy="Pass zero_based=True",
        )
    features = rows.features if zero_based else rows.features - 1
    if n_features is None:
        n_features = int(features.max(initial=-1)) + 1
    _check_range(contents, features, rows.indptr, rows.lines, n_features, "feature")
    ids = np.unique(rows.labels) if label_ids is None else np.asarray(label_ids)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, rows.labels, sorter=order), max(len(ids) - 1, 0))
    columns = order[at] if len(ids) else at
    strangers = np.flatnonzero(ids[columns] != rows.labels) if len(ids) else np.arange(len(at))
    if strangers.size:
        raise contents.error(
            f"label {rows.labels[strangers[0]]} is not among label_ids",
            line=_line_of(rows.lines, rows.label_indptr, int(strangers[0])),
            remedy="Add it to label_ids",
        )
    names = [str(label) for label in ids]
    return Dataset(
        name=Path(contents.file).stem,
        X=_csr(contents, rows, features, n_features),
        Y=_labels(rows, columns, len(ids), names),
    )


def _read(contents: Contents, start: int, *, skip_empty: bool, first_line: int) -> _Rows:
    """Every line from ``start`` on; an empty one is nothing, or a row without labels and features."""
    label_indptr, labels, lines = array("q", [0]), array("q"), array("q")
    indptr, features, values = array("q", [0]), array("q"), array("d")
    text = contents.text(start).split("\n")
    if not text[-1]:
        text.pop()
    for number, line in enumerate(text, start=first_line + 1):
        words = line.partition("#")[0].split()
        if skip_empty and not words:
            continue
        try:
            if words and ":" not in words[0]:
                labels.extend(_whole_numbers(words.pop(0)))
            pairs = " ".join(words).replace(":", " ").split()
            if len(pairs) != 2 * len(words) or any(word.count(":") != 1 for word in words):
                raise ValueError
            features.extend(_whole_numbers(",".join(pairs[::2])) if pairs else ())
            values.extend(map(float, pairs[1::2]))
        except ValueError:
            _refuse(contents, line.partition("#")[0].split(), number)
        label_indptr.append(len(labels))
        indptr.append(len(features))
        lines.append(number)
    return _Rows(*map(np.array, (label_indptr, labels, indptr, features, values, lines)))


def _whole_numbers(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(map(_is_whole_number, numbers)):
        raise ValueError
    return list(map(int, numbers))


def _is_whole_number(word: str) -> bool:
    return word.isdecimal() and len(word) <= 18


def _refuse(contents: Contents, words: list[str], line: int) -> NoReturn:
    """Say what is wrong with a row."""
    for position, word in enumerate(words):
        index, colon, value = word.partition(":")
        if not (colon or position):
            if not all(map(_is_whole_number, word.split(","))):
                problem = f"the labels are not whole numbers separated by commas (at {word[:30]!r})"
                raise contents.error(problem, line=line, remedy=_LABEL_REMEDY)
        elif not _is_whole_number(index) or not value:
            problem = f"this is not 'index:value' (at {word[:30]!r})"
            raise contents.error(problem, line=line, remedy=_PAIR_REMEDY)
        else:
            try:
                float(value)
            except ValueError:
                raise contents.error(
                    f"{value[:30]!r} is not a number", line=line, remedy="Correct the value"
                ) from None
    raise AssertionError(f"line {line} has no fault")


def _first(rows: _Rows, n_samples: int) -> _Rows:
    """Without the empty lines after the last row."""
    if rows.label_indptr[n_samples] != rows.label_indptr[-1]:
        return rows
    return rows._replace(
        label_indptr=rows.label_indptr[: n_samples + 1],
        indptr=rows.indptr[: n_samples + 1],
        lines=rows.lines[:n_samples],
    )


def _line_of(lines: np.ndarray, indptr: np.ndarray, entry: int) -> int:
    return int(lines[np.searchsorted(indptr, entry, side="right") - 1])


def _check_range(contents: Contents, indices, indptr, lines, size: int, what: str) -> None:
    outside = np.flatnonzero(indices >= size)
    if outside.size:
        raise contents.error(
            f"{what} {indices[outside[0]]} does not exist among {size} (counted from 0)",
            line=_line_of(lines, indptr, int(outside[0])),
            remedy=f"Correct the index or the number of {what}s",
        )


def _csr(contents: Contents, rows: _Rows, columns: np.ndarray, n_columns: int) -> Any:
    index = np.int32 if max(n_columns, len(columns)) < 2**31 else np.int64
    matrix = sparse.csr_array(
        (rows.values, columns.astype(index), rows.indptr.astype(index)),
        shape=(rows.n_samples, n_columns),
    )
    matrix.sort_indices()
    same_row = np.diff(np.repeat(np.arange(rows.n_samples), np.diff(matrix.indptr))) == 0
    repeated = np.flatnonzero(same_row & (np.diff(matrix.indices) == 0))
    if repeated.size:
        raise contents.error(
            f"feature {matrix.indices[repeated[0]]} (counted from 0) has two values in the row",
            line=_line_of(rows.lines, matrix.indptr, int(repeated[0])),
            remedy="Keep one of them",
        )
    matrix.eliminate_zeros()
    return matrix


def _labels(rows: _Rows, columns, n_labels: int, names) -> Labels:
    relevant = np.full(len(columns), State.RELEVANT, dtype=np.int8)
    entries = sparse.csr_array(
        (relevant, columns, rows.label_indptr), shape=(rows.n_samples, n_labels)
    )
    # a label that is listed twice is still one label
    entries.sum_duplicates()
    entries.data[:] = State.RELEVANT
    return Labels(entries, State.NEGATIVE, names=names)
