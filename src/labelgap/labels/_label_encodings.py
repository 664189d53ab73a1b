"""Labels in and out of other people's encodings."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.labels import _label_frames, _label_readers, state_matrix
from labelgap.labels.states import (
    EmptyName,
    ImplicitName,
    LabelWarning,
    State,
    ZerosName,
    check_names,
    parse_dense,
)

_MAX_CELLS = 2**28
log = logging.getLogger("labelgap")


class Encodings:
    """The constructors and exports of :class:`labelgap.Labels`, its only subclass."""

    if TYPE_CHECKING:

        def __init__(self, entries: Any, implicit: Any = ..., names: Any = None) -> None: ...

    @classmethod
    def from_dense(
        cls, array: Any, *, names=None, zeros: ZerosName = "negative", unknown: Any = None
    ) -> Self:
        """Read a dense array of 1, 0 and NaN (or masked, or None) for unknown.

        Parameters
        ----------
        array : array of shape (n_samples, n_labels)
            The entries.
        names : sequence of length n_labels, default=None
            Label names.
        zeros : {"negative", "unlabeled"}, default="negative"
            Whether a zero is a "no" or may be a missing label.
        unknown : number, default=None
            A further value that means unknown, for example -1.

        Returns
        -------
        Labels

        Examples
        --------
        >>> import numpy as np
        >>> from labelgap import Labels
        >>> Labels.from_dense([[1, 0, np.nan], [0, 1, 1]])
        <Labels: 2 rows x 3 labels, 3 relevant, 1 unknown>
        """
        parts = parse_dense(array, zeros=zeros, unknown=unknown)
        return warned(cls(*parts, names=names))

    @classmethod
    def from_signed(cls, array: Any, *, names=None) -> Self:
        """Read signed coding: +1 relevant, -1 irrelevant, 0 (or NaN) unknown; dense or sparse.

        Parameters
        ----------
        array : array or sparse matrix of shape (n_samples, n_labels)
            The entries.
        names : sequence of length n_labels, default=None
            Label names; those of the columns when ``array`` is a frame.

        Returns
        -------
        Labels

        Examples
        --------
        >>> from labelgap import Labels
        >>> Labels.from_signed([[1, -1, 0], [-1, 0, 1]])
        <Labels: 2 rows x 3 labels, 2 relevant, 2 unknown>
        """
        if names is None and hasattr(array, "columns"):
            names = _label_frames.frame_names(array)
        return warned(cls(*_label_readers.parse_signed(array), names=names))

    @classmethod
    def from_sparse(
        cls, positives: Any, *, observed=None, names=None, zeros: ZerosName = "negative"
    ) -> Self:
        """Read a sparse matrix of positives; what is not stored is a zero, never unknown.

        Parameters
        ----------
        positives : sparse matrix of shape (n_samples, n_labels)
            The entries, 0 or 1.
        observed : bool array or sparse matrix of the same shape, default=None
            True where an entry was annotated; all other entries are unknown.
        names : sequence of length n_labels, default=None
            Label names.
        zeros : {"negative", "unlabeled"}, default="negative"
            Whether a zero is a "no" or may be a missing label.

        Returns
        -------
        Labels

        Examples
        --------
        >>> from scipy import sparse
        >>> from labelgap import Labels
        >>> Labels.from_sparse(sparse.csr_array([[1, 0], [0, 1]]), zeros="unlabeled")
        <Labels: 2 rows x 2 labels, 2 relevant, zeros unlabeled>
        """
        parts = _label_readers.parse_sparse(positives, observed=observed, zeros=zeros)
        return warned(cls(*parts, names=names))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        zeros: ZerosName = "negative",
        separator: str = "auto",
        empty: EmptyName = "auto",
    ) -> Self:
        """Read a pandas, polars or pyarrow table: a column per label, or one that lists labels.

        Cells of a label are 1 and 0, true and false, yes and no, or x and nothing. A single column
        may list the labels of each row: "a;b;c", JSON lists, collections.

        Parameters
        ----------
        frame : table
            The entries. Columns that pandas numbered leave the labels without names.
        zeros : {"negative", "unlabeled"}, default="negative"
            Whether a zero is a "no" or may be a missing label.
        separator : str, default="auto"
            What is between two labels of a list; "json" reads JSON lists, "auto" finds out.
        empty : {"auto", "zero", "unknown"}, default="auto"
            What an empty cell means. "auto": unknown where the table has another way to say no (0,
            no, an empty list), and a zero where it has none, as with x or "a;b".

        Returns
        -------
        Labels

        See Also
        --------
        labelgap.labels.read_label_frame : The same, with a sentence that says how it was read.

        Examples
        --------
        >>> import pandas as pd
        >>> from labelgap import Labels
        >>> Labels.from_frame(pd.DataFrame({"rock": [1, None], "jazz": [0, 1]}))
        <Labels: 2 rows x 2 labels, 2 relevant, 1 unknown>
        >>> Labels.from_frame(pd.DataFrame({"tags": ["rock;jazz", None]})).to_dense().tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        found = _label_frames.parse_frame(frame, zeros=zeros, separator=separator, empty=empty)
        log.info(found.sentence)
        return warned(cls(*found.parts, names=found.names))

    @classmethod
    def from_tag_sets(
        cls,
        tag_sets: Iterable,
        *,
        names=None,
        zeros: ZerosName = "negative",
        separator: str = "auto",
        empty: EmptyName = "auto",
    ) -> Self:
        """Read one collection of tags per row, or a text that lists them.

        Parameters
        ----------
        tag_sets : iterable of sets or lists of tags, of str, or None
            One element per row; ``None`` in place of a collection is a row of unknown entries.
        names : sequence, default=None
            The labels in column order; by default all tags, sorted.
        zeros : {"negative", "unlabeled"}, default="negative"
            Whether a tag that a row does not list is a "no" or may be missing.
        separator : str, default="auto"
            What is between two tags of a text; "json" reads JSON lists, "auto" finds out.
        empty : {"auto", "zero", "unknown"}, default="auto"
            What an empty element means, as in :meth:`from_frame`.

        Returns
        -------
        Labels

        Examples
        --------
        >>> from labelgap import Labels
        >>> Labels.from_tag_sets([{"sea", "sky"}, {"sky"}, None]).names.tolist()
        ['sea', 'sky']
        >>> Labels.from_tag_sets(["sky, sea", "sky"], separator=",").to_dense().tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        rows, names = _label_frames.tag_sets_of(tag_sets, names, separator, empty)
        parts, names = _label_readers.parse_tag_sets(rows, names=names, zeros=zeros)
        return warned(cls(*parts, names=names))

    @classmethod
    def from_long(
        cls,
        items: Any,
        labels: Any,
        values: Any = None,
        *,
        item_order=None,
        names=None,
        implicit: ImplicitName = "negative",
    ) -> Self:
        """Read a long table: one (item, label) pair per line, with an optional value.

        Parameters
        ----------
        items, labels : sequences of equal length
            The pairs.
        values : sequence of 1, 0 and NaN, default=None
            What each pair says; by default every pair is relevant.
        item_order : sequence, default=None
            The items in row order, usually those of ``X``; by default in order of appearance.
        names : sequence, default=None
            The labels in column order; by default sorted.
        implicit : {"negative", "unknown", "unlabeled"}, default="negative"
            What a pair that is not in the table means.

        Returns
        -------
        Labels

        Examples
        --------
        >>> from labelgap import Labels
        >>> Labels.from_long(["a", "b", "b"], ["sky", "sea", "sky"], [1, 0, 1])
        <Labels: 2 rows x 2 labels, 2 relevant>
        """
        entries, names = _label_readers.parse_long(items, labels, values, item_order, names)
        return warned(cls(entries, implicit, names=names))

    # -- export -------------------------------------------------------------------------------

    def to_dense(self: Any, *, unknown=np.nan, unlabeled=0.0, dtype=np.float64) -> np.ndarray:
        """Return a dense array of 1 and 0, with chosen values for the gaps.

        Parameters
        ----------
        unknown : number, default=nan
            The value of unknown entries.
        unlabeled : number, default=0.0
            The value of unlabeled zeros.
        dtype : dtype, default=float64
            Type of the array.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        value = np.zeros(5, dtype=dtype)
        value[State.RELEVANT] = 1
        if self.has_unknown:
            value[State.UNKNOWN] = _representable(unknown, "unknown", dtype)
        if self.unlabeled:
            value[State.UNLABELED] = _representable(unlabeled, "unlabeled", dtype)
        dense = np.empty(self.shape, dtype=dtype)
        for rows in state_matrix.row_blocks(*self.shape):
            dense[rows] = value[self.states(rows)]
        return dense

    def to_signed(self: Any, *, as_sparse: bool = False, dtype=np.int8) -> Any:
        """Return +1, -1 and 0 for unknown, dense or sparse; refused for unlabeled zeros."""
        self._refuse_unlabeled("to_signed")
        value = np.zeros(5, dtype=dtype)
        value[State.RELEVANT], value[State.NEGATIVE] = 1, -1
        if not as_sparse:
            return value[self.states()]
        entries = self.with_implicit(State.UNKNOWN).entries
        return state_matrix.select(entries, np.ones(entries.nnz, dtype=bool), value[entries.data])

    def to_masked(self: Any) -> np.ma.MaskedArray:
        """Return a masked int8 array, unknown entries masked; refused for unlabeled zeros."""
        self._refuse_unlabeled("to_masked")
        codes = self.states()
        values = (codes == State.RELEVANT).astype(np.int8)
        return np.ma.MaskedArray(values, mask=codes == State.UNKNOWN)

    def to_sparse(self: Any) -> tuple[sparse.csr_array, sparse.csr_array | None]:
        """Return the positives and the observed mask (``None`` when nothing is unknown)."""
        self._refuse_mixed_zeros("to_sparse")
        observed = self.observed(unlabeled=True) if self.has_unknown else None
        return self.positives(), observed

    def to_frame(self: Any, library: str = "pandas") -> Any:
        """Return a frame of nullable integers; refused for unlabeled zeros.

        Labels without names are numbered; an unseen label is a column of nulls.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Which kind of frame to build.

        Returns
        -------
        frame of shape (n_samples, n_labels)
        """
        self._refuse_unlabeled("to_frame")
        masked = self.to_masked()
        values, mask = masked.data, np.ma.getmaskarray(masked)
        if library == "pandas":
            return self._to_pandas(values, mask)
        if library == "polars":
            return self._to_polars(values, mask)
        raise ValueError(f"library={library!r}: use 'pandas' or 'polars'")

    def to_tag_sets(self: Any) -> list[set | None]:
        """Return one set of label names per row, ``None`` for a row without a known entry.

        Rows that are known in part are refused.
        """
        self._refuse_mixed_zeros("to_tag_sets")
        n_known = self.n_observed(axis=1, unlabeled=True)
        partly = np.flatnonzero((n_known > 0) & (n_known < self.n_labels))
        if partly.size:
            raise ValueError(
                f"row {partly[0]} has unknown entries beside known ones, and a tag set cannot say "
                "'unknown': set them first (with_entries) or export with to_long"
            )
        positives, names = self.positives(), self._names_or_numbers()
        bounds = zip(positives.indptr[:-1], positives.indptr[1:], strict=True)
        rows = [set(names[positives.indices[start:stop]].tolist()) for start, stop in bounds]
        unknown = (n_known == 0) & (self.n_labels > 0)
        return [None if unknown[i] else tags for i, tags in enumerate(rows)]

    def to_long(self: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, label names and values (1, 0, NaN) of the stored entries."""
        entries = self.entries
        value = np.array([np.nan, 1.0, 0.0, np.nan, np.nan])
        if (entries.data == State.UNLABELED).any():
            raise ValueError(
                "a long table cannot say 'unlabeled' for single entries: "
                "use with_implicit('unlabeled') or with_zeros first"
            )
        names = self._names_or_numbers()[entries.indices]
        return state_matrix.rows_of(entries), names, value[entries.data]

    def __array__(self: Any, dtype=None, copy=None) -> np.ndarray:
        """Dense int8 array of 1 and 0, or of a float type with NaN for unknown.

        Refused for an integer type when entries are unknown: any number would be read as a class.
        As ``object`` the labels are one object, an array without dimensions. scikit-learn falls
        back on that when it asks for the type of a target, finds it "unknown", takes ``KFold`` for
        a number of folds, and refuses to compute its own metrics.
        """
        if copy is False:
            raise ValueError("labels are stored sparsely: a dense array is always a copy")
        kind = None if dtype is None else np.dtype(dtype).kind
        if kind == "O":
            whole = np.empty((), dtype=object)
            whole[()] = self
            return whole
        if self.n_samples * self.n_labels > _MAX_CELLS:
            raise ValueError(
                f"these labels ({self.n_samples} x {self.n_labels}) are too large to be made dense "
                "unasked; use their sparse form (positives, to_sparse), blocks of rows, or to_dense"
            )
        if kind != "f" and self.has_unknown:
            raise ValueError(
                "labels with unknown entries have no integer array that other code would read "
                "right: score them with labelgap.metrics, or choose a code with "
                "to_dense(unknown=...)"
            )
        return self.to_dense(dtype=np.int8 if dtype is None else dtype)

    # -- internals ------------------------------------------------------------------------------

    def _names_or_numbers(self: Any) -> np.ndarray:
        return np.arange(self.n_labels) if self.names is None else self.names

    def _to_pandas(self: Any, values: np.ndarray, mask: np.ndarray) -> Any:
        pandas = require("pandas", extra="frames", purpose="Labels.to_frame")
        columns = {
            j: pandas.arrays.IntegerArray(values[:, j].copy(), mask[:, j].copy())
            for j in range(self.n_labels)
        }
        frame = pandas.DataFrame(columns, index=pandas.RangeIndex(self.n_samples))
        if self.names is None:
            frame.columns = pandas.RangeIndex(self.n_labels)
        else:  # tuples stay names of one level
            frame.columns = pandas.Index(self.names.tolist(), tupleize_cols=False)
        return frame

    def _to_polars(self: Any, values: np.ndarray, mask: np.ndarray) -> Any:
        polars = require("polars", extra="frames", purpose="Labels.to_frame('polars')")
        names = [str(name) for name in self._names_or_numbers().tolist()]
        check_names(names, len(names))
        columns = {}
        for j, name in enumerate(names):
            series = polars.Series(name, values[:, j].copy(), dtype=polars.Int8)
            columns[name] = series.set(polars.Series(mask[:, j].copy()), None)
        return polars.DataFrame(columns)

    def _refuse_unlabeled(self: Any, method: str) -> None:
        if self.unlabeled:
            raise ValueError(
                f"{method} would lose that these zeros are unlabeled; decide with "
                "with_zeros('negative'), or export with to_dense(unlabeled=...)"
            )

    def _refuse_mixed_zeros(self: Any, method: str) -> None:
        if self.unlabeled and self.n_observed() > self.n_positives():
            raise ValueError(
                f"{method} would lose which zeros are unlabeled and which are known; decide with "
                "with_zeros('negative') or with_zeros('unlabeled')"
            )


def warned(labels: Any) -> Any:
    """Return the labels, with a warning of the first label without an observed entry."""
    if labels.n_samples == 0:
        return labels
    empty = (labels.n_observed(axis=0, unlabeled=True) == 0) & ~labels.unseen
    if empty.any():
        first = int(np.flatnonzero(empty)[0])
        name = "" if labels.names is None else f" ({labels.names[first]!r})"
        warnings.warn(
            f"label {first}{name} has no observed entry"
            + (f", nor have {int(empty.sum()) - 1} others" if empty.sum() > 1 else "")
            + ": nothing can be learned about it; drop the column, or mark it with with_unseen",
            LabelWarning,
            stacklevel=3,
        )
    return labels


def _representable(value: Any, argument: str, dtype: Any) -> Any:
    if np.dtype(dtype).kind in "fO":
        return value
    if value != value or not np.array_equal(np.array(value).astype(dtype), value):
        raise ValueError(
            f"{argument}={value!r} cannot be stored as {np.dtype(dtype)}: give another value or "
            "dtype"
        )
    return value
