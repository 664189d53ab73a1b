"""Labels in and out of other people's encodings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labelgap.labels import _checks, _export, _matrices, _tables
from labelgap.labels._states import UnstatedName, ZerosName


class Encodings:
    """The constructors and exports of :class:`labelgap.Labels`, its only subclass."""

    if TYPE_CHECKING:

        def __init__(self, entries: Any, unstated: Any = ..., names: Any = None) -> None: ...

    @classmethod
    def from_dense(
        cls, array: Any, *, names=None, zeros: ZerosName = "irrelevant", unknown: Any = None
    ) -> Self:
        """From a dense array of 1, 0 and NaN (or masked, or None) for unknown.

        Parameters
        ----------
        array : array of shape (n_rows, n_labels)
        names : sequence, optional
        zeros : {"irrelevant", "ambiguous"}
            Whether a zero is a "no" or may mean that nobody looked.
        unknown : number, optional
            A further value that means unknown, for example -1.
        """
        parts = _matrices.parse_dense(array, zeros=zeros, unknown=unknown)
        return cls(*parts, names=names)._warned()

    @classmethod
    def from_signed(cls, array: Any, *, names=None) -> Self:
        """From signed coding: +1 relevant, -1 irrelevant, 0 (or NaN) unknown; dense or sparse."""
        if names is None and hasattr(array, "columns"):
            names = _tables.frame_names(array)
        return cls(*_matrices.parse_signed(array), names=names)._warned()

    @classmethod
    def from_sparse(
        cls, positives: Any, *, observed=None, names=None, zeros: ZerosName = "irrelevant"
    ) -> Self:
        """From a sparse matrix of positives: what is not stored is a zero, never "unknown".

        Parameters
        ----------
        positives : sparse matrix of shape (n_rows, n_labels) with values 0 and 1
        observed : bool array or sparse matrix of the same shape, optional
            True where somebody looked; all other entries are unknown.
        names, zeros
            As in :meth:`from_dense`.
        """
        parts = _matrices.parse_sparse(positives, observed=observed, zeros=zeros)
        return cls(*parts, names=names)._warned()

    @classmethod
    def from_frame(cls, frame: Any, *, zeros: ZerosName = "irrelevant") -> Self:
        """From a pandas, polars or pyarrow table, one column per label, nulls for unknown.

        Columns that pandas numbered because nobody named them leave the labels without names.
        """
        parts, names = _tables.parse_frame(frame, zeros=zeros)
        return cls(*parts, names=names)._warned()

    @classmethod
    def from_tag_sets(
        cls, tag_sets: Iterable, *, names=None, zeros: ZerosName = "irrelevant"
    ) -> Self:
        """From one collection of tags per row; ``None`` for a row nobody looked at."""
        parts, names = _tables.parse_tag_sets(tag_sets, names=names, zeros=zeros)
        return cls(*parts, names=names)._warned()

    @classmethod
    def from_long(
        cls,
        items: Any,
        labels: Any,
        values: Any = None,
        *,
        item_order=None,
        names=None,
        unstated: UnstatedName = "irrelevant",
    ) -> Self:
        """From a long table: one (item, label) pair per line, with an optional value.

        Parameters
        ----------
        items, labels : sequences of equal length
        values : sequence of 1, 0 and NaN, optional
            All 1 when absent.
        item_order : sequence, optional
            The items in row order, usually those of ``X``; by default the order of first
            appearance.
        names : sequence, optional
            The labels in column order; by default sorted.
        unstated : {"irrelevant", "unknown", "ambiguous"}
            What a pair that is not in the table means.
        """
        entries, names = _tables.parse_long(items, labels, values, item_order, names)
        return cls(entries, unstated, names=names)._warned()

    # -- export -------------------------------------------------------------------------------

    def to_dense(self: Any, *, unknown=np.nan, ambiguous=0.0, dtype=np.float64) -> np.ndarray:
        """Dense array of 1 and 0, with the given values for unknown and ambiguous entries."""
        return _export.to_dense(self, unknown, ambiguous, dtype)

    def to_signed(self: Any, *, as_sparse: bool = False, dtype=np.int8) -> Any:
        """Array (or sparse array) of +1, -1 and 0 for unknown; refuses ambiguous zeros."""
        return _export.to_signed(self, dtype, as_sparse)

    def to_masked(self: Any) -> np.ma.MaskedArray:
        """Masked int8 array, unknown entries masked; refuses ambiguous zeros."""
        return _export.to_masked(self)

    def to_sparse(self: Any) -> tuple[sparse.csr_array, sparse.csr_array | None]:
        """Positives, and the observed mask (``None`` when nothing is unknown)."""
        return _export.to_sparse(self)

    def to_frame(self: Any, library: str = "pandas") -> Any:
        """Frame of nullable integers, one column per label; refuses ambiguous zeros.

        Labels without names are numbered; an unseen label is a column of nulls.
        """
        return _export.to_frame(self, library)

    def to_tag_sets(self: Any) -> list[set | None]:
        """One set of label names per row, ``None`` for a row in which nothing is known.

        Refuses rows that are known in part.
        """
        return _export.to_tag_sets(self)

    def to_long(self: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, label names and values (1, 0, NaN) of the stated entries."""
        return _export.to_long(self)

    def _warned(self: Any) -> Any:
        _checks.warn_unobserved(self, stacklevel=3)
        return self
